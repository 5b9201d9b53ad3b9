package middleware

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/getsentry/sentry-go"
	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess"
)

// ServerTimingConfig configures [ServerTimingWithConfig].
type ServerTimingConfig struct {
	// Skipper leaves out requests, whose calls are then not timed. Defaults to
	// none.
	Skipper Skipper
	// Authorize says whether the client may see the times. It is asked when the
	// answer is about to be sent, so it may use what middlewares further in have
	// found out, such as the caller's identity. Times tell a stranger what is in the
	// database: rows that exist take longer. Required.
	Authorize func(c echo.Context) bool
	// Names also shows each call with its query's name, or its shape where it has
	// none. Defaults to false.
	Names bool
	// MaxBytes bounds the header's length. What does not fit is left out, the
	// single calls first. Defaults to DefaultServerTimingBytes.
	MaxBytes int
}

// DefaultServerTimingBytes is room for some twenty calls.
const DefaultServerTimingBytes = 1024

// ServerTiming tells clients that are allowed to know it how long the database
// calls of a request took, by path, in a header that browsers show beside the
// request:
//
//	Server-Timing: app;dur=21.40, db_direct;dur=12.31;desc="3 calls", trace;desc="<trace id>"
//
// app is the time from this middleware to the answer's beginning, and the rest is
// what has ended by then; calls that run side by side add up to more than that.
// trace is where to look in Sentry.
//
// The times are those that [CallTimes] is told, so that has to be among the DB's
// observers:
//
//	db, err := dbaccess.New(dbaccess.Config{…, Observers: []dbaccess.Observer{tracing.NewObserver(), middleware.CallTimes{}}})
//	e.Use(middleware.ServerTiming(func(c echo.Context) bool { return isStaff(c) }))
//
// For scripts of other origins to read it, these need Timing-Allow-Origin, or for
// fetch Access-Control-Expose-Headers.
func ServerTiming(authorize func(c echo.Context) bool) echo.MiddlewareFunc {
	return ServerTimingWithConfig(ServerTimingConfig{Authorize: authorize})
}

// ServerTimingWithConfig is [ServerTiming] with a config. It panics when the
// config is wrong.
func ServerTimingWithConfig(cfg ServerTimingConfig) echo.MiddlewareFunc {
	return must(cfg.ToMiddleware())
}

// ToMiddleware returns the middleware, or what is wrong with the config.
func (cfg ServerTimingConfig) ToMiddleware() (echo.MiddlewareFunc, error) {
	var errs []error
	if cfg.Authorize == nil {
		errs = append(errs, errors.New("middleware: ServerTimingConfig.Authorize is nil: say who may see how long database calls take"))
	}
	if cfg.MaxBytes < 0 {
		errs = append(errs, errors.New("middleware: ServerTimingConfig.MaxBytes must be positive, or 0 for the default"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = DefaultServerTimingBytes
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			r := c.Request()
			if cfg.Skipper.skips(c) || stopwatchFrom(r.Context()) != nil {
				return next(c)
			}
			w := &stopwatch{start: time.Now()}
			c.SetRequest(r.WithContext(context.WithValue(r.Context(), stopwatchKey{}, w)))
			c.Response().Before(func() {
				calls := w.stop()
				if !cfg.Authorize(c) {
					return
				}
				if h := calls.header(c.Request().Context(), &cfg); h != "" {
					c.Response().Header().Add("Server-Timing", h)
				}
			})
			return next(c)
		}
	}, nil
}

// CallTimes is a dbaccess.Observer that hands the times of calls to
// [ServerTiming]. Outside of it, it does nothing.
type CallTimes struct{}

var _ dbaccess.Observer = CallTimes{}

// CallStart does nothing: a call counts when it has ended.
func (CallTimes) CallStart(ctx context.Context, _ dbaccess.CallStart) context.Context { return ctx }

// CallEnd adds the call to its request's. A transaction is left out: the
// statements in it are calls too.
func (CallTimes) CallEnd(ctx context.Context, e dbaccess.CallEnd) {
	w := stopwatchFrom(ctx)
	if w == nil || e.SQL != nil && e.SQL.Operation == "transaction" {
		return
	}
	w.add(&e)
}

type stopwatchKey struct{}

func stopwatchFrom(ctx context.Context) *stopwatch {
	w, _ := ctx.Value(stopwatchKey{}).(*stopwatch)
	return w
}

// stopwatch collects a request's calls until its answer begins. It is safe for
// concurrent use.
type stopwatch struct {
	start   time.Time
	mu      sync.Mutex
	stopped bool
	times   times
}

// times are what a header is made of.
type times struct {
	total  time.Duration
	direct sum
	rest   sum
	calls  []call // the first ones
}

type sum struct {
	n    int
	took time.Duration
}

type call struct {
	name string
	path dbaccess.Path
	took time.Duration
}

// maxTimedCalls is more than a header has room for.
const maxTimedCalls = 100

func (w *stopwatch) add(e *dbaccess.CallEnd) {
	name := e.Name
	if name == "" {
		name = e.Summary()
	}
	took := e.Duration()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	s := &w.times.rest
	if e.Route.Path == dbaccess.Direct {
		s = &w.times.direct
	}
	s.n++
	s.took += took
	if len(w.times.calls) < maxTimedCalls {
		w.times.calls = append(w.times.calls, call{name: name, path: e.Route.Path, took: took})
	}
}

func (w *stopwatch) stop() times {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.times.total = time.Since(w.start)
	return w.times
}

// header is the header's value: https://www.w3.org/TR/server-timing/#the-server-timing-header-field
func (t *times) header(ctx context.Context, cfg *ServerTimingConfig) string {
	h := metrics{max: cfg.MaxBytes}
	h.add("app", t.total, "")
	h.sum("db_direct", t.direct)
	h.sum("db_rest", t.rest)
	if span := sentry.SpanFromContext(ctx); span != nil {
		h.describe("trace", span.TraceID.String())
	}
	if cfg.Names {
		for i := range t.calls {
			c := &t.calls[i]
			h.add("db"+strconv.Itoa(i+1), c.took, c.name+" "+string(c.path))
		}
	}
	return h.b.String()
}

// metrics writes a header of a limited length.
type metrics struct {
	b    strings.Builder
	max  int
	full bool
}

func (m *metrics) sum(name string, s sum) {
	switch s.n {
	case 0:
	case 1:
		m.add(name, s.took, "1 call")
	default:
		m.add(name, s.took, strconv.Itoa(s.n)+" calls")
	}
}

func (m *metrics) add(name string, took time.Duration, desc string) {
	metric := name + ";dur=" + strconv.FormatFloat(float64(took)/float64(time.Millisecond), 'f', 2, 64)
	if desc != "" {
		metric += `;desc="` + quotable(desc) + `"`
	}
	m.write(metric)
}

func (m *metrics) describe(name, desc string) { m.write(name + `;desc="` + quotable(desc) + `"`) }

func (m *metrics) write(metric string) {
	separator := ", "
	if m.b.Len() == 0 {
		separator = ""
	}
	if m.full = m.full || m.b.Len()+len(separator)+len(metric) > m.max; m.full {
		return
	}
	m.b.WriteString(separator)
	m.b.WriteString(metric)
}
