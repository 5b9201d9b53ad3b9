package middleware_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/getsentry/sentry-go"
	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/internal/sentrytest"
	"github.com/twinpath/twinpath/middleware"
)

// valueError is what a driver's error is like: its text quotes values.
type valueError struct{ text string }

func (e *valueError) Error() string { return e.text }

// TestReportsHoldNoValues sends a call's error to Sentry in every way that an
// application has. Sentry's client walks the chain of causes and sends each
// one's text.
func TestReportsHoldNoValues(t *testing.T) {
	t.Parallel()
	cause := fmt.Errorf("exec %s: %w", canary, &valueError{canary})
	call := dbaccess.Error{Kind: dbaccess.ErrConflict, Op: "insert", Code: "23505", HTTPStatus: 409}.
		With(dbaccess.ServerText{Message: canary, Detail: canary, Hint: canary}, cause)
	for _, tt := range []struct {
		name    string
		handler echo.HandlerFunc
		reports int
	}{
		{"captured", func(c echo.Context) error {
			sentry.GetHubFromContext(c.Request().Context()).CaptureException(call)
			return nil
		}, 1},
		{"captured, wrapped", func(c echo.Context) error {
			sentry.GetHubFromContext(c.Request().Context()).CaptureException(fmt.Errorf("save: %w", call))
			return nil
		}, 1},
		{"captured, joined", func(c echo.Context) error {
			sentry.GetHubFromContext(c.Request().Context()).CaptureException(errors.Join(errors.New("save"), call))
			return nil
		}, 1},
		{"captured by value", func(c echo.Context) error {
			hub := sentry.GetHubFromContext(c.Request().Context())
			hub.Scope().SetContext("call", sentry.Context{"error": call})
			hub.CaptureMessage(fmt.Sprintf("%+v %#v %v", call, call, errors.Unwrap(call)))
			return nil
		}, 1},
		{"panic", func(echo.Context) error { panic(call) }, 1},
		{"panic, wrapped", func(echo.Context) error { panic(fmt.Errorf("save: %w", call)) }, 1},
		{"answered, and captured by the error handler", func(echo.Context) error { return call }, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, e := sentrytest.New(t, func(o *sentry.ClientOptions) { o.AttachStacktrace = true }), quietEcho()
			e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
				return func(c echo.Context) error {
					defer func() { _ = recover() }()
					return next(c)
				}
			}, middleware.Sentry(), middleware.Errors())
			e.HTTPErrorHandler = func(err error, c echo.Context) {
				sentry.GetHubFromContext(c.Request().Context()).CaptureException(err)
				e.DefaultHTTPErrorHandler(err, c)
			}
			e.GET("/", tt.handler)
			do(t, r.On(e), http.MethodGet, "/")
			if n := len(r.Errors()); n != tt.reports {
				t.Fatalf("%d reports, want %d", n, tt.reports)
			}
			payload := r.Payload(t)
			if strings.Contains(payload, canary) {
				t.Errorf("a value is in the report: %s", payload)
			}
			if !strings.Contains(payload, "conflict with existing rows") {
				t.Errorf("the report does not say what the matter is: %s", payload)
			}
		})
	}
	if e, ok := errors.AsType[*valueError](call); !ok || e.text != canary {
		t.Error("the cause is not found any more")
	}
}
