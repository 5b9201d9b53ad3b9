package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"time"

	"github.com/getsentry/sentry-go"
	"github.com/labstack/echo/v4"
	echomiddleware "github.com/labstack/echo/v4/middleware"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/dbaccess/rollout"
	"github.com/twinpath/twinpath/middleware"
	"github.com/twinpath/twinpath/tracing"
)

func ExampleSentry() {
	// An application calls sentry.Init instead, and needs no hub of its own.
	transport := &sentry.MockTransport{}
	client, err := sentry.NewClient(sentry.ClientOptions{Dsn: "http://key@sentry.invalid/1", EnableTracing: true, TracesSampleRate: 1, Transport: transport})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	e := echo.New()
	e.Use(middleware.Sentry())
	e.GET("/api/stocks/:ticker", func(c echo.Context) error {
		return echo.NewHTTPError(http.StatusConflict)
	})

	req := httptest.NewRequest(http.MethodGet, "/api/stocks/ACME", nil)
	hub := sentry.NewHub(client, sentry.NewScope())
	e.ServeHTTP(httptest.NewRecorder(), req.WithContext(sentry.SetHubOnContext(req.Context(), hub)))
	for _, event := range transport.Events() {
		fmt.Println(event.Transaction, event.Contexts["trace"]["status"])
	}
	// Output: GET /api/stocks/:ticker already_exists
}

func ExampleErrors() {
	db, err := dbaccess.New(dbaccess.Config{
		Direct:  failing{}, // from direct.New; here every call violates a unique key
		Default: &auth.Identity{Role: "anon"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	e := echo.New()
	e.Use(middleware.Errors())
	e.POST("/companies", func(c echo.Context) error {
		_, err := dbaccess.Exec(c.Request().Context(), db, query.Insert("companies", map[string]any{"ticker": "ACME"}))
		if err != nil {
			return err // no mapping here
		}
		return c.NoContent(http.StatusCreated)
	})
	rec := httptest.NewRecorder()
	e.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/companies", nil))
	fmt.Println(rec.Code, rec.Body)
	// Output: 409 {"code":"23505","details":null,"hint":null,"message":"conflict with existing rows"}
}

func ExampleErrorsWithConfig() {
	e := echo.New()
	e.Use(middleware.ErrorsWithConfig(middleware.ErrorsConfig{
		Status: func(err *dbaccess.Error) int {
			if errors.Is(err, dbaccess.ErrUnsupported) {
				return http.StatusBadRequest // this API passes its callers' patterns on
			}
			return 0
		},
	}))
	e.GET("/companies", func(echo.Context) error {
		return &dbaccess.Error{Kind: dbaccess.ErrUnsupported, Advice: "write % for any text"}
	})
	rec := httptest.NewRecorder()
	e.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/companies", nil))
	fmt.Println(rec.Code, rec.Body)
	// Output: 400 {"code":"","details":null,"hint":"write % for any text","message":"unsupported query"}
}

func ExampleIdentity() {
	tokens, err := jwt.NewHS256(jwt.Config{Secret: []byte("the jwt-secret of your PostgREST")})
	if err != nil {
		fmt.Println(err)
		return
	}
	e := echo.New()
	e.Use(middleware.Identity(tokens))
	e.GET("/me", func(c echo.Context) error {
		id, ok := auth.From(c.Request().Context())
		return c.String(http.StatusOK, fmt.Sprint(id.Subject(), " ", ok))
	})

	token, err := tokens.Sign(context.Background(), auth.Identity{Role: "authenticated", Claims: json.RawMessage(`{"sub":"alice"}`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, authorization := range []string{"Bearer " + token, "", "Bearer nonsense"} {
		req := httptest.NewRequest(http.MethodGet, "/me", nil)
		if authorization != "" {
			req.Header.Set("Authorization", authorization)
		}
		rec := httptest.NewRecorder()
		e.ServeHTTP(rec, req)
		fmt.Println(rec.Code, rec.Body)
	}
	// Output:
	// 200 alice true
	// 200  false
	// 401 {"code":"PGRST301","details":null,"hint":null,"message":"Expected 3 parts in JWT; got 1"}
}

func ExampleAccessPath() {
	db, err := dbaccess.New(dbaccess.Config{
		REST:    path{dbaccess.REST}, // from rest.New
		Direct:  path{dbaccess.Direct},
		Router:  rollout.Fixed(dbaccess.Direct), // or rollout.Percent(10, "db-access-path")
		Default: &auth.Identity{Role: "anon"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	e := echo.New()
	e.Use(middleware.AccessPath(db))
	e.GET("/", func(c echo.Context) error {
		ctx := c.Request().Context()
		if _, err := dbaccess.JSON(ctx, db, query.From("companies")); err != nil {
			return err
		}
		d, _ := dbaccess.DecisionFrom(ctx)
		return c.String(http.StatusOK, string(d.Path)+" because "+d.Reason)
	})
	rec := httptest.NewRecorder()
	e.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/", nil))
	fmt.Println(rec.Body)
	// Output: direct because fixed
}

func ExampleAccessPathWithConfig() {
	db, err := dbaccess.New(dbaccess.Config{REST: path{dbaccess.REST}, Direct: path{dbaccess.Direct}})
	if err != nil {
		fmt.Println(err)
		return
	}
	e := echo.New()
	e.Use(middleware.AccessPathWithConfig(middleware.AccessPathConfig{
		DB: db,
		// Whoever has passed the application's own check for staff.
		Allow: func(c echo.Context) bool { return c.Get("staff") == true },
	}))
	fmt.Println(middleware.DefaultAccessPathHeader)
	// Output: X-Db-Access-Path
}

// A browser continues its page's trace with requests to another origin only when
// that allows the headers, and shows scripts the answer's times only when those
// are exposed. Preflights need no transactions.
func ExampleSentryWithConfig_cors() {
	e := echo.New()
	e.Use(echomiddleware.CORSWithConfig(echomiddleware.CORSConfig{
		AllowOrigins:  []string{"https://app.example.com"},
		AllowHeaders:  []string{"sentry-trace", "baggage", "traceparent", echo.HeaderAuthorization, echo.HeaderContentType},
		ExposeHeaders: []string{"Server-Timing"},
	}))
	e.Use(middleware.SentryWithConfig(middleware.SentryConfig{
		Skipper: middleware.SkipAny(middleware.SkipPreflights, middleware.SkipPaths("/healthz")),
	}))
	e.GET("/trace", func(c echo.Context) error {
		return c.String(http.StatusOK, sentry.SpanFromContext(c.Request().Context()).TraceID.String())
	})

	preflight := httptest.NewRequest(http.MethodOptions, "/trace", nil)
	preflight.Header.Set("Origin", "https://app.example.com")
	preflight.Header.Set("Access-Control-Request-Method", "GET")
	preflight.Header.Set("Access-Control-Request-Headers", "baggage,sentry-trace")
	rec := httptest.NewRecorder()
	e.ServeHTTP(rec, preflight)
	fmt.Println(rec.Code, rec.Header().Get("Access-Control-Allow-Headers"))

	req := httptest.NewRequest(http.MethodGet, "/trace", nil)
	req.Header.Set("Origin", "https://app.example.com")
	req.Header.Set("sentry-trace", "771a43a4192642f0b136d5159a501700-7e36b0a3a1b2c3d4-1")
	rec = httptest.NewRecorder()
	e.ServeHTTP(rec, req)
	fmt.Println(rec.Code, rec.Body, rec.Header().Get("Access-Control-Expose-Headers"))
	// Output:
	// 204 sentry-trace,baggage,traceparent,Authorization,Content-Type
	// 200 771a43a4192642f0b136d5159a501700 Server-Timing
}

func ExampleSentryWithConfig() {
	e := echo.New()
	e.Use(echomiddleware.Recover()) // in front, so that panics are reported before they become errors
	e.Use(middleware.SentryWithConfig(middleware.SentryConfig{
		Skipper:       middleware.SkipPaths("/healthz"),
		TrustSampling: middleware.TrustPeers(netip.MustParsePrefix("10.0.0.0/8")), // the gateway decides for its requests
		CaptureErrors: true,
		FlushTimeout:  2 * time.Second, // a function: nothing runs behind the answer
	}))
	e.GET("/healthz", func(c echo.Context) error {
		traced := sentry.SpanFromContext(c.Request().Context()) != nil
		return c.String(http.StatusOK, fmt.Sprint("traced: ", traced))
	})
	rec := httptest.NewRecorder()
	e.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/healthz", nil))
	fmt.Println(rec.Code, rec.Body)
	// Output: 200 traced: false
}

func ExampleDefaultSentryConfig() {
	cfg := middleware.DefaultSentryConfig()
	cfg.NotFound = middleware.AllNotFound // show what strangers try, under one name
	e := echo.New()
	e.Use(middleware.SentryWithConfig(cfg))
	rec := httptest.NewRecorder()
	e.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/wp-login.php", nil))
	fmt.Println(rec.Code, "is recorded as", middleware.UnmatchedName)
	// Output: 404 is recorded as unmatched route
}

func ExampleTrustPeers() {
	trusts := middleware.TrustPeers(netip.MustParsePrefix("10.0.0.0/8"))
	for _, remote := range []string{"10.4.0.7:51234", "203.0.113.9:51234"} {
		req := httptest.NewRequest(http.MethodGet, "/", nil)
		req.RemoteAddr = remote
		req.Header.Set("X-Forwarded-For", "10.0.0.1") // anybody can say so
		fmt.Println(remote, trusts(echo.New().NewContext(req, nil)))
	}
	// Output:
	// 10.4.0.7:51234 true
	// 203.0.113.9:51234 false
}

func ExampleSentryConfig_ToMiddleware() {
	_, err := middleware.SentryConfig{MaxSpans: -10, FlushTimeout: -time.Second}.ToMiddleware()
	fmt.Println(err)
	// Output:
	// middleware: SentryConfig.MaxSpans must be positive, 0 for the default or -1 for no limit
	// middleware: SentryConfig.FlushTimeout must be positive, or 0 for no wait
}

// A WebSocket's messages have transactions of their own, in the trace of the
// request that opened it.
func ExampleSentry_messages() {
	e := echo.New()
	e.Use(middleware.Sentry())
	e.GET("/ws", func(c echo.Context) error {
		// the upgrade, by which the request's transaction ends
		for range 2 { // messages
			tx := tracing.Continue(c.Request().Context(), "ws subscribe", sentry.WithOpName("websocket.server"))
			// database calls with tx.Context()
			tx.Finish()
		}
		return nil
	})
	rec := httptest.NewRecorder()
	e.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/ws", nil))
	fmt.Println(rec.Code)
	// Output: 200
}

func ExampleServerTiming() {
	db, err := dbaccess.New(dbaccess.Config{
		Direct:    path{dbaccess.Direct}, // from direct.New
		Default:   &auth.Identity{Role: "anon"},
		Observers: []dbaccess.Observer{tracing.NewObserver(), middleware.CallTimes{}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	e := echo.New()
	e.Use(middleware.ServerTiming(func(c echo.Context) bool {
		return c.Request().Header.Get("X-Staff") != "" // your own check; this one is no protection
	}))
	e.GET("/companies", func(c echo.Context) error {
		rows, err := dbaccess.JSON(c.Request().Context(), db, query.From("companies"))
		if err != nil {
			return err
		}
		return c.JSONBlob(http.StatusOK, rows)
	})
	for _, staff := range []string{"", "yes"} {
		req := httptest.NewRequest(http.MethodGet, "/companies", nil)
		req.Header.Set("X-Staff", staff)
		rec := httptest.NewRecorder()
		e.ServeHTTP(rec, req)
		timing := rec.Header().Get("Server-Timing") // app;dur=0.09, db_direct;dur=0.03;desc="1 call"
		fmt.Println(strings.Contains(timing, "db_direct"), strings.Contains(timing, "1 call"))
	}
	// Output:
	// false false
	// true true
}

func ExampleServerTimingWithConfig() {
	e := echo.New()
	e.Use(middleware.ServerTimingWithConfig(middleware.ServerTimingConfig{
		Authorize: func(c echo.Context) bool { return c.Get("staff") == true }, // set by a middleware further in
		Names:     true,
	}))
	e.GET("/", func(c echo.Context) error {
		c.Set("staff", true)
		return c.NoContent(http.StatusNoContent)
	})
	rec := httptest.NewRecorder()
	e.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/", nil))
	fmt.Println(strings.HasPrefix(rec.Header().Get("Server-Timing"), "app;dur="))
	// Output: true
}
