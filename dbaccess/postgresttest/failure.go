package postgresttest

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	"github.com/twinpath/twinpath/dbaccess/internal/parse"
	"github.com/twinpath/twinpath/dbaccess/internal/sqlstate"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// failure is an error of PostgREST's.
type failure struct {
	status  int
	code    string
	message string
	details any // a string, JSON, or nil
	hint    any // a string or nil
	header  http.Header
}

func (f *failure) Error() string { return f.code + ": " + f.message }

// answer writes the error's body and its headers.
func (f *failure) answer() *answer {
	a := newAnswer(f.status)
	maps.Copy(a.header, f.header)
	a.header.Set("Proxy-Status", "PostgREST; error="+f.code)
	a.body = encode(struct {
		Code    string `json:"code"`
		Details any    `json:"details"`
		Hint    any    `json:"hint"`
		Message string `json:"message"`
	}{f.code, f.details, f.hint, f.message})
	return a
}

// orNull is JSON's null for "".
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// unsupported is the answer to what the stand-in leaves to the real PostgREST.
func unsupported(details string) *failure {
	return &failure{status: http.StatusNotImplemented, code: "PGRST127", message: "Feature not implemented", details: details}
}

// parseFailure is the answer to a request that can't be read.
func parseFailure(err error) *failure {
	e, ok := errors.AsType[*parse.Error](err)
	switch {
	case !ok:
		return unsupported("the request is not supported here")
	case e.Status == http.StatusNotImplemented:
		return unsupported(e.Message)
	}
	return &failure{status: e.Status, code: cmp.Or(e.Code, "PGRST100"), message: e.Message, details: orNull(e.Details), hint: orNull(e.Hint)}
}

// compileFailure is the answer to a query that nothing can be run for.
func compileFailure(err error) *failure {
	switch e := err.(type) {
	case *catalog.Error:
		return &failure{status: e.Status, code: e.Code, message: e.Message, details: e.Details, hint: orNull(e.Hint)}
	case *compile.RefusedError:
		return &failure{status: e.Status, code: e.Failure.Code, message: e.Failure.Message, details: orNull(e.Failure.Details), hint: orNull(e.Failure.Hint)}
	case *query.UnsupportedError:
		return unsupported(e.Node + ": " + e.Reason)
	}
	return unsupported("the request is not supported here")
}

// tokenFailure is the answer to a token that was refused.
func tokenFailure(err error) *failure {
	e, ok := errors.AsType[*auth.TokenError](err)
	if !ok {
		return &failure{status: http.StatusInternalServerError, code: "PGRST300", message: "Server lacks JWT secret"}
	}
	return &failure{
		status: http.StatusUnauthorized, code: e.Code, message: e.Reason, details: orNull(e.Details),
		header: http.Header{"Www-Authenticate": {`Bearer error="invalid_token", error_description=` + strconv.Quote(e.Reason)}},
	}
}

// databaseFailure is the answer to an error that Postgres, or the way there,
// reported.
func databaseFailure(err error, anon bool) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	e, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case ok && e.Code == sqlstate.CodeRaise:
		return raiseFailure(e)
	case ok:
		f := &failure{
			status: sqlstate.HTTPStatus(e.Code, e.Message, anon),
			code:   e.Code, message: e.Message, details: orNull(e.Detail), hint: orNull(e.Hint),
		}
		if f.status == http.StatusUnauthorized {
			f.header = http.Header{"Www-Authenticate": {"Bearer"}}
		}
		return f
	case isConnectError(err):
		return &failure{status: http.StatusServiceUnavailable, code: "PGRST000", message: "Database connection error."}
	}
	return &failure{status: http.StatusServiceUnavailable, code: "PGRST001", message: "Database client error. Retrying the connection."}
}

func isConnectError(err error) bool {
	_, ok := errors.AsType[*pgconn.ConnectError](err)
	return ok
}

// raiseFailure is the answer that a function asked for.
func raiseFailure(e *pgconn.PgError) *failure {
	r, _ := sqlstate.ParseRaise(e.Message, e.Detail)
	f := &failure{status: r.Status, code: r.Code, message: r.Message, details: orNull(r.Details), hint: orNull(r.Hint), header: http.Header{}}
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		f.header.Set(name, r.Headers[name])
	}
	return f
}
