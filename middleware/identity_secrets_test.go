package middleware_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
	"github.com/twinpath/twinpath/middleware"
)

// TestIdentityTellsNoSecrets searches what the middleware's config, its errors and
// its answers print as.
func TestIdentityTellsNoSecrets(t *testing.T) {
	t.Parallel()
	const secret = canary + "-of-at-least-32-bytes-length"
	hs, err := jwt.NewHS256(jwt.Config{Secret: []byte(secret)})
	if err != nil {
		t.Fatal(err)
	}
	token, err := hs.Sign(t.Context(), auth.Identity{Role: "authenticated", Claims: json.RawMessage(`{"sub":"` + canary + `"}`)})
	if err != nil {
		t.Fatal(err)
	}
	down := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(down.Close)
	keys, err := jwt.NewJWKS(jwt.JWKSConfig{
		URL:    strings.Replace(down.URL, "http://", "http://"+canary+"@", 1) + "/" + canary + "?apikey=" + canary,
		Secret: []byte(secret), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = keys.Close() })

	search := func(what, text string) {
		t.Helper()
		text = strings.ToLower(text)
		for _, s := range []string{canary, fmt.Sprintf("%x", canary), strings.Trim(fmt.Sprint([]byte(canary)), "[]"), strings.ToLower(token), "127.0.0.1"} {
			if strings.Contains(text, s) {
				t.Errorf("%s tells %q: %s", what, s, text)
			}
		}
	}
	prints := func(v any) string {
		var out bytes.Buffer
		for _, verb := range strings.Split("v +v #v s +s q x X d t c U e g b o", " ") {
			fmt.Fprintf(&out, "%"+verb+"\n", v)
		}
		slog.New(slog.NewTextHandler(&out, nil)).Info("x", "v", v)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "v", v)
		if b, err := json.Marshal(v); err == nil {
			out.Write(b)
		}
		return out.String()
	}
	for name, v := range map[string]any{
		"config": middleware.IdentityConfig{Verifier: hs}, "*config": &middleware.IdentityConfig{Verifier: keys},
	} {
		search(name, prints(v))
	}

	unknown := "eyJhbGciOiJFUzI1NiIsImtpZCI6IngifQ." + strings.Split(token, ".")[1] + ".AAAA" // {"alg":"ES256","kid":"x"}
	for name, tt := range map[string]struct {
		verifier auth.Verifier
		header   string
		code     int
	}{
		"forged":  {hs, token[:len(token)-6] + "AAAAAA", 401},
		"text":    {hs, canary, 401},
		"API key": {keys, "sb_secret_" + canary, 401},
		"no keys": {keys, unknown, 503},
		"broken": {verifierFunc(func(context.Context, string) (auth.Identity, error) {
			return auth.Identity{}, &auth.UnavailableError{Reason: "it rains"}
		}), token, 503},
	} {
		e := quietEcho()
		var answered error
		e.HTTPErrorHandler = func(err error, c echo.Context) { answered = err; e.DefaultHTTPErrorHandler(err, c) }
		e.Use(middleware.Identity(tt.verifier))
		e.GET("/", func(c echo.Context) error { t.Errorf("%s: let in", name); return nil })
		rec := do(t, e, http.MethodGet, "/", "Authorization", "Bearer "+tt.header)
		if rec.Code != tt.code {
			t.Errorf("%s: status %d, want %d", name, rec.Code, tt.code)
		}
		search(name, rec.Body.String()+fmt.Sprint(rec.Header())+prints(answered))
	}
}
