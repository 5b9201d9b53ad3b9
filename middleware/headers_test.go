package middleware_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/middleware"
)

// headerBackend notes the headers of the calls that it is asked to do.
type headerBackend struct{ headers []http.Header }

func (b *headerBackend) Do(_ context.Context, c *dbaccess.Call) (*dbaccess.Result, error) {
	b.headers = append(b.headers, c.Headers)
	return &dbaccess.Result{Body: []byte(`[]`), Total: -1}, nil
}

func (b *headerBackend) Close(context.Context) error { return nil }

// AccessPath lets the DB forward what its config names, and nothing else.
func TestAccessPathForwardsHeaders(t *testing.T) {
	t.Parallel()
	backend := &headerBackend{}
	db, err := dbaccess.New(dbaccess.Config{
		Direct: backend, Default: &auth.Identity{Role: "anon"}, ForwardHeaders: []string{"X-Tenant", "Cookie"},
	})
	if err != nil {
		t.Fatal(err)
	}
	e := echo.New()
	e.Use(middleware.AccessPath(db))
	e.GET("/", func(c echo.Context) error {
		body, err := dbaccess.JSON(c.Request().Context(), db, query.From("t"))
		if err != nil {
			return err
		}
		return c.JSONBlob(http.StatusOK, body)
	})
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("X-Tenant", "acme")
	r.Header.Set("Cookie", "sid=1")
	r.Header.Set("X-Other", "canary")
	w := httptest.NewRecorder()
	e.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	if diff := cmp.Diff([]http.Header{{"X-Tenant": {"acme"}, "Cookie": {"sid=1"}}}, backend.headers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
