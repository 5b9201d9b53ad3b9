package middleware_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getsentry/sentry-go"
	"github.com/google/go-cmp/cmp"
	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/internal/sentrytest"
	"github.com/twinpath/twinpath/middleware"
)

const canary = "canary-91d0"

var errDomain = errors.New("domain: " + canary)

// TestStatus has a row for every way in which an answer comes about.
func TestStatus(t *testing.T) {
	t.Parallel()
	unwrapping := func(err error, c echo.Context) {
		if he, ok := errors.AsType[*echo.HTTPError](err); ok && !c.Response().Committed {
			_ = c.NoContent(he.Code)
		}
	}
	mapping := func(err error, c echo.Context) {
		switch {
		case c.Response().Committed:
		case errors.Is(err, errDomain):
			_ = c.NoContent(http.StatusConflict)
		default:
			_ = c.NoContent(http.StatusUnprocessableEntity)
		}
	}
	outerMapping := func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if err := next(c); err != nil {
				return c.NoContent(http.StatusConflict)
			}
			return nil
		}
	}
	callsCError := func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			err := next(c)
			if err != nil {
				c.Error(err)
			}
			return err
		}
	}
	for _, tt := range []struct {
		name         string
		handler      echo.HandlerFunc
		errorHandler echo.HTTPErrorHandler
		outer, inner echo.MiddlewareFunc
		code         int
		status       string
		late         bool
	}{
		{name: "success", handler: func(c echo.Context) error { return c.NoContent(201) }, code: 201, status: "ok"},
		{name: "nothing written", handler: func(echo.Context) error { return nil }, code: 200, status: "ok"},
		{name: "plain error", handler: func(echo.Context) error { return errDomain }, code: 500, status: "internal_error"},
		{name: "HTTP error", handler: func(echo.Context) error { return echo.NewHTTPError(403) }, code: 403, status: "permission_denied"},
		{name: "wrapped error, unwrapped by the error handler", handler: func(echo.Context) error { return fmt.Errorf("%w", echo.NewHTTPError(404)) }, errorHandler: unwrapping, code: 404, status: "not_found"},
		{name: "internal HTTP error", handler: func(echo.Context) error { return echo.NewHTTPError(400).SetInternal(echo.NewHTTPError(403)) }, code: 403, status: "permission_denied"},
		{name: "error behind the body", handler: func(c echo.Context) error {
			_ = c.String(200, "x")
			return echo.NewHTTPError(500)
		}, code: 200, status: "internal_error", late: true},
		{name: "domain error mapped", handler: func(echo.Context) error { return errDomain }, errorHandler: mapping, code: 409, status: "already_exists"},
		{name: "HTTP error mapped", handler: func(echo.Context) error { return echo.NewHTTPError(400) }, errorHandler: mapping, code: 422, status: "invalid_argument"},
		{name: "mapped further out", handler: func(echo.Context) error { return errDomain }, outer: outerMapping, code: 409, status: "already_exists"},
		{name: "handled further in", handler: func(echo.Context) error { return errDomain }, inner: callsCError, code: 500, status: "internal_error"},
		{name: "the app's own key error", handler: func(c echo.Context) error {
			c.Set("error", echo.NewHTTPError(503))
			return c.NoContent(200)
		}, code: 200, status: "ok"},
		{name: "handler's own hook changes the status", handler: func(c echo.Context) error {
			c.Response().Before(func() { c.Response().Status = 418 })
			return errDomain
		}, code: 418, status: "invalid_argument"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, e, handled := sentrytest.New(t, nil), quietEcho(), 0
			if tt.errorHandler == nil {
				tt.errorHandler = e.DefaultHTTPErrorHandler
			}
			e.HTTPErrorHandler = func(err error, c echo.Context) {
				handled++
				tt.errorHandler(err, c)
			}
			if tt.outer != nil {
				e.Use(tt.outer)
			}
			e.Use(middleware.Sentry())
			if tt.inner != nil {
				e.Use(tt.inner)
			}
			e.GET("/x/:id", tt.handler)
			rec := do(t, r.On(e), http.MethodGet, "/x/7?q="+canary)
			event := r.One(t)
			if rec.Code != tt.code || data(event)["http.response.status_code"] != tt.code {
				t.Errorf("the client got %d, the trace has %v, want %d", rec.Code, data(event)["http.response.status_code"], tt.code)
			}
			if got := status(event); got != tt.status {
				t.Errorf("status %s, want %s", got, tt.status)
			}
			if late := data(event)["http.response.late_error"] == true; late != tt.late {
				t.Errorf("late error %v, want %v", late, tt.late)
			}
			if handled > 2 || handled > 1 && tt.inner == nil {
				t.Errorf("the error handler ran %d times", handled)
			}
			if strings.Contains(r.Payload(t), canary) {
				t.Errorf("a value is in %s", r.Payload(t))
			}
		})
	}
}

func TestHandlersErrorIsReturnedUnchanged(t *testing.T) {
	t.Parallel()
	r, e := sentrytest.New(t, nil), quietEcho()
	var got error
	e.HTTPErrorHandler = func(err error, c echo.Context) { got = err }
	e.Use(middleware.Sentry())
	e.GET("/", func(echo.Context) error { return errDomain })
	do(t, r.On(e), http.MethodGet, "/")
	if got != errDomain { // the very same, not one that wraps it
		t.Errorf("got %v", got)
	}
}

// TestNeverAnswered: an error handler that writes nothing. The transaction comes
// when the server lets go of the request.
func TestNeverAnswered(t *testing.T) {
	t.Parallel()
	r, e := sentrytest.New(t, nil), quietEcho()
	e.HTTPErrorHandler = func(error, echo.Context) {}
	e.Use(middleware.Sentry())
	e.GET("/", func(echo.Context) error { return errDomain })
	do(t, r.On(e), http.MethodGet, "/")
	eventually(t, func() bool { return len(r.Transactions()) == 1 })
	event := r.One(t)
	if _, known := data(event)["http.response.status_code"]; known || status(event) != "unknown" || event.Transaction != "GET /" {
		t.Errorf("%s: status %s, %v", event.Transaction, status(event), data(event))
	}
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for range 1000 {
		if ok() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("it did not happen")
}

func TestPanics(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		value  any
		write  bool
		code   any
		status string
		errors int
	}{
		{"a value", "boom", false, 500, "internal_error", 1},
		{"an error", errors.New("boom"), false, 500, "internal_error", 1},
		{"behind the body", "boom", true, 200, "internal_error", 1},
		{"abort", http.ErrAbortHandler, false, nil, "aborted", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, e := sentrytest.New(t, nil), quietEcho()
			var out any
			e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
				return func(c echo.Context) error {
					defer func() { out = recover() }()
					return next(c)
				}
			}, middleware.Sentry())
			e.GET("/x/:id", func(c echo.Context) error {
				if tt.write {
					_ = c.String(200, "x")
				}
				panic(tt.value)
			})
			do(t, r.On(e), http.MethodGet, "/x/1")
			event := r.One(t)
			if out != tt.value {
				t.Errorf("%v came out, want %v", out, tt.value)
			}
			if event.Transaction != "GET /x/:id" || data(event)["http.response.status_code"] != tt.code || status(event) != tt.status {
				t.Errorf("%s: %v, %s; want %v, %s", event.Transaction, data(event), status(event), tt.code, tt.status)
			}
			if n := len(r.Errors()); n != tt.errors {
				t.Fatalf("%d error events, want %d", n, tt.errors)
			}
			for _, ev := range r.Errors() {
				if ev.Contexts["trace"]["trace_id"] != event.Contexts["trace"]["trace_id"] {
					t.Error("the error is not in the request's trace")
				}
			}
		})
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, method, target, want string
		route                      any
		pre                        bool
	}{
		{"route", "GET", "/users/7", "GET /users/:id", "/users/:id", false},
		{"before routing", "GET", "/users/7", "GET /users/:id", "/users/:id", true},
		{"other method, before routing", "POST", "/users/7", "POST /users/:id", "/users/:id", true},
		{"method not allowed", "POST", "/users/7", "POST /users/:id", "/users/:id", false},
		{"no route", "GET", "/wp-login.php", middleware.UnmatchedName, nil, false},
		{"no route, before routing", "GET", "/wp-login.php", middleware.UnmatchedName, nil, true},
		{"no route, part of one", "GET", "/users", middleware.UnmatchedName, nil, false},
		{"invented method", "BREW", "/users/7", "_OTHER /users/:id", "/users/:id", false},
		{"group without a route", "GET", "/api/nope", middleware.UnmatchedName, nil, false},
		{"group without a route, before routing", "GET", "/api/nope", middleware.UnmatchedName, nil, true},
		{"the group's own path", "GET", "/api", middleware.UnmatchedName, nil, false},
		{"other method in a group", "POST", "/api/users/7", middleware.UnmatchedName, nil, false},
		{"other method in a group, invented", "BREW", "/api/users/7", middleware.UnmatchedName, nil, false},
		{"route in a group", "GET", "/api/users/7", "GET /api/users/:id", "/api/users/:id", false},
		{"catch-all of the application", "GET", "/files/a/b", "GET /files/*", "/files/*", false},
		{"catch-all of the application, in a group", "GET", "/assets/a/b", "GET /assets/*", "/assets/*", false},
		{"catch-all of the application, other method", "DELETE", "/assets/a/b", middleware.UnmatchedName, nil, false},
		{"fallback of the application", "GET", "/app/a/b", middleware.UnmatchedName, nil, false},
		{"group of a host", "GET", "http://tenant.test/nope", middleware.UnmatchedName, nil, false},
		{"route of a host", "GET", "http://tenant.test/users/7", "GET /users/:id", "/users/:id", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var sampledAs string
			r := sentrytest.New(t, func(o *sentry.ClientOptions) {
				o.TracesSampler = func(s sentry.SamplingContext) float64 {
					sampledAs = s.Span.Name
					return 1
				}
			})
			e := quietEcho()
			all := middleware.SentryWithConfig(middleware.SentryConfig{NotFound: middleware.AllNotFound})
			if tt.pre {
				e.Pre(all)
			} else {
				e.Use(all)
			}
			e.GET("/users/:id", func(c echo.Context) error { return c.NoContent(204) })
			nop := func(next echo.HandlerFunc) echo.HandlerFunc { return next }
			ok := func(c echo.Context) error { return c.NoContent(204) }
			e.Group("/api", nop).GET("/users/:id", ok)
			e.GET("/files/*", ok)
			e.Group("/assets", nop).GET("/*", ok)
			e.RouteNotFound("/app/*", ok)
			e.Host("tenant.test", nop).GET("/users/:id", ok)
			do(t, r.On(e), tt.method, tt.target)
			event := r.One(t)
			if event.Transaction != tt.want || event.TransactionInfo.Source != sentry.SourceRoute || data(event)["http.route"] != tt.route {
				t.Errorf("got %q, source %s, route %v; want %q", event.Transaction, event.TransactionInfo.Source, data(event)["http.route"], tt.want)
			}
			if !tt.pre && sampledAs != tt.want {
				t.Errorf("the sampler saw %q", sampledAs)
			}
		})
	}
}

// TestJunkPathsHaveOneName asks an API in groups for what strangers try.
func TestJunkPathsHaveOneName(t *testing.T) {
	t.Parallel()
	r, e := sentrytest.New(t, nil), quietEcho()
	e.Use(middleware.SentryWithConfig(middleware.SentryConfig{NotFound: middleware.AllNotFound}))
	nop := func(next echo.HandlerFunc) echo.HandlerFunc { return next }
	api := e.Group("/api", nop)
	api.GET("/users/:id", func(c echo.Context) error { return c.NoContent(204) })
	api.Group("/admin", nop).GET("/users", func(c echo.Context) error { return c.NoContent(204) })
	h := r.On(e)
	for i := range 20 {
		for _, prefix := range []string{"/", "/api/", "/api/admin/"} {
			if rec := do(t, h, http.MethodGet, fmt.Sprintf("%sjunk-%d.php", prefix, i)); rec.Code != http.StatusNotFound {
				t.Fatalf("status %d", rec.Code)
			}
		}
	}
	names := map[string]int{}
	for _, event := range r.Transactions() {
		names[event.Transaction]++
	}
	if diff := cmp.Diff(map[string]int{middleware.UnmatchedName: 60}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestHubAndSpanAreInTheRequestsContext(t *testing.T) {
	t.Parallel()
	r, e := sentrytest.New(t, nil), quietEcho()
	e.Use(middleware.Sentry())
	e.GET("/", func(c echo.Context) error {
		ctx := c.Request().Context()
		hub := sentry.GetHubFromContext(ctx)
		if hub == nil || hub == r.Hub || hub.Client() != r.Hub.Client() {
			t.Error("the context has no hub of its own")
		}
		hub.Scope().SetTag("seen", "yes")
		sentry.StartSpan(ctx, "task").Finish()
		return c.NoContent(204)
	})
	h := r.On(e)
	do(t, h, http.MethodGet, "/")
	event := r.One(t)
	if len(event.Spans) != 1 || event.Spans[0].Op != "task" || event.Tags["seen"] != "yes" {
		t.Errorf("spans %v, tags %v", event.Spans, event.Tags)
	}
	r.Hub.CaptureMessage("outside")
	if tags := r.Errors()[0].Tags; tags["seen"] != "" {
		t.Error("a request's tag is on the hub that it was cloned from")
	}
}

func TestRegisteredTwiceOrBehindOthers(t *testing.T) {
	t.Parallel()
	r, e := sentrytest.New(t, nil), quietEcho()
	e.Pre(middleware.Sentry())
	e.Use(middleware.Sentry())
	e.Group("/g", middleware.Sentry()).GET("/x", func(c echo.Context) error { return c.NoContent(204) })
	do(t, r.On(e), http.MethodGet, "/g/x")
	if event := r.One(t); event.Transaction != "GET /g/x" {
		t.Errorf("got %q", event.Transaction)
	}

	foreign := sentrytest.New(t, nil)
	do(t, foreign.On(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		tx := sentry.StartTransaction(req.Context(), "theirs")
		defer tx.Finish()
		e.ServeHTTP(w, req.WithContext(tx.Context()))
	})), http.MethodGet, "/g/x")
	if event := foreign.One(t); event.Transaction != "theirs" {
		t.Errorf("got %q", event.Transaction)
	}
}

func TestSkipper(t *testing.T) {
	t.Parallel()
	r, e := sentrytest.New(t, nil), quietEcho()
	e.Use(middleware.SentryWithConfig(middleware.SentryConfig{Skipper: func(c echo.Context) bool { return c.Path() == "/healthz" }}))
	e.GET("/healthz", func(c echo.Context) error {
		if sentry.SpanFromContext(c.Request().Context()) != nil {
			t.Error("a skipped request has a span")
		}
		return c.NoContent(204)
	})
	do(t, r.On(e), http.MethodGet, "/healthz")
	if n := len(r.Transactions()); n != 0 {
		t.Errorf("%d transactions", n)
	}
}

func TestIncomingTrace(t *testing.T) {
	t.Parallel()
	const traceID, spanID = "0123456789abcdef0123456789abcdef", "0123456789abcdef"
	trusting := func(echo.Context) bool { return true }
	for _, tt := range []struct {
		name      string
		headers   []string
		trust     func(echo.Context) bool
		rate      float64
		sent      bool
		continued bool
	}{
		{"none", nil, nil, 1, true, false},
		{"no decision", []string{"sentry-trace", traceID + "-" + spanID}, nil, 1, true, true},
		{"forced by a stranger", []string{"sentry-trace", traceID + "-" + spanID + "-1"}, nil, 0, false, false},
		{"suppressed by a stranger", []string{"sentry-trace", traceID + "-" + spanID + "-0"}, nil, 1, true, true},
		{"forced by a friend", []string{"sentry-trace", traceID + "-" + spanID + "-1"}, trusting, 0, true, true},
		{"suppressed by a friend", []string{"sentry-trace", traceID + "-" + spanID + "-0"}, trusting, 1, false, false},
		{"W3C alone", []string{"traceparent", "00-" + traceID + "-" + spanID + "-01"}, nil, 1, true, true},
		{"W3C forced by a friend", []string{"traceparent", "00-" + traceID + "-" + spanID + "-01"}, trusting, 0, true, true},
		{"W3C forced with other flags", []string{"traceparent", "00-" + traceID + "-" + spanID + "-0b"}, trusting, 0, true, true},
		{"W3C not sampled", []string{"traceparent", "00-" + traceID + "-" + spanID + "-0a"}, trusting, 1, false, false},
		{"W3C of zeros", []string{"traceparent", "00-" + strings.Repeat("0", 32) + "-" + spanID + "-01"}, trusting, 1, true, false},
		{"W3C broken", []string{"traceparent", "00-" + traceID + "-" + spanID + "-zz"}, trusting, 1, true, false},
		{"Sentry's before W3C's", []string{"sentry-trace", traceID + "-" + spanID, "traceparent", "00-" + strings.Repeat("a", 32) + "-" + spanID + "-01"}, nil, 1, true, true},
		{"broken", []string{"sentry-trace", "nonsense", "baggage", "sentry-trace_id=" + traceID}, nil, 1, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, e := sentrytest.New(t, func(o *sentry.ClientOptions) { o.TracesSampleRate = tt.rate }), quietEcho()
			e.Use(middleware.SentryWithConfig(middleware.SentryConfig{TrustSampling: tt.trust}))
			e.GET("/", func(c echo.Context) error { return c.NoContent(204) })
			do(t, r.On(e), http.MethodGet, "/", tt.headers...)
			if sent := len(r.Transactions()) == 1; sent != tt.sent {
				t.Fatalf("sent: %v, want %v", sent, tt.sent)
			}
			if !tt.sent {
				return
			}
			id := r.One(t).Contexts["trace"]["trace_id"].(sentry.TraceID)
			if (id.String() == traceID) != tt.continued {
				t.Errorf("trace %s; continued should be %v", id, tt.continued)
			}
		})
	}
}

func TestTracingOffStillSeparatesHubs(t *testing.T) {
	t.Parallel()
	r, e := sentrytest.New(t, func(o *sentry.ClientOptions) { o.EnableTracing = false }), quietEcho()
	e.Use(middleware.Sentry())
	e.GET("/", func(c echo.Context) error {
		hub := sentry.GetHubFromContext(c.Request().Context())
		hub.Scope().SetTag("id", "1")
		hub.CaptureMessage("m")
		return errDomain
	})
	do(t, r.On(e), http.MethodGet, "/")
	if len(r.Transactions()) != 0 || len(r.Errors()) != 1 || r.Errors()[0].Tags["id"] != "1" {
		t.Errorf("%d transactions, errors %v", len(r.Transactions()), r.Errors())
	}
}

// TestErrorsOutlivingTheRequest is for the race detector: the SDK reads the
// root's status whenever an error is captured.
func TestErrorsOutlivingTheRequest(t *testing.T) {
	t.Parallel()
	r, e := sentrytest.New(t, nil), quietEcho()
	e.Use(middleware.Sentry())
	var wg sync.WaitGroup
	e.GET("/", func(c echo.Context) error {
		hub := sentry.GetHubFromContext(c.Request().Context())
		wg.Go(func() {
			for range 200 {
				hub.CaptureMessage("m")
			}
		})
		return errDomain
	})
	h := r.On(e)
	for range 20 {
		do(t, h, http.MethodGet, "/")
	}
	wg.Wait()
	if n := len(r.Transactions()); n != 20 {
		t.Errorf("%d transactions", n)
	}
}

func TestConfigErrors(t *testing.T) {
	t.Parallel()
	for name, mk := range map[string]func() (echo.MiddlewareFunc, error){
		"SentryConfig.MaxSpans":        middleware.SentryConfig{MaxSpans: -2}.ToMiddleware,
		"SentryConfig.NotFound":        middleware.SentryConfig{NotFound: 7, MaxSpans: -2}.ToMiddleware,
		"SentryConfig.FlushTimeout":    middleware.SentryConfig{NotFound: -1, FlushTimeout: -1}.ToMiddleware,
		"ServerTimingConfig.Authorize": middleware.ServerTimingConfig{}.ToMiddleware,
		"ServerTimingConfig.MaxBytes":  middleware.ServerTimingConfig{MaxBytes: -1}.ToMiddleware,
		"AccessPathConfig.DB":          middleware.AccessPathConfig{}.ToMiddleware,
		"IdentityConfig.Verifier":      middleware.IdentityConfig{}.ToMiddleware,
	} {
		if mw, err := mk(); mw != nil || err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	defer func() {
		if err, ok := recover().(error); !ok || !strings.Contains(err.Error(), "MaxSpans") {
			t.Errorf("SentryWithConfig panicked with %v", err)
		}
	}()
	middleware.SentryWithConfig(middleware.SentryConfig{MaxSpans: -2})
}
