package middleware_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getsentry/sentry-go"
	"github.com/google/go-cmp/cmp"
	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/dbaccess/rollout"
	"github.com/twinpath/twinpath/internal/sentrytest"
	"github.com/twinpath/twinpath/middleware"
)

// sentryServer takes envelopes as Sentry does.
type sentryServer struct {
	*httptest.Server
	mu    sync.Mutex
	raw   bytes.Buffer
	items map[string][]json.RawMessage // by type
}

func newSentryServer(t *testing.T) *sentryServer {
	t.Helper()
	s := &sentryServer{items: map[string][]json.RawMessage{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			z, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Error(err)
				return
			}
			body = z
		}
		b, err := io.ReadAll(body)
		if err != nil {
			t.Error(err)
		}
		s.take(t, b)
		_, _ = io.WriteString(w, `{}`)
	}))
	t.Cleanup(s.Close)
	return s
}

// hub is one whose client sends to the server.
func (s *sentryServer) hub(t *testing.T, change func(*sentry.ClientOptions)) *sentry.Hub {
	t.Helper()
	opts := sentry.ClientOptions{
		Dsn:           strings.Replace(s.URL, "http://", "http://key@", 1) + "/1",
		EnableTracing: true, TracesSampleRate: 1,
		HTTPTransport: &http.Transport{DisableKeepAlives: true},
	}
	if change != nil {
		change(&opts)
	}
	client, err := sentry.NewClient(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return sentry.NewHub(client, sentry.NewScope())
}

// take parses an envelope: a header, then a header and a payload for each item.
// Source: https://develop.sentry.dev/sdk/data-model/envelopes/
func (s *sentryServer) take(t *testing.T, envelope []byte) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.raw.Write(envelope)
	_, rest, _ := bytes.Cut(envelope, []byte("\n"))
	for len(bytes.TrimSpace(rest)) > 0 {
		var head []byte
		head, rest, _ = bytes.Cut(rest, []byte("\n"))
		var h struct {
			Type   string
			Length *int
		}
		if err := json.Unmarshal(head, &h); err != nil {
			t.Errorf("item header %s: %v", head, err)
			return
		}
		var payload []byte
		if h.Length != nil {
			payload, rest = rest[:*h.Length], bytes.TrimPrefix(rest[*h.Length:], []byte("\n"))
		} else {
			payload, rest, _ = bytes.Cut(rest, []byte("\n"))
		}
		s.items[h.Type] = append(s.items[h.Type], bytes.Clone(payload))
	}
}

// TestEnvelope looks at a request from Sentry's side of the wire.
func TestEnvelope(t *testing.T) {
	t.Parallel()
	server := newSentryServer(t)
	client, err := sentry.NewClient(sentry.ClientOptions{
		Dsn:           strings.Replace(server.URL, "http://", "http://key@", 1) + "/1",
		EnableTracing: true, TracesSampleRate: 1,
		HTTPTransport: &http.Transport{DisableKeepAlives: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	r := &sentrytest.Recorder{Hub: sentry.NewHub(client, sentry.NewScope())}

	tokens := newTokens(t)
	token, err := tokens.Sign(t.Context(), auth.Identity{Role: "authenticated", Claims: json.RawMessage(`{"sub":"` + canary + `","email":"` + canary + `"}`)})
	if err != nil {
		t.Fatal(err)
	}
	db := newDB(t, rollout.Percent(100, "db-access-path"))
	e := echo.New()
	e.Use(middleware.Sentry(), middleware.Identity(tokens), middleware.AccessPath(db))
	e.GET("/api/stocks/:ticker/insider-transactions", func(c echo.Context) error {
		raw, err := dbaccess.JSON(c.Request().Context(), db, query.From("insider_transactions").Where(query.Eq("ticker", c.Param("ticker"))))
		if err != nil {
			return err
		}
		return c.JSONBlob(200, raw)
	})
	do(t, r.On(e), http.MethodGet, "/api/stocks/"+canary+"/insider-transactions?key="+canary,
		"Authorization", "Bearer "+token, "X-Api-Key", canary)
	if !client.Flush(5 * time.Second) {
		t.Fatal("the events did not arrive")
	}

	server.mu.Lock()
	defer server.mu.Unlock()
	if len(server.items["transaction"]) != 1 {
		t.Fatalf("%d transactions arrived", len(server.items["transaction"]))
	}
	type trace struct {
		SpanID string `json:"span_id"`
		Op     string
		Status string
		Data   map[string]any
	}
	var got struct {
		Transaction string
		Contexts    struct{ Trace trace }
		Spans       []struct {
			Parent      string `json:"parent_span_id"`
			Op          string
			Description string
			Status      string
			Origin      string
			Data        map[string]any
		}
	}
	if err := json.Unmarshal(server.items["transaction"][0], &got); err != nil {
		t.Fatal(err)
	}
	if got.Transaction != "GET /api/stocks/:ticker/insider-transactions" || got.Contexts.Trace.Op != "http.server" || got.Contexts.Trace.Status != "ok" {
		t.Errorf("transaction %q, op %q, status %q", got.Transaction, got.Contexts.Trace.Op, got.Contexts.Trace.Status)
	}
	if diff := cmp.Diff(map[string]any{
		"http.request.method": "GET", "http.route": "/api/stocks/:ticker/insider-transactions", "http.response.status_code": 200.0,
		"db.access_path": "direct", "db.access_path.variant": "direct", "db.access_path.reason": "percent", "flag.evaluation.db-access-path": true,
	}, got.Contexts.Trace.Data); diff != "" {
		t.Errorf("root attributes (-want +got):\n%s", diff)
	}
	if len(got.Spans) != 1 {
		t.Fatalf("%d spans", len(got.Spans))
	}
	s := got.Spans[0]
	if s.Parent != got.Contexts.Trace.SpanID || s.Op != "db" || s.Description != "select insider_transactions by ticker" || s.Status != "ok" || s.Origin != "auto.db.pgx" {
		t.Errorf("span %+v", s)
	}
	raw := server.raw.String()
	for _, secret := range []string{canary, token} {
		if strings.Contains(raw, secret) {
			t.Errorf("%q left the process in %s", secret, raw)
		}
	}
}
