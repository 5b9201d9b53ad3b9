package middleware_test

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/getsentry/sentry-go"
	"github.com/google/go-cmp/cmp"
	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/dbaccess/rollout"
	"github.com/twinpath/twinpath/internal/sentrytest"
	"github.com/twinpath/twinpath/middleware"
	"github.com/twinpath/twinpath/tracing"
)

// path is a backend that answers with its own name.
type path struct{ name dbaccess.Path }

func (p path) Do(context.Context, *dbaccess.Call) (*dbaccess.Result, error) {
	return &dbaccess.Result{Body: []byte(`["` + string(p.name) + `"]`), Rows: 1, Total: -1, Status: 200}, nil
}
func (path) Close(context.Context) error { return nil }

// asking is a router that keeps what it was asked.
type asking struct {
	next  dbaccess.Router
	mu    sync.Mutex
	asked []dbaccess.RouteRequest
}

func (a *asking) Route(ctx context.Context, r dbaccess.RouteRequest) dbaccess.Decision {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, r)
	return a.next.Route(ctx, r)
}

func newDB(tb testing.TB, r dbaccess.Router) *dbaccess.DB {
	tb.Helper()
	db, err := dbaccess.New(dbaccess.Config{
		REST: path{dbaccess.REST}, Direct: path{dbaccess.Direct},
		Router:    r,
		Default:   &auth.Identity{Role: "anon"},
		Observers: []dbaccess.Observer{tracing.NewObserver()},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return db
}

var companies = query.From("companies").Named("companies")

// calls is a handler with n database calls side by side.
func calls(tb testing.TB, db *dbaccess.DB, n int) echo.HandlerFunc {
	return func(c echo.Context) error {
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				if _, err := dbaccess.JSON(c.Request().Context(), db, companies); err != nil {
					tb.Error(err)
				}
			})
		}
		wg.Wait()
		return c.NoContent(204)
	}
}

// TestOneDecisionInAnyOrder registers the three in every order.
func TestOneDecisionInAnyOrder(t *testing.T) {
	t.Parallel()
	orders := [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	tokens := newTokens(t)
	token, err := tokens.Sign(t.Context(), auth.Identity{Role: "authenticated", Claims: []byte(`{"sub":"alice"}`)})
	if err != nil {
		t.Fatal(err)
	}
	for _, order := range orders {
		router := &asking{next: rollout.Percent(100, "db-access-path")}
		db := newDB(t, router)
		all := []echo.MiddlewareFunc{middleware.Sentry(), middleware.Identity(tokens), middleware.AccessPath(db)}
		r, e := sentrytest.New(t, nil), quietEcho()
		for _, i := range order {
			e.Use(all[i])
		}
		e.GET("/", calls(t, db, 5))
		do(t, r.On(e), http.MethodGet, "/", "Authorization", "Bearer "+token)
		do(t, r.On(e), http.MethodGet, "/")

		events := r.Transactions()
		if len(events) != 2 {
			t.Fatalf("%v: %d transactions", order, len(events))
		}
		traceID := events[1].Contexts["trace"]["trace_id"].(sentry.TraceID).String()
		want := []dbaccess.RouteRequest{{Subject: "alice", Query: "companies"}, {Subject: traceID, Query: "companies"}}
		if diff := cmp.Diff(want, router.asked); diff != "" {
			t.Errorf("%v: the router was asked (-want +got):\n%s", order, diff)
		}
		for _, event := range events {
			for k, v := range map[string]any{
				"db.access_path": "direct", "db.access_path.variant": "direct", "db.access_path.reason": "percent",
				"flag.evaluation.db-access-path": true, "http.response.status_code": 204, "http.request.method": "GET", "http.route": "/",
			} {
				if got := data(event)[k]; got != v {
					t.Errorf("%v: %s is %v, want %v", order, k, got, v)
				}
			}
			if len(event.Spans) != 5 {
				t.Errorf("%v: %d spans", order, len(event.Spans))
			}
		}
	}
}

func TestNoCallNoDecision(t *testing.T) {
	t.Parallel()
	db := newDB(t, rollout.Fixed(dbaccess.Direct))
	r, e := sentrytest.New(t, nil), quietEcho()
	e.Use(middleware.Sentry(), middleware.AccessPath(db))
	e.GET("/", func(c echo.Context) error { return c.NoContent(204) })
	do(t, r.On(e), http.MethodGet, "/")
	if v, ok := data(r.One(t))["db.access_path"]; ok {
		t.Errorf("a request without calls went %v", v)
	}
}

func TestSubjects(t *testing.T) {
	t.Parallel()
	router := &asking{next: rollout.Fixed(dbaccess.REST)}
	db := newDB(t, router)
	cookie := func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			r := c.Request()
			c.SetRequest(r.WithContext(dbaccess.WithSubject(r.Context(), "cookie")))
			return next(c)
		}
	}
	for name, tt := range map[string]struct {
		mws  []echo.MiddlewareFunc
		want string
	}{
		"no trace":           {[]echo.MiddlewareFunc{middleware.AccessPath(db)}, ""},
		"no access path":     {[]echo.MiddlewareFunc{middleware.Sentry()}, ""},
		"the app's, inside":  {[]echo.MiddlewareFunc{middleware.Sentry(), middleware.AccessPath(db), cookie}, "cookie"},
		"the app's, outside": {[]echo.MiddlewareFunc{cookie, middleware.AccessPath(db), middleware.Sentry()}, "cookie"},
	} {
		r, e := sentrytest.New(t, nil), quietEcho()
		e.Use(tt.mws...)
		e.GET("/", calls(t, db, 1))
		router.asked = nil
		do(t, r.On(e), http.MethodGet, "/")
		if len(router.asked) != 1 || router.asked[0].Subject != tt.want {
			t.Errorf("%s: asked %v, want subject %q", name, router.asked, tt.want)
		}
	}
}

func TestOverrideHeader(t *testing.T) {
	t.Parallel()
	db := newDB(t, rollout.Fixed(dbaccess.REST))
	everyone := func(echo.Context) bool { return true }
	nobody := func(echo.Context) bool { return false }
	for _, tt := range []struct {
		name         string
		allow        func(echo.Context) bool
		header       string
		sent         []string
		want, reason string
	}{
		{"not configured", nil, "", []string{"X-Db-Access-Path", "direct"}, "rest", "fixed"},
		{"not allowed", nobody, "", []string{"X-Db-Access-Path", "direct"}, "rest", "fixed"},
		{"allowed", everyone, "", []string{"X-Db-Access-Path", " Direct"}, "direct", "override"},
		{"allowed, not sent", everyone, "", nil, "rest", "fixed"},
		{"allowed, nonsense", everyone, "", []string{"X-Db-Access-Path", "both"}, "rest", "fixed"},
		{"another header", everyone, "X-Path", []string{"X-Path", "direct"}, "direct", "override"},
	} {
		r, e := sentrytest.New(t, nil), quietEcho()
		e.Use(middleware.AccessPathWithConfig(middleware.AccessPathConfig{DB: db, Allow: tt.allow, Header: tt.header}), middleware.Sentry())
		e.GET("/", calls(t, db, 2))
		do(t, r.On(e), http.MethodGet, "/", tt.sent...)
		event := r.One(t)
		for _, s := range event.Spans {
			if s.Data["db.access_path"] != tt.want || s.Data["db.access_path.reason"] != tt.reason {
				t.Errorf("%s: a call went %v because %v", tt.name, s.Data["db.access_path"], s.Data["db.access_path.reason"])
			}
		}
		if data(event)["db.access_path"] != tt.want {
			t.Errorf("%s: the transaction says %v", tt.name, data(event)["db.access_path"])
		}
	}
}

func TestAccessPathSkipperAndTwice(t *testing.T) {
	t.Parallel()
	router := &asking{next: rollout.Fixed(dbaccess.REST)}
	db := newDB(t, router)
	e := quietEcho()
	mw := middleware.AccessPathWithConfig(middleware.AccessPathConfig{DB: db, Skipper: func(c echo.Context) bool { return c.Path() == "/each" }})
	e.Use(mw, mw)
	e.GET("/each", calls(t, db, 3))
	e.GET("/", calls(t, db, 3))
	do(t, e, http.MethodGet, "/each")
	if len(router.asked) != 3 {
		t.Errorf("skipped: the router was asked %d times, want once a call", len(router.asked))
	}
	router.asked = nil
	do(t, e, http.MethodGet, "/")
	if len(router.asked) != 1 {
		t.Errorf("the router was asked %d times, want once", len(router.asked))
	}
}

// TestCallsOutlivingTheRequest is for the race detector.
func TestCallsOutlivingTheRequest(t *testing.T) {
	t.Parallel()
	db := newDB(t, rollout.Fixed(dbaccess.Direct))
	r, e := sentrytest.New(t, nil), quietEcho()
	e.Use(middleware.Sentry(), middleware.AccessPath(db))
	var wg sync.WaitGroup
	e.GET("/", func(c echo.Context) error {
		ctx := context.WithoutCancel(c.Request().Context())
		for range 4 {
			wg.Go(func() {
				for range 50 {
					if _, err := dbaccess.JSON(ctx, db, companies); err != nil {
						t.Error(err)
					}
				}
			})
		}
		return c.NoContent(204)
	})
	for range 10 {
		do(t, r.On(e), http.MethodGet, "/")
	}
	wg.Wait()
	events := r.Transactions()
	if len(events) != 10 {
		t.Errorf("%d transactions", len(events))
	}
	for _, event := range events {
		if slices.ContainsFunc(event.Spans, func(s *sentry.Span) bool { return s.EndTime.After(event.Timestamp) }) {
			t.Error("a span ends behind its transaction")
		}
	}
}
