package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/getsentry/sentry-go"
	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/dbaccess/rollout"
	"github.com/twinpath/twinpath/middleware"
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
