package middleware_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/rollout"
	"github.com/twinpath/twinpath/middleware"
)

// decided answers which path the request's calls take, and why.
func decided(t *testing.T, cfg middleware.AccessPathConfig, header http.Header, before ...echo.MiddlewareFunc) (dbaccess.Path, string) {
	t.Helper()
	e := quietEcho()
	e.Use(append(before, middleware.AccessPathWithConfig(cfg))...)
	var d dbaccess.Decision
	e.GET("/", func(c echo.Context) error {
		if err := calls(t, cfg.DB, 1)(c); err != nil {
			return err
		}
		d, _ = dbaccess.DecisionFrom(c.Request().Context())
		return nil
	})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.Header = header
	e.ServeHTTP(httptest.NewRecorder(), r)
	return d.Path, d.Reason
}

// TestOverrideIsInert sends the header in every form to who does not allow it, and in
// forms that mean nothing to who does.
func TestOverrideIsInert(t *testing.T) {
	t.Parallel()
	db := newDB(t, rollout.Fixed(dbaccess.REST))
	asked := 0
	nobody := func(echo.Context) bool { return false }
	everybody := func(echo.Context) bool { asked++; return true }
	for _, header := range []http.Header{
		{"X-Db-Access-Path": {"direct"}}, {"X-Db-Access-Path": {"DIRECT"}}, {"X-Db-Access-Path": {"direct", "direct"}},
		{"x-db-access-path": {"direct"}}, {"X-DB-ACCESS-PATH": {"direct"}}, {"X_Db_Access_Path": {"direct"}},
		{"X-Db-Access-Path": {"direct"}, "X-Forwarded-For": {"127.0.0.1"}}, {"Cookie": {"X-Db-Access-Path=direct"}},
	} {
		for name, allow := range map[string]func(echo.Context) bool{"no function": nil, "refused": nobody} {
			if p, why := decided(t, middleware.AccessPathConfig{DB: db, Allow: allow}, header); p != dbaccess.REST || why != "fixed" {
				t.Errorf("%s: %v leads to %s because %s", name, header, p, why)
			}
		}
	}
	for _, header := range []http.Header{
		{"X-Db-Access-Path": {"direct", "rest"}}, {"X-Db-Access-Path": {"direct", "direct"}}, {"X-Db-Access-Path": {"", "direct"}},
		{"X-Db-Access-Path": {"direct,direct"}}, {"X-Db-Access-Path": {"direct;q=1"}}, {"X-Db-Access-Path": {"dir\u00e9ct"}}, {"X-Db-Access-Path": {""}},
		{"X_Db_Access_Path": {"direct"}}, {},
	} {
		if p, why := decided(t, middleware.AccessPathConfig{DB: db, Allow: everybody}, header); p != dbaccess.REST || why != "fixed" {
			t.Errorf("allowed: %v leads to %s because %s", header, p, why)
		}
	}
	if asked != 0 {
		t.Errorf("Allow was asked %d times about nothing", asked)
	}
}

// TestOverrideInAnyCase is how a server hands over what came in any case: under its canonical name.
func TestOverrideInAnyCase(t *testing.T) {
	t.Parallel()
	db := newDB(t, rollout.Fixed(dbaccess.REST))
	everybody := func(echo.Context) bool { return true }
	for _, name := range []string{"x-db-access-path", "X-DB-ACCESS-PATH", "X-Db-Access-Path"} {
		for _, configured := range []string{"", "x-DB-access-PATH"} {
			for _, value := range []string{"direct", "Direct", " DIRECT "} {
				header := http.Header{}
				header.Set(name, value)
				if p, why := decided(t, middleware.AccessPathConfig{DB: db, Allow: everybody, Header: configured}, header); p != dbaccess.Direct || why != rollout.ReasonOverride {
					t.Errorf("%s: %q leads to %s because %s", name, value, p, why)
				}
			}
		}
	}
}

// TestOverrideComesTooLate has a middleware further out that makes a call: the path is decided by then.
func TestOverrideComesTooLate(t *testing.T) {
	t.Parallel()
	db := newDB(t, rollout.Fixed(dbaccess.REST))
	early := func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if _, err := dbaccess.JSON(c.Request().Context(), db, companies); err != nil {
				return err
			}
			return next(c)
		}
	}
	cfg := middleware.AccessPathConfig{DB: db, Allow: func(echo.Context) bool { return true }}
	p, why := decided(t, cfg, http.Header{"X-Db-Access-Path": {"direct"}}, middleware.AccessPath(db), early)
	if p != dbaccess.REST || why != "fixed" {
		t.Errorf("the path changed to %s because %s within a request", p, why)
	}
	p, why = decided(t, cfg, http.Header{"X-Db-Access-Path": {"direct"}}, middleware.AccessPath(db))
	if p != dbaccess.Direct || why != rollout.ReasonOverride {
		t.Errorf("before the first call: %s because %s", p, why)
	}
}
