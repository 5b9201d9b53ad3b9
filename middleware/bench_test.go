package middleware_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/getsentry/sentry-go"
	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/internal/sentrytest"
	"github.com/twinpath/twinpath/middleware"
	"github.com/twinpath/twinpath/tracing"
)

// BenchmarkSentry reports a request through the middleware with calls that cost
// nothing but their observer.
func BenchmarkSentry(b *testing.B) {
	spec := companies.Spec()
	end := dbaccess.CallEnd{
		CallStart: dbaccess.CallStart{Verb: "All", Query: &spec, Name: spec.Name,
			Route: dbaccess.Routed{Decision: dbaccess.Decision{Path: dbaccess.Direct, Variant: "direct", Reason: "percent"}, Path: dbaccess.Direct, Reason: "percent"}},
		Rows: 50, Bytes: 4096, Status: 200, Conn: dbaccess.ConnIdle,
	}
	o := tracing.NewObserver()
	run := func(b *testing.B, e *echo.Echo, hub *sentry.Hub) {
		b.Helper()
		ctx := sentry.SetHubOnContext(context.Background(), hub)
		req := httptest.NewRequestWithContext(ctx, http.MethodGet, "/u/1", nil)
		b.ReportAllocs()
		for b.Loop() {
			e.ServeHTTP(httptest.NewRecorder(), req)
		}
	}
	for _, n := range []int{0, 5, 20} {
		handler := func(c echo.Context) error {
			ctx := c.Request().Context()
			for range n {
				e := end
				e.Start = time.Now()
				e.End = e.Start.Add(time.Millisecond)
				o.CallEnd(o.CallStart(ctx, e.CallStart), e)
			}
			return c.NoContent(204)
		}
		plain := echo.New()
		plain.GET("/u/:id", handler)
		b.Run(fmt.Sprintf("plain/calls=%d", n), func(b *testing.B) { run(b, plain, nil) })
		for _, rate := range []float64{0, 1} {
			b.Run(fmt.Sprintf("rate=%v/calls=%d", rate, n), func(b *testing.B) {
				r := sentrytest.New(b, func(o *sentry.ClientOptions) {
					o.TracesSampleRate = rate
					o.Transport = discarding{}
				})
				e := echo.New()
				e.Use(middleware.Sentry())
				e.GET("/u/:id", handler)
				run(b, e, r.Hub)
			})
		}
	}
}

// TestUnsampledCallsCostNothing: a request that isn't sampled allocates as much
// with calls as without.
func TestUnsampledCallsCostNothing(t *testing.T) {
	r := sentrytest.New(t, func(o *sentry.ClientOptions) { o.TracesSampleRate = 0 })
	spec := companies.Spec()
	end := dbaccess.CallEnd{CallStart: dbaccess.CallStart{Query: &spec, Name: spec.Name}}
	o := tracing.NewObserver(tracing.Always())
	allocs := func(n int) float64 {
		e := quietEcho()
		e.Use(middleware.Sentry())
		e.GET("/u/:id", func(c echo.Context) error {
			for range n {
				o.CallEnd(o.CallStart(c.Request().Context(), end.CallStart), end)
			}
			return c.NoContent(204)
		})
		req := httptest.NewRequestWithContext(sentry.SetHubOnContext(context.Background(), r.Hub), http.MethodGet, "/u/1", nil)
		return testing.AllocsPerRun(200, func() { e.ServeHTTP(httptest.NewRecorder(), req) })
	}
	// Under the race detector Echo's pool of contexts forgets some of them.
	if without, with := allocs(0), allocs(20); with > without+5 {
		t.Errorf("%v allocations with 20 calls, %v without", with, without)
	}
}

type discarding struct{}

func (discarding) Configure(sentry.ClientOptions)        {}
func (discarding) SendEvent(*sentry.Event)               {}
func (discarding) Flush(time.Duration) bool              { return true }
func (discarding) FlushWithContext(context.Context) bool { return true }
func (discarding) Close()                                {}
