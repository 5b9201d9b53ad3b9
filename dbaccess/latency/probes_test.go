package latency_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/latency"
	"github.com/twinpath/twinpath/dbaccess/query"
)

var stock = []query.Query{
	query.From("companies").Named("companies").Where(query.Eq("ticker", canary)),
	query.From("filings").Named("filings").Limit(9),
}

// config is one that works.
func config(modes map[string]latency.Mode) latency.ProbesConfig {
	return latency.ProbesConfig{
		Modes: modes, Queries: stock, Identity: auth.Identity{Role: "probe_role", Claims: []byte(`{"sub":"` + canary + `"}`)},
		Authorize: func(*http.Request) bool { return true },
	}
}

func newProbes(tb testing.TB, cfg latency.ProbesConfig) *latency.Probes {
	tb.Helper()
	p, err := latency.NewProbes(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func probe(ctx context.Context, h http.Handler, method, target string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, method, target, nil))
	return w
}

func decode[T any](tb testing.TB, w *httptest.ResponseRecorder) T {
	tb.Helper()
	var v T
	dec := json.NewDecoder(bytes.NewReader(w.Body.Bytes()))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		tb.Fatalf("status %d: %v: %s", w.Code, err, w.Body)
	}
	return v
}

func TestProbe(t *testing.T) {
	t.Parallel()
	b := &backend{conn: dbaccess.ConnNew}
	p := newProbes(t, config(map[string]latency.Mode{latency.ModeDirect: {Backend: b}}))
	// Whoever asks, whatever their request is pinned to, and whichever limits they have.
	ctx := auth.With(t.Context(), auth.Identity{Role: "somebody"})
	ctx = dbaccess.WithDecision(ctx, dbaccess.Decision{Path: dbaccess.REST})
	w := probe(ctx, p, http.MethodGet, "/latency/direct")
	res := decode[latency.ProbeResult](t, w)
	if w.Code != http.StatusOK || res.Mode != "direct" || res.Error != nil {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	if diff := cmp.Diff([]string{"companies", "filings"}, b.asked); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"probe_role", "probe_role"}, b.roles); diff != "" {
		t.Errorf("roles (-want +got):\n%s", diff)
	}
	if !res.Cold || res.NewConnections != 2 || res.Idle != nil || res.ClientCreate != 0 || res.ClientClose != 0 {
		t.Errorf("got %+v", res)
	}
	if res.Database != 6 || res.Layers.Pool != 20 || res.Layers.Network != 12 || res.ProcessAge <= 0 {
		t.Errorf("got %+v", res)
	}
	if len(res.Queries) != 2 || res.Queries[0].Name != "companies" || res.Queries[0].Rows != 1 || res.Queries[1].Conn != dbaccess.ConnNew {
		t.Fatalf("got %+v", res.Queries)
	}
	phases, whole := res.Queries[0].Phases, 0.0
	for name, ms := range phases {
		if !strings.Contains(name, "/") {
			whole += ms
		}
	}
	if math.Abs(whole-res.Queries[0].Time) > 0.01 {
		t.Errorf("the phases add up to %v of %v", whole, res.Queries[0].Time)
	}
	for name, want := range map[string]float64{"acquire": 10, "acquire/connect": 10, "acquire/connect/tcp": 4, "acquire/connect/startup": 6, "network+pooler": 5, "database": 3} {
		if phases[name] != want {
			t.Errorf("phase %s took %v, want %v", name, phases[name], want)
		}
	}
	for name, want := range map[string]string{"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Content-Type": "application/json"} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if strings.Contains(w.Body.String(), canary) || strings.Contains(w.Body.String(), "probe_role") {
		t.Errorf("the answer says too much: %s", w.Body)
	}
	if b.closed.Load() != 0 {
		t.Error("the application's backend has been closed")
	}

	b.conn = dbaccess.ConnIdle
	res = decode[latency.ProbeResult](t, probe(t.Context(), p, http.MethodGet, "/latency/direct"))
	if res.Cold || res.NewConnections != 0 || res.Idle == nil || *res.Idle < 0 {
		t.Errorf("the second: %+v", res)
	}
}

// TestProbeMembers holds the names that scripts read.
func TestProbeMembers(t *testing.T) {
	t.Parallel()
	p := newProbes(t, config(map[string]latency.Mode{latency.ModeREST: {Backend: &backend{}}}))
	got := map[string]any{}
	if err := json.Unmarshal(probe(t.Context(), p, http.MethodGet, "/latency/rest").Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"mode", "server_total_ms", "queries", "client_create_ms", "client_close_ms", "process_age_ms", "cold", "new_connections", "database_ms", "idle_ms", "layers_ms",
	} {
		if _, ok := got[name]; !ok {
			t.Errorf("no member %s", name)
		}
	}
	q, _ := got["queries"].([]any)[0].(map[string]any)
	for _, name := range []string{"name", "ms", "rows", "phases", "layers_ms"} {
		if _, ok := q[name]; !ok {
			t.Errorf("a query has no member %s", name)
		}
	}
}

func TestProbePerRequest(t *testing.T) {
	t.Parallel()
	var made []*backend
	p := newProbes(t, config(map[string]latency.Mode{latency.ModeDirectPerRequest: {Open: func(ctx context.Context) (dbaccess.Backend, error) {
		if _, ok := ctx.Deadline(); !ok {
			t.Error("Open has no deadline")
		}
		time.Sleep(2 * time.Millisecond)
		b := &backend{conn: dbaccess.ConnNew}
		made = append(made, b)
		return b, nil
	}}}))
	for i := range 3 {
		res := decode[latency.ProbeResult](t, probe(t.Context(), p, http.MethodGet, "/latency/direct-per-request"))
		if res.ClientCreate < 2 || res.ServerTotal < res.ClientCreate+res.ClientClose || !res.Cold || res.NewConnections != 2 {
			t.Errorf("probe %d: %+v", i, res)
		}
		if len(made) != i+1 || made[i].closed.Load() != 1 || made[i].started.Load() != 0 || len(made[i].asked) != 2 {
			t.Errorf("probe %d: %d backends, the last closed %d times", i, len(made), made[len(made)-1].closed.Load())
		}
	}
}

func TestProbeFailures(t *testing.T) {
	t.Parallel()
	secret := dbaccess.Error{Kind: dbaccess.ErrSaturated, Code: "53300"}.With(dbaccess.ServerText{Message: canary}, errors.New(canary))
	for _, tt := range []struct {
		name    string
		mode    latency.Mode
		status  int
		text    string
		queries int
	}{
		{"query", latency.Mode{Backend: &backend{fail: secret}}, 503, "no connection free in time", 1},
		{"query, timeout", latency.Mode{Backend: &backend{fail: context.DeadlineExceeded}}, 504, "timeout", 1},
		{"query, an error of another kind", latency.Mode{Backend: &backend{fail: errors.New(canary)}}, 503, "companies over direct", 1},
		{"open", latency.Mode{Open: func(context.Context) (dbaccess.Backend, error) { return nil, fmt.Errorf("dsn %s", canary) }}, 503, "could not be made", 0},
		{"open, timeout", latency.Mode{Open: func(context.Context) (dbaccess.Backend, error) { return nil, context.DeadlineExceeded }}, 504, "could not be made", 0},
		{"open, nothing", latency.Mode{Open: func(context.Context) (dbaccess.Backend, error) { return nil, nil }}, 503, "could not be made", 0},
		{"open, then a query", latency.Mode{Open: func(context.Context) (dbaccess.Backend, error) { return &backend{fail: secret}, nil }}, 503, "no connection free", 1},
	} {
		p := newProbes(t, config(map[string]latency.Mode{latency.ModeDirect: tt.mode}))
		w := probe(t.Context(), p, http.MethodGet, "/latency/direct")
		res := decode[latency.ProbeResult](t, w)
		if w.Code != tt.status || res.Error == nil || !strings.Contains(res.Error.Message, tt.text) || len(res.Queries) != tt.queries {
			t.Errorf("%s: status %d, want %d with %q: %s", tt.name, w.Code, tt.status, tt.text, w.Body)
		}
		health := probe(t.Context(), p, http.MethodGet, "/health/db?path=direct")
		if h := decode[latency.HealthResult](t, health); health.Code != tt.status || h.Status != "failed" || h.Error == nil {
			t.Errorf("%s: health has status %d: %s", tt.name, health.Code, health.Body)
		}
		if all := w.Body.String() + health.Body.String(); strings.Contains(all, canary) {
			t.Errorf("%s: the answer says too much: %s", tt.name, all)
		}
	}
}

func TestProbeTimeout(t *testing.T) {
	t.Parallel()
	cfg := config(map[string]latency.Mode{latency.ModeDirect: {Backend: &backend{wait: make(chan struct{})}}})
	cfg.Timeout = 20 * time.Millisecond
	w := probe(t.Context(), newProbes(t, cfg), http.MethodGet, "/latency/direct")
	if w.Code != http.StatusGatewayTimeout {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

func TestProbesAreFewAtATime(t *testing.T) {
	t.Parallel()
	b := &backend{wait: make(chan struct{})}
	running := make(chan struct{}, 10)
	b.onDo = func() { running <- struct{}{} }
	cfg := config(map[string]latency.Mode{latency.ModeDirect: {Backend: b}})
	cfg.MaxConcurrent = 2
	p := newProbes(t, cfg)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if w := probe(t.Context(), p, http.MethodGet, "/latency/direct"); w.Code != http.StatusOK {
				t.Errorf("status %d: %s", w.Code, w.Body)
			}
		})
		<-running
	}
	for _, target := range []string{"/latency/direct", "/health/db?path=direct"} {
		w := probe(t.Context(), p, http.MethodGet, target)
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" {
			t.Errorf("%s: status %d, want 429", target, w.Code)
		}
	}
	if w := probe(t.Context(), p, http.MethodGet, "/health/app"); w.Code != http.StatusOK {
		t.Errorf("the health of the app alone: status %d", w.Code)
	}
	close(b.wait)
	wg.Wait()
	if w := probe(t.Context(), p, http.MethodGet, "/latency/direct"); w.Code != http.StatusOK {
		t.Errorf("afterwards: status %d", w.Code)
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	rest, direct := &backend{}, &backend{}
	modes := map[string]latency.Mode{latency.ModeREST: {Backend: rest}, latency.ModeDirect: {Backend: direct}}
	p := newProbes(t, config(modes))
	app := decode[latency.HealthResult](t, probe(t.Context(), p, http.MethodGet, "/health/app"))
	if app.Status != "ok" || app.Mode != "" || len(rest.asked)+len(direct.asked) != 0 {
		t.Errorf("app: %+v after %d calls", app, len(rest.asked)+len(direct.asked))
	}
	db := decode[latency.HealthResult](t, probe(t.Context(), p, http.MethodGet, "/health/db?path=rest"))
	if db.Status != "ok" || db.Mode != "rest" || !db.Cold || len(direct.asked) != 0 {
		t.Errorf("db: %+v", db)
	}
	if diff := cmp.Diff([]string{"companies"}, rest.asked); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
	cfg := config(modes)
	cfg.Health = query.From("one").Named("ping").Limit(1)
	probe(t.Context(), newProbes(t, cfg), http.MethodGet, "/health/db?path=direct")
	if diff := cmp.Diff([]string{"ping"}, direct.asked); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
}

// everyHandler is all that this package serves, let in by authorize.
func everyHandler(tb testing.TB, authorize func(*http.Request) bool) map[string]http.Handler {
	tb.Helper()
	cfg := config(map[string]latency.Mode{latency.ModeREST: {Backend: &backend{}}})
	cfg.Authorize = authorize
	p, r := newProbes(tb, cfg), latency.NewRecorder(latency.RecorderConfig{}).Handler(authorize)
	return map[string]http.Handler{
		"/latency/rest": p, "/latency/nope": p, "/health/app": p, "/health/db?path=rest": p, "/health/db?path=nope": p, "/": p, "/nope": p, "/report": r,
	}
}

// TestNotThere asks for what is not for the asker: the answer is as for an address
// that nobody has a handler for, whatever the method.
func TestNotThere(t *testing.T) {
	t.Parallel()
	want := probe(t.Context(), http.NotFoundHandler(), http.MethodGet, "/")
	for name, authorize := range map[string]func(*http.Request) bool{
		"no function": nil, "refused": func(*http.Request) bool { return false }, "not local": latency.AllowLoopback,
	} {
		for target, h := range everyHandler(t, authorize) {
			for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodOptions} {
				w := probe(t.Context(), h, method, target)
				if w.Code != want.Code || w.Body.String() != want.Body.String() || !cmp.Equal(w.Header(), want.Header()) {
					t.Errorf("%s: %s %s: status %d, %v: %s", name, method, target, w.Code, w.Header(), w.Body)
				}
			}
		}
	}
}

func TestOnlyGET(t *testing.T) {
	t.Parallel()
	for target, h := range everyHandler(t, func(*http.Request) bool { return true }) {
		for _, method := range []string{http.MethodHead, http.MethodPost, http.MethodOptions, http.MethodDelete} {
			if w := probe(t.Context(), h, method, target); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET" {
				t.Errorf("%s %s: status %d", method, target, w.Code)
			}
		}
	}
}

func TestProbeAddresses(t *testing.T) {
	t.Parallel()
	p := newProbes(t, config(map[string]latency.Mode{latency.ModeREST: {Backend: &backend{}}, "naive": {Backend: &backend{}}}))
	for target, want := range map[string]int{
		"/latency/rest": 200, "/latency/naive": 200, "/latency/rest?path=direct&limit=1": 200,
		"/latency/": 404, "/latency/direct": 404, "/latency/REST": 404, "/latency/rest/": 404, "/latency/rest/x": 404, "/": 404, "/health": 404,
		"/health/db": 400, "/health/db?path=": 400, "/health/db?path=" + canary: 400, "/health/db?path=rest": 200, "/latency/" + canary: 404,
	} {
		w := probe(t.Context(), p, http.MethodGet, target)
		if w.Code != want {
			t.Errorf("%s: status %d, want %d", target, w.Code, want)
		}
		if strings.Contains(w.Body.String(), canary) {
			t.Errorf("%s: the answer repeats the address: %s", target, w.Body)
		}
		if want != 200 && !strings.Contains(w.Body.String(), "naive, rest") {
			t.Errorf("%s: the answer doesn't say what there is: %s", target, w.Body)
		}
	}
	if w := probe(t.Context(), http.StripPrefix("/api/debug", p), http.MethodGet, "/api/debug/latency/naive"); w.Code != 200 {
		t.Errorf("below a prefix: status %d", w.Code)
	}
}

func TestNewProbesReportsAll(t *testing.T) {
	t.Parallel()
	b := &backend{}
	open := func(context.Context) (dbaccess.Backend, error) { return b, nil }
	_, err := latency.NewProbes(latency.ProbesConfig{
		Modes: map[string]latency.Mode{"a/b": {Backend: b}, "neither": {}, "both": {Backend: b, Open: open}, "path": {Backend: b, Path: "sideways"}},
		Queries: []query.Query{
			query.From("t"), query.From("t").Named("twice"), query.From("t").Named("twice"),
			query.Delete("t").Named("write").Where(query.AllRows()), query.Call("f", nil).Named("call"), query.From("t").Named("bad").Limit(-1),
		},
		MaxConcurrent: -1, Timeout: -1, MaxRows: -1, Observers: []dbaccess.Observer{nil},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`Config.Modes has the name "a/b"`, `Modes["neither"]`, `Modes["both"]`, `Modes["path"].Path`, "Queries[0] needs a name", "Queries[2] needs a name",
		"Queries[3] must only read", "Queries[4] must only read", "Queries[5]", "Config.Identity", "MaxConcurrent", "Timeout", "MaxRows", "Observers[0]",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error has no %q:\n%v", want, err)
		}
	}
	if _, err := latency.NewProbes(latency.ProbesConfig{}); err == nil || !strings.Contains(err.Error(), "Config.Modes") || !strings.Contains(err.Error(), "Config.Queries") {
		t.Errorf("an empty config: %v", err)
	}
	var none *backend
	if _, err := latency.NewProbes(config(map[string]latency.Mode{"x": {Backend: none}})); err == nil {
		t.Error("a nil backend in an interface is taken")
	}
}

func TestProbesPrintNoSecret(t *testing.T) {
	t.Parallel()
	cfg := config(map[string]latency.Mode{latency.ModeREST: {Backend: &backend{fail: errors.New(canary)}}})
	for _, s := range []string{fmt.Sprintf("%v %+v %#v", cfg, cfg, cfg), fmt.Sprintf("%v %+v %#v %s", newProbes(t, cfg), newProbes(t, cfg), newProbes(t, cfg), newProbes(t, cfg))} {
		if strings.Contains(s, canary) || !strings.Contains(s, "rest") {
			t.Errorf("it prints as %s", s)
		}
	}
}

func TestReportHandler(t *testing.T) {
	t.Parallel()
	r := latency.NewRecorder(latency.RecorderConfig{})
	record(r, end("filings", dbaccess.REST, time.Millisecond))
	h := r.Handler(func(*http.Request) bool { return true })
	for _, tt := range []struct{ target, accept, want string }{
		{"/", "", "text/plain; charset=utf-8"}, {"/", "text/html, */*", "text/plain; charset=utf-8"},
		{"/", "text/html, Application/JSON;q=0.9", "application/json"}, {"/?format=json", "", "application/json"},
		{"/?format=text", "application/json", "text/plain; charset=utf-8"},
	} {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, tt.target, nil)
		if tt.accept != "" {
			req.Header.Set("Accept", tt.accept)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		if got := w.Header().Get("Content-Type"); w.Code != 200 || got != tt.want || !strings.Contains(w.Body.String(), "filings") {
			t.Errorf("%s, Accept %q: status %d, %s: %s", tt.target, tt.accept, w.Code, got, w.Body)
		}
		if w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers %v", tt.target, w.Header())
		}
	}
}
