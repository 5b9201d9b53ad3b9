package middleware

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/getsentry/sentry-go"
)

// continued continues the trace that the request belongs to. Without trust the
// caller's sampling decision is taken off, so that this service makes its own.
func continued(hub *sentry.Hub, r *http.Request, trust bool) sentry.SpanOption {
	trace := r.Header.Get(sentry.SentryTraceHeader)
	if trace == "" {
		trace = fromTraceparent(r.Header.Get(sentry.TraceparentHeader))
	}
	parent, ok := sentry.ParseTraceParentContext([]byte(trace))
	if !ok {
		return func(*sentry.Span) {}
	}
	if !trust {
		trace = parent.TraceID.String() + "-" + parent.ParentSpanID.String()
	}
	return sentry.ContinueTrace(hub, trace, r.Header.Get(sentry.SentryBaggageHeader))
}

// fromTraceparent turns a W3C header of version 00 into Sentry's form, "" when
// there is none: https://www.w3.org/TR/trace-context/#traceparent-header
func fromTraceparent(h string) string {
	p := strings.Split(h, "-")
	if len(p) != 4 || p[0] != "00" || len(p[1]) != 32 || len(p[2]) != 16 || len(p[3]) != 2 ||
		strings.Trim(p[1], "0") == "" || strings.Trim(p[2], "0") == "" {
		return ""
	}
	flags, err := strconv.ParseUint(p[3], 16, 8)
	if err != nil {
		return ""
	}
	flag := "-0"
	if flags&1 == 1 {
		flag = "-1"
	}
	return p[1] + "-" + p[2] + flag
}
