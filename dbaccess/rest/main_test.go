package rest_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/dbaccess/rest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// backend serves h and returns a backend on it, both of which end with the test.
func backend(t testing.TB, h http.HandlerFunc, change ...func(*rest.Config)) *rest.Backend {
	t.Helper()
	srv := httptest.NewServer(h)
	cfg := rest.Config{URL: srv.URL + "/rest/v1"}
	for _, c := range change {
		c(&cfg)
	}
	b, err := rest.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
		srv.Close()
	})
	return b
}

var anon = auth.Identity{Role: "anon"}

func call(q query.Query) *dbaccess.Call {
	s := q.Spec()
	return &dbaccess.Call{Query: &s, Identity: anon}
}

// rows answers with a list of one row, or with that row where it alone was asked for.
func rows(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Content-Range", "0-0/*")
	body := `[{"id":1}]`
	if strings.Contains(r.Header.Get("Accept"), "object") {
		body = `{"id":1}`
	}
	_, _ = w.Write([]byte(body))
}

// asError returns the *dbaccess.Error that err must be.
func asError(t *testing.T, err error) *dbaccess.Error {
	t.Helper()
	e, ok := err.(*dbaccess.Error)
	if !ok {
		t.Fatalf("error is a %T (%v), want a *dbaccess.Error", err, err)
	}
	return e
}

// texts returns everything that a program may print of err.
func texts(t *testing.T, err error) string {
	t.Helper()
	all := err.Error()
	b, jsonErr := json.Marshal(err)
	if jsonErr != nil {
		t.Fatal(jsonErr)
	}
	all += string(b)
	return all + unwrapped(err)
}

func unwrapped(err error) string {
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return inner.Error() + unwrapped(inner)
		}
	case interface{ Unwrap() []error }:
		all := ""
		for _, inner := range e.Unwrap() {
			all += inner.Error() + unwrapped(inner)
		}
		return all
	}
	return ""
}

func containsAny(s string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

// backendURL serves h until the test ends.
func backendURL(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}
