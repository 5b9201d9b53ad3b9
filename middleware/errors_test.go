package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/sentrytest"
	"github.com/twinpath/twinpath/middleware"
)

// failed is an error of a call as a backend makes it, with values in what the
// server said.
func failed(e dbaccess.Error) *dbaccess.Error {
	return e.With(dbaccess.ServerText{Message: canary, Detail: canary, Hint: canary}, errors.New(canary))
}

func TestErrorsAnswers(t *testing.T) {
	t.Parallel()
	const advice = "advice for the operator"
	for _, tt := range []struct {
		name   string
		err    error
		code   int
		body   string
		header string
	}{
		{"as PostgREST has it", failed(dbaccess.Error{Kind: dbaccess.ErrConflict, Code: "23505", SQLState: "23505", HTTPStatus: 409, Advice: advice}), 409,
			`{"code":"23505","details":null,"hint":null,"message":"conflict with existing rows"}`, ""},
		{"wrapped by the application", fmt.Errorf("load %s: %w", canary, failed(dbaccess.Error{Kind: dbaccess.ErrInvalid, Code: "22P02", HTTPStatus: 400})), 400,
			`{"code":"22P02","details":null,"hint":null,"message":"invalid value"}`, ""},
		{"no row of One", failed(dbaccess.Error{Kind: dbaccess.ErrNoRows, Code: "PGRST116", HTTPStatus: 406}), 404,
			`{"code":"PGRST116","details":null,"hint":null,"message":"no rows"}`, ""},
		{"no row of First", &dbaccess.Error{Kind: dbaccess.ErrNoRows}, 404,
			`{"code":"PGRST116","details":null,"hint":null,"message":"no rows"}`, ""},
		{"several rows of One", failed(dbaccess.Error{Kind: dbaccess.ErrMultipleRows, Code: "PGRST116", HTTPStatus: 406}), 406,
			`{"code":"PGRST116","details":null,"hint":null,"message":"more than one row"}`, ""},
		{"no such table", failed(dbaccess.Error{Kind: dbaccess.ErrNotFound, Code: "PGRST205", HTTPStatus: 404}), 404,
			`{"code":"PGRST205","details":null,"hint":null,"message":"schema cache stale or object missing"}`, ""},
		{"anonymous caller without the right", failed(dbaccess.Error{Kind: dbaccess.ErrPermission, Code: "42501", HTTPStatus: 401}), 401,
			`{"code":"42501","details":null,"hint":null,"message":"permission denied"}`, "Bearer"},
		{"known caller without the right", failed(dbaccess.Error{Kind: dbaccess.ErrPermission, Code: "42501", HTTPStatus: 403}), 403,
			`{"code":"42501","details":null,"hint":null,"message":"permission denied"}`, ""},
		{"nobody asks", &dbaccess.Error{Kind: dbaccess.ErrNoIdentity, Code: "PGRST302", HTTPStatus: 401}, 401,
			`{"code":"PGRST302","details":null,"hint":null,"message":"no identity"}`, "Bearer"},
		{"the server's timeout, which PostgREST answers with 500", failed(dbaccess.Error{Kind: dbaccess.ErrTimeout, Code: "57014", SQLState: "57014", HTTPStatus: 500}), 504,
			`{"code":"57014","details":null,"hint":null,"message":"timeout"}`, ""},
		{"the caller's deadline", failed(dbaccess.Error{Kind: dbaccess.ErrTimeout}), 504,
			`{"code":"","details":null,"hint":null,"message":"timeout"}`, ""},
		{"saturated", failed(dbaccess.Error{Kind: dbaccess.ErrSaturated, Code: "PGRST003", HTTPStatus: 504, Advice: advice}), 503,
			`{"code":"PGRST003","details":null,"hint":null,"message":"no connection free in time"}`, ""},
		{"unavailable", failed(dbaccess.Error{Kind: dbaccess.ErrUnavailable, Advice: advice}), 503,
			`{"code":"","details":null,"hint":null,"message":"database access path unavailable"}`, ""},
		{"closed", &dbaccess.Error{Kind: dbaccess.ErrClosed}, 503, `{"code":"","details":null,"hint":null,"message":"closed"}`, ""},
		{"a write that may have been done", failed(dbaccess.Error{Kind: dbaccess.ErrUnavailable, OutcomeUnknown: true}), 500,
			`{"code":"","details":null,"hint":null,"message":"connection lost after sending a write, which may or may not have been done"}`, ""},
		{"a write that may have been done, at the deadline", failed(dbaccess.Error{Kind: dbaccess.ErrTimeout, OutcomeUnknown: true}), 504,
			`{"code":"","details":null,"hint":null,"message":"connection lost after sending a write, which may or may not have been done"}`, ""},
		{"a failure of the server", failed(dbaccess.Error{Code: "XX000", SQLState: "XX000", HTTPStatus: 500, Advice: advice}), 500,
			`{"code":"XX000","details":null,"hint":null,"message":"internal server error"}`, ""},
		{"a status that a proxy made up", failed(dbaccess.Error{HTTPStatus: 302}), 500,
			`{"code":"","details":null,"hint":null,"message":"internal server error"}`, ""},
		{"a function that can't be done", failed(dbaccess.Error{Code: "0A000", HTTPStatus: 501}), 500,
			`{"code":"0A000","details":null,"hint":null,"message":"internal server error"}`, ""},
		{"a query that can't be run", &dbaccess.Error{Kind: dbaccess.ErrUnsupported, Advice: advice}, 500,
			`{"code":"","details":null,"hint":null,"message":"unsupported query"}`, ""},
		{"a list cut short", &dbaccess.Error{Kind: dbaccess.ErrTruncated}, 500,
			`{"code":"","details":null,"hint":null,"message":"list reached the row limit and may be incomplete"}`, ""},
		{"refused before it was sent", &dbaccess.Error{Kind: dbaccess.ErrInvalid, Advice: advice}, 400,
			`{"code":"","details":null,"hint":null,"message":"invalid value"}`, ""},
		{"PostgREST's limit of a range", failed(dbaccess.Error{Kind: dbaccess.ErrInvalid, Code: "PGRST103", HTTPStatus: 416}), 416,
			`{"code":"PGRST103","details":null,"hint":null,"message":"invalid value"}`, ""},
		{"nothing known", &dbaccess.Error{}, 500, `{"code":"","details":null,"hint":null,"message":"internal server error"}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := quietEcho()
			var handled error
			e.HTTPErrorHandler = func(err error, c echo.Context) {
				handled = err
				e.DefaultHTTPErrorHandler(err, c)
			}
			e.Use(middleware.Errors())
			e.GET("/", func(echo.Context) error { return tt.err })
			rec := do(t, e, http.MethodGet, "/")
			if rec.Code != tt.code {
				t.Errorf("status %d, want %d", rec.Code, tt.code)
			}
			if diff := cmp.Diff(tt.body+"\n", rec.Body.String()); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			if got := rec.Header().Get("WWW-Authenticate"); got != tt.header {
				t.Errorf("WWW-Authenticate %q, want %q", got, tt.header)
			}
			he, ok := handled.(*echo.HTTPError)
			if !ok || he.Internal != tt.err {
				t.Fatalf("the error handler got %T, whose Internal should be the handler's error", handled)
			}
			if _, found := errors.AsType[*dbaccess.Error](handled); !found {
				t.Error("errors.As finds no *dbaccess.Error")
			}
		})
	}
}

// TestErrorsPass has what Errors leaves as it is.
func TestErrorsPass(t *testing.T) {
	t.Parallel()
	conflict := failed(dbaccess.Error{Kind: dbaccess.ErrConflict, HTTPStatus: 409})
	for _, tt := range []struct {
		name string
		err  error
	}{
		{"the application's own", errDomain},
		{"Echo's", echo.ErrNotFound},
		{"mapped by the application", echo.NewHTTPError(http.StatusTeapot).SetInternal(conflict)},
		{"mapped and wrapped by the application", fmt.Errorf("x: %w", echo.NewHTTPError(http.StatusTeapot).SetInternal(conflict))},
		{"canceled", &dbaccess.Error{Kind: context.Canceled}},
		{"canceled by the server's word", dbaccess.Error{Kind: dbaccess.ErrTimeout}.With(dbaccess.ServerText{}, context.Canceled)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := through(t, middleware.Errors(), tt.err, false); got != tt.err { // the very same
				t.Errorf("got %v", got)
			}
		})
	}
	if got := through(t, middleware.Errors(), conflict, true); got != error(conflict) {
		t.Errorf("behind the body: got %v", got)
	}
	skipping := middleware.ErrorsWithConfig(middleware.ErrorsConfig{Skipper: func(echo.Context) bool { return true }})
	if got := through(t, skipping, conflict, false); got != error(conflict) {
		t.Errorf("skipped: got %v", got)
	}
	if got := through(t, middleware.Errors(), nil, false); got != nil {
		t.Errorf("no error: got %v", got)
	}
}

// through returns what the error handler gets of a handler's error.
func through(t *testing.T, mw echo.MiddlewareFunc, err error, sent bool) (got error) {
	t.Helper()
	e := quietEcho()
	e.HTTPErrorHandler = func(err error, _ echo.Context) { got = err }
	e.Use(mw)
	e.GET("/", func(c echo.Context) error {
		if sent {
			_ = c.String(http.StatusOK, "x")
		}
		return err
	})
	do(t, e, http.MethodGet, "/")
	return got
}

func TestErrorsStatus(t *testing.T) {
	t.Parallel()
	for want, own := range map[int]int{http.StatusUnprocessableEntity: 422, http.StatusConflict: 0, http.StatusUnauthorized: 401} {
		e := quietEcho()
		e.Use(middleware.ErrorsWithConfig(middleware.ErrorsConfig{Status: func(*dbaccess.Error) int { return own }}))
		e.GET("/", func(echo.Context) error { return failed(dbaccess.Error{Kind: dbaccess.ErrConflict, HTTPStatus: 409}) })
		rec := do(t, e, http.MethodGet, "/")
		if rec.Code != want || (rec.Header().Get("WWW-Authenticate") != "") != (want == 401) {
			t.Errorf("Status returns %d: the client got %d, header %q", own, rec.Code, rec.Header().Get("WWW-Authenticate"))
		}
	}
	for _, own := range []int{200, 302, 600, -1} { // no failure's
		e := quietEcho()
		e.Use(middleware.ErrorsWithConfig(middleware.ErrorsConfig{Status: func(*dbaccess.Error) int { return own }}))
		e.GET("/", func(echo.Context) error { return failed(dbaccess.Error{Kind: dbaccess.ErrConflict, HTTPStatus: 409}) })
		if rec := do(t, e, http.MethodGet, "/"); rec.Code != 409 {
			t.Errorf("Status returns %d: the client got %d", own, rec.Code)
		}
	}
	e := quietEcho()
	e.Use(middleware.ErrorsWithConfig(middleware.ErrorsConfig{Status: func(*dbaccess.Error) int { return 400 }}))
	e.GET("/", func(echo.Context) error {
		return &dbaccess.Error{Kind: dbaccess.ErrUnsupported, Advice: "write % yourself"}
	})
	if rec := do(t, e, http.MethodGet, "/"); !strings.Contains(rec.Body.String(), `"hint":"write % yourself"`) {
		t.Errorf("a query that the client is to blame for: %s", rec.Body)
	}
}

// TestErrorsInAnyOrder runs the middlewares in all orders, with a real call that
// fails.
func TestErrorsInAnyOrder(t *testing.T) {
	t.Parallel()
	db, err := dbaccess.New(dbaccess.Config{Direct: failing{}, Default: &auth.Identity{Role: "anon"}})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]echo.MiddlewareFunc{
		"Sentry": middleware.Sentry(), "Errors": middleware.Errors(),
		"Identity": middleware.Identity(newTokens(t)), "AccessPath": middleware.AccessPath(db),
	}
	for _, order := range permutations([]string{"Sentry", "Errors", "Identity", "AccessPath"}) {
		r, e := sentrytest.New(t, nil), quietEcho()
		for _, name := range append(order, "Errors") { // twice does no harm
			e.Use(all[name])
		}
		e.GET("/", func(c echo.Context) error {
			_, err := dbaccess.All[struct {
				ID int `json:"id"`
			}](c.Request().Context(), db, query.From("filings").Where(query.Eq("ticker", canary)))
			return err
		})
		h := r.On(e)
		rec := do(t, h, http.MethodGet, "/")
		event := r.One(t)
		if rec.Code != 409 || data(event)["http.response.status_code"] != 409 || status(event) != "already_exists" || data(event)["db.access_path"] != "direct" {
			t.Errorf("%v: the client got %d, the trace has %v, %s", order, rec.Code, data(event), status(event))
		}
		var body struct{ Code, Message string }
		if err := json.Unmarshal(rec.Body.Bytes(), &body); err != nil || body.Code != "23505" {
			t.Errorf("%v: %v, %s", order, err, rec.Body)
		}
		if bad := do(t, h, http.MethodGet, "/", "Authorization", "Bearer x"); bad.Code != 401 || !strings.Contains(bad.Header().Get("WWW-Authenticate"), "invalid_token") {
			t.Errorf("%v: a bad token gets %d, %q", order, bad.Code, bad.Header().Get("WWW-Authenticate"))
		}
	}
}

func permutations(list []string) [][]string {
	if len(list) == 1 {
		return [][]string{list}
	}
	var out [][]string
	for i, first := range list {
		rest := append(append([]string{}, list[:i]...), list[i+1:]...)
		for _, p := range permutations(rest) {
			out = append(out, append([]string{first}, p...))
		}
	}
	return out
}

// failing is a backend whose answer is a unique violation.
type failing struct{}

func (failing) Do(context.Context, *dbaccess.Call) (*dbaccess.Result, error) {
	return nil, failed(dbaccess.Error{Kind: dbaccess.ErrConflict, Code: "23505", SQLState: "23505", HTTPStatus: 409})
}

func (failing) Close(context.Context) error { return nil }
