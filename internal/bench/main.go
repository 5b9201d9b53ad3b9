package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"syscall"
)

// Exit statuses.
const (
	statusMissed = 1 // a gate
	statusFailed = 2 // to measure
)

// groups are measured in the README's order.
var groups = []struct {
	name    string // what the names of its budgets begin with
	measure func(context.Context, *session) ([]budget, error)
}{
	{"direct/trips", trips},
	{"direct/5ms", link},
	{"direct/1row", directRows(1)},
	{"direct/50rows", directRows(50)},
	{"direct/32callers", directCallers},
	{"direct/spaced", spaced},
	{"settings", settingsCost},
	{"rest", restPath},
	{"each", eachRows},
	{"middleware", requests},
	{"decision", decisions},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(errOut)
	readme := flags.String("readme", "", "write the table into this `file`, between "+tableBegin+" and "+tableEnd)
	short := flags.Bool("quick", false, "measure with fewer and shorter rounds")
	gates := flags.Bool("gates", false, "measure only what is counted, nothing by the clock")
	only := flags.String("run", "", "measure only the groups whose name matches the `pattern`")
	if err := flags.Parse(args); err != nil {
		return statusFailed
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		fmt.Fprintln(errOut, "bench: -run:", err)
		return statusFailed
	}
	if *readme != "" && (*gates || *only != "") {
		fmt.Fprintln(errOut, "bench: the table needs all budgets: leave out -gates and -run")
		return statusFailed
	}
	s := &session{effort: full}
	if *short {
		s.effort = quick
	}
	if *gates {
		s.effort.rounds = 0
	}
	budgets, err := measureAll(ctx, s, pattern, out)
	where := machine(ctx, s)
	if err := errors.Join(err, s.close()); err != nil {
		fmt.Fprintln(errOut, "bench:", err)
		return statusFailed
	}
	if *readme != "" {
		if err := writeReadme(*readme, table(budgets, where)); err != nil {
			fmt.Fprintf(errOut, "bench: %s is left as it is: %v\n", *readme, err)
		}
	}
	return summary(out, budgets)
}

func measureAll(ctx context.Context, s *session, pattern *regexp.Regexp, out io.Writer) (budgets []budget, err error) {
	for _, g := range groups {
		if !pattern.MatchString(g.name) {
			continue
		}
		found, err := g.measure(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", g.name, err)
		}
		for i := range found {
			fmt.Fprintln(out, &found[i])
		}
		budgets = append(budgets, found...)
	}
	return budgets, nil
}

// summary counts the verdicts, and returns the exit status.
func summary(out io.Writer, budgets []budget) int {
	counts, status := map[string]int{}, 0
	for i := range budgets {
		b := &budgets[i]
		if b.info {
			continue
		}
		counts[b.verdict()]++
		if b.failed() {
			status = statusMissed
		}
	}
	fmt.Fprintf(out, "budgets: %d ok, %d missed, %d in the noise\n", counts[ok], counts[miss], counts[noise])
	return status
}

// machine says on what it was measured.
func machine(ctx context.Context, s *session) string {
	text := fmt.Sprintf("Measured by `make bench` with %s on %s/%s, %d CPUs", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	if s.running == nil {
		return text + "."
	}
	version, err := s.running.cluster.Version(ctx)
	if err != nil {
		version = "of unknown version"
	}
	return text + fmt.Sprintf(", PostgreSQL %s and PgBouncer %s on the same machine.", version, s.running.pooler.Version())
}
