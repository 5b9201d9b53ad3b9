package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
	"github.com/twinpath/twinpath/middleware"
)

func newTokens(tb testing.TB) *jwt.HS256 {
	tb.Helper()
	h, err := jwt.NewHS256(jwt.Config{Secret: []byte("golden-corpus-jwt-secret-at-least-32-bytes!")})
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

// The corpus's token of the caller "expired".
const expired = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJyb2xlIjoiYXV0aGVudGljYXRlZCIsInN1YiI6IjExMTExMTExLTExMTEtMTExMS0xMTExLTExMTExMTExMTExMSIsImV4cCI6MTUwMDAwMDAwMH0.fYLbkM1ZwmUYFkQ2dBk9GoSQIgaKmZXt6o6ceWRJd-A"

// TestIdentityAnswers compares with PostgREST's own answers in the corpus,
// auth-expired and auth-bad-signature.
func TestIdentityAnswers(t *testing.T) {
	t.Parallel()
	tokens := newTokens(t)
	good, err := tokens.Sign(t.Context(), auth.Identity{Role: "authenticated"})
	if err != nil {
		t.Fatal(err)
	}
	broken := verifierFunc(func(context.Context, string) (auth.Identity, error) {
		return auth.Identity{}, errors.New("keys of " + canary)
	})
	without := func(retry time.Duration) auth.Verifier {
		return verifierFunc(func(context.Context, string) (auth.Identity, error) {
			return auth.Identity{}, fmt.Errorf(canary+": %w", &auth.UnavailableError{Reason: canary, RetryAfter: retry})
		})
	}
	const (
		invalid = `Bearer error="invalid_token", error_description="`
		unknown = `{"code":"","details":null,"hint":null,"message":"The bearer token can't be verified at the moment"}` + "\n"
		wrong   = `{"code":"PGRST301","details":"None of the keys was able to decode the JWT","hint":null,"message":"No suitable key or wrong key type"}` + "\n"
	)
	for _, tt := range []struct {
		name          string
		authorization []string
		verifier      auth.Verifier
		code          int
		body, header  string
		retry         string
	}{
		{"none", nil, tokens, 200, "-", "", ""},
		{"good", []string{"Bearer " + good}, tokens, 200, "authenticated", "", ""},
		{"good, scheme in lower case", []string{"bearer  " + good}, tokens, 200, "authenticated", "", ""},
		{"good, behind a tab", []string{"Bearer\t" + good}, tokens, 200, "authenticated", "", ""},
		{"forged, behind a tab", []string{"Bearer\t" + good[:len(good)-8] + "AAAAAAAA"}, tokens, 401, wrong, invalid + `No suitable key or wrong key type"`, ""},
		{"another scheme", []string{"Basic YTpi"}, tokens, 200, "-", "", ""},
		{"expired", []string{"Bearer " + expired}, tokens, 401,
			`{"code":"PGRST303","details":null,"hint":null,"message":"JWT expired"}` + "\n", invalid + `JWT expired"`, ""},
		{"forged", []string{"Bearer " + good[:len(good)-8] + "AAAAAAAA"}, tokens, 401, wrong, invalid + `No suitable key or wrong key type"`, ""},
		{"empty", []string{"Bearer "}, tokens, 401,
			`{"code":"PGRST301","details":null,"hint":null,"message":"Empty JWT is sent in Authorization header"}` + "\n", invalid + `Empty JWT is sent in Authorization header"`, ""},
		{"two headers", []string{"Bearer " + good, "Bearer " + expired}, tokens, 401,
			`{"code":"PGRST301","details":null,"hint":null,"message":"More than one Authorization header"}` + "\n", invalid + `More than one Authorization header"`, ""},
		{"reason with a quote", []string{"Bearer x"}, verifierFunc(func(context.Context, string) (auth.Identity, error) {
			return auth.Identity{}, &auth.TokenError{Code: "PGRST301", Reason: "a\"b\\\r\nc"}
		}), 401, `{"code":"PGRST301","details":null,"hint":null,"message":"a\"b\\\r\nc"}` + "\n", invalid + `a'b'''c"`, ""},
		{"verifier out of order", []string{"Bearer x"}, broken, 503,
			unknown, "", ""},
		{"API key", []string{"Bearer sb_secret_" + canary}, tokens, 401,
			`{"code":"PGRST301","details":"Keys that begin with sb_ go into the header apikey alone; the bearer token is the access token of a signed-in user",` +
				`"hint":null,"message":"A Supabase API key is not a bearer token"}` + "\n", invalid + `A Supabase API key is not a bearer token"`, ""},
		{"no keys", []string{"Bearer x"}, without(0), 503, unknown, "", "1"},
		{"no keys for a while", []string{"Bearer x"}, without(1001 * time.Millisecond), 503, unknown, "", "2"},
		{"no keys needed", nil, without(0), 200, "-", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := quietEcho()
			e.Use(middleware.Identity(tt.verifier))
			e.GET("/", func(c echo.Context) error {
				id, ok := auth.From(c.Request().Context())
				if !ok {
					return c.String(200, "-")
				}
				return c.String(200, id.Role)
			})
			var headers []string
			for _, a := range tt.authorization {
				headers = append(headers, "Authorization", a)
			}
			rec := do(t, e, http.MethodGet, "/", headers...)
			if rec.Code != tt.code {
				t.Errorf("status %d, want %d", rec.Code, tt.code)
			}
			if diff := cmp.Diff(tt.body, rec.Body.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.header, rec.Header().Get("WWW-Authenticate")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := rec.Header().Get("Retry-After"); got != tt.retry {
				t.Errorf("Retry-After %q, want %q", got, tt.retry)
			}
		})
	}
}

// TestIdentityErrorsKeepTheirCause, for error handlers with bodies of their own.
func TestIdentityErrorsKeepTheirCause(t *testing.T) {
	t.Parallel()
	e := quietEcho()
	var got error
	e.HTTPErrorHandler = func(err error, _ echo.Context) { got = err }
	e.Use(middleware.Identity(newTokens(t)))
	do(t, e, http.MethodGet, "/", "Authorization", "Bearer "+expired)
	te, ok := errors.AsType[*auth.TokenError](got)
	if !ok || te.Reason != "JWT expired" {
		t.Errorf("got %v", got)
	}
}

func TestIdentityLeavesTheApplicationsOwn(t *testing.T) {
	t.Parallel()
	e := quietEcho()
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			r := c.Request()
			c.SetRequest(r.WithContext(auth.With(r.Context(), auth.Identity{Role: "app"})))
			return next(c)
		}
	}, middleware.IdentityWithConfig(middleware.IdentityConfig{
		Verifier: newTokens(t),
		Skipper:  func(c echo.Context) bool { return c.Path() == "/open" },
	}))
	role := func(c echo.Context) error {
		id, _ := auth.From(c.Request().Context())
		return c.String(200, id.Role)
	}
	e.GET("/", role)
	e.GET("/open", role)
	if rec := do(t, e, http.MethodGet, "/"); rec.Body.String() != "app" {
		t.Errorf("without a token: %s", rec.Body)
	}
	if rec := do(t, e, http.MethodGet, "/open", "Authorization", "Bearer "+expired); rec.Body.String() != "app" {
		t.Errorf("skipped: %d %s", rec.Code, rec.Body)
	}
}

type verifierFunc func(context.Context, string) (auth.Identity, error)

func (f verifierFunc) Verify(ctx context.Context, token string) (auth.Identity, error) {
	return f(ctx, token)
}
