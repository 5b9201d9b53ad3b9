package site_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/getsentry/sentry-go"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
	"github.com/twinpath/twinpath/example-app/internal/site"
	"github.com/twinpath/twinpath/example-app/internal/waterfall"
	"github.com/twinpath/twinpath/tracing"
)

// backend answers every call with the same rows, or the same error.
type backend struct {
	rows string
	err  error
}

func (b backend) Do(context.Context, *dbaccess.Call) (*dbaccess.Result, error) {
	if b.err != nil {
		return nil, b.err
	}
	return &dbaccess.Result{Body: []byte(b.rows), Rows: 1, Total: 1, Status: http.StatusOK}, nil
}

func (backend) Close(context.Context) error { return nil }

// newSite makes a site on a backend, without servers.
func newSite(b dbaccess.Backend) (*site.Site, *waterfall.Recorder, error) {
	return newSiteAnd(b, func(*site.Config) {})
}

// newSiteWith makes one with a config that is changed.
func newSiteWith(b dbaccess.Backend, change func(*site.Config)) (*site.Site, error) {
	s, _, err := newSiteAnd(b, change)
	return s, err
}

func newSiteAnd(b dbaccess.Backend, change func(*site.Config)) (*site.Site, *waterfall.Recorder, error) {
	flag := site.NewFlag(site.Setting{Fixed: dbaccess.Direct})
	db, err := dbaccess.New(dbaccess.Config{
		REST: b, Direct: b, Router: flag.Router(), Default: &auth.Identity{Role: "anon"},
		Observers: []dbaccess.Observer{tracing.NewObserver(tracing.Always()), site.CallObserver()},
	})
	if err != nil {
		return nil, nil, err
	}
	tokens, err := jwt.NewHS256(jwt.Config{Secret: []byte(strings.Repeat("s", 32))})
	if err != nil {
		return nil, nil, err
	}
	traces := waterfall.NewRecorder(10)
	client, err := sentry.NewClient(sentry.ClientOptions{
		EnableTracing: true, TracesSampleRate: 1, BeforeSendTransaction: traces.BeforeSend, TraceIgnoreStatusCodes: [][]int{},
	})
	if err != nil {
		return nil, nil, err
	}
	cfg := site.Config{
		DB: db, Flag: flag, Tokens: tokens, Hub: sentry.NewHub(client, sentry.NewScope()), Traces: traces,
		Companies: []site.CompanyName{{Ticker: "AAA", Name: `<script>alert("x")</script>`}}, TracesGo: "kept here",
	}
	change(&cfg)
	s, err := site.New(cfg)
	return s, traces, err
}

func get(t *testing.T, h http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return w
}

func TestDatabaseErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		err    *dbaccess.Error
		status int
		want   []string
	}{
		{"as PostgREST", &dbaccess.Error{Code: "42P01", HTTPStatus: 404, Kind: dbaccess.ErrNotFound, Advice: "reload"}, 404, []string{`"code":"42P01"`, "object missing"}},
		{"saturated", &dbaccess.Error{Kind: dbaccess.ErrSaturated}, 503, []string{"no connection free"}},
		{"unavailable", &dbaccess.Error{Kind: dbaccess.ErrUnavailable}, 503, []string{"unavailable"}},
		{"timeout", &dbaccess.Error{Kind: dbaccess.ErrTimeout}, 504, []string{"timeout"}},
		{"no status", &dbaccess.Error{}, 500, []string{"internal server error"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			failing := tt.err.With(dbaccess.ServerText{Message: "canary", Detail: "canary", Hint: "canary"}, fmt.Errorf("canary"))
			s, traces, err := newSite(backend{err: failing})
			if err != nil {
				t.Fatal(err)
			}
			w := get(t, s, "/api/sectors")
			if w.Code != tt.status {
				t.Errorf("status %d, want %d", w.Code, tt.status)
			}
			for _, want := range tt.want {
				if !strings.Contains(w.Body.String(), want) {
					t.Errorf("the answer is %s, want %q in it", w.Body, want)
				}
			}
			if strings.Contains(w.Body.String(), "canary") || strings.Contains(w.Body.String(), "reload") {
				t.Errorf("the answer repeats the server's words: %s", w.Body)
			}
			if tr := traces.Traces(); len(tr) != 1 || tr[0].Name != "GET /api/sectors" {
				t.Errorf("traces: %+v", tr)
			}
			if strings.Contains(local(t, s, http.MethodGet, "/api/debug/traces").Body.String(), "canary") {
				t.Error("the trace repeats the server's words")
			}
		})
	}
}

// TestMethods asks for each page and endpoint in ways that it doesn't have.
func TestMethods(t *testing.T) {
	t.Parallel()
	s, _, err := newSite(backend{rows: "[]"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"HEAD", "/", 200, ""}, {"HEAD", "/traces", 200, ""}, {"HEAD", "/static/app.js", 200, ""},
		{"HEAD", "/api/sectors", 200, ""}, {"HEAD", "/api/home", 200, ""},
		{"POST", "/api/sectors", 405, "OPTIONS, GET, HEAD"}, {"DELETE", "/api/stocks/NRVA/prices", 405, "OPTIONS, GET, HEAD"},
		{"PUT", "/api/watchlists", 405, "OPTIONS, GET, HEAD"}, {"POST", "/", 405, "OPTIONS, GET, HEAD"},
		{"GET", "/flag", 405, "OPTIONS, POST"}, {"GET", "/api/watchlists/1/items", 405, "OPTIONS, POST"},
		{"GET", "/api/watchlists/1/items/NRVA", 405, "OPTIONS, DELETE"},
		{"GET", "/api/nope", 404, ""}, {"POST", "/api", 404, ""}, {"HEAD", "/nope", 404, ""},
	} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), tt.method, tt.path, nil))
		if w.Code != tt.status || w.Header().Get("Allow") != tt.allow {
			t.Errorf("%s %s: status %d, Allow %q; want %d, %q", tt.method, tt.path, w.Code, w.Header().Get("Allow"), tt.status, tt.allow)
		}
		if tt.status >= 400 && tt.method != "HEAD" && !strings.HasPrefix(w.Body.String(), `{"code":"http"`) {
			t.Errorf("%s %s: %s", tt.method, tt.path, w.Body)
		}
	}
}

// TestStaleCookie is a browser that another demo, or an earlier run of this one, has signed in.
func TestStaleCookie(t *testing.T) {
	t.Parallel()
	s, _, err := newSite(backend{rows: "[]"})
	if err != nil {
		t.Fatal(err)
	}
	other, err := jwt.NewHS256(jwt.Config{Secret: []byte(strings.Repeat("o", 32))})
	if err != nil {
		t.Fatal(err)
	}
	stale, err := other.Sign(t.Context(), auth.Identity{Role: "authenticated", Claims: []byte(`{"sub":"x"}`)})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, path, host, cookie, authorization string
		status                                  int
		expires                                 string
	}{
		{"API", "/api/sectors", "127.0.0.1:8080", "demo_token_8080=" + stale, "", 200, "demo_token_8080"},
		{"page", "/", "127.0.0.1:8080", "demo_token_8080=" + stale, "", 200, "demo_token_8080"},
		{"no token at all", "/api/sectors", "127.0.0.1:8080", "demo_token_8080=x", "", 200, "demo_token_8080"},
		{"host without a port", "/api/sectors", "demo.test", "demo_token=" + stale, "", 200, "demo_token"},
		{"another port's", "/api/sectors", "127.0.0.1:8080", "demo_token_8081=" + stale, "", 200, ""},
		{"header", "/api/sectors", "127.0.0.1:8080", "", "Bearer " + stale, 401, ""},
		{"header and cookie", "/api/sectors", "127.0.0.1:8080", "demo_token_8080=" + stale, "Bearer " + stale, 401, "demo_token_8080"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, tt.path, nil)
		r.Host = tt.host
		for name, value := range map[string]string{"Cookie": tt.cookie, "Authorization": tt.authorization} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != tt.status {
			t.Errorf("%s: status %d, want %d: %.200s", tt.name, w.Code, tt.status, w.Body)
		}
		expired := ""
		for _, c := range w.Result().Cookies() {
			if c.MaxAge < 0 && c.Value == "" && c.Path == "/" {
				expired += c.Name
			}
		}
		if expired != tt.expires {
			t.Errorf("%s: the answer expires the cookie %q, want %q", tt.name, expired, tt.expires)
		}
	}
}

func TestPagesEscape(t *testing.T) {
	t.Parallel()
	s, _, err := newSite(backend{rows: "[]"})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/?ticker=%3Cscript%3Ealert(1)", "/traces", "/traces?route=%3Cscript%3Ealert(1)"} {
		w := get(t, s, path)
		if w.Code != http.StatusOK || strings.Contains(w.Body.String(), "<script>alert") {
			t.Errorf("%s: status %d, or text that became markup", path, w.Code)
		}
	}
	for _, path := range []string{"/static/app.js", "/static/style.css", "/static/icon.svg"} {
		if w := get(t, s, path); w.Code != http.StatusOK || w.Body.Len() == 0 {
			t.Errorf("%s: status %d", path, w.Code)
		}
	}
}

func TestParseSetting(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"rest": "everybody on rest", "direct": "everybody on direct", "percent:0": "0 % of the users on direct", "percent:12.5": "12.5 % of the users on direct",
	} {
		s, err := site.ParseSetting(in)
		if err != nil || s.Describe() != want || s.String() != in {
			t.Errorf("ParseSetting(%q) = %q (%s), %v; want %q", in, s.Describe(), s, err, want)
		}
	}
	for _, in := range []string{"", "REST", "percent", "percent:", "percent:-1", "percent:100.1", "percent:NaN", "50"} {
		if s, err := site.ParseSetting(in); err == nil {
			t.Errorf("ParseSetting(%q) = %s, want an error", in, s)
		}
	}
}

func TestNewNeedsItsParts(t *testing.T) {
	t.Parallel()
	if _, err := site.New(site.Config{}); err == nil {
		t.Error("New takes an empty config")
	}
}

func Example() {
	s, _, err := newSite(backend{rows: `[{"name":"Energy","buys":3}]`})
	if err != nil {
		fmt.Println(err)
		return
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/sectors?path=direct", nil))
	fmt.Println(w.Code, w.Header().Get("X-Access-Path"), w.Body)
	// Output: 200 direct [{"name":"Energy","buys":3}]
}
