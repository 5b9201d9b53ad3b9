package middleware_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/getsentry/sentry-go"
	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/internal/sentrytest"
	"github.com/twinpath/twinpath/middleware"
)

// FuzzHeaders sends what strangers may. A trace is only ever continued by an id
// that the request gave, and nobody becomes somebody without a valid token.
func FuzzHeaders(f *testing.F) {
	const trace = "0123456789abcdef0123456789abcdef-0123456789abcdef"
	f.Add(trace+"-1", "", "sentry-sample_rate=1", "Bearer x.y.z", "direct")
	f.Add("", "00-"+trace+"-01", "a=b,%,;;", "bearer", "REST")
	f.Add("x", "ff-"+trace+"-01", "sentry-org_id=1", "Basic a", "")
	r := sentrytest.New(f, func(o *sentry.ClientOptions) { o.TracesSampleRate = 0 })
	e := quietEcho()
	var root *sentry.Span
	e.Use(middleware.Sentry(), func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			root = sentry.SpanFromContext(c.Request().Context())
			return next(c)
		}
	}, middleware.Identity(newTokens(f)))
	e.GET("/", func(c echo.Context) error {
		if id, ok := auth.From(c.Request().Context()); ok {
			f.Errorf("someone became %s", id)
		}
		return c.NoContent(204)
	})
	h := r.On(e)
	f.Fuzz(func(t *testing.T, sentryTrace, traceparent, baggage, authorization, path string) {
		req := httptest.NewRequest(http.MethodGet, "/", nil)
		for k, v := range map[string]string{
			"sentry-trace": sentryTrace, "traceparent": traceparent, "baggage": baggage,
			"Authorization": authorization, middleware.DefaultAccessPathHeader: path,
		} {
			if v != "" {
				req.Header.Set(k, v)
			}
		}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		if rec.Code != 204 && rec.Code != 401 {
			t.Fatalf("status %d", rec.Code)
		}
		if root.Sampled.Bool() {
			t.Fatal("a stranger had the request sampled")
		}
		given := strings.ToLower(sentryTrace + " " + traceparent)
		if root.ParentSpanID != (sentry.SpanID{}) && (!strings.Contains(given, root.TraceID.String()) || !strings.Contains(given, root.ParentSpanID.String())) {
			t.Fatalf("trace %s under %s was continued, from %q", root.TraceID, root.ParentSpanID, given)
		}
	})
}
