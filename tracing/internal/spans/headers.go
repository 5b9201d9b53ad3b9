package spans

import (
	"context"
	"strings"

	"github.com/getsentry/sentry-go"
)

// Headers are what continues a trace elsewhere.
type Headers struct {
	SentryTrace string // "" where there is no trace
	Baggage     string // "" where there is none to send
}

// HeadersFrom returns the headers for calls made with ctx. Their parent is the
// root span, whatever span is current: they are the same for a whole request, so
// they are made once.
//
// The SDK's own Span.ToBaggage is not for this. It writes to the root without a
// lock, and called on a child it overwrites what came with the request.
func HeadersFrom(ctx context.Context) Headers {
	if t := from(ctx); t != nil {
		return t.Headers()
	}
	span := sentry.SpanFromContext(ctx)
	if span == nil {
		return Headers{}
	}
	// A transaction that isn't ours: nothing orders us before or behind its owner,
	// so there is only what can be had by reading.
	root := span.GetTransaction()
	if root == nil {
		return Headers{}
	}
	h := Headers{SentryTrace: sentryTrace(root, root.Sampled, tracingEnabled(root))}
	if root.ParentSpanID == (sentry.SpanID{}) && tracingEnabled(root) {
		h.Baggage = sentry.DynamicSamplingContextFromTransaction(root).String()
	}
	return h
}

// Headers returns the transaction's headers. Once it has ended, and nobody has
// asked before, there is no baggage any more.
func (t *Transaction) Headers() Headers {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.headers.SentryTrace != "" {
		return t.headers
	}
	decided := tracingEnabled(t.root)
	h := Headers{SentryTrace: sentryTrace(t.root, t.decision, decided)}
	if t.ended {
		return h // the SDK may be at work on the root
	}
	if decided || t.root.ParentSpanID != (sentry.SpanID{}) {
		h.Baggage = t.root.ToBaggage()
	}
	t.headers = h
	return h
}

// tracingEnabled says whether the sampling decision is one at all. A service
// that doesn't trace passes traces on, and must not forbid them to others.
func tracingEnabled(root *sentry.Span) bool {
	hub := sentry.GetHubFromContext(root.Context())
	if hub == nil {
		hub = sentry.CurrentHub()
	}
	client := hub.Client()
	return client.IsEnabled() && client.Options().EnableTracing
}

// sentryTrace is the header's value.
// Source: https://develop.sentry.dev/sdk/foundations/trace-propagation/
func sentryTrace(root *sentry.Span, sampled sentry.Sampled, decided bool) string {
	trace := root.TraceID.String() + "-" + root.SpanID.String()
	switch {
	case !decided:
		return trace
	case sampled == sentry.SampledTrue:
		return trace + "-1"
	}
	return trace + "-0"
}

// Apart returns a context like ctx that belongs to no transaction and has no
// current span, for a transaction that comes out of another one.
func Apart(ctx context.Context) context.Context { return apart{ctx} }

type apart struct{ context.Context }

// Value hides what belongs to the transaction. The SDK's key for spans is
// private, but what it stores has a type.
func (a apart) Value(key any) any {
	v := a.Context.Value(key)
	switch v.(type) {
	case *sentry.Span, *Transaction:
		return nil
	}
	return v
}

// WithoutSentry joins baggage headers, each member followed by a comma, without
// the members that are Sentry's.
func WithoutSentry(headers []string) string {
	var b strings.Builder
	for _, h := range headers {
		for member := range strings.SplitSeq(h, ",") {
			if m := strings.TrimSpace(member); m != "" && !strings.HasPrefix(m, "sentry-") {
				b.WriteString(m)
				b.WriteByte(',')
			}
		}
	}
	return b.String()
}
