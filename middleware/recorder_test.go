package middleware_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/getsentry/sentry-go"
	"github.com/labstack/echo/v4"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a Sentry hub whose events stay in memory.
type recorder struct {
	hub       *sentry.Hub
	transport *sentry.MockTransport
}

// record makes a recorder that samples everything and keeps 404s, unless change
// says otherwise.
func record(tb testing.TB, change func(*sentry.ClientOptions)) *recorder {
	tb.Helper()
	r := &recorder{transport: &sentry.MockTransport{}}
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
	r.hub = sentry.NewHub(client, sentry.NewScope())
	return r
}

// on puts the recorder's hub into every request's context, as a server's
// BaseContext would.
func (r *recorder) on(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		h.ServeHTTP(w, req.WithContext(sentry.SetHubOnContext(req.Context(), r.hub)))
	})
}

func (r *recorder) events(kind string) []*sentry.Event {
	var out []*sentry.Event
	for _, e := range r.transport.Events() {
		if e.Type == kind {
			out = append(out, e)
		}
	}
	return out
}

func (r *recorder) transactions() []*sentry.Event { return r.events("transaction") }
func (r *recorder) errors() []*sentry.Event       { return r.events("") }

func (r *recorder) one(tb testing.TB) *sentry.Event {
	tb.Helper()
	all := r.transactions()
	if len(all) != 1 {
		tb.Fatalf("%d transactions were sent, want 1", len(all))
	}
	return all[0]
}

func (r *recorder) payload(tb testing.TB) string {
	tb.Helper()
	b, err := json.Marshal(r.transport.Events())
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}

func data(e *sentry.Event) map[string]any {
	d, _ := e.Contexts["trace"]["data"].(map[string]any)
	return d
}

func status(e *sentry.Event) string {
	s, _ := e.Contexts["trace"]["status"].(sentry.SpanStatus)
	return s.String()
}

// do sends a request whose context ends with it, as a server's does.
func do(tb testing.TB, h http.Handler, method, target string, headers ...string) *httptest.ResponseRecorder {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	req := httptest.NewRequestWithContext(ctx, method, target, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, req)
	return rec
}

func quietEcho() *echo.Echo {
	e := echo.New()
	e.Logger.SetOutput(discard{})
	return e
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
