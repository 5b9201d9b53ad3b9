package middleware

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess"
)

// ErrorsConfig configures [ErrorsWithConfig].
type ErrorsConfig struct {
	// Skipper leaves out requests, whose errors then pass as they are. Defaults to
	// none.
	Skipper Skipper
	// Status picks the answer's status, from 400 to 599; 0 and any other number
	// leave it to the default, which [Errors] describes. Defaults to that for all
	// errors.
	Status func(err *dbaccess.Error) int
}

// Errors lets handlers return the errors of database calls as they are: it
// turns a *dbaccess.Error, wrapped or not, into an *echo.HTTPError with the
// status and the body that PostgREST answers, on both paths.
//
// The status is PostgREST's but for these: no row is 404, a timeout 504, a path
// that is unavailable or saturated 503, and any other failure of the server's 500,
// as is a query that can't be run. A write of which nobody knows whether it was
// done is never 503, which would invite a second try. A 401 has a
// WWW-Authenticate header.
//
// The body has PostgREST's members code, details, hint and message. It is the
// same on both paths and has no word of the server's, which may quote values, nor
// the error's advice, which is for whoever runs the service; only that on a
// query that can't be run is the hint, where Status blames the client for it. The
// error itself is the HTTPError's Internal, for the application's error handler
// and for whatever looks for it with errors.As.
//
// Other errors pass unchanged: those of the application, an *echo.HTTPError that
// the application made of a database error, and a call that ended because its
// context was canceled. So do errors that come when the response has been sent.
func Errors() echo.MiddlewareFunc { return ErrorsWithConfig(ErrorsConfig{}) }

// ErrorsWithConfig is [Errors] with a config. It panics when the config is wrong.
func ErrorsWithConfig(cfg ErrorsConfig) echo.MiddlewareFunc { return must(cfg.ToMiddleware()) }

// ToMiddleware returns the middleware. There is nothing that can be wrong with
// the config.
func (cfg ErrorsConfig) ToMiddleware() (echo.MiddlewareFunc, error) {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			err := next(c)
			if err == nil || c.Response().Committed || cfg.Skipper.skips(c) {
				return err
			}
			return cfg.answer(c, err)
		}
	}, nil
}

func (cfg *ErrorsConfig) answer(c echo.Context, err error) error {
	if _, mapped := errors.AsType[*echo.HTTPError](err); mapped || errors.Is(err, context.Canceled) {
		return err
	}
	e, ok := errors.AsType[*dbaccess.Error](err)
	if !ok {
		return err
	}
	status := 0
	if cfg.Status != nil {
		status = cfg.Status(e)
	}
	if status < 400 || status > 599 {
		status = statusOf(e)
	}
	if h := c.Response().Header(); status == http.StatusUnauthorized && h.Get(echo.HeaderWWWAuthenticate) == "" {
		h.Set(echo.HeaderWWWAuthenticate, "Bearer")
	}
	return &echo.HTTPError{Code: status, Message: bodyOf(e, status), Internal: err}
}

// statusOf is the status of the answer to a call that failed.
func statusOf(e *dbaccess.Error) int {
	switch {
	case errors.Is(e, dbaccess.ErrNoRows):
		return http.StatusNotFound // PostgREST's 406 speaks of a media type that the caller didn't choose
	case errors.Is(e, dbaccess.ErrTimeout):
		return http.StatusGatewayTimeout
	case e.OutcomeUnknown:
		return http.StatusInternalServerError
	case errors.Is(e, dbaccess.ErrUnavailable), errors.Is(e, dbaccess.ErrClosed):
		return http.StatusServiceUnavailable
	case e.HTTPStatus >= 400 && e.HTTPStatus < 500:
		return e.HTTPStatus
	case e.HTTPStatus != 0:
		return http.StatusInternalServerError
	}
	// The call failed before it came to a server that has a status for it.
	switch {
	case errors.Is(e, dbaccess.ErrUnauthorized), errors.Is(e, dbaccess.ErrNoIdentity):
		return http.StatusUnauthorized
	case errors.Is(e, dbaccess.ErrPermission):
		return http.StatusForbidden
	case errors.Is(e, dbaccess.ErrConflict):
		return http.StatusConflict
	case errors.Is(e, dbaccess.ErrInvalid):
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

// codeNoRows is PostgREST's code for a single row that isn't there.
const codeNoRows = "PGRST116"

// bodyOf is the answer's body. The texts of sentinels say what is the matter and
// then, behind a colon, what the developer should do.
func bodyOf(e *dbaccess.Error, status int) refusal {
	kind := e.Kind
	if e.OutcomeUnknown {
		kind = dbaccess.ErrUnknownOutcome
	}
	body := refusal{Code: e.Code, Message: strings.ToLower(http.StatusText(status))}
	if kind != nil {
		body.Message, _, _ = strings.Cut(kind.Error(), ": ")
	}
	if body.Code == "" && errors.Is(e, dbaccess.ErrNoRows) {
		body.Code = codeNoRows // First and One answer alike
	}
	if e.Advice != "" && e.Kind == dbaccess.ErrUnsupported && status < http.StatusInternalServerError {
		body.Hint = &e.Advice // from the facade, which knows of no path
	}
	return body
}
