package middleware_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getsentry/sentry-go"
	"github.com/google/go-cmp/cmp"
	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/postgresttest"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/dbaccess/rest"
	"github.com/twinpath/twinpath/dbaccess/rollout"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
	"github.com/twinpath/twinpath/internal/sentrytest"
	"github.com/twinpath/twinpath/middleware"
	"github.com/twinpath/twinpath/tracing"
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

// trace is a span as Sentry gets it, a transaction's root included.
type traceSpan struct {
	ID          string `json:"span_id"`
	Parent      string `json:"parent_span_id"`
	TraceID     string `json:"trace_id"`
	Op          string
	Description string
	Status      string
	Origin      string
	Data        map[string]any
}

type transaction struct {
	Transaction string
	Contexts    struct{ Trace traceSpan }
	Spans       []traceSpan
}

// TestEnvelope looks at a request from Sentry's side of the wire: one that reads
// on both paths, from real servers, and then fails to write on each.
func TestEnvelope(t *testing.T) {
	t.Parallel()
	server := newSentryServer(t)
	hub := server.hub(t, func(o *sentry.ClientOptions) { o.AttachStacktrace = true })
	tokens := newTokens(t)
	db, password := bothPaths(t, tokens)
	e := quietEcho()
	e.Use(middleware.SentryWithConfig(middleware.SentryConfig{CaptureErrors: true, FlushTimeout: time.Minute}),
		middleware.Errors(), middleware.Identity(tokens), middleware.AccessPath(db), middleware.ServerTiming(everyone))
	e.POST("/api/stocks/:ticker/notes", func(c echo.Context) error {
		ctx := c.Request().Context()
		if _, err := io.ReadAll(c.Request().Body); err != nil {
			return err
		}
		for _, name := range []string{onREST, onDirect} {
			rows := query.From("companies").Named(name).Columns("name").Where(query.Eq("ticker", c.Param("ticker")))
			if _, err := dbaccess.JSON(ctx, db, rows); err != nil {
				return err
			}
			// The server's message quotes what was written.
			_, err := dbaccess.Exec(ctx, db, query.Insert("narrow", map[string]any{"id": c.Param("ticker")}).Named(name+"_write"))
			if err == nil {
				return errors.New("written")
			}
			sentry.GetHubFromContext(ctx).CaptureException(fmt.Errorf("save: %w", err))
		}
		return &dbaccess.Error{Kind: dbaccess.ErrUnavailable}
	})
	token, err := tokens.Sign(t.Context(), auth.Identity{Role: "authenticated", Claims: json.RawMessage(`{"sub":"` + canary + `","email":"` + canary + `"}`)})
	if err != nil {
		t.Fatal(err)
	}
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+canary+".test/api/stocks/"+canary+"/notes?key="+canary, strings.NewReader(canary))
	for _, name := range []string{"X-Api-Key", "Apikey", "User-Agent", "Referer", "X-Forwarded-For", "X-Request-Id", "Prefer", "Accept-Profile", "X-Db-Access-Path"} {
		req.Header.Set(name, canary)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.AddCookie(&http.Cookie{Name: canary, Value: canary})
	rec := httptest.NewRecorder()
	(&sentrytest.Recorder{Hub: hub}).On(e).ServeHTTP(rec, req)
	if rec.Code != 503 {
		t.Fatalf("the client got %d: %s", rec.Code, rec.Body)
	}

	server.mu.Lock()
	defer server.mu.Unlock()
	if len(server.items["transaction"]) != 1 || len(server.items["event"]) != 3 {
		t.Fatalf("%d transactions and %d reports arrived", len(server.items["transaction"]), len(server.items["event"]))
	}
	var got transaction
	if err := json.Unmarshal(server.items["transaction"][0], &got); err != nil {
		t.Fatal(err)
	}
	checkRoot(t, &got)
	checkCalls(t, &got)
	for _, item := range server.items["event"] {
		var report transaction
		if err := json.Unmarshal(item, &report); err != nil {
			t.Fatal(err)
		}
		if report.Contexts.Trace.TraceID != got.Contexts.Trace.TraceID || report.Contexts.Trace.ID != got.Contexts.Trace.ID {
			t.Errorf("a report belongs to %+v", report.Contexts.Trace)
		}
	}
	raw := server.raw.String()
	for what, secret := range map[string]string{"a value": canary, "the token": token, "a part of it": strings.Split(token, ".")[1], "a password": password} {
		if at := strings.Index(raw, secret); at >= 0 {
			t.Errorf("%s left the process: …%s…", what, raw[max(0, at-200):min(len(raw), at+100)])
		}
	}
	if timing := rec.Header().Get("Server-Timing"); strings.Contains(timing, canary) {
		t.Errorf("a value is in Server-Timing: %s", timing)
	}
}

const onREST, onDirect = "companies_on_rest", "companies_on_direct"

// tokenSecret is that of newTokens.
const tokenSecret = "golden-corpus-jwt-secret-at-least-32-bytes!"

// bothPaths is a DB that reads and writes on both paths, by the query's name, and
// the password of its DSN.
func bothPaths(t *testing.T, tokens *jwt.HS256) (db *dbaccess.DB, password string) {
	t.Helper()
	pg := pgtest.Golden(t)
	pg.Exec(t, `create table public.narrow (id int primary key); grant select, insert on public.narrow to authenticated`)
	postgrest, err := postgresttest.NewServer(postgresttest.Config{DSN: pg.PoolerDSN, JWTSecret: tokenSecret})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = postgrest.Close() })
	overREST, err := rest.New(rest.Config{URL: postgrest.URL, APIKey: canary})
	if err != nil {
		t.Fatal(err)
	}
	overPgx, err := direct.New(direct.Config{DSN: pg.PoolerDSN})
	if err != nil {
		t.Fatal(err)
	}
	db, err = dbaccess.New(dbaccess.Config{
		REST: overREST, Direct: overPgx,
		Router: rollout.ByQuery(map[string]dbaccess.Path{
			onREST: dbaccess.REST, onREST + "_write": dbaccess.REST, onDirect: dbaccess.Direct, onDirect + "_write": dbaccess.Direct,
		}, rollout.Percent(100, "db-access-path")),
		Observers: []dbaccess.Observer{tracing.NewObserver(tracing.Always()), middleware.CallTimes{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	dsn, err := url.Parse(pg.PoolerDSN)
	if err != nil {
		t.Fatal(err)
	}
	password, _ = dsn.User.Password()
	return db, password
}

func checkRoot(t *testing.T, got *transaction) {
	t.Helper()
	root := got.Contexts.Trace
	if got.Transaction != "POST /api/stocks/:ticker/notes" || root.Op != "http.server" || root.Status != "unavailable" || root.Parent != "" {
		t.Errorf("transaction %q, %+v", got.Transaction, root)
	}
	if diff := cmp.Diff(map[string]any{
		"http.request.method": "POST", "http.route": "/api/stocks/:ticker/notes", "http.response.status_code": 503.0,
		"db.access_path": "direct", "db.access_path.variant": "direct", "db.access_path.reason": "percent", "flag.evaluation.db-access-path": true,
	}, root.Data); diff != "" {
		t.Errorf("root attributes (-want +got):\n%s", diff)
	}
}

// checkCalls looks at the calls' spans, and at where all others belong.
func checkCalls(t *testing.T, got *transaction) {
	t.Helper()
	ids := map[string]bool{got.Contexts.Trace.ID: true}
	for _, s := range got.Spans {
		if s.ID == "" || ids[s.ID] {
			t.Errorf("span id %q is there twice", s.ID)
		}
		ids[s.ID] = true
	}
	var calls []traceSpan
	for _, s := range got.Spans {
		switch {
		case s.TraceID != got.Contexts.Trace.TraceID || !ids[s.Parent]:
			t.Errorf("span %+v does not belong here", s)
		case s.Parent == got.Contexts.Trace.ID:
			calls = append(calls, s)
		case strings.HasPrefix(s.Op, "db"):
			t.Errorf("a phase has the op of a call: %+v", s)
		}
	}
	type call struct {
		Op, Description, Status, Origin string
		Path, Name, Code                any
		HTTP                            any
	}
	var seen []call
	for _, s := range calls {
		seen = append(seen, call{s.Op, s.Description, s.Status, s.Origin, s.Data["db.access_path"], s.Data["db.query.name"], s.Data["db.response.status_code"], s.Data["http.response.status_code"]})
	}
	want := []call{
		{"db", "select companies by ticker", "ok", "auto.db.postgrest", "rest", onREST, nil, 200.0},
		{"db", "insert narrow", "invalid_argument", "auto.db.postgrest", "rest", onREST + "_write", "22P02", 400.0},
		{"db", "select companies by ticker", "ok", "auto.db.pgx", "direct", onDirect, nil, 200.0},
		{"db", "insert narrow", "invalid_argument", "auto.db.pgx", "direct", onDirect + "_write", "22P02", 400.0},
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if len(got.Spans) <= len(calls) {
		t.Error("no call has a phase")
	}
}
