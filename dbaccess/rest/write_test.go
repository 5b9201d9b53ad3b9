package rest_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/dbaccess/rest"
)

var (
	insert = query.Insert("companies", map[string]any{"ticker": "X1"})
	update = query.Update("companies", map[string]any{"name": "N"}).Where(query.Gte("age", 18), query.Lt("age", 65))
	remove = query.Delete("companies").Where(query.Eq("ticker", "X1"))
	invoke = query.Call("add them", map[string]any{"a": 1})
)

func TestWriteRequest(t *testing.T) {
	t.Parallel()
	type written struct {
		Method, URI, Prefer, Profile, ContentType, Body string
		Length                                          int64
	}
	for name, tt := range map[string]struct {
		query query.Query
		want  written
	}{
		"insert": {
			insert.InSchema("private_api"),
			written{"POST", "/rest/v1/companies?columns=ticker", "return=minimal", "private_api", "application/json", `{"ticker":"X1"}`, 15},
		},
		"merge": {
			insert.Merge("ticker"),
			written{"POST", "/rest/v1/companies?columns=ticker&on_conflict=ticker", "return=minimal, resolution=merge-duplicates", "", "application/json", `{"ticker":"X1"}`, 15},
		},
		"update": {
			update.MaxAffected(3),
			written{
				"PATCH", "/rest/v1/companies?columns=name&and=(age.gte.%2218%22,age.lt.%2265%22)", "return=minimal, handling=strict, max-affected=3", "",
				"application/json", `{"name":"N"}`, 12,
			},
		},
		"delete": {
			remove,
			written{"DELETE", "/rest/v1/companies?and=(ticker.eq.%22X1%22)", "return=minimal", "", "", "", 0},
		},
		"call": {
			invoke,
			written{"POST", "/rest/v1/rpc/add%20them", "", "", "application/json", `{"a":1}`, 7},
		},
		"call that only reads": {
			invoke.ReadOnly(),
			written{"GET", "/rest/v1/rpc/add%20them?a=1", "", "", "", "", 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got written
			b := backend(t, func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				got = written{r.Method, r.RequestURI, r.Header.Get("Prefer"), r.Header.Get("Content-Profile"), r.Header.Get("Content-Type"), string(body), r.ContentLength}
				if r.Header.Get("Idempotency-Key") != "" || r.Header.Get("Accept-Profile") != "" {
					t.Errorf("headers %v", r.Header)
				}
				w.WriteHeader(http.StatusNoContent)
			})
			res, err := b.Do(t.Context(), call(tt.query))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			if res.Status != 204 || res.Rows != 0 || len(res.Body) != 0 {
				t.Errorf("status %d, %d rows, body %q", res.Status, res.Rows, res.Body)
			}
		})
	}
}

func TestWriteResults(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		query        query.Query
		status       int
		contentRange string
		body         string
		rows, total  int64
	}{
		"inserted":                 {insert, 201, "*/*", `[{"id":1}]`, -1, -1},
		"inserted and counted":     {insert, 201, "*/3", ``, 0, 3},
		"updated":                  {update, 200, "0-1/*", `[{"id":1},{"id":2}]`, 2, -1},
		"updated none":             {update, 200, "*/*", `[]`, 0, -1},
		"updated and counted":      {update, 204, "0-29/30", ``, 0, 30},
		"removed and counted":      {remove, 204, "*/2", ``, 0, 2},
		"called":                   {invoke, 200, "0-0/*", `3`, 1, -1},
		"called for nothing":       {invoke, 204, "0-0/*", ``, 0, -1},
		"called, status chosen":    {invoke, 202, "0-0/*", `3`, 1, -1},
		"put, which has no window": {insert, 200, "", ``, 0, -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := backend(t, func(w http.ResponseWriter, _ *http.Request) {
				if tt.contentRange != "" {
					w.Header().Set("Content-Range", tt.contentRange)
				}
				if tt.body != "" {
					w.Header().Set("Content-Type", "application/json; charset=utf-8")
				}
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})
			res, err := b.Do(t.Context(), call(tt.query))
			if err != nil {
				t.Fatal(err)
			}
			if res.Status != tt.status || res.Rows != tt.rows || res.Total != tt.total || string(res.Body) != tt.body {
				t.Errorf("status %d, %d rows of %d, body %q", res.Status, res.Rows, res.Total, res.Body)
			}
		})
	}
}

// A server may close a kept connection at the moment that the next request comes.
// Reads are sent again, by net/http; writes never are, and say that nobody knows
// what became of them.
func TestStaleConnection(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		query  query.Query
		repeat bool
	}{
		"read":                 {query.From("t"), true},
		"call that only reads": {invoke.ReadOnly(), true},
		"insert":               {insert, false},
		"update":               {update, false},
		"delete":               {remove, false},
		"call":                 {invoke, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int64
			b := backend(t, func(w http.ResponseWriter, r *http.Request) {
				if requests.Add(1) != 2 {
					rows(w, r)
					return
				}
				conn, _, err := w.(http.Hijacker).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				_ = conn.Close()
			})
			if _, err := b.Do(t.Context(), call(query.From("t"))); err != nil {
				t.Fatal(err)
			}
			_, err := b.Do(t.Context(), call(tt.query))
			if tt.repeat {
				if err != nil || requests.Load() != 3 {
					t.Errorf("error %v after %d requests, want none after 3", err, requests.Load())
				}
				return
			}
			if e := asError(t, err); !errors.Is(err, dbaccess.ErrUnavailable) || !errors.Is(e, dbaccess.ErrUnknownOutcome) {
				t.Errorf("error %v with advice %q, want ErrUnavailable that says nobody knows", err, e.Advice)
			}
			if n := requests.Load(); n != 2 {
				t.Errorf("%d requests, want 2: the write must not be repeated", n)
			}
		})
	}
}

// What an error says about a write's outcome.
func TestWriteOutcome(t *testing.T) {
	t.Parallel()
	const unknown, done = "done or not", "was done"
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	html := map[string]string{"Content-Type": "text/html"}
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		config  func(*rest.Config)
		ctx     bool // ends while the server works
		want    string
	}{
		"nobody listens":     {config: func(c *rest.Config) { c.URL = "http://" + closed.Addr().String() }},
		"refused":            {handler: reply{409, nil, `{"code":"23505","message":"m"}`}.ServeHTTP},
		"gateway":            {handler: reply{504, html, `<html>`}.ServeHTTP, want: unknown},
		"Cloudflare":         {handler: reply{522, html, `<html>`}.ServeHTTP, want: unknown},
		"PostgREST lost it":  {handler: reply{503, nil, `{"code":"PGRST001","message":"m"}`}.ServeHTTP, want: unknown},
		"PostgREST too busy": {handler: reply{504, nil, `{"code":"PGRST003","message":"m"}`}.ServeHTTP},
		"wrong key":          {handler: reply{401, nil, `{"message":"Invalid API key"}`}.ServeHTTP},
		"a page":             {handler: reply{200, html, `<html>`}.ServeHTTP, want: unknown},
		"too long": {
			handler: reply{201, nil, `[{"id":1}]`}.ServeHTTP, config: func(c *rest.Config) { c.MaxBodyBytes = 3 }, want: done,
		},
		"broke off": {
			handler: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "100")
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusCreated)
				_, _ = io.WriteString(w, "[")
			},
			want: done,
		},
		"deadline": {handler: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, ctx: true, want: unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			change := []func(*rest.Config){}
			if tt.config != nil {
				change = append(change, tt.config)
			}
			b := backend(t, tt.handler, change...)
			ctx := t.Context()
			if tt.ctx {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, delay)
				defer cancel()
			}
			_, err := b.Do(ctx, call(remove))
			e := asError(t, err)
			if got := strings.Contains(e.Advice, unknown); got != (tt.want == unknown) {
				t.Errorf("advice %q, want %q in it", e.Advice, tt.want)
			}
			if tt.want == done && !strings.Contains(e.Advice, done) {
				t.Errorf("advice %q, want %q in it", e.Advice, done)
			}
			if tt.ctx && !errors.Is(err, dbaccess.ErrTimeout) {
				t.Errorf("error %v, want ErrTimeout", err)
			}
		})
	}
}
