package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/latency"
	"github.com/twinpath/twinpath/dbaccess/rest"
	"github.com/twinpath/twinpath/example-app/internal/site"
	"github.com/twinpath/twinpath/example-app/internal/stack"
	"github.com/twinpath/twinpath/example-app/internal/stock"
	"github.com/twinpath/twinpath/middleware"
	"github.com/twinpath/twinpath/tracing"
)

const (
	shutdownPatience = 5 * time.Second // for requests that are running
	stopPatience     = 15 * time.Second
)

// serve runs the site until ctx ends.
func (m *Main) serve(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	flags, err := parseServe(args)
	if errors.Is(err, flag.ErrHelp) {
		_, err := io.WriteString(stdout, usage)
		return err
	}
	if err != nil {
		return err
	}
	getenv := m.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	say := newPrinter(stdout)

	l, err := listen(flags)
	if err != nil {
		return err
	}
	door := &gate{}
	server := startServer(l, door, slog.NewLogLogger(slog.NewTextHandler(stderr, nil), slog.LevelWarn))
	defer func() { err = errors.Join(err, server.stop()) }()

	run := &running{flags: flags, say: say, logger: slog.New(slog.NewTextHandler(stderr, nil)), spotlight: m.Spotlight}
	defer func() {
		err = errors.Join(err, run.close())
		if ctx.Err() != nil && err == nil {
			say.line("stopped", "everything that was started is gone")
		}
	}()
	handler, err := run.start(ctx, getenv, m.LookPath)
	if err != nil {
		if ctx.Err() != nil {
			return nil // interrupted while starting, which is no failure
		}
		return err
	}
	door.open(handler)
	if !isLoopback(l.Addr()) {
		say.line("NOTICE", "%s is open to the network, and the demo asks nobody for a password", l.Addr())
	}
	say.line("site", "http://%s   (Ctrl-C stops it and everything it started)", shownAddr(l.Addr()))

	select {
	case <-ctx.Done():
		return server.drain()
	case err := <-server.failed:
		return err
	}
}

// running is what serve has to close.
type running struct {
	flags  serveFlags
	say    *printer
	logger *slog.Logger
	// spotlight is where a Spotlight sidecar may answer. Defaults to defaultSpotlight.
	spotlight string

	notices, parts []string
	stops          []func(context.Context) error
}

// start brings everything up, in the order of its dependence, and returns the site.
func (r *running) start(ctx context.Context, getenv func(string) string, lookPath func(string) (string, error)) (http.Handler, error) {
	started := time.Now()
	tel, err := newTelemetry(ctx, getenv("SENTRY_DSN"), cmp.Or(r.spotlight, defaultSpotlight))
	if err != nil {
		return nil, err
	}
	r.stops = append(r.stops, func(context.Context) error { tel.close(); return nil })
	st, err := stack.Start(ctx, stack.Config{Getenv: getenv, LookPath: lookPath, RTT: r.flags.rtt, Report: r.report})
	if err != nil {
		return nil, err
	}
	r.stops = append(r.stops, st.Close)
	r.say.line("traces", "%s, see /traces", tel.where)

	tokens, err := jwt.NewHS256(jwt.Config{Secret: st.JWTSecret})
	if err != nil {
		return nil, err
	}
	flag := site.NewFlag(r.flags.path)
	report := latency.NewRecorder(latency.RecorderConfig{})
	db, own, err := openDB(ctx, st, flag, tokens, report, r.logger)
	if err != nil {
		return nil, err
	}
	r.stops = append(r.stops, db.Close)
	companies, err := companiesOn(ctx, db)
	if err != nil {
		return nil, err
	}
	modes, closeModes, err := probeModes(ctx, st, own, r.flags.naiveIdle)
	if err != nil {
		return nil, err
	}
	r.stops = append(r.stops, closeModes)
	r.say.line("flag", "%s: %s; the page changes it", site.FlagName, flag.Setting().Describe())

	return site.New(site.Config{
		DB: db, Flag: flag, Tokens: tokens, Hub: tel.hub, Traces: tel.traces, TracesGo: tel.where,
		Companies: companies, Parts: r.parts, Notices: r.notices, Logger: r.logger,
		Modes: modes, StandIn: st.StandIn, Report: report, Started: started,
	})
}

// openDB makes the facade's DB on both paths, and tells the paths.
func openDB(
	ctx context.Context, st *stack.Stack, flag *site.Flag, tokens *jwt.HS256, report *latency.Recorder, logger *slog.Logger,
) (*dbaccess.DB, paths, error) {
	restPath, err := rest.New(rest.Config{URL: st.RESTURL, APIKey: st.APIKey, Schema: stock.Schema, Signer: tokens})
	if err != nil {
		return nil, paths{}, err
	}
	directPath, err := direct.New(direct.Config{DSN: st.PoolerDSN, Schema: stock.Schema})
	if err != nil {
		return nil, paths{}, err
	}
	db, err := dbaccess.New(dbaccess.Config{
		REST: restPath, Direct: directPath, Router: flag.Router(),
		Default:   &auth.Identity{Role: stock.RoleAnon}, // whoever isn't signed in reads what is public
		Observers: []dbaccess.Observer{tracing.NewObserver(tracing.Always()), middleware.CallTimes{}, site.CallObserver(), report},
		Logger:    logger,
	})
	if err != nil {
		return nil, paths{}, err
	}
	if err := db.Start(ctx); err != nil {
		return nil, paths{}, errors.Join(err, db.Close(context.WithoutCancel(ctx)))
	}
	return db, paths{restPath, directPath}, nil
}

func (r *running) report(p stack.Part) {
	r.say.line(p.Name, "%s", p.Text)
	text := p.Name + ": " + p.Text
	if notice, ok := strings.CutPrefix(p.Text, "NOTICE: "); ok {
		r.notices = append(r.notices, p.Name+": "+notice)
		return
	}
	r.parts = append(r.parts, text)
}

func (r *running) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopPatience)
	defer cancel()
	var errs []error
	for i := len(r.stops) - 1; i >= 0; i-- {
		errs = append(errs, r.stops[i](ctx))
	}
	return errors.Join(errs...)
}

func isLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// shownAddr is an address that a browser can open.
func shownAddr(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}

// printer writes the start-up lines.
type printer struct{ w io.Writer }

func newPrinter(w io.Writer) *printer { return &printer{w} }

func (p *printer) line(name, format string, args ...any) {
	_, _ = fmt.Fprintf(p.w, "%-10s %s\n", name, fmt.Sprintf(format, args...)) // a closed stdout is no reason to stop
}
