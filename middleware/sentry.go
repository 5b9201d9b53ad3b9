package middleware

import (
	"errors"

	"github.com/getsentry/sentry-go"
	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/tracing"
)

// SentryConfig configures [SentryWithConfig].
type SentryConfig struct {
	// Skipper leaves out requests that need no transaction, such as health
	// checks. Defaults to none.
	Skipper Skipper
	// TrustSampling says whether a request comes from someone whose sampling
	// decision counts here. Traces are continued in any case, but the -1 in a
	// stranger's sentry-trace header would make this service record at the
	// stranger's rate. Defaults to nobody.
	TrustSampling func(c echo.Context) bool
	// MaxSpans is the number of spans that calls may add to one transaction, see
	// tracing.NewTransaction. Defaults to tracing.DefaultMaxSpans; -1 means no
	// limit.
	MaxSpans int
}

// Sentry makes a transaction of every request, named by its route ("GET
// /api/stocks/:ticker"). Hub and span are in c.Request().Context(), so that
// calls made with it become the transaction's spans.
//
// The status is what the client gets, whoever turned the handler's error into
// it. That of a connection which the handler takes over, for a WebSocket say, is
// 101.
//
// A panic that gets here is reported and goes on. Echo's middleware.Recover
// turns it into an error, for which this one has no report, so Recover belongs in
// front of Sentry:
//
//	e.Use(echomiddleware.Recover(), middleware.Sentry())
//
// The client is the one of the hub in the request's context, else of
// sentry.CurrentHub. A request that has a span already is left to whoever
// started it, so registering twice does no harm.
func Sentry() echo.MiddlewareFunc { return SentryWithConfig(SentryConfig{}) }

// SentryWithConfig is [Sentry] with a config. It panics when the config is
// wrong.
func SentryWithConfig(cfg SentryConfig) echo.MiddlewareFunc { return must(cfg.ToMiddleware()) }

// ToMiddleware returns the middleware, or what is wrong with the config.
func (cfg SentryConfig) ToMiddleware() (echo.MiddlewareFunc, error) {
	if cfg.MaxSpans < -1 {
		return nil, errors.New("middleware: SentryConfig.MaxSpans must be positive, 0 for the default or -1 for no limit")
	}
	if cfg.MaxSpans == 0 {
		cfg.MaxSpans = tracing.DefaultMaxSpans
	}
	routes := &routeBook{}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if cfg.Skipper.skips(c) || sentry.SpanFromContext(c.Request().Context()) != nil {
				return next(c)
			}
			return cfg.serve(c, next, routes)
		}
	}, nil
}

func (cfg *SentryConfig) serve(c echo.Context, next echo.HandlerFunc, routes *routeBook) (err error) {
	x := cfg.begin(c, routes)
	returned := false
	defer func() {
		if returned {
			return
		}
		if p := recover(); p != nil {
			x.panicked(c, p)
			panic(p)
		}
		x.finish(c.Request().Context(), outcome{status: sentry.SpanStatusAborted}) // runtime.Goexit
	}()
	err = next(c)
	returned = true
	x.returned(c, err)
	return err
}
