package middleware

import (
	"context"
	"errors"
	"strings"

	"github.com/getsentry/sentry-go"
	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/rollout"
)

// DefaultAccessPathHeader is the header by which a request that is allowed to
// may choose its path.
const DefaultAccessPathHeader = "X-Db-Access-Path"

// AccessPathConfig configures [AccessPathWithConfig].
type AccessPathConfig struct {
	// Skipper leaves out requests, whose calls then each decide for themselves.
	// Defaults to none.
	Skipper Skipper
	// DB is the DB whose calls are meant. Required.
	DB *dbaccess.DB
	// Allow says whether a request may choose its path by Header: because a member
	// of the staff sent it, or somebody on the machine itself (latency.AllowLoopback
	// tells). It is asked only where the header names a path. Defaults to nobody,
	// and then the header means nothing.
	Allow func(c echo.Context) bool
	// Header is the header's name; its value is "rest" or "direct", in upper or lower
	// case. Any other value is ignored, and so is a header that is sent more than
	// once, or that comes when the request's path has been decided. Defaults to
	// DefaultAccessPathHeader.
	Header string
}

// AccessPath makes all database calls of a request take one path. It is decided
// at the first call, by the DB's router, and shown on the request's transaction.
//
// Requests are divided by user. Where no user is known and the application has
// given no other subject, by dbaccess.WithSubject further in, they are divided
// by trace, so that the requests of one page go together.
func AccessPath(db *dbaccess.DB) echo.MiddlewareFunc {
	return AccessPathWithConfig(AccessPathConfig{DB: db})
}

// AccessPathWithConfig is [AccessPath] with a config. It panics when the config
// is wrong.
func AccessPathWithConfig(cfg AccessPathConfig) echo.MiddlewareFunc { return must(cfg.ToMiddleware()) }

// ToMiddleware returns the middleware, or what is wrong with the config.
func (cfg AccessPathConfig) ToMiddleware() (echo.MiddlewareFunc, error) {
	if cfg.DB == nil {
		return nil, errors.New("middleware: AccessPathConfig.DB is nil: pass the DB from dbaccess.New")
	}
	if cfg.Header == "" {
		cfg.Header = DefaultAccessPathHeader
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if cfg.Skipper.skips(c) {
				return next(c)
			}
			r := c.Request()
			ctx := dbaccess.Pin(r.Context())
			if ctx != r.Context() { // else it has been here before
				ctx = offerSubject(context.WithValue(ctx, wantsSubject{}, true))
			}
			if p := cfg.chosen(ctx, c); p != "" {
				ctx = dbaccess.WithDecision(ctx, dbaccess.Decision{Path: p, Variant: string(p), Reason: rollout.ReasonOverride})
			}
			c.SetRequest(r.WithContext(dbaccess.WithRequestHeaders(ctx, r.Header)))
			return next(c)
		}
	}, nil
}

// chosen returns the path that the request asks for and may ask for, "" when there
// is none or it comes too late.
func (cfg *AccessPathConfig) chosen(ctx context.Context, c echo.Context) dbaccess.Path {
	if cfg.Allow == nil {
		return ""
	}
	sent := c.Request().Header.Values(cfg.Header)
	if len(sent) != 1 { // of two, a proxy may have checked the other one
		return ""
	}
	p := dbaccess.Path(strings.ToLower(strings.TrimSpace(sent[0])))
	if _, decided := dbaccess.DecisionFrom(ctx); decided || !p.Valid() || !cfg.Allow(c) {
		return ""
	}
	return p
}

// wantsSubject marks a context in which AccessPath has been.
type wantsSubject struct{}

// offerSubject gives the trace as the subject to divide by, as soon as both
// AccessPath and Sentry have been there, in whichever order.
func offerSubject(ctx context.Context) context.Context {
	if ctx.Value(wantsSubject{}) == nil || dbaccess.SubjectFrom(ctx) != "" {
		return ctx
	}
	if span := sentry.SpanFromContext(ctx); span != nil {
		return dbaccess.WithSubject(ctx, span.TraceID.String())
	}
	return ctx
}
