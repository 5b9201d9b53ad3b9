package middleware_test

import (
	"context"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/dbaccess/rollout"
	"github.com/twinpath/twinpath/internal/sentrytest"
	"github.com/twinpath/twinpath/middleware"
)

// metric is one of a Server-Timing header's.
type metric struct {
	dur  float64 // -1 for none
	desc string
}

// parseTiming is strict about what the header may be made of.
// Source: https://www.w3.org/TR/server-timing/#the-server-timing-header-field
func parseTiming(tb testing.TB, header string) map[string]metric {
	tb.Helper()
	one := regexp.MustCompile(`\A([!#$%&'*+.^_` + "`" + `|~0-9A-Za-z-]+)(?:;dur=([0-9]+(?:\.[0-9]+)?))?(?:;desc="([ !#-\[\]-~]*)")?(?:, |\z)`)
	out := map[string]metric{}
	for header != "" {
		m := one.FindStringSubmatch(header)
		if m == nil {
			tb.Fatalf("malformed from %q", header)
		}
		v := metric{dur: -1, desc: m[3]}
		if m[2] != "" {
			var err error
			if v.dur, err = strconv.ParseFloat(m[2], 64); err != nil {
				tb.Fatal(err)
			}
		}
		out[m[1]] = v
		header = header[len(m[0]):]
	}
	return out
}

// timed is a DB whose calls are told to CallTimes.
func timed(tb testing.TB, r dbaccess.Router) *dbaccess.DB {
	tb.Helper()
	db, err := dbaccess.New(dbaccess.Config{
		REST: path{dbaccess.REST}, Direct: path{dbaccess.Direct}, Router: r,
		Default: &auth.Identity{Role: "anon"}, Observers: []dbaccess.Observer{middleware.CallTimes{}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return db
}

func everyone(echo.Context) bool { return true }

func TestServerTiming(t *testing.T) {
	t.Parallel()
	direct, rest := timed(t, rollout.Fixed(dbaccess.Direct)), timed(t, rollout.Fixed(dbaccess.REST))
	handler := func(c echo.Context) error {
		c.Response().Header().Add("Server-Timing", "cache;desc=hit")
		for range 3 {
			if _, err := dbaccess.JSON(c.Request().Context(), direct, query.From("filings").Where(query.Eq("ticker", canary))); err != nil {
				return err
			}
		}
		if _, err := dbaccess.JSON(c.Request().Context(), rest, companies); err != nil {
			return err
		}
		return c.NoContent(204)
	}
	for _, tt := range []struct {
		name string
		cfg  middleware.ServerTimingConfig
		want map[string]string // descriptions by metric; nil for no header
	}{
		{"allowed", middleware.ServerTimingConfig{Authorize: everyone},
			map[string]string{"app": "", "db_direct": "3 calls", "db_rest": "1 call", "trace": "<trace>"}},
		{"with names", middleware.ServerTimingConfig{Authorize: everyone, Names: true}, map[string]string{
			"app": "", "db_direct": "3 calls", "db_rest": "1 call", "trace": "<trace>",
			"db1": "select filings by ticker direct", "db2": "select filings by ticker direct", "db3": "select filings by ticker direct", "db4": "companies rest",
		}},
		{"short of room", middleware.ServerTimingConfig{Authorize: everyone, Names: true, MaxBytes: 110},
			map[string]string{"app": "", "db_direct": "3 calls", "db_rest": "1 call"}},
		{"without room", middleware.ServerTimingConfig{Authorize: everyone, MaxBytes: 1}, nil},
		{"not allowed", middleware.ServerTimingConfig{Authorize: func(echo.Context) bool { return false }, Names: true}, nil},
		{"skipped", middleware.ServerTimingConfig{Authorize: everyone, Skipper: everyone}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, e := sentrytest.New(t, nil), quietEcho()
			mw := middleware.ServerTimingWithConfig(tt.cfg)
			e.Use(mw, middleware.Sentry())
			e.Group("", mw).GET("/", handler) // twice does no harm
			rec := do(t, r.On(e), http.MethodGet, "/")
			headers := rec.Result().Header.Values("Server-Timing")
			if len(headers) == 0 || headers[0] != "cache;desc=hit" {
				t.Fatalf("the application's own header is gone: %q", headers)
			}
			if headers = headers[1:]; tt.want == nil {
				if len(headers) != 0 {
					t.Errorf("got %q", headers)
				}
				return
			}
			if len(headers) != 1 {
				t.Fatalf("got %q", headers)
			}
			got := map[string]string{}
			for name, m := range parseTiming(t, headers[0]) {
				if (m.dur < 0) != (name == "trace") {
					t.Errorf("%s lasts %v", name, m.dur)
				}
				got[name] = m.desc
				if name == "trace" {
					got[name] = strings.ReplaceAll(m.desc, r.One(t).Contexts["trace"]["trace_id"].(interface{ String() string }).String(), "<trace>")
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if strings.Contains(headers[0], canary) {
				t.Errorf("a value is in %q", headers[0])
			}
		})
	}
}

// TestServerTimingAddsUp observes calls of known lengths.
func TestServerTimingAddsUp(t *testing.T) {
	t.Parallel()
	spec := companies.Spec()
	end := func(ctx context.Context, p dbaccess.Path, took time.Duration, sql *dbaccess.SQL) {
		s := dbaccess.CallStart{Query: &spec, Name: spec.Name, Route: dbaccess.Routed{Path: p}, Start: time.Unix(0, 0), SQL: sql}
		var o dbaccess.Observer = middleware.CallTimes{}
		o.CallEnd(o.CallStart(ctx, s), dbaccess.CallEnd{CallStart: s, End: s.Start.Add(took)})
	}
	e := quietEcho()
	e.Use(middleware.ServerTiming(everyone))
	var late sync.WaitGroup
	e.GET("/", func(c echo.Context) error {
		ctx := c.Request().Context()
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { end(ctx, dbaccess.Direct, 1500*time.Microsecond, nil) })
		}
		end(ctx, dbaccess.REST, 7*time.Millisecond, nil)
		end(ctx, dbaccess.Direct, time.Hour, &dbaccess.SQL{Operation: "transaction"})
		end(ctx, dbaccess.Direct, time.Millisecond, &dbaccess.SQL{Operation: "select"})
		wg.Wait()
		late.Go(func() {
			for range 100 {
				end(ctx, dbaccess.REST, time.Hour, nil)
			}
		})
		return c.NoContent(204)
	})
	rec := do(t, e, http.MethodGet, "/")
	late.Wait()
	got := parseTiming(t, rec.Header().Get("Server-Timing"))
	if got["db_direct"].dur != 16 || got["db_direct"].desc != "11 calls" || got["db_rest"].dur < 7 {
		t.Errorf("got %v", got)
	}
	end(context.Background(), dbaccess.REST, time.Hour, nil) // outside of requests
}

// TestServerTimingOfFailures: the answer is made by somebody else.
func TestServerTimingOfFailures(t *testing.T) {
	t.Parallel()
	e := quietEcho()
	e.Use(middleware.ServerTiming(everyone))
	e.GET("/", func(echo.Context) error { return errDomain })
	rec := do(t, e, http.MethodGet, "/")
	if got := slices.Sorted(maps.Keys(parseTiming(t, rec.Header().Get("Server-Timing")))); rec.Code != 500 || !slices.Equal(got, []string{"app"}) {
		t.Errorf("%d: %v", rec.Code, got)
	}
}

// FuzzServerTiming: whatever a query is called, the header is well-formed and of
// a limited length.
func FuzzServerTiming(f *testing.F) {
	f.Add("recent_filings", 200)
	f.Add("a\"b\\c\r\nSet-Cookie: x", 1024)
	f.Add("é€", 64)
	f.Fuzz(func(t *testing.T, name string, limit int) {
		if limit <= 0 || limit > 1<<16 {
			return
		}
		db := timed(t, rollout.Fixed(dbaccess.REST))
		e := quietEcho()
		e.Use(middleware.ServerTimingWithConfig(middleware.ServerTimingConfig{Authorize: everyone, Names: true, MaxBytes: limit}))
		e.GET("/", func(c echo.Context) error {
			_, _ = dbaccess.JSON(c.Request().Context(), db, query.From("companies").Named(name))
			return c.NoContent(204)
		})
		header := do(t, e, http.MethodGet, "/").Header().Get("Server-Timing")
		if len(header) > limit {
			t.Errorf("%d bytes", len(header))
		}
		parseTiming(t, header)
	})
}
