package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"

	"github.com/twinpath/twinpath/example-app/internal/measure"
	"github.com/twinpath/twinpath/example-app/internal/site"
)

// demoFor starts the demo in this process, on a free port, and sets the targets to its probes. Client
// and server then share the process, which costs both the same in all modes. The function stops it.
func (m *Main) demoFor(ctx context.Context, f *measureFlags, getenv func(string) string, stderr io.Writer) (stop func() error, err error) {
	path, err := site.ParseSetting(defaultPath)
	if err != nil {
		return nil, err
	}
	run := &running{
		flags: serveFlags{path: path, rtt: f.rtt, naiveIdle: f.naiveIdle}, say: newPrinter(stderr),
		logger: slog.New(slog.NewTextHandler(stderr, nil)),
	}
	handler, err := run.start(ctx, getenv, m.LookPath)
	if err != nil {
		return nil, errors.Join(err, run.close())
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, run.close())
	}
	server := startServer(l, handler, slog.NewLogLogger(run.logger.Handler(), slog.LevelWarn))
	stop = func() error { return errors.Join(server.stop(), run.close()) }
	if f.cfg.Targets, err = measure.TargetsBelow("http://"+l.Addr().String(), f.modes); err != nil {
		return nil, errors.Join(err, stop())
	}
	return stop, nil
}
