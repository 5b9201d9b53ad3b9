package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/twinpath/twinpath/internal/localpg"
)

func main() {
	if err := ignoreForeign(os.Getenv); err != nil {
		fmt.Fprintln(os.Stderr, "example-app:", err)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	err := (&Main{}).Run(stopWithGoRun(ctx), os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "example-app:", err)
	}
	os.Exit(ExitCode(err))
}

// ignoreForeign keeps the settings that somebody's shell has for another Postgres
// from the demo's own one.
func ignoreForeign(getenv func(string) string) error {
	if getenv("DATABASE_URL") != "" || getenv("POOLER_URL") != "" {
		return nil // which leaves out, perhaps, what they say
	}
	return localpg.ClearEnvironment()
}

// Main is the program. Its fields are what it takes from its surroundings; the zero value takes what
// the process has.
type Main struct {
	// Getenv looks up environment variables. Defaults to os.Getenv.
	Getenv func(string) string
	// LookPath finds programs. Defaults to exec.LookPath.
	LookPath func(string) (string, error)
	// Spotlight is the host and port where a Spotlight sidecar may answer. Defaults to 127.0.0.1:8969,
	// which is Spotlight's own default.
	Spotlight string
}

// Run runs the sub-command in args, serve when there is none, until ctx ends. It returns when
// everything it started is gone.
func (m *Main) Run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	name := "serve"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	}
	switch name {
	case "serve":
		return m.serve(ctx, args, stdout, stderr)
	case "doctor":
		return m.doctor(ctx, args, stdout, stderr)
	case "measure":
		return m.measure(ctx, args, stdout, stderr)
	case "help":
		_, err := io.WriteString(stdout, usage)
		return err
	}
	return usageError{fmt.Errorf("unknown command %q: the commands are serve, measure and doctor; example-app help lists the flags", name)}
}

const usage = `Usage: example-app [serve] [flags], or example-app measure --help, or example-app doctor --help

  --addr HOST:PORT      where to listen (default 127.0.0.1:8080, or the next port that is free)
  --access-path PATH    rest, direct, or percent:N for N % of the users on direct (default percent:50)
  --rtt DURATION        add this to every round trip, such as 5ms (default 0)
  --naive-idle DURATION idle limit of the probe direct-naive-pool (default 10s)

Environment: DATABASE_URL, POOLER_URL, POSTGREST_URL, PGRST_JWT_SECRET, POSTGREST_APIKEY, SENTRY_DSN;
see go doc ./example-app.
`

// usageError is a mistake in the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// ExitCode is the exit status for what Run returned.
func ExitCode(err error) int {
	if _, ok := errors.AsType[usageError](err); ok {
		return 2
	}
	if sick, ok := errors.AsType[*sickError](err); ok {
		return sick.code
	}
	if errors.Is(err, errInterrupted) {
		return exitInterrupted
	}
	if err != nil {
		return 1
	}
	return 0
}
