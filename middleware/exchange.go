package middleware

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/getsentry/sentry-go"
	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/tracing"
)

// exchange is one request and its transaction.
type exchange struct {
	hub    *sentry.Hub
	tx     *tracing.Transaction
	outer  context.Context // the request's own, without what was added here
	method string
	routes *routeBook
	writer watchedWriter
	name   string // so far
	once   sync.Once
}

// outcome is what is said about a request at its end.
type outcome struct {
	code   int // HTTP status, 0 when it is not known
	status sentry.SpanStatus
	late   bool // the handler failed behind the response
	route  string
	name   string
}

// StatusClientClosedRequest is recorded for a request whose client went away
// before it was answered. No client ever sees it.
const StatusClientClosedRequest = 499

func (cfg *SentryConfig) begin(c echo.Context, routes *routeBook) *exchange {
	r := c.Request()
	x := &exchange{outer: r.Context(), method: methodName(r.Method), routes: routes}
	hub := sentry.GetHubFromContext(x.outer)
	if hub == nil {
		hub = sentry.CurrentHub()
	}
	x.hub = hub.Clone()
	x.name, _ = routes.nameOf(c, x.method)
	root := sentry.StartSpan(sentry.SetHubOnContext(x.outer, x.hub), "http.server",
		func(s *sentry.Span) {
			s.Name, s.Source, s.Origin = x.name, sentry.SourceRoute, sentry.SpanOriginEcho
		},
		continued(x.hub, r, cfg.TrustSampling != nil && cfg.TrustSampling(c)))
	x.tx = tracing.NewTransaction(root, cfg.MaxSpans)
	c.SetRequest(r.WithContext(offerSubject(x.tx.Context())))
	x.writer.watch(c.Response())
	return x
}

// returned ends the transaction where the answer is known, and waits for it
// where the handler's error has yet to be turned into one. Turning it here, by
// c.Error, would change the answer wherever a middleware further out does that.
func (x *exchange) returned(c echo.Context, err error) {
	resp, ctx := c.Response(), c.Request().Context()
	o := x.describe(c)
	switch {
	case x.writer.hijacked.Load():
		o.code, o.status = switched(c.Request()), sentry.SpanStatusOK
		if err != nil && !x.abandoned(err) {
			o.status, o.late = sentry.SpanStatusInternalError, true
		}
		x.finish(ctx, o)
	case resp.Committed:
		o.late = err != nil && !x.abandoned(err)
		x.answered(ctx, o, resp.Status)
	case err == nil: // net/http answers with what is set
		x.answered(ctx, o, resp.Status)
	case x.abandoned(err):
		o.code, o.status = StatusClientClosedRequest, sentry.SpanStatusCanceled
		x.finish(ctx, o)
	default:
		// The net for a request that is never answered. c belongs to another
		// request by then.
		stop := context.AfterFunc(x.outer, func() {
			o.status = sentry.SpanStatusUnknown
			x.finish(ctx, o)
		})
		resp.Before(func() {
			stop()
			x.answered(ctx, o, resp.Status)
		})
	}
}

// switched is the status of an answer on a connection that the handler took
// over: known only where the client had asked for another protocol, else 0.
func switched(r *http.Request) int {
	if r.Header.Get(echo.HeaderUpgrade) != "" {
		return http.StatusSwitchingProtocols
	}
	return 0
}

// abandoned says whether the handler gave up because the client had.
func (x *exchange) abandoned(err error) bool {
	return errors.Is(err, context.Canceled) && errors.Is(x.outer.Err(), context.Canceled)
}

func (x *exchange) panicked(c echo.Context, p any) {
	o := x.describe(c)
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		o.status = sentry.SpanStatusAborted // the way to drop a connection, not a bug
	} else {
		x.hub.RecoverWithContext(c.Request().Context(), p)
		o.code, o.status = http.StatusInternalServerError, sentry.SpanStatusInternalError
	}
	switch resp := c.Response(); {
	case x.writer.hijacked.Load():
		o.code, o.late = switched(c.Request()), true
	case resp.Committed:
		o.code, o.late = resp.Status, true
	}
	x.finish(c.Request().Context(), o)
}

func (x *exchange) describe(c echo.Context) (o outcome) {
	o.name, o.route = x.routes.nameOf(c, x.method)
	return o
}

func (x *exchange) answered(ctx context.Context, o outcome, code int) {
	o.code, o.status = code, sentry.HTTPtoSpanStatus(code)
	if o.late {
		o.status = sentry.SpanStatusInternalError
	}
	x.finish(ctx, o)
}

// finish says what there is to say about the request, once.
func (x *exchange) finish(ctx context.Context, o outcome) {
	x.once.Do(func() {
		root := x.tx.Root()
		x.exclusively(func() {
			root.Status = o.status
			if o.name != "" && o.name != x.name { // known since routing, under Echo.Pre
				root.Name = o.name
			}
		})
		if x.tx.Sampled() {
			root.SetData("http.request.method", x.method)
			if o.route != "" {
				root.SetData("http.route", o.route)
			}
			if o.code != 0 {
				root.SetData("http.response.status_code", o.code)
			}
			if o.late {
				root.SetData("http.response.late_error", true)
			}
			if d, ok := dbaccess.DecisionFrom(ctx); ok {
				setDecision(root, d)
			}
		}
		x.tx.Finish()
	})
}

func setDecision(root *sentry.Span, d dbaccess.Decision) {
	root.SetData("db.access_path", string(d.Path))
	root.SetData("db.access_path.reason", d.Reason)
	if d.Variant != "" {
		root.SetData("db.access_path.variant", d.Variant)
	}
	if d.Flag != "" {
		root.SetData("flag.evaluation."+d.Flag, d.Path == dbaccess.Direct)
	}
}

// exclusively runs f while the scope does not know the root. The SDK has no
// setter for a span's status, and reads it without regard to writers when an
// error is captured; goroutines that outlive their request do capture some. The
// scope's lock orders the one before or behind the other.
func (x *exchange) exclusively(f func()) {
	scope := x.hub.Scope()
	root := x.tx.Root()
	if scope.GetSpan() != root {
		f() // not known to the scope: tracing is off, or a span of the app's is current
		return
	}
	scope.SetSpan(nil)
	f()
	scope.SetSpan(root)
}
