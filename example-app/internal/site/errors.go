package site

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess"
)

// Problem is an error answer of the site's own, in the form that PostgREST's and
// middleware.Errors' have. It holds no value that came with the request.
type Problem struct {
	Status  int     `json:"-"`
	Code    string  `json:"code"`
	Details *string `json:"details"`
	Hint    *string `json:"hint"`    // what to do about it
	Message string  `json:"message"` // what went wrong
}

func (p *Problem) Error() string { return p.Code + ": " + p.Message }

// statusClientClosed is what nginx made the custom for a caller who didn't wait for the answer.
const statusClientClosed = 499

// handleError answers err as JSON. It is the Echo instance's HTTPErrorHandler.
func (s *Site) handleError(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	status, body := answerTo(err)
	if status >= http.StatusInternalServerError {
		s.cfg.Logger.Error("request failed", "route", c.Path(), "status", status, "error", redacted(err))
	}
	if c.Request().Method == http.MethodHead {
		_ = c.NoContent(status) // it fails when the caller is gone
		return
	}
	_ = c.JSON(status, body)
}

// redacted is what may be logged of an error: the facade's own errors hold no values, others may.
func redacted(err error) any {
	if e, ok := errors.AsType[*dbaccess.Error](err); ok {
		return e
	}
	if p, ok := errors.AsType[*Problem](err); ok {
		return p.Error()
	}
	return "unexpected"
}

// answerTo returns the status and the body for an error. Those of database calls and of bearer tokens
// come with both, from package middleware.
func answerTo(err error) (status int, body any) {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p.Status, p
	}
	if errors.Is(err, context.Canceled) {
		return statusClientClosed, &Problem{Code: "canceled", Message: "the caller went away"}
	}
	if e, ok := errors.AsType[*echo.HTTPError](err); ok {
		if _, text := e.Message.(string); !text {
			return e.Code, e.Message
		}
		return e.Code, &Problem{Code: "http", Message: http.StatusText(e.Code)}
	}
	return http.StatusInternalServerError, &Problem{Code: "internal", Message: "unexpected error"}
}

// statusOf makes the caller answer for a query that can't be run: what makes one so is an asterisk in
// the caller's pattern.
func statusOf(e *dbaccess.Error) int {
	if errors.Is(e, dbaccess.ErrUnsupported) {
		return http.StatusBadRequest
	}
	return 0
}
