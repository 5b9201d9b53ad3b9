package middleware

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/getsentry/sentry-go"
)

// incoming is the trace that a request belongs to, as its headers tell.
type incoming struct {
	ok    bool
	trace string // as the sentry-trace header has it
	dsc   sentry.DynamicSamplingContext
}

// incomingOf reads the headers: Sentry's, else the W3C's. What is malformed is
// not there.
func incomingOf(h http.Header) incoming {
	in := incoming{trace: h.Get(sentry.SentryTraceHeader)}
	if in.trace == "" {
		in.trace = fromTraceparent(h.Values(sentry.TraceparentHeader))
	}
	if in.trace == "" {
		return incoming{}
	}
	parent, ok := sentry.ParseTraceParentContext([]byte(in.trace))
	if !ok || parent.TraceID == (sentry.TraceID{}) || parent.ParentSpanID == (sentry.SpanID{}) {
		return incoming{}
	}
	in.ok = true
	// A trace without Sentry's baggage has an empty sampling context, which is not
	// this service's to fill.
	in.dsc = sentry.DynamicSamplingContext{Frozen: true}
	if bag := h.Values(sentry.SentryBaggageHeader); len(bag) > 0 {
		dsc, err := sentry.DynamicSamplingContextFromHeader([]byte(strings.Join(bag, ",")))
		if err == nil && dsc.HasEntries() && dsc.Entries["trace_id"] == parent.TraceID.String() {
			in.dsc = dsc // of this trace and no other
		}
	}
	return in
}

// distrust takes the caller's sampling decision off, so that this service makes
// its own.
func (in *incoming) distrust() {
	if !in.ok {
		return
	}
	in.trace = in.trace[:len("0123456789abcdef0123456789abcdef-0123456789abcdef")]
	for _, key := range []string{"sampled", "sample_rate", "sample_rand"} {
		delete(in.dsc.Entries, key)
	}
}

// decide puts this service's decision where the caller's was. The SDK has put
// its rate there.
func (in *incoming) decide(s sentry.Sampled) {
	if in.dsc.HasEntries() {
		in.dsc.Entries["sampled"] = strconv.FormatBool(s.Bool())
	}
}

// continueOn makes a root span part of the trace, unless the trace is another
// organization's.
func (in *incoming) continueOn(root *sentry.Span) {
	if !in.ok {
		return
	}
	organization := ""
	if id := in.dsc.Entries["org_id"]; id != "" && isDigits(id) {
		organization = "sentry-org_id=" + id
	}
	sentry.ContinueFromHeaders(in.trace, organization)(root)
	if root.ParentSpanID == (sentry.SpanID{}) {
		*in = incoming{}
		return
	}
	root.SetDynamicSamplingContext(in.dsc)
}

func isDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// fromTraceparent turns a W3C header into Sentry's form, "" when there is none or
// more than one: https://www.w3.org/TR/trace-context/#traceparent-header
func fromTraceparent(headers []string) string {
	const length = len("00-0123456789abcdef0123456789abcdef-0123456789abcdef-01")
	if len(headers) != 1 || len(headers[0]) < length {
		return ""
	}
	h := headers[0]
	version, trace, parent, flags := h[0:2], h[3:35], h[36:52], h[53:55]
	if h[2] != '-' || h[35] != '-' || h[52] != '-' || !isLowerHex(version) || !isLowerHex(trace) || !isLowerHex(parent) || !isLowerHex(flags) {
		return ""
	}
	switch {
	case version == "ff": // forbidden
		return ""
	case len(h) == length:
	case version == "00", h[length] != '-': // later versions may add fields
		return ""
	}
	bits, err := strconv.ParseUint(flags, 16, 8)
	if err != nil {
		return ""
	}
	if bits&1 == 1 {
		return trace + "-" + parent + "-1"
	}
	return trace + "-" + parent + "-0"
}

func isLowerHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }
