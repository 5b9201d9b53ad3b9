package tracing_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/getsentry/sentry-go"
	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/internal/sentrytest"
	"github.com/twinpath/twinpath/tracing"
)

const (
	upstreamTrace = "0123456789abcdef0123456789abcdef-0123456789abcdef"
	upstreamBag   = "sentry-trace_id=0123456789abcdef0123456789abcdef,sentry-public_key=UPSTREAM,sentry-sample_rand=0.05"
)

func TestHeaders(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		change  func(*sentry.ClientOptions)
		options []sentry.SpanOption
		flag    string
		baggage []string // parts; none for no baggage
	}{
		{name: "sampled", flag: "-1", baggage: []string{"sentry-public_key=key", "sentry-sampled=true", "sentry-trace_id="}},
		{name: "not sampled", change: func(o *sentry.ClientOptions) { o.TracesSampleRate = 0 }, flag: "-0", baggage: []string{"sentry-sampled=false"}},
		{name: "continued", options: []sentry.SpanOption{sentry.ContinueFromHeaders(upstreamTrace+"-1", upstreamBag)}, flag: "-1",
			baggage: []string{"sentry-public_key=UPSTREAM", "sentry-sample_rand=0.05"}},
		{name: "continued without baggage", options: []sentry.SpanOption{sentry.ContinueFromHeaders(upstreamTrace+"-1", "")}, flag: "-1"},
		{name: "tracing off", change: func(o *sentry.ClientOptions) { o.EnableTracing = false }, flag: ""},
		{name: "tracing off, continued", change: func(o *sentry.ClientOptions) { o.EnableTracing = false },
			options: []sentry.SpanOption{sentry.ContinueFromHeaders(upstreamTrace, upstreamBag)}, flag: "", baggage: []string{"sentry-public_key=UPSTREAM"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := sentrytest.New(t, tt.change)
			tx := tracing.NewTransaction(sentry.StartTransaction(r.Context(), "job", tt.options...), 1)
			defer tx.Finish()
			child := sentry.StartSpan(tx.Context(), "task") // headers are the root's all the same
			defer child.Finish()
			h := tracing.Headers(child.Context())
			if want := tx.Root().TraceID.String() + "-" + tx.Root().SpanID.String() + tt.flag; h.SentryTrace != want {
				t.Errorf("sentry-trace %q, want %q", h.SentryTrace, want)
			}
			if (h.Baggage != "") != (len(tt.baggage) > 0) {
				t.Errorf("baggage %q", h.Baggage)
			}
			for _, part := range tt.baggage {
				if !strings.Contains(h.Baggage, part) {
					t.Errorf("no %q in baggage %q", part, h.Baggage)
				}
			}
			if again := tracing.Headers(tx.Context()); again != h {
				t.Errorf("then %+v, was %+v", again, h)
			}
		})
	}
	if h := tracing.Headers(t.Context()); h != (tracing.TraceHeaders{}) {
		t.Errorf("without a trace: %+v", h)
	}
}

// TestHeadersOfForeignTransactions: their owner may be at work on them, so that
// nothing may be written.
func TestHeadersOfForeignTransactions(t *testing.T) {
	t.Parallel()
	r := sentrytest.New(t, nil)
	root := sentry.StartTransaction(r.Context(), "theirs")
	span := root.StartChild("task")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			h := tracing.Headers(span.Context())
			if h.SentryTrace != root.ToSentryTrace() || !strings.Contains(h.Baggage, "sentry-transaction=theirs") {
				t.Errorf("got %+v", h)
			}
		})
	}
	wg.Wait()
	continued := sentry.StartTransaction(r.Context(), "theirs", sentry.ContinueFromHeaders(upstreamTrace+"-1", upstreamBag))
	if h := tracing.Headers(continued.Context()); h.SentryTrace != continued.ToSentryTrace() || h.Baggage != "" {
		t.Errorf("continued: %+v", h)
	}
}

// TestHeadersInParallel is for the race detector: calls that run side by side,
// and some that outlive the transaction.
func TestHeadersInParallel(t *testing.T) {
	t.Parallel()
	r := sentrytest.New(t, nil)
	for range 20 {
		tx := tracing.NewTransaction(sentry.StartTransaction(r.Context(), "job"), 1)
		got := make([]tracing.TraceHeaders, 8)
		var wg sync.WaitGroup
		for i := range got {
			wg.Go(func() { got[i] = tracing.Headers(tx.Context()) })
			if i == len(got)/2 {
				wg.Go(tx.Finish)
			}
		}
		wg.Wait()
		for _, h := range got {
			if !strings.HasPrefix(h.SentryTrace, tx.Root().TraceID.String()) {
				t.Errorf("got %+v", h)
			}
		}
	}
}

func TestInject(t *testing.T) {
	t.Parallel()
	headers := tracing.TraceHeaders{SentryTrace: "trace", Baggage: "sentry-public_key=key"}
	for _, tt := range []struct {
		name   string
		have   []string
		inject tracing.TraceHeaders
		want   http.Header
	}{
		{"nothing there", nil, headers, http.Header{"Sentry-Trace": {"trace"}, "Baggage": {"sentry-public_key=key"}}},
		{"baggage of others", []string{"a=1, sentry-public_key=old", "b=2;p"}, headers, http.Header{"Sentry-Trace": {"trace"}, "Baggage": {"a=1,b=2;p,sentry-public_key=key"}}},
		{"no baggage", []string{"a=1"}, tracing.TraceHeaders{SentryTrace: "trace"}, http.Header{"Sentry-Trace": {"trace"}, "Baggage": {"a=1"}}},
		{"no trace", []string{"a=1"}, tracing.TraceHeaders{}, http.Header{"Baggage": {"a=1"}}},
	} {
		h := http.Header{}
		if tt.have != nil {
			h["Baggage"] = tt.have
		}
		tt.inject.Inject(h)
		if diff := cmp.Diff(tt.want, h); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestContinue(t *testing.T) {
	t.Parallel()
	for name, continued := range map[string]bool{"head of a trace": false, "continued itself": true} {
		for _, ended := range []bool{false, true} {
			r := sentrytest.New(t, nil)
			r.Hub.Scope().SetTag("from", "outside")
			var options []sentry.SpanOption
			if continued {
				options = append(options, sentry.ContinueFromHeaders(upstreamTrace+"-1", upstreamBag))
			}
			tx := tracing.NewTransaction(sentry.StartTransaction(r.Context(), "request", options...), 1)
			if ended {
				tx.Finish()
			}
			job := tracing.Continue(tx.Context(), "job")
			if got, _ := tracing.TransactionFrom(job.Context()); got == nil || got.Root() != job.Root() {
				t.Errorf("%s: the context is not the job's", name)
			}
			sentry.StartSpan(job.Context(), "task").Finish()
			job.Finish()
			tx.Finish()
			var event *sentry.Event
			for _, e := range r.Transactions() {
				if e.Transaction == "job" {
					event = e
				}
			}
			if event == nil || len(r.Transactions()) != 2 {
				t.Fatalf("%s, ended %v: %d transactions", name, ended, len(r.Transactions()))
			}
			trace := event.Contexts["trace"]
			if trace["trace_id"] != tx.Root().TraceID || trace["parent_span_id"] != tx.Root().SpanID {
				t.Errorf("%s, ended %v: trace %v", name, ended, trace)
			}
			if len(event.Spans) != 1 || event.Tags["from"] != "outside" {
				t.Errorf("%s, ended %v: spans %v, tags %v", name, ended, event.Spans, event.Tags)
			}
		}
	}
}

func TestContinueWithoutATrace(t *testing.T) {
	t.Parallel()
	r := sentrytest.New(t, nil)
	type key struct{}
	ctx, cancel := context.WithCancel(context.WithValue(r.Context(), key{}, 1))
	job := tracing.Continue(ctx, "job")
	if job.Context().Value(key{}) != 1 {
		t.Error("a value is lost")
	}
	cancel()
	if job.Context().Err() == nil {
		t.Error("the cancellation is lost")
	}
	job.Finish()
	if e := r.One(t); e.Transaction != "job" {
		t.Errorf("got %q", e.Transaction)
	}

	unsampled := sentrytest.New(t, func(o *sentry.ClientOptions) { o.TracesSampleRate = 0 })
	tx := tracing.NewTransaction(sentry.StartTransaction(unsampled.Context(), "request"), 1)
	if tracing.Continue(tx.Context(), "job").Sampled() {
		t.Error("sampled, but the request was not")
	}
}
