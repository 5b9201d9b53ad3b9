package middleware

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/getsentry/sentry-go"
	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/tracing"
)

// SentryConfig configures [SentryWithConfig].
type SentryConfig struct {
	// Skipper leaves out requests that need no transaction, for example
	// SkipAny(SkipPreflights, SkipPaths("/healthz")). Defaults to none.
	Skipper Skipper
	// TrustSampling says whether a request comes from someone whose sampling
	// decision counts here, for example [TrustPeers]. Traces are continued in any
	// case, but the -1 in a stranger's sentry-trace header would make this service
	// record at the stranger's rate. Defaults to nobody.
	TrustSampling func(c echo.Context) bool
	// MaxSpans is the number of spans that calls may add to one transaction, see
	// tracing.NewTransaction. Defaults to tracing.DefaultMaxSpans; -1 means no
	// limit.
	MaxSpans int
	// NotFound says which requests that are answered with 404 are recorded.
	// Defaults to HandlersNotFound.
	NotFound NotFound
	// CaptureErrors also sends an error event for an error that a handler returns,
	// if the answer's status is 500 or higher or the answer was on its way before.
	// The error's text goes to Sentry as it is. Those of this module hold no
	// values; whether the application's do is for the application to know.
	// Defaults to false, as in Sentry's own middleware: handlers report what they
	// like to.
	CaptureErrors bool
	// FlushTimeout makes each request wait at its end until Sentry has everything,
	// but no longer than this. It is for functions, which are stopped as soon as
	// they have answered. Where the handler returns an error, the wait comes before
	// the answer, and everywhere else the answer's last bytes may wait too, so a
	// server that keeps running should call sentry.Flush once, when it ends.
	// Defaults to 0, which is not to wait.
	FlushTimeout time.Duration
}

// NotFound says which requests that are answered with 404 are recorded. The
// client's option TraceIgnoreStatusCodes has no say in these: its default drops
// all of them, and can't be told from a choice. For other codes it has.
type NotFound int

// What to do with requests that are answered with 404.
const (
	// HandlersNotFound records those of handlers: a stock that there is not. A
	// request that matches no route is left out; those come from strangers who try
	// paths.
	HandlersNotFound NotFound = iota
	// AllNotFound records all. Requests that match no route are [UnmatchedName].
	AllNotFound
	// NoNotFound records none.
	NoNotFound
)

// Sentry makes a transaction of every request, named by its route ("GET
// /api/stocks/:ticker"). Hub and span are in c.Request().Context(), so that
// calls made with it become the transaction's spans.
//
// The status is what the client gets, whoever turned the handler's error into
// it. It is 499 where the client went away before there was an answer.
//
// A panic that gets here is reported, with its value as it is, and goes on.
// Echo's middleware.Recover turns it into an error, for which this one has no
// report, so Recover belongs in front of Sentry:
//
//	e.Use(echomiddleware.Recover(), middleware.Sentry())
//
// The panic with http.ErrAbortHandler, which drops a connection, is no bug and is
// not reported.
//
// # Streams
//
// A transaction ends when the handler returns, but for what may go on for hours:
// that of a connection which the handler takes over, for a WebSocket say, ends
// there with status 101, and that of an event stream (text/event-stream) ends
// when it is first flushed. What happens after that can have transactions of its
// own, see tracing.Continue. Other streams, downloads among them, are in their
// request's transaction until they end.
//
// # Traces from elsewhere
//
// A trace that a browser or another service began is continued: by the headers
// sentry-trace and baggage, else by the W3C's traceparent. A browser sends them
// to another origin only when that allows it; see the example with CORS.
//
// # Hubs
//
// The client is the one of the hub in the request's context, else of
// sentry.CurrentHub. A request that has a span already is left to whoever
// started it, so registering twice does no harm.
//
// The request's hub is for one goroutine at a time. Goroutines that run side by
// side and report errors take a clone each, hub.Clone().
//
// No value of a request is sent: no path, query, header, cookie, parameter or
// body, and no address.
func Sentry() echo.MiddlewareFunc { return SentryWithConfig(DefaultSentryConfig()) }

// DefaultSentryConfig returns the config of [Sentry], which is also what the
// zero SentryConfig means.
func DefaultSentryConfig() SentryConfig {
	return SentryConfig{MaxSpans: tracing.DefaultMaxSpans, NotFound: HandlersNotFound}
}

// SentryWithConfig is [Sentry] with a config. It panics when the config is
// wrong.
func SentryWithConfig(cfg SentryConfig) echo.MiddlewareFunc { return must(cfg.ToMiddleware()) }

// ToMiddleware returns the middleware, or what is wrong with the config.
func (cfg SentryConfig) ToMiddleware() (echo.MiddlewareFunc, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if cfg.MaxSpans == 0 {
		cfg.MaxSpans = tracing.DefaultMaxSpans
	}
	m := &sentryMiddleware{SentryConfig: cfg}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if cfg.Skipper.skips(c) || sentry.SpanFromContext(c.Request().Context()) != nil {
				return next(c)
			}
			return m.serve(c, next)
		}
	}, nil
}

func (cfg *SentryConfig) validate() error {
	var errs []error
	if cfg.MaxSpans < -1 {
		errs = append(errs, errors.New("middleware: SentryConfig.MaxSpans must be positive, 0 for the default or -1 for no limit"))
	}
	if cfg.NotFound < HandlersNotFound || cfg.NotFound > NoNotFound {
		errs = append(errs, errors.New("middleware: SentryConfig.NotFound must be HandlersNotFound, AllNotFound or NoNotFound"))
	}
	if cfg.FlushTimeout < 0 {
		errs = append(errs, errors.New("middleware: SentryConfig.FlushTimeout must be positive, or 0 for no wait"))
	}
	return errors.Join(errs...)
}

// sentryMiddleware is a config at work. It is safe for concurrent use.
type sentryMiddleware struct {
	SentryConfig
	routes routeBook
	client atomic.Pointer[client]
}

func (m *sentryMiddleware) serve(c echo.Context, next echo.HandlerFunc) (err error) {
	x := m.begin(c)
	returned := false
	defer func() {
		if returned {
			return
		}
		if p := recover(); p != nil {
			x.panicked(c, p)
			panic(p)
		}
		x.exited(c)
	}()
	err = next(c)
	returned = true
	x.returned(c, err)
	return err
}
