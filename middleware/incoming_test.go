package middleware_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/getsentry/sentry-go"
	"github.com/google/go-cmp/cmp"
	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/internal/sentrytest"
	"github.com/twinpath/twinpath/middleware"
	"github.com/twinpath/twinpath/tracing"
)

const (
	traceID = "0123456789abcdef0123456789abcdef"
	spanID  = "0123456789abcdef"
)

// TestTraceparent holds the parser to the W3C's rules.
func TestTraceparent(t *testing.T) {
	t.Parallel()
	const ids = traceID + "-" + spanID
	for _, tt := range []struct {
		name      string
		headers   []string
		continued bool
	}{
		{"version 00", []string{"00-" + ids + "-01"}, true},
		{"version 00, not sampled", []string{"00-" + ids + "-00"}, true},
		{"version 00, longer", []string{"00-" + ids + "-01-x"}, false},
		{"version 00, longer by a hyphen", []string{"00-" + ids + "-01-"}, false},
		{"later version", []string{"01-" + ids + "-01"}, true},
		{"later version, longer", []string{"cc-" + ids + "-01-what.the.future-brings"}, true},
		{"later version, longer without a hyphen", []string{"cc-" + ids + "-01x"}, false},
		{"version ff", []string{"ff-" + ids + "-01"}, false},
		{"no version", []string{ids + "-01"}, false},
		{"upper case", []string{"00-" + strings.ToUpper(ids) + "-01"}, false},
		{"trace of zeros", []string{"00-" + strings.Repeat("0", 32) + "-" + spanID + "-01"}, false},
		{"span of zeros", []string{"00-" + traceID + "-" + strings.Repeat("0", 16) + "-01"}, false},
		{"no hex", []string{"00-" + traceID[:31] + "g-" + spanID + "-01"}, false},
		{"short", []string{"00-" + ids}, false},
		{"other separators", []string{"00_" + traceID + "_" + spanID + "_01"}, false},
		{"two headers", []string{"00-" + ids + "-01", "00-" + ids + "-01"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, e := sentrytest.New(t, nil), quietEcho()
			e.Use(middleware.Sentry())
			e.GET("/", func(c echo.Context) error { return c.NoContent(204) })
			var headers []string
			for _, h := range tt.headers {
				headers = append(headers, "traceparent", h)
			}
			if rec := do(t, r.On(e), http.MethodGet, "/", headers...); rec.Code != 204 {
				t.Errorf("the client got %d", rec.Code)
			}
			trace := r.One(t).Contexts["trace"]
			if got := trace["trace_id"].(sentry.TraceID).String() == traceID; got != tt.continued {
				t.Errorf("continued: %v, want %v", got, tt.continued)
			}
		})
	}
}

// FuzzTraceparent compares what is continued with what the W3C's grammar allows.
func FuzzTraceparent(f *testing.F) {
	for _, s := range []string{"00-" + traceID + "-" + spanID + "-01", "01-" + traceID + "-" + spanID + "-00-x", "ff-" + traceID + "-" + spanID + "-01", "00-0-0-0", ""} {
		f.Add(s)
	}
	grammar := regexp.MustCompile(`\A(?:00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}|[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?:-[\s\S]*)?)\z`)
	r, e := sentrytest.New(f, func(o *sentry.ClientOptions) { o.TracesSampleRate = 0 }), quietEcho()
	var root *sentry.Span
	e.Use(middleware.Sentry())
	e.GET("/", func(c echo.Context) error {
		root = sentry.SpanFromContext(c.Request().Context())
		return nil
	})
	h := r.On(e)
	f.Fuzz(func(t *testing.T, header string) {
		req := httptest.NewRequest(http.MethodGet, "/", nil)
		req.Header["Traceparent"] = []string{header}
		h.ServeHTTP(httptest.NewRecorder(), req)

		m := grammar.FindStringSubmatch(header)
		valid := m != nil && !strings.HasPrefix(header, "ff")
		if valid && strings.HasPrefix(header, "00") && m[1] == "" {
			valid = false // the second form is for later versions
		}
		var trace, span string
		if valid {
			trace, span = m[1]+m[3], m[2]+m[4]
			valid = strings.Trim(trace, "0") != "" && strings.Trim(span, "0") != ""
		}
		if got := root.ParentSpanID != (sentry.SpanID{}); got != valid {
			t.Fatalf("%q: continued %v, the grammar says %v", header, got, valid)
		}
		if valid && (root.TraceID.String() != trace || root.ParentSpanID.String() != span) {
			t.Fatalf("%q: continued %s under %s", header, root.TraceID, root.ParentSpanID)
		}
	})
}

// TestBaggage looks at what becomes of a caller's sampling context: at what the
// application's sampler sees, and at what goes on to other services.
func TestBaggage(t *testing.T) {
	t.Parallel()
	const baggage = "other=1,sentry-trace_id=" + traceID + ",sentry-public_key=UPSTREAM,sentry-sampled=true,sentry-sample_rate=0.9,sentry-sample_rand=0.05"
	for _, tt := range []struct {
		name    string
		dsn     string
		trust   bool
		headers []string
		rate    any // that the sampler sees
		want    []string
		without []string
	}{
		{"of a friend", "", true, []string{"sentry-trace", traceID + "-" + spanID + "-1", "baggage", baggage}, 0.9,
			[]string{"public_key=UPSTREAM", "sampled=true", "sample_rand=0.05"}, []string{"other"}},
		{"of a stranger", "", false, []string{"sentry-trace", traceID + "-" + spanID + "-1", "baggage", baggage}, nil,
			[]string{"public_key=UPSTREAM", "sampled=false"}, []string{"sample_rand", "0.9"}},
		{"in two headers", "", true, []string{"sentry-trace", traceID + "-" + spanID + "-1", "baggage", "a=1,sentry-public_key=UPSTREAM", "baggage", "sentry-trace_id=" + traceID}, nil,
			[]string{"public_key=UPSTREAM"}, nil},
		{"of another trace", "", true, []string{"sentry-trace", traceID + "-" + spanID + "-1", "baggage", strings.Replace(baggage, traceID, strings.Repeat("a", 32), 1)}, nil,
			nil, []string{"UPSTREAM", "sentry-"}},
		{"broken", "", true, []string{"sentry-trace", traceID + "-" + spanID + "-1", "baggage", "sentry-trace_id=" + traceID + ",%%%;;;"}, nil, nil, []string{"sentry-"}},
		{"without a trace", "", true, []string{"baggage", baggage}, nil, []string{"public_key=key"}, []string{"UPSTREAM"}},
		{"with a trace of zeros", "", true, []string{"sentry-trace", strings.Repeat("0", 32) + "-" + spanID + "-1", "baggage", baggage}, nil, []string{"public_key=key"}, []string{"UPSTREAM"}},
		{"of another organization", "http://key@o1.ingest.sentry.invalid/1", true, []string{"sentry-trace", traceID + "-" + spanID + "-1", "baggage", baggage + ",sentry-org_id=2"}, nil,
			[]string{"public_key=key", "org_id=1"}, []string{"UPSTREAM", traceID}},
		{"of the same organization", "http://key@o1.ingest.sentry.invalid/1", true, []string{"sentry-trace", traceID + "-" + spanID + "-1", "baggage", baggage + ",sentry-org_id=1"}, 0.9,
			[]string{"public_key=UPSTREAM", traceID}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var rate any
			r, e := sentrytest.New(t, func(o *sentry.ClientOptions) {
				if tt.dsn != "" {
					o.Dsn = tt.dsn
				}
				o.TracesSampler = func(c sentry.SamplingContext) float64 {
					if c.ParentSampleRate != nil {
						rate = *c.ParentSampleRate
					}
					return map[sentry.Sampled]float64{sentry.SampledTrue: 1}[c.ParentSampled]
				}
			}), quietEcho()
			e.Use(middleware.SentryWithConfig(middleware.SentryConfig{TrustSampling: func(echo.Context) bool { return tt.trust }}))
			var out tracing.TraceHeaders
			e.GET("/", func(c echo.Context) error {
				out = tracing.Headers(c.Request().Context())
				return nil
			})
			do(t, r.On(e), http.MethodGet, "/", tt.headers...)
			if diff := cmp.Diff(tt.rate, rate); diff != "" {
				t.Errorf("the sampler sees (-want +got):\n%s", diff)
			}
			for _, part := range tt.want {
				if !strings.Contains(out.Baggage, part) {
					t.Errorf("no %s in %q", part, out.Baggage)
				}
			}
			for _, part := range tt.without {
				if strings.Contains(out.Baggage, part) {
					t.Errorf("%s is in %q", part, out.Baggage)
				}
			}
		})
	}
}

func TestTrustPeers(t *testing.T) {
	t.Parallel()
	trust := middleware.TrustPeers(netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8"))
	for remote, want := range map[string]bool{
		"10.1.2.3:4711": true, "[fd00::1]:1": true, "[::ffff:10.0.0.1]:1": true, "[fd00::1%eth0]:1": true,
		"192.0.2.1:4711": false, "[2001:db8::1]:1": false, "": false, "@": false, "10.1.2.3": false,
	} {
		req := httptest.NewRequest(http.MethodGet, "/", nil)
		req.RemoteAddr = remote
		req.Header.Set("X-Forwarded-For", "10.0.0.1")
		req.Header.Set("X-Real-Ip", "10.0.0.1")
		if got := trust(echo.New().NewContext(req, httptest.NewRecorder())); got != want {
			t.Errorf("%q: %v, want %v", remote, got, want)
		}
	}
	if middleware.TrustPeers()(echo.New().NewContext(httptest.NewRequest(http.MethodGet, "/", nil), nil)) {
		t.Error("trusts without a network")
	}
}

func TestSkippers(t *testing.T) {
	t.Parallel()
	skip := middleware.SkipAny(nil, middleware.SkipPreflights, middleware.SkipPaths("/healthz", "/readyz"))
	for _, tt := range []struct {
		method, target string
		headers        []string
		want           bool
	}{
		{"GET", "/healthz", nil, true},
		{"GET", "/readyz?full=1", nil, true},
		{"GET", "/healthz/", nil, false},
		{"GET", "/api/healthz", nil, false},
		{"OPTIONS", "/x", []string{"Origin", "https://app.test", "Access-Control-Request-Method", "PUT"}, true},
		{"OPTIONS", "/x", []string{"Origin", "https://app.test"}, false},
		{"OPTIONS", "/x", nil, false},
		{"GET", "/x", []string{"Origin", "https://app.test", "Access-Control-Request-Method", "PUT"}, false},
	} {
		req := httptest.NewRequest(tt.method, tt.target, nil)
		for i := 0; i+1 < len(tt.headers); i += 2 {
			req.Header.Set(tt.headers[i], tt.headers[i+1])
		}
		if got := skip(echo.New().NewContext(req, httptest.NewRecorder())); got != tt.want {
			t.Errorf("%s %s %v: %v, want %v", tt.method, tt.target, tt.headers, got, tt.want)
		}
	}
}

// TestTraceGoesOn has one service call another, several times at once.
func TestTraceGoesOn(t *testing.T) {
	t.Parallel()
	near, far := sentrytest.New(t, nil), sentrytest.New(t, nil)
	behind := quietEcho()
	behind.Use(middleware.Sentry())
	behind.GET("/prices/:id", func(c echo.Context) error { return c.NoContent(204) })
	other := httptest.NewServer(far.On(behind))
	defer other.Close()

	front := quietEcho()
	front.Use(middleware.Sentry())
	front.GET("/", func(c echo.Context) error {
		ctx := c.Request().Context()
		var calls sync.WaitGroup
		for range 4 {
			calls.Go(func() {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, other.URL+"/prices/1", nil)
				if err != nil {
					t.Error(err)
					return
				}
				tracing.Headers(ctx).Inject(req.Header)
				resp, err := other.Client().Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				resp.Body.Close()
			})
		}
		calls.Wait()
		return c.NoContent(204)
	})
	do(t, near.On(front), http.MethodGet, "/")
	other.Close()
	root := near.One(t).Contexts["trace"]
	if n := len(far.Transactions()); n != 4 {
		t.Fatalf("%d transactions", n)
	}
	for _, event := range far.Transactions() {
		trace := event.Contexts["trace"]
		if trace["trace_id"] != root["trace_id"] || trace["parent_span_id"] != root["span_id"] {
			t.Errorf("%v is not below %v", trace, root)
		}
	}
}
