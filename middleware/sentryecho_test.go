package middleware_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/getsentry/sentry-go"
	"github.com/google/go-cmp/cmp"
	"github.com/labstack/echo/v4"
	echomiddleware "github.com/labstack/echo/v4/middleware"

	"github.com/twinpath/twinpath/internal/sentrytest"
	"github.com/twinpath/twinpath/middleware"
)

// seen is what a request looks like from both sides: to the client on the wire,
// and in Sentry.
type seen struct {
	Client       int // status; 0 where the connection was dropped
	Transactions int
	Name         string
	Code         any
	Status       string
	Events       int // error events
}

// TestWhereTheOfficialMiddlewareIsWrong has a row for every situation in which
// sentry-go/echo v0.44.1, the last for Echo v4, records something else than the
// client sees, or disturbs it. Where a connection outlives its request is in
// stream_test.go, and where a client goes away in TestClientGone.
func TestWhereTheOfficialMiddlewareIsWrong(t *testing.T) {
	t.Parallel()
	returning := func(err error) echo.HandlerFunc { return func(echo.Context) error { return err } }
	type row struct {
		name    string // of the situation
		cfg     middleware.SentryConfig
		client  func(*sentry.ClientOptions)
		outside []echo.MiddlewareFunc
		inside  []echo.MiddlewareFunc
		pre     bool
		handler echo.HandlerFunc
		errors  echo.HTTPErrorHandler
		method  string
		target  string
		headers []string
		want    seen
	}
	const route = "GET /u/:id"
	sdkDefaults := func(o *sentry.ClientOptions) { o.TraceIgnoreStatusCodes = nil }
	for _, tt := range []row{
		{name: "the span is in the request's context", handler: func(c echo.Context) error {
			if sentry.SpanFromContext(c.Request().Context()) == nil || sentry.GetHubFromContext(c.Request().Context()) == nil {
				return echo.NewHTTPError(http.StatusTeapot)
			}
			return c.NoContent(204)
		}, want: seen{Client: 204, Name: route, Code: 204, Status: "ok"}},
		{name: "plain error", handler: returning(errDomain), want: seen{Client: 500, Name: route, Code: 500, Status: "internal_error"}},
		{name: "wrapped HTTP error", handler: returning(fmt.Errorf("x: %w", echo.NewHTTPError(404))), errors: func(err error, c echo.Context) {
			if he, ok := errors.AsType[*echo.HTTPError](err); ok {
				_ = c.NoContent(he.Code)
			}
		}, want: seen{Client: 404, Name: route, Code: 404, Status: "not_found"}},
		{name: "HTTP error with another one inside", handler: returning(echo.NewHTTPError(400).SetInternal(echo.NewHTTPError(403))),
			want: seen{Client: 403, Name: route, Code: 403, Status: "permission_denied"}},
		{name: "error behind the body", handler: func(c echo.Context) error {
			_ = c.String(200, "x")
			return echo.NewHTTPError(500)
		}, want: seen{Client: 200, Name: route, Code: 200, Status: "internal_error"}},
		{name: "domain error mapped by the error handler", handler: returning(errDomain), errors: func(_ error, c echo.Context) { _ = c.NoContent(409) },
			want: seen{Client: 409, Name: route, Code: 409, Status: "already_exists"}},
		{name: "HTTP error mapped by the error handler", handler: returning(echo.NewHTTPError(400)), errors: func(_ error, c echo.Context) { _ = c.NoContent(422) },
			want: seen{Client: 422, Name: route, Code: 422, Status: "invalid_argument"}},
		{name: "panic without Recover", handler: func(echo.Context) error { panic("boom") },
			want: seen{Client: 0, Name: route, Code: 500, Status: "internal_error", Events: 1}},
		{name: "panic with Recover in front", outside: []echo.MiddlewareFunc{echomiddleware.Recover()}, handler: func(echo.Context) error { panic("boom") },
			want: seen{Client: 500, Name: route, Code: 500, Status: "internal_error", Events: 1}},
		{name: "panic with Recover behind, which keeps it for itself", inside: []echo.MiddlewareFunc{echomiddleware.Recover()}, handler: func(echo.Context) error { panic("boom") },
			want: seen{Client: 500, Name: route, Code: 500, Status: "internal_error"}},
		{name: "panic that drops the connection", outside: []echo.MiddlewareFunc{echomiddleware.Recover()}, handler: func(echo.Context) error { panic(http.ErrAbortHandler) },
			want: seen{Client: 0, Name: route, Status: "aborted"}},
		{name: "no route, by default", target: "/wp-login.php", want: seen{Client: 404, Transactions: -1}},
		{name: "no route, by default, the client's options too", target: "/wp-login.php", client: sdkDefaults, want: seen{Client: 404, Transactions: -1}},
		{name: "no route, wanted", target: "/wp-login.php", cfg: middleware.SentryConfig{NotFound: middleware.AllNotFound}, client: sdkDefaults,
			want: seen{Client: 404, Name: middleware.UnmatchedName, Code: 404, Status: "not_found"}},
		{name: "no route, under Pre", target: "/wp-login.php", pre: true, want: seen{Client: 404, Transactions: -1}},
		{name: "a handler's 404", handler: returning(echo.ErrNotFound), client: sdkDefaults, want: seen{Client: 404, Name: route, Code: 404, Status: "not_found"}},
		{name: "a handler's 404, not wanted", handler: returning(echo.ErrNotFound), cfg: middleware.SentryConfig{NotFound: middleware.NoNotFound},
			want: seen{Client: 404, Transactions: -1}},
		{name: "another status that the client ignores", handler: returning(echo.NewHTTPError(410)), client: func(o *sentry.ClientOptions) { o.TraceIgnoreStatusCodes = [][]int{{400, 499}} },
			want: seen{Client: 410, Transactions: -1}},
		{name: "method not allowed", method: "DELETE", want: seen{Client: 405, Name: "DELETE /u/:id", Code: 405, Status: "invalid_argument"}},
		{name: "registered twice", inside: []echo.MiddlewareFunc{middleware.Sentry()}, handler: returning(nil), want: seen{Client: 200, Name: route, Code: 200, Status: "ok"}},
		{name: "registered with Pre", pre: true, handler: returning(errDomain), want: seen{Client: 500, Name: route, Code: 500, Status: "internal_error"}},
		{name: "W3C headers alone", headers: []string{"traceparent", "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"}, handler: func(c echo.Context) error {
			if id := sentry.SpanFromContext(c.Request().Context()).TraceID.String(); id != "0123456789abcdef0123456789abcdef" {
				return echo.NewHTTPError(http.StatusTeapot)
			}
			return nil
		}, want: seen{Client: 200, Name: route, Code: 200, Status: "ok"}},
		{name: "a stranger forbids sampling", headers: []string{"sentry-trace", "0123456789abcdef0123456789abcdef-0123456789abcdef-0"}, handler: returning(nil),
			want: seen{Client: 200, Name: route, Code: 200, Status: "ok"}},
		{name: "a stranger demands sampling", headers: []string{"sentry-trace", "0123456789abcdef0123456789abcdef-0123456789abcdef-1"}, handler: returning(nil),
			client: func(o *sentry.ClientOptions) { o.TracesSampleRate = 0 }, want: seen{Client: 200, Transactions: -1}},
		{name: "health check, skipped", cfg: middleware.SentryConfig{Skipper: middleware.SkipPaths("/u/1")}, handler: returning(nil), want: seen{Client: 200, Transactions: -1}},
		{name: "preflight, skipped", cfg: middleware.SentryConfig{Skipper: middleware.SkipPreflights}, inside: []echo.MiddlewareFunc{echomiddleware.CORS()}, method: "OPTIONS",
			headers: []string{"Origin", "https://app.test", "Access-Control-Request-Method", "GET"}, want: seen{Client: 204, Transactions: -1}},
		{name: "HEAD", method: "HEAD", handler: returning(nil), want: seen{Client: 200, Name: "HEAD /u/:id", Code: 200, Status: "ok"}},
		{name: "the application's own keys", handler: func(c echo.Context) error {
			c.Set("error", echo.NewHTTPError(503))
			c.Set("sentry", 1)
			c.Set("sentry_transaction", 2)
			return c.NoContent(200)
		}, want: seen{Client: 200, Name: route, Code: 200, Status: "ok"}},
		{name: "a middleware further in that calls c.Error", inside: []echo.MiddlewareFunc{echomiddleware.RequestLoggerWithConfig(echomiddleware.RequestLoggerConfig{
			HandleError: true, LogStatus: true, LogValuesFunc: func(echo.Context, echomiddleware.RequestLoggerValues) error { return nil },
		})}, handler: returning(echo.NewHTTPError(403)), want: seen{Client: 403, Name: route, Code: 403, Status: "permission_denied"}},
		{name: "a middleware further out that calls c.Error", outside: []echo.MiddlewareFunc{echomiddleware.RequestLoggerWithConfig(echomiddleware.RequestLoggerConfig{
			HandleError: true, LogStatus: true, LogValuesFunc: func(echo.Context, echomiddleware.RequestLoggerValues) error { return nil },
		})}, handler: returning(echo.NewHTTPError(403)), want: seen{Client: 403, Name: route, Code: 403, Status: "permission_denied"}},
		{name: "a handler out of time", inside: []echo.MiddlewareFunc{echomiddleware.ContextTimeout(time.Millisecond)}, handler: func(c echo.Context) error {
			<-c.Request().Context().Done()
			return c.Request().Context().Err()
		}, want: seen{Client: 503, Name: route, Code: 503, Status: "unavailable"}},
		{name: "a handler that takes the transaction for its own", handler: func(c echo.Context) error {
			tx := sentry.StartTransaction(c.Request().Context(), "theirs") // which returns the request's
			defer tx.Finish()
			return c.NoContent(204)
		}, want: seen{Client: 204, Name: route}},
		{name: "an answer past c.Response", handler: func(c echo.Context) error {
			c.Response().Writer.WriteHeader(418)
			return nil
		}, want: seen{Client: 418, Name: route, Code: 418, Status: "invalid_argument"}},
		{name: "compressed", inside: []echo.MiddlewareFunc{echomiddleware.Gzip()}, headers: []string{"Accept-Encoding", "gzip"}, handler: func(c echo.Context) error {
			return c.String(201, "x")
		}, want: seen{Client: 201, Name: route, Code: 201, Status: "ok"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, e, handled := sentrytest.New(t, tt.client), quietEcho(), 0
			if tt.errors == nil {
				tt.errors = e.DefaultHTTPErrorHandler
			}
			e.HTTPErrorHandler = func(err error, c echo.Context) {
				if handled++; !c.Response().Committed {
					tt.errors(err, c)
				}
			}
			e.Use(tt.outside...)
			if mw := middleware.SentryWithConfig(tt.cfg); tt.pre {
				e.Pre(mw)
			} else {
				e.Use(mw)
			}
			e.Use(tt.inside...)
			if tt.handler == nil {
				tt.handler = returning(nil)
			}
			e.Match([]string{"GET", "HEAD"}, "/u/:id", tt.handler)
			server := httptest.NewUnstartedServer(r.On(e))
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			server.Start()
			defer server.Close()

			var got seen
			got.Client = ask(t, server, tt.method, tt.target, tt.headers)
			want := tt.want
			if want.Transactions++; want.Transactions > 0 {
				eventually(t, func() bool { return len(r.Transactions()) > 0 })
			}
			server.Close() // waits for what is running
			got.Transactions, got.Events = len(r.Transactions()), len(r.Errors())
			for _, event := range r.Transactions() {
				got.Name, got.Code, got.Status = event.Transaction, data(event)["http.response.status_code"], status(event)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if handled > 2 { // the one of a logger's, and Echo's
				t.Errorf("the error handler ran %d times", handled)
			}
		})
	}
}

// ask returns the status of the answer, 0 where there was none.
func ask(t *testing.T, server *httptest.Server, method, target string, headers []string) int {
	t.Helper()
	if method == "" {
		method = http.MethodGet
	}
	if target == "" {
		target = "/u/1"
	}
	req, err := http.NewRequestWithContext(t.Context(), method, server.URL+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := server.Client().Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Error(err)
	}
	return resp.StatusCode
}

// TestClientGone has clients that hang up: in front of the answer, and behind its
// beginning.
func TestClientGone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		begin   bool // the answer
		wrap    func(error) error
		code    any
		status  string
		handled int
	}{
		{"before the answer", false, func(err error) error { return fmt.Errorf("query: %w", err) }, middleware.StatusClientClosedRequest, "cancelled", 1},
		{"before the answer, mapped by the handler", false, func(err error) error { return echo.NewHTTPError(502).SetInternal(err) }, middleware.StatusClientClosedRequest, "cancelled", 1},
		{"behind its beginning", true, func(err error) error { return err }, 200, "ok", 1},
		{"unnoticed by the handler", false, func(error) error { return nil }, 200, "ok", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, e, handled := sentrytest.New(t, nil), quietEcho(), 0
			e.HTTPErrorHandler = func(err error, c echo.Context) {
				handled++
				e.DefaultHTTPErrorHandler(err, c)
			}
			e.Use(middleware.SentryWithConfig(middleware.SentryConfig{CaptureErrors: true}))
			there := make(chan struct{})
			e.GET("/", func(c echo.Context) error {
				if tt.begin {
					_ = c.String(200, "x")
				}
				close(there)
				<-c.Request().Context().Done()
				return tt.wrap(c.Request().Context().Err())
			})
			server := httptest.NewServer(r.On(e))
			defer server.Close()
			ctx, hangUp := context.WithCancel(t.Context())
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, bytes.NewReader(nil))
			if err != nil {
				t.Fatal(err)
			}
			go func() { <-there; hangUp() }()
			if resp, err := server.Client().Do(req); err == nil {
				resp.Body.Close()
			}
			eventually(t, func() bool { return len(r.Transactions()) == 1 })
			server.Close()
			event := r.One(t)
			if data(event)["http.response.status_code"] != tt.code || status(event) != tt.status || data(event)["http.response.late_error"] != nil {
				t.Errorf("%v, %s; want %v, %s", data(event), status(event), tt.code, tt.status)
			}
			if handled != tt.handled || len(r.Errors()) != 0 {
				t.Errorf("the error handler ran %d times, %d reports", handled, len(r.Errors()))
			}
		})
	}
}
