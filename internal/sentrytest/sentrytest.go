// Package sentrytest records what a Sentry client would send, for this module's
// tests of what goes into a trace.
package sentrytest

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/getsentry/sentry-go"
)

// TB is what is needed of a *testing.T or *testing.B. The package testing itself
// stays out of packages that aren't tests.
type TB interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// Recorder is a hub whose events stay in memory.
type Recorder struct {
	Hub       *sentry.Hub
	transport *sentry.MockTransport
}

// New makes a recorder that samples everything and keeps 404s, unless change
// says otherwise.
func New(tb TB, change func(*sentry.ClientOptions)) *Recorder {
	tb.Helper()
	r := &Recorder{transport: &sentry.MockTransport{}}
	opts := sentry.ClientOptions{
		Dsn:                    "http://key@sentry.invalid/1",
		EnableTracing:          true,
		TracesSampleRate:       1,
		TraceIgnoreStatusCodes: [][]int{},
		Transport:              r.transport,
		Integrations:           func([]sentry.Integration) []sentry.Integration { return nil },
	}
	if change != nil {
		change(&opts)
	}
	client, err := sentry.NewClient(opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(client.Close)
	r.Hub = sentry.NewHub(client, sentry.NewScope())
	return r
}

// Context is a context with the recorder's hub.
func (r *Recorder) Context() context.Context {
	return sentry.SetHubOnContext(context.Background(), r.Hub)
}

// On puts the recorder's hub into every request's context, as a server's
// BaseContext would.
func (r *Recorder) On(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		h.ServeHTTP(w, req.WithContext(sentry.SetHubOnContext(req.Context(), r.Hub)))
	})
}

// Transactions returns the transactions sent so far.
func (r *Recorder) Transactions() []*sentry.Event { return r.events("transaction") }

// Errors returns the error events sent so far.
func (r *Recorder) Errors() []*sentry.Event { return r.events("") }

func (r *Recorder) events(kind string) []*sentry.Event {
	var out []*sentry.Event
	for _, e := range r.transport.Events() {
		if e.Type == kind {
			out = append(out, e)
		}
	}
	return out
}

// One returns the only transaction sent so far.
func (r *Recorder) One(tb TB) *sentry.Event {
	tb.Helper()
	all := r.Transactions()
	if len(all) != 1 {
		tb.Fatalf("%d transactions were sent, want 1", len(all))
	}
	return all[0]
}

// Payload is everything that has been sent, as JSON.
func (r *Recorder) Payload(tb TB) string {
	tb.Helper()
	b, err := json.Marshal(r.transport.Events())
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}

// RootData returns the attributes of a transaction's root span.
func RootData(e *sentry.Event) map[string]any {
	data, _ := e.Contexts["trace"]["data"].(map[string]any)
	return data
}

// RootStatus returns the status of a transaction's root span.
func RootStatus(e *sentry.Event) sentry.SpanStatus {
	s, _ := e.Contexts["trace"]["status"].(sentry.SpanStatus)
	return s
}
