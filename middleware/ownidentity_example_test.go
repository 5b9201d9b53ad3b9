package middleware_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	gojwt "github.com/golang-jwt/jwt/v5"
	echojwt "github.com/labstack/echo-jwt/v4"
	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
)

// An application that verifies tokens with Echo's own JWT middleware keeps it, and
// says behind it who asks. The token itself goes along: PostgREST believes nothing
// else.
func ExampleIdentity_echoJWT() {
	secret := []byte("the jwt-secret of your PostgREST")
	e := echo.New()
	e.Use(echojwt.WithConfig(echojwt.Config{SigningKey: secret}))
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			verified, ok := c.Get("user").(*gojwt.Token)
			if !ok {
				return echo.ErrUnauthorized
			}
			id, err := auth.FromVerifiedToken(verified.Raw)
			if err != nil {
				return echo.ErrUnauthorized.SetInternal(err)
			}
			r := c.Request()
			c.SetRequest(r.WithContext(auth.With(r.Context(), id)))
			return next(c)
		}
	})
	e.GET("/me", func(c echo.Context) error {
		id, _ := auth.From(c.Request().Context()) // as every database call with this context does
		return c.String(http.StatusOK, id.Role+" "+id.Subject())
	})

	tokens, err := jwt.NewHS256(jwt.Config{Secret: secret})
	if err != nil {
		fmt.Println(err)
		return
	}
	token, err := tokens.Sign(context.Background(), auth.Identity{Role: "authenticated", Claims: json.RawMessage(`{"sub":"alice"}`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	req := httptest.NewRequest(http.MethodGet, "/me", nil)
	req.Header.Set("Authorization", "Bearer "+token)
	rec := httptest.NewRecorder()
	e.ServeHTTP(rec, req)
	fmt.Println(rec.Code, rec.Body)
	// Output: 200 authenticated alice
}

// An application with sessions has no token at all. rest.Config.Signer mints one for
// each call through PostgREST; the direct path needs none.
func ExampleIdentity_sessions() {
	sessions := map[string]string{"3f9c": "alice"} // the application's store, which it trusts
	e := echo.New()
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			cookie, err := c.Cookie("session")
			if err != nil {
				return next(c) // dbaccess.Config.Default asks, or nobody
			}
			user, ok := sessions[cookie.Value]
			if !ok {
				return echo.ErrUnauthorized
			}
			claims, err := json.Marshal(map[string]string{"sub": user})
			if err != nil {
				return err
			}
			r := c.Request()
			c.SetRequest(r.WithContext(auth.With(r.Context(), auth.Identity{Role: "authenticated", Claims: claims})))
			return next(c)
		}
	})
	e.GET("/me", func(c echo.Context) error {
		id, ok := auth.From(c.Request().Context())
		return c.String(http.StatusOK, fmt.Sprintln(ok, id.Role, id.Subject()))
	})
	for _, session := range []string{"3f9c", ""} {
		req := httptest.NewRequest(http.MethodGet, "/me", nil)
		if session != "" {
			req.AddCookie(&http.Cookie{Name: "session", Value: session})
		}
		rec := httptest.NewRecorder()
		e.ServeHTTP(rec, req)
		fmt.Print(rec.Code, " ", rec.Body)
	}
	// Output:
	// 200 true authenticated alice
	// 200 false
}
