package tracing

import (
	"context"
	"net/http"

	"github.com/getsentry/sentry-go"

	"github.com/twinpath/twinpath/tracing/internal/spans"
)

// DefaultMaxSpans is how many spans this module puts under one transaction.
// Sentry loses a transaction as a whole when it has too many or becomes too big,
// and does so for the slow requests of all.
const DefaultMaxSpans = 200

// Transaction is a Sentry transaction that calls may run under side by side and
// even outlive. middleware.Sentry makes one for each request; jobs make their
// own:
//
//	tx := tracing.NewTransaction(sentry.StartTransaction(ctx, "nightly import"), tracing.DefaultMaxSpans)
//	defer tx.Finish()
//	rows, err := dbaccess.All[Row](tx.Context(), db, q)
type Transaction struct{ t *spans.Transaction }

// NewTransaction takes over a root span. At most limit spans of this module are
// put under it; the rest is counted and summed up in the root's attributes
// db.spans_dropped and db.spans_dropped_ms. A limit below zero means none.
func NewTransaction(root *sentry.Span, limit int) *Transaction {
	return &Transaction{spans.NewTransaction(root, limit)}
}

// TransactionFrom returns the transaction that ctx belongs to, and whether there
// is one.
func TransactionFrom(ctx context.Context) (*Transaction, bool) {
	if t := spans.From(ctx); t != nil {
		return &Transaction{t}, true
	}
	return nil, false
}

// Context is the context for what belongs to the transaction.
func (t *Transaction) Context() context.Context { return t.t.Context() }

// Root is the transaction's root span. It must not be changed after Finish.
func (t *Transaction) Root() *sentry.Span { return t.t.Root() }

// Sampled says whether the transaction is going to be sent.
func (t *Transaction) Sampled() bool { return t.t.Sampled() }

// Finish ends the transaction and sends it. Calls that end later are left out of
// it. Finishing again does nothing.
func (t *Transaction) Finish() { t.t.Finish() }

// Continue starts a transaction for work that comes out of another one and is
// not part of it: a job that a request sets off and does not wait for, or a
// message on a WebSocket whose request has long been answered. (For these,
// sentry.StartTransaction would hand out the request's transaction again.)
//
//	go func(ctx context.Context) {
//		tx := tracing.Continue(ctx, "recount")
//		defer tx.Finish()
//		…
//	}(context.WithoutCancel(ctx))
//
// It belongs to the trace of ctx, below its span, and is sampled as that was
// unless the client has a TracesSampler. Its hub is a clone of that in ctx. Where
// ctx has no span it starts a trace of its own.
func Continue(ctx context.Context, name string, options ...sentry.SpanOption) *Transaction {
	hub := sentry.GetHubFromContext(ctx)
	if hub == nil {
		hub = sentry.CurrentHub()
	}
	hub = hub.Clone()
	if scope := hub.Scope(); scope != nil {
		scope.SetSpan(nil)
	}
	if h := spans.HeadersFrom(ctx); h.Baggage != "" {
		options = append([]sentry.SpanOption{sentry.ContinueFromHeaders(h.SentryTrace, h.Baggage)}, options...)
	} else if h.SentryTrace != "" {
		options = append([]sentry.SpanOption{sentry.ContinueFromTrace(h.SentryTrace)}, options...)
	}
	root := sentry.StartTransaction(sentry.SetHubOnContext(spans.Apart(ctx), hub), name, options...)
	return NewTransaction(root, DefaultMaxSpans)
}

// TraceHeaders are the headers that continue a trace in another service.
type TraceHeaders struct {
	SentryTrace string // of the header sentry-trace; "" where there is no trace
	Baggage     string // of the header baggage; "" where there is none to send
}

// Headers returns the headers that continue the trace of ctx, for calls to
// services whose traces go to Sentry too. They are made once for a transaction,
// at the first call, and may be asked for by several goroutines at a time.
//
//	tracing.Headers(ctx).Inject(req.Header)
//
// Send them to services of your own only: they name the transaction, the release
// and the environment.
func Headers(ctx context.Context) TraceHeaders { return TraceHeaders(spans.HeadersFrom(ctx)) }

// Inject sets the headers in h, beside the baggage of others that is there
// already. Without a trace it leaves h as it is.
func (t TraceHeaders) Inject(h http.Header) {
	if t.SentryTrace == "" {
		return
	}
	h.Set(sentry.SentryTraceHeader, t.SentryTrace)
	if t.Baggage == "" {
		return
	}
	members := spans.WithoutSentry(h.Values(sentry.SentryBaggageHeader))
	h.Set(sentry.SentryBaggageHeader, members+t.Baggage)
}
