package site

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// Problem is an error answer. It holds no value that came with the request.
type Problem struct {
	Status  int    `json:"status"`
	Code    string `json:"code"`             // PostgREST's code, a SQLSTATE, or the site's own
	Message string `json:"message"`          // what went wrong
	Advice  string `json:"advice,omitempty"` // what to do about it
}

func (p *Problem) Error() string { return p.Code + ": " + p.Message }

// statusClientClosed is what nginx made the custom for a caller who didn't wait for the answer.
const statusClientClosed = 499

// handleError answers err as JSON. It is the Echo instance's HTTPErrorHandler.
func (s *Site) handleError(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	p := problemOf(err)
	if p.Status >= http.StatusInternalServerError {
		s.cfg.Logger.Error("request failed", "route", c.Path(), "status", p.Status, "error", redacted(err))
	}
	if h := c.Response().Header(); p.Status == http.StatusUnauthorized && h.Get(echo.HeaderWWWAuthenticate) == "" {
		h.Set(echo.HeaderWWWAuthenticate, "Bearer")
	}
	if c.Request().Method == http.MethodHead {
		_ = c.NoContent(p.Status) // it fails when the caller is gone
		return
	}
	_ = c.JSON(p.Status, p)
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

func problemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if errors.Is(err, context.Canceled) {
		return &Problem{Status: statusClientClosed, Code: "canceled", Message: "the caller went away"}
	}
	if e, ok := errors.AsType[*auth.TokenError](err); ok {
		return &Problem{
			Status: http.StatusUnauthorized, Code: e.Code, Message: "bearer token refused: " + e.Reason,
			Advice: "sign in again to get a new token",
		}
	}
	if e, ok := errors.AsType[*query.UnsupportedError](err); ok {
		return &Problem{Status: http.StatusBadRequest, Code: "unsupported", Message: e.Node, Advice: e.Reason}
	}
	if e, ok := errors.AsType[*dbaccess.Error](err); ok {
		return databaseProblem(e)
	}
	if e, ok := errors.AsType[*echo.HTTPError](err); ok {
		return &Problem{Status: e.Code, Code: "http", Message: http.StatusText(e.Code)}
	}
	return &Problem{Status: http.StatusInternalServerError, Code: "internal", Message: "unexpected error"}
}

// databaseProblem answers a failed call with the status that PostgREST has for it, whatever path it
// took.
func databaseProblem(e *dbaccess.Error) *Problem {
	p := &Problem{Status: e.HTTPStatus, Code: e.Code, Message: "the database call failed", Advice: e.Advice}
	if e.Kind != nil {
		p.Message = e.Kind.Error()
	}
	if p.Code == "" {
		p.Code = "database"
	}
	if p.Status < 400 {
		p.Status = statusOf(e)
	}
	return p
}

// statusOf is for failures that never reached a server.
func statusOf(e *dbaccess.Error) int {
	switch {
	case errors.Is(e, dbaccess.ErrNoRows):
		return http.StatusNotFound
	case errors.Is(e, dbaccess.ErrUnauthorized), errors.Is(e, dbaccess.ErrNoIdentity):
		return http.StatusUnauthorized
	case errors.Is(e, dbaccess.ErrInvalid):
		return http.StatusBadRequest
	case errors.Is(e, context.DeadlineExceeded):
		return http.StatusGatewayTimeout
	case errors.Is(e, dbaccess.ErrUnavailable), errors.Is(e, dbaccess.ErrClosed):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
