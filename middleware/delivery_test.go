package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getsentry/sentry-go"
	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/internal/sentrytest"
	"github.com/twinpath/twinpath/middleware"
	"github.com/twinpath/twinpath/tracing"
)

// silentSentry accepts connections and never answers, until it is stopped.
func silentSentry(t *testing.T) (address string, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	gone := make(chan struct{})
	conns.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				<-gone
				conn.Close()
			})
		}
	})
	return l.Addr().String(), func() { l.Close(); close(gone); conns.Wait() }
}

// TestSentryDown serves requests while Sentry is out of order. They get their
// answers although the silent Sentry answers nothing until they are over.
func TestSentryDown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		address func(*testing.T) (string, func())
		flush   time.Duration
	}{
		{"silent", silentSentry, 0},
		{"silent, and waited for", silentSentry, time.Millisecond},
		{"refusing", func(*testing.T) (string, func()) { return "127.0.0.1:1", func() {} }, 0},
		{"failing", failingSentry, time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			address, stop := tt.address(t)
			client, err := sentry.NewClient(sentry.ClientOptions{
				Dsn: "http://key@" + address + "/1", EnableTracing: true, TracesSampleRate: 1, HTTPTransport: &http.Transport{DisableKeepAlives: true},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			defer stop()
			r, e := &sentrytest.Recorder{Hub: sentry.NewHub(client, sentry.NewScope())}, quietEcho()
			e.Use(middleware.SentryWithConfig(middleware.SentryConfig{FlushTimeout: tt.flush, CaptureErrors: true}))
			e.GET("/:id", func(c echo.Context) error {
				if c.Param("id") == "bad" {
					return errDomain
				}
				return c.NoContent(204)
			})
			h := r.On(e)
			for i := range 20 {
				target, want := "/ok", 204
				if i%2 == 0 {
					target, want = "/bad", 500
				}
				if rec := do(t, h, http.MethodGet, target); rec.Code != want {
					t.Errorf("status %d", rec.Code)
				}
			}
		})
	}
}

func failingSentry(*testing.T) (address string, stop func()) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }))
	return strings.TrimPrefix(s.URL, "http://"), s.Close
}

// TestFlushTimeout: what a request has to report has arrived when it is over,
// with whatever answer it ends.
func TestFlushTimeout(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		rate    float64
		handler echo.HandlerFunc
		want    map[string]int // items by type
	}{
		{"answered", 1, func(c echo.Context) error { return c.NoContent(204) }, map[string]int{"transaction": 1}},
		{"failed", 1, func(echo.Context) error { return errDomain }, map[string]int{"transaction": 1, "event": 1}},
		{"failed, not sampled", 0, func(echo.Context) error { return errDomain }, map[string]int{"event": 1}},
		{"panicked, not sampled", 0, func(echo.Context) error { panic("boom") }, map[string]int{"event": 1}},
		{"reported by the handler, not sampled", 0, func(c echo.Context) error {
			sentry.GetHubFromContext(c.Request().Context()).CaptureMessage("m")
			return nil
		}, map[string]int{"event": 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := newSentryServer(t)
			hub := server.hub(t, func(o *sentry.ClientOptions) { o.TracesSampleRate = tt.rate })
			e := quietEcho()
			e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
				return func(c echo.Context) error {
					defer func() { _ = recover() }()
					return next(c)
				}
			}, middleware.SentryWithConfig(middleware.SentryConfig{FlushTimeout: time.Minute, CaptureErrors: true}))
			e.GET("/", tt.handler)
			do(t, (&sentrytest.Recorder{Hub: hub}).On(e), http.MethodGet, "/")
			server.mu.Lock()
			defer server.mu.Unlock()
			for kind, n := range tt.want {
				if len(server.items[kind]) != n {
					t.Errorf("%d items of %s, want %d", len(server.items[kind]), kind, n)
				}
			}
		})
	}
}

func TestCaptureErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		off     bool
		rate    float64
		handler echo.HandlerFunc
		outer   echo.MiddlewareFunc
		want    int
	}{
		{name: "off", off: true, rate: 1, handler: func(echo.Context) error { return errDomain }, want: 0},
		{name: "500", rate: 1, handler: func(echo.Context) error { return errDomain }, want: 1},
		{name: "503", rate: 1, handler: func(echo.Context) error { return echo.NewHTTPError(503).SetInternal(errDomain) }, want: 1},
		{name: "500, not sampled", rate: 0, handler: func(echo.Context) error { return errDomain }, want: 1},
		{name: "404", rate: 1, handler: func(echo.Context) error { return echo.ErrNotFound }, want: 0},
		{name: "409 by a middleware further out", rate: 1, handler: func(echo.Context) error { return errDomain }, outer: func(next echo.HandlerFunc) echo.HandlerFunc {
			return func(c echo.Context) error {
				if next(c) != nil {
					return c.NoContent(409)
				}
				return nil
			}
		}, want: 0},
		{name: "behind the body", rate: 1, handler: func(c echo.Context) error {
			_ = c.String(200, "x")
			return errDomain
		}, want: 1},
		{name: "written by the handler itself", rate: 1, handler: func(c echo.Context) error { return c.NoContent(500) }, want: 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, e := sentrytest.New(t, func(o *sentry.ClientOptions) { o.TracesSampleRate = tt.rate }), quietEcho()
			if tt.outer != nil {
				e.Use(tt.outer)
			}
			e.Use(middleware.SentryWithConfig(middleware.SentryConfig{CaptureErrors: !tt.off}))
			var traceID sentry.TraceID
			e.GET("/", func(c echo.Context) error {
				traceID = sentry.SpanFromContext(c.Request().Context()).TraceID
				return tt.handler(c)
			})
			do(t, r.On(e), http.MethodGet, "/")
			if n := len(r.Errors()); n != tt.want {
				t.Fatalf("%d reports, want %d", n, tt.want)
			}
			for _, event := range r.Errors() {
				if event.Contexts["trace"]["trace_id"] != traceID {
					t.Error("the report is not in the request's trace")
				}
			}
		})
	}
}

// TestCallsSideBySide is for the race detector: calls and reports of several
// goroutines in a request, some of which outlive it.
func TestCallsSideBySide(t *testing.T) {
	t.Parallel()
	r, e := sentrytest.New(t, nil), quietEcho()
	spec := companies.Spec()
	observer := tracing.NewObserver(tracing.Always())
	e.Use(middleware.Sentry())
	var all sync.WaitGroup
	e.GET("/", func(c echo.Context) error {
		ctx := c.Request().Context()
		var here sync.WaitGroup
		for i := range 8 {
			work := func() {
				hub := sentry.GetHubFromContext(ctx).Clone()
				hub.Scope().SetTag("worker", fmt.Sprint(i))
				for range 20 {
					start := dbaccess.CallStart{Verb: "All", Query: &spec, Name: spec.Name, Start: time.Now(), Route: dbaccess.Routed{Path: dbaccess.Direct}}
					callCtx := observer.CallStart(ctx, start)
					tracing.Headers(callCtx)
					observer.CallEnd(callCtx, dbaccess.CallEnd{CallStart: start, End: time.Now()})
					hub.CaptureException(errDomain)
				}
			}
			if i%2 == 0 {
				here.Go(work)
			} else {
				all.Go(work) // nobody in the request waits for it
			}
		}
		here.Wait()
		return errDomain
	})
	h := r.On(e)
	for range 5 {
		do(t, h, http.MethodGet, "/")
	}
	all.Wait()
	if n := len(r.Transactions()); n != 5 {
		t.Errorf("%d transactions", n)
	}
	for _, event := range r.Transactions() {
		if n := len(event.Spans); n < 80 || n > 160 {
			t.Errorf("%d spans", n)
		}
		if status(event) != "internal_error" || event.Tags["worker"] != "" {
			t.Errorf("%s, tags %v", status(event), event.Tags)
		}
	}
	if n := len(r.Errors()); n != 5*8*20 {
		t.Errorf("%d reports", n)
	}
}

// TestHubs has hubs that applications come with.
func TestHubs(t *testing.T) {
	t.Parallel()
	r := sentrytest.New(t, nil)
	client := r.Hub.Client()
	tagged := sentry.NewHub(client, sentry.NewScope())
	tagged.Scope().SetTag("app", "yes")
	elsewhere := sentry.NewHub(client, sentry.NewScope())
	foreign := sentry.StartTransaction(sentry.SetHubOnContext(context.Background(), elsewhere), "elsewhere")
	for _, tt := range []struct {
		name    string
		hub     *sentry.Hub
		handler func(c echo.Context, hub *sentry.Hub)
		sent    bool
		tags    map[string]string
	}{
		{name: "of the application's", hub: tagged, sent: true, tags: map[string]string{"app": "yes"}},
		{name: "tagged by the handler", hub: tagged, handler: func(_ echo.Context, hub *sentry.Hub) { hub.Scope().SetTag("request", "yes") },
			sent: true, tags: map[string]string{"app": "yes", "request": "yes"}},
		{name: "a scope left behind", hub: tagged, handler: func(_ echo.Context, hub *sentry.Hub) { hub.PushScope().SetTag("pushed", "yes") },
			sent: true, tags: map[string]string{"app": "yes", "pushed": "yes"}},
		{name: "popped too often", hub: tagged, handler: func(_ echo.Context, hub *sentry.Hub) { hub.PopScope(); hub.PopScope() }, sent: true},
		{name: "cleared", hub: tagged, handler: func(_ echo.Context, hub *sentry.Hub) { hub.Scope().Clear() }, sent: true},
		{name: "with the span of something else", hub: elsewhere, sent: true},
		{name: "without a scope", hub: sentry.NewHub(client, nil)},
		{name: "without a client", hub: sentry.NewHub(nil, sentry.NewScope())},
		{name: "without anything", hub: sentry.NewHub(nil, nil)},
		{name: "bound to no client in the request", hub: tagged, handler: func(_ echo.Context, hub *sentry.Hub) { hub.BindClient(nil) }},
		{name: "no hub after all", hub: (*sentry.Hub)(nil)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := len(r.Transactions())
			e := quietEcho()
			e.Use(middleware.Sentry())
			e.GET("/u/:id", func(c echo.Context) error {
				hub := sentry.GetHubFromContext(c.Request().Context())
				if hub == nil || hub == tt.hub {
					t.Error("the request has no hub of its own")
				}
				if tt.handler != nil {
					tt.handler(c, hub)
				}
				return echo.NewHTTPError(409)
			})
			rec := do(t, (&sentrytest.Recorder{Hub: tt.hub}).On(e), http.MethodGet, "/u/1")
			if rec.Code != 409 {
				t.Errorf("the client got %d", rec.Code)
			}
			sent := r.Transactions()[before:]
			if (len(sent) == 1) != tt.sent {
				t.Fatalf("%d transactions", len(sent))
			}
			for _, event := range sent {
				if event.Transaction != "GET /u/:id" || status(event) != "already_exists" {
					t.Errorf("%s, %s", event.Transaction, status(event))
				}
				for k, v := range tt.tags {
					if event.Tags[k] != v {
						t.Errorf("tag %s is %q", k, event.Tags[k])
					}
				}
			}
		})
	}
	foreign.Finish()
	if tagged.Scope().GetSpan() != nil {
		t.Error("a request's span is on the application's scope")
	}
	r.Hub.CaptureMessage("outside")
	for _, event := range r.Errors() {
		if event.Tags["request"] != "" {
			t.Error("a request's tag is on the application's hub")
		}
	}
}

// TestReportsBelongToTheTrace, with or without spans: those of handlers, whose
// hub is made when they ask for it.
func TestReportsBelongToTheTrace(t *testing.T) {
	t.Parallel()
	const traceID = "0123456789abcdef0123456789abcdef"
	for name, change := range map[string]func(*sentry.ClientOptions){
		"sampled":     nil,
		"not sampled": func(o *sentry.ClientOptions) { o.TracesSampleRate = 0 },
		"by a sampler": func(o *sentry.ClientOptions) {
			o.TracesSampler = func(c sentry.SamplingContext) float64 {
				if sentry.GetHubFromContext(c.Span.Context()) == nil {
					return 0
				}
				return 1
			}
		},
		"tracing off": func(o *sentry.ClientOptions) { o.EnableTracing = false },
	} {
		for _, continued := range []bool{false, true} {
			r, e := sentrytest.New(t, change), quietEcho()
			e.Use(middleware.Sentry())
			var root *sentry.Span
			e.GET("/", func(c echo.Context) error {
				root = sentry.SpanFromContext(c.Request().Context())
				sentry.GetHubFromContext(c.Request().Context()).CaptureException(errors.New("x"))
				return nil
			})
			var headers []string
			if continued {
				headers = []string{"sentry-trace", traceID + "-0123456789abcdef-1"}
			}
			do(t, r.On(e), http.MethodGet, "/", headers...)
			if len(r.Errors()) != 1 {
				t.Fatalf("%s: %d reports", name, len(r.Errors()))
			}
			trace := r.Errors()[0].Contexts["trace"]
			if trace["trace_id"] != root.TraceID || trace["span_id"] != root.SpanID || continued != (root.TraceID.String() == traceID) {
				t.Errorf("%s, continued %v: %v", name, continued, trace)
			}
		}
	}
}
