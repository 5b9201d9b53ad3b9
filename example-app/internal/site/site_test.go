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
	s, err := site.New(site.Config{
		DB: db, Flag: flag, Tokens: tokens, Hub: sentry.NewHub(client, sentry.NewScope()), Traces: traces,
		Companies: []site.CompanyName{{Ticker: "AAA", Name: `<script>alert("x")</script>`}}, TracesGo: "kept here",
	})
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
		{"as PostgREST", &dbaccess.Error{Code: "42P01", HTTPStatus: 404, Kind: dbaccess.ErrNotFound, Advice: "reload"}, 404, []string{"42P01", "reload"}},
		{"saturated", &dbaccess.Error{Kind: dbaccess.ErrSaturated}, 503, []string{"no connection free"}},
		{"unavailable", &dbaccess.Error{Kind: dbaccess.ErrUnavailable}, 503, []string{"unavailable"}},
		{"timeout", &dbaccess.Error{Kind: dbaccess.ErrTimeout}, 504, []string{"timeout"}},
		{"no status", &dbaccess.Error{}, 500, []string{"database"}},
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
			if strings.Contains(w.Body.String(), "canary") {
				t.Errorf("the answer repeats the server's words: %s", w.Body)
			}
			if tr := traces.Traces(); len(tr) != 1 || tr[0].Name != "GET /api/sectors" {
				t.Errorf("traces: %+v", tr)
			}
			if strings.Contains(get(t, s, "/api/debug/traces").Body.String(), "canary") {
				t.Error("the trace repeats the server's words")
			}
		})
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
