package middleware

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/getsentry/sentry-go"
	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/tracing"
)

// exchange is one request and its transaction.
type exchange struct {
	hubContext
	m       *sentryMiddleware
	client  *client
	from    incoming
	root    *sentry.Span
	sampled bool // root's decision, which the SDK may change at the end
	tx      *tracing.Transaction
	method  string
	name    string // so far
	writer  watchedWriter
	once    sync.Once
	ended   atomic.Bool
	end     outcome // valid when ended
}

// outcome is what is said about a request at its end.
type outcome struct {
	code   int // HTTP status, 0 when it is not known
	status sentry.SpanStatus
	late   bool // the handler failed behind the response
	name   string
	route  string // "" when there is none
}

// StatusClientClosedRequest is recorded for a request whose client went away
// before it was answered. No client ever sees it.
const StatusClientClosedRequest = 499

func (m *sentryMiddleware) begin(c echo.Context) *exchange {
	r := c.Request()
	x := &exchange{m: m, method: methodName(r.Method)}
	x.x, x.Context = x, r.Context()
	x.base = sentry.GetHubFromContext(x.Context)
	if x.base == nil {
		x.base = sentry.CurrentHub()
	}
	x.name, _ = m.routes.nameOf(c, x.method)
	x.from = incomingOf(r.Header)
	trusted := x.from.ok && m.TrustSampling != nil && m.TrustSampling(c)
	if !trusted {
		x.from.distrust()
	}
	x.client = m.clientOf(x.base)
	x.start()
	if !trusted {
		x.from.decide(x.root.Sampled)
	}
	x.tx = tracing.NewTransaction(x.root, m.MaxSpans)
	c.SetRequest(r.WithContext(offerSubject(x.tx.Context())))
	if x.wanted() {
		x.writer.watch(x, c)
	}
	return x
}

// start makes the root.
func (x *exchange) start() {
	if !x.client.sampler {
		x.starting = x.client.starter
	}
	x.root = sentry.StartSpan(&x.hubContext, "http.server", func(s *sentry.Span) {
		s.Name, s.Source, s.Origin = x.name, sentry.SourceRoute, sentry.SpanOriginEcho
		x.from.continueOn(s)
	})
	x.sampled = x.root.Sampled.Bool()
	if !x.sampled {
		x.root.Finish() // nothing is sent, only counted
	}
	if x.starting != nil {
		x.starting.Scope().SetSpan(nil)
		x.starting = nil
	} else if x.hub != nil {
		x.equip(x.hub) // made for the sampler, before there was a root
	}
}

// equip makes a clone the request's own hub.
func (x *exchange) equip(hub *sentry.Hub) {
	scope := hub.Scope()
	if scope == nil || x.root == nil {
		return
	}
	// Errors belong to the trace, whether spans are made or not.
	scope.SetPropagationContext(sentry.PropagationContext{
		TraceID: x.root.TraceID, SpanID: x.root.SpanID, ParentSpanID: x.root.ParentSpanID,
		DynamicSamplingContext: x.from.dsc,
	})
	if x.client.tracing {
		scope.SetSpan(x.root)
	}
	if x.sampled {
		scope.AddEventProcessor(x.amend)
	}
}

// wanted says whether the request's end is of interest.
func (x *exchange) wanted() bool {
	return x.sampled || x.m.CaptureErrors || x.m.FlushTimeout > 0
}

// returned ends the transaction where the answer is known, and waits for it
// where the handler's error has yet to be turned into one. Turning it here, by
// c.Error, would change the answer wherever a middleware further out does that.
func (x *exchange) returned(c echo.Context, err error) {
	if !x.wanted() {
		return
	}
	x.writer.forget()
	if x.abandoned(err) && !x.writer.answered(c) {
		o := x.describe(c)
		o.code, o.status = StatusClientClosedRequest, sentry.SpanStatusCanceled
		x.conclude(c, o, nil)
		return
	}
	if x.abandoned(err) {
		err = nil // nobody is there to be failed
	}
	if err == nil || x.writer.answered(c) {
		x.conclude(c, x.answer(c, x.writer.statusOf(c), err), err)
		return
	}
	// The net for a request that is never answered. c belongs to another request
	// by then.
	ctx, o := c.Request().Context(), x.describe(c)
	stop := context.AfterFunc(x.Context, func() {
		o.status = sentry.SpanStatusUnknown
		x.finish(ctx, o)
	})
	c.Response().Before(func() {
		stop()
		x.conclude(c, x.answer(c, c.Response().Status, err), err)
	})
}

// answer describes a request that is answered with a status.
func (x *exchange) answer(c echo.Context, code int, err error) outcome {
	o := x.describe(c)
	o.code, o.status = code, sentry.HTTPtoSpanStatus(code)
	if err != nil && code < http.StatusBadRequest { // else the answer is the error's
		o.status, o.late = sentry.SpanStatusInternalError, true
	}
	return o
}

// conclude ends the request: with a report where one is due, the transaction,
// and a wait for both to be sent.
func (x *exchange) conclude(c echo.Context, o outcome, err error) {
	if x.m.CaptureErrors && err != nil && (o.late || o.code >= http.StatusInternalServerError) {
		x.own().CaptureException(err)
	}
	x.finish(c.Request().Context(), o)
	x.flush()
}

func (x *exchange) flush() {
	if x.m.FlushTimeout > 0 {
		x.base.Client().Flush(x.m.FlushTimeout)
	}
}

// abandoned says whether the handler gave up because the client had.
func (x *exchange) abandoned(err error) bool {
	return errors.Is(err, context.Canceled) && errors.Is(x.Context.Err(), context.Canceled)
}

func (x *exchange) panicked(c echo.Context, p any) {
	x.writer.forget()
	o := x.describe(c)
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		o.status = sentry.SpanStatusAborted // the way to drop a connection, not a bug
	} else {
		x.own().RecoverWithContext(c.Request().Context(), p)
		o.code, o.status = http.StatusInternalServerError, sentry.SpanStatusInternalError
	}
	if x.writer.answered(c) {
		o.code, o.late = x.writer.statusOf(c), true
	}
	x.conclude(c, o, nil)
}

// exited ends the transaction of a handler that neither returned nor panicked:
// runtime.Goexit.
func (x *exchange) exited(c echo.Context) {
	x.writer.forget()
	o := x.describe(c)
	o.status = sentry.SpanStatusAborted
	x.conclude(c, o, nil)
}

func (x *exchange) describe(c echo.Context) (o outcome) {
	o.name, o.route = x.m.routes.nameOf(c, x.method)
	return o
}

// finish says what there is to say about the request, once.
func (x *exchange) finish(ctx context.Context, o outcome) {
	if !x.sampled {
		return
	}
	x.once.Do(func() {
		x.end = o
		x.ended.Store(true)
		x.root.SetData("http.request.method", x.method)
		if o.route != "" {
			x.root.SetData("http.route", o.route)
		}
		switch {
		case o.code == http.StatusNotFound:
			// Not an int: the SDK would drop the transaction, see NotFound.
			x.root.SetData(statusCode, int64(o.code))
		case o.code != 0:
			x.root.SetData(statusCode, o.code)
		}
		if o.late {
			x.root.SetData("http.response.late_error", true)
		}
		if d, ok := dbaccess.DecisionFrom(ctx); ok {
			setDecision(x.root, d)
		}
		x.tx.Finish()
	})
}

const statusCode = "http.response.status_code"

// amend completes the transaction on its way out: with what the SDK has no
// setter for. Its Span.Status and Name are plain fields, which it reads whenever
// an error is captured in the request or in what the request left behind.
func (x *exchange) amend(event *sentry.Event, _ *sentry.EventHint) *sentry.Event {
	trace := event.Contexts["trace"]
	if event.Type != "transaction" || trace["span_id"] != x.root.SpanID || !x.ended.Load() {
		// A report, a transaction that got a clone of the hub, or the request's own
		// ended by the handler itself.
		return event
	}
	if x.dropped() {
		return nil
	}
	trace["status"] = x.end.status
	if x.end.name != x.name { // known since routing, under Echo.Pre
		event.Transaction = x.end.name
	}
	return event
}

func (x *exchange) dropped() bool {
	if x.end.code != http.StatusNotFound {
		return false
	}
	return x.m.NotFound == NoNotFound || x.m.NotFound == HandlersNotFound && x.end.route == ""
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
