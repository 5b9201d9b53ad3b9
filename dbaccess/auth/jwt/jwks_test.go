package jwt_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
)

func wantUnavailable(tb testing.TB, err error, reason string) *auth.UnavailableError {
	tb.Helper()
	u, ok := errors.AsType[*auth.UnavailableError](err)
	if !ok || auth.IsTokenError(err) {
		tb.Fatalf("error %v of %T, want an UnavailableError", err, err)
	}
	if !strings.Contains(u.Reason, reason) || strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "127.0.0.1") {
		tb.Errorf("error %v, want %q and neither address nor answer", err, reason)
	}
	return u
}

func TestKeysAreAskedForOnce(t *testing.T) {
	t.Parallel()
	issuer := &issuer{document: keySet(t, jwk(t, "ec", "a", nil), jwk(t, "rsa", "r", nil))}
	j := issuer.serve(t, nil)
	issuer.want(t, 0) // New starts nothing
	for range 3 {
		if _, err := j.Verify(t.Context(), signES256(t, "a", "ec")); err != nil {
			t.Fatal(err)
		}
		if _, err := j.Verify(t.Context(), sign(t, "RS256", "r", "rsa", usualClaims)); err != nil {
			t.Fatal(err)
		}
		if _, err := j.Verify(t.Context(), signES256(t, "a", "ec2")); !auth.IsTokenError(err) {
			t.Errorf("a forged token: %v", err)
		}
	}
	issuer.want(t, 1)
}

// What no published key could verify asks for none.
func TestNoKeyIsAskedForInVain(t *testing.T) {
	t.Parallel()
	issuer := &issuer{document: keySet(t, jwk(t, "ec", "a", nil))}
	j := issuer.serve(t, nil)
	for _, token := range []string{
		"", "a.b.c", "sb_secret_1", goodToken(usualClaims), hmacWith("a", []byte(secret)),
		encode(`{"alg":"none"}`) + "." + encode(usualClaims) + ".", makeToken(`{"alg":"XX256"}`, "{}", sha256.New, ""),
		strings.Repeat("a", 70_000) + ".b.c",
	} {
		if _, err := j.Verify(t.Context(), token); !auth.IsTokenError(err) {
			t.Errorf("%s: %v", shorten(token), err)
		}
	}
	issuer.want(t, 0)
}

func TestRotation(t *testing.T) {
	t.Parallel()
	issuer := &issuer{document: keySet(t, jwk(t, "ec", "old", nil))}
	j := issuer.serve(t, func(c *jwt.JWKSConfig) { c.UnknownKeyPause = time.Nanosecond })
	careful := issuer.serve(t, nil)
	for _, v := range []*jwt.JWKS{j, careful} {
		if _, err := v.Verify(t.Context(), signES256(t, "old", "ec")); err != nil {
			t.Fatal(err)
		}
	}
	issuer.want(t, 2)
	issuer.publish(keySet(t, jwk(t, "ec2", "new", nil), jwk(t, "ec", "old", nil)))
	for range 2 {
		if _, err := j.Verify(t.Context(), signES256(t, "new", "ec2")); err != nil {
			t.Fatal(err)
		}
	}
	issuer.want(t, 3)
	if _, err := careful.Verify(t.Context(), signES256(t, "new", "ec2")); !auth.IsTokenError(err) {
		t.Errorf("a name that is not among keys that are young: %v", err)
	}
	issuer.want(t, 3)

	// The issuer takes a key back: the next request brings none of it.
	issuer.publish(keySet(t, jwk(t, "ec2", "new", nil)))
	if _, err := j.Verify(t.Context(), signES256(t, "invented", "ec")); !auth.IsTokenError(err) {
		t.Errorf("an invented name: %v", err)
	}
	if _, err := j.Verify(t.Context(), signES256(t, "old", "ec")); !auth.IsTokenError(err) {
		t.Errorf("a revoked key: %v", err)
	}
	if _, err := j.Verify(t.Context(), signES256(t, "new", "ec2")); err != nil {
		t.Error(err)
	}
}

// An issuer whose keys have no names rotates as well.
func TestRotationWithoutNames(t *testing.T) {
	t.Parallel()
	issuer := &issuer{document: keySet(t, jwk(t, "ec", "", nil))}
	j := issuer.serve(t, func(c *jwt.JWKSConfig) { c.UnknownKeyPause = time.Nanosecond })
	if _, err := j.Verify(t.Context(), signES256(t, "", "ec")); err != nil {
		t.Fatal(err)
	}
	issuer.publish(keySet(t, jwk(t, "ec2", "", nil)))
	if _, err := j.Verify(t.Context(), signES256(t, "", "ec2")); err != nil {
		t.Fatal(err)
	}
	issuer.want(t, 2)
}

func TestInventedNamesCauseOneRequest(t *testing.T) {
	t.Parallel()
	issuer := &issuer{document: keySet(t, jwk(t, "ec", "a", nil))}
	j := issuer.serve(t, nil)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for n := range 50 {
				token := makeToken(fmt.Sprintf(`{"alg":"ES256","kid":"%d-%d"}`, w, n), usualClaims, sha256.New, "")
				if _, err := j.Verify(t.Context(), token); !auth.IsTokenError(err) {
					t.Errorf("%v", err)
				}
			}
		})
	}
	wg.Wait()
	issuer.want(t, 1)
}

func TestColdCallersShareOneRequest(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	document := keySet(t, jwk(t, "ec", "a", nil))
	issuer := &issuer{}
	issuer.handler = func(w http.ResponseWriter, _ *http.Request) {
		<-release
		_, _ = w.Write(document)
	}
	j := issuer.serve(t, func(c *jwt.JWKSConfig) { c.Timeout = time.Minute })
	token := signES256(t, "a", "ec")
	var wg, started sync.WaitGroup
	started.Add(32)
	for range 32 {
		wg.Go(func() {
			started.Done()
			if _, err := j.Verify(t.Context(), token); err != nil {
				t.Error(err)
			}
		})
	}
	started.Wait()
	// A caller that leaves takes nobody along.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := j.Verify(ctx, token)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that left: %v", err)
	}
	wantUnavailable(t, err, "ended before")
	close(release)
	wg.Wait()
	issuer.want(t, 1)
}

func TestHostileIssuer(t *testing.T) {
	t.Parallel()
	sets := hostile(t)
	sets["a secret"] = keySet(t, map[string]any{"kty": "oct", "kid": "k", "k": b64([]byte(secret))})
	sets["huge"] = append(keySet(t, jwk(t, "ec", "k", nil)), make([]byte, jwt.MaxKeySetBytes)...)
	for name, document := range sets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			issuer := &issuer{document: document}
			j := issuer.serve(t, nil)
			for range 2 { // the second without a request
				_, err := j.Verify(t.Context(), signES256(t, "k", "ec"))
				if u := wantUnavailable(t, err, "the key set's server "); u.RetryAfter <= 0 {
					t.Error("no time to come back")
				}
			}
			issuer.want(t, 1)
			if _, err := j.Verify(t.Context(), hmacWith("k", []byte(secret))); !auth.IsTokenError(err) {
				t.Errorf("a token with the secret: %v", err)
			}
		})
	}
}

// TestMixedKeySet: what is refused leaves the rest as it is.
func TestMixedKeySet(t *testing.T) {
	t.Parallel()
	issuer := &issuer{document: keySet(t,
		map[string]any{"kty": "oct", "kid": "secret", "k": b64([]byte(secret))},
		jwk(t, "ec2", "private", map[string]any{"d": "AAAA"}),
		7, map[string]any{"kty": "new"},
		jwk(t, "ec", "good", nil),
	)}
	var log strings.Builder
	j := issuer.serve(t, func(c *jwt.JWKSConfig) {
		c.Logger, c.UnknownKeyPause = slog.New(slog.NewTextHandler(&log, nil)), time.Nanosecond
	})
	if _, err := j.Verify(t.Context(), signES256(t, "good", "ec")); err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{hmacWith("secret", []byte(secret)), hmacWith("", []byte(secret)), signES256(t, "private", "ec2"), signES256(t, "", "ec2")} {
		if _, err := j.Verify(t.Context(), token); !auth.IsTokenError(err) {
			t.Errorf("a token of a key that was refused: %v", err)
		}
	}
	if issuer.requests.Load() < 2 {
		t.Error("the set came once, so that nothing is known of the second time")
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "is not used"); n != 4 || strings.Contains(log.String(), b64([]byte(secret))) || strings.Contains(log.String(), "canary") {
		t.Errorf("%d keys are told of, want 4: %s", n, log.String())
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	document := keySet(t, jwk(t, "ec", "a", nil))
	elsewhere := httptest.NewServer(&issuer{document: document})
	t.Cleanup(elsewhere.Close)
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		reason  string // "" where keys come
	}{
		{"404", http.NotFound, "status 404"},
		{"204", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, "status 204"},
		{"redirect to another host", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/canary", http.StatusFound)
		}, "redirects to another host"},
		{"redirect to another scheme", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://"+r.Host+"/canary", http.StatusFound)
		}, "redirects to another host"},
		{"redirect without end", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/keys", http.StatusFound) }, "without end"},
		{"redirect on the host", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/moved" {
				http.Redirect(w, r, "/moved", http.StatusMovedPermanently)
				return
			}
			_, _ = w.Write(document)
		}, ""},
		{"broken off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write(document[:10])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, "breaks off"},
		{"no answer", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "can't be reached"},
		{"without end", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write([]byte(strings.Repeat(" ", 64<<10))); err != nil {
					return
				}
			}
		}, "more than 262144 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			issuer := &issuer{handler: tt.handler}
			_, err := issuer.serve(t, func(c *jwt.JWKSConfig) { c.Timeout = time.Minute }).Verify(t.Context(), signES256(t, "a", "ec"))
			if tt.reason == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantUnavailable(t, err, tt.reason)
		})
	}
	t.Run("too late", func(t *testing.T) {
		t.Parallel()
		issuer := &issuer{handler: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }}
		_, err := issuer.serve(t, func(c *jwt.JWKSConfig) { c.Timeout = 20 * time.Millisecond }).Verify(t.Context(), signES256(t, "a", "ec"))
		wantUnavailable(t, err, "does not answer in time")
	})
	t.Run("nobody listens", func(t *testing.T) {
		t.Parallel()
		server := httptest.NewServer(http.NotFoundHandler())
		server.Close()
		_, err := newRemote(t, strings.Replace(server.URL, "http://", "http://me:canary@", 1), nil).Verify(t.Context(), signES256(t, "a", "ec"))
		wantUnavailable(t, err, "can't be reached")
	})
}

// TestOutageOfARealServer: keys outlive their server for the time of grace, and
// not without.
func TestOutageOfARealServer(t *testing.T) {
	t.Parallel()
	issuer := &issuer{document: keySet(t, jwk(t, "ec", "a", nil))}
	server := httptest.NewServer(issuer)
	t.Cleanup(server.Close)
	patient := newRemote(t, server.URL, func(c *jwt.JWKSConfig) { c.Refresh, c.UnknownKeyPause = time.Millisecond, time.Nanosecond })
	strict := newRemote(t, server.URL, func(c *jwt.JWKSConfig) { c.Refresh, c.Grace = time.Millisecond, -1 })
	token := signES256(t, "a", "ec")
	for _, j := range []*jwt.JWKS{patient, strict} {
		if err := j.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	server.Close()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := strict.Verify(t.Context(), token); err != nil {
			wantUnavailable(t, err, "can't be reached")
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("keys are used for ever")
		}
	}
	if _, err := patient.Verify(t.Context(), token); err != nil {
		t.Errorf("within the grace: %v", err)
	}
	// A name that is not among the keys may be new: nobody knows.
	_, err := patient.Verify(t.Context(), signES256(t, "b", "ec2"))
	wantUnavailable(t, err, "can't be reached")
}

// TestConcurrentRotation is for the race detector.
func TestConcurrentRotation(t *testing.T) {
	t.Parallel()
	sets := [][]byte{keySet(t, jwk(t, "ec", "a", nil)), keySet(t, jwk(t, "ec2", "b", nil), jwk(t, "ec", "a", nil))}
	issuer := &issuer{document: sets[0]}
	j := issuer.serve(t, func(c *jwt.JWKSConfig) { c.Refresh, c.UnknownKeyPause = time.Millisecond, time.Nanosecond })
	if err := j.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	a, b := signES256(t, "a", "ec"), signES256(t, "b", "ec2")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if _, err := j.Verify(t.Context(), a); err != nil {
					t.Errorf("a key that is in every set: %v", err)
				}
				if _, err := j.Verify(t.Context(), b); err != nil && !auth.IsTokenError(err) {
					t.Errorf("a key that comes and goes: %v", err)
				}
			}
		})
	}
	for n := range 50 {
		issuer.publish(sets[n%2])
		time.Sleep(time.Millisecond)
	}
	wg.Wait()
	issuer.publish(sets[1])
	if _, err := j.Verify(t.Context(), b); err != nil {
		t.Error(err)
	}
}

func TestSecretBesideKeys(t *testing.T) {
	t.Parallel()
	issuer := &issuer{document: keySet(t, jwk(t, "ec", "a", nil))}
	j := issuer.serve(t, func(c *jwt.JWKSConfig) {
		c.Secret, c.AnonRole, c.Audience, c.RoleClaim = []byte(secret), "web_anon", "api", `.app.roles[?(@ ^== "db_")][3:]`
	})
	claims := `{"aud":["api"],"app":{"roles":["x","db_clerk"]}}`
	for _, token := range []string{goodToken(claims), sign(t, "ES256", "a", "ec", claims)} {
		if id, err := j.Verify(t.Context(), token); err != nil || id.Role != "clerk" {
			t.Errorf("%v, %v", id, err)
		}
	}
	if id, err := j.Verify(t.Context(), sign(t, "ES256", "a", "ec", `{"role":"x"}`)); err != nil || id.Role != "web_anon" {
		t.Errorf("no role: %v, %v", id, err)
	}
	for _, claims := range []string{`{"aud":"web"}`, `{"exp":1500000000}`, `{"nbf":4102444800}`, `{"app":{"roles":[]},"app":{}}`} {
		if _, err := j.Verify(t.Context(), sign(t, "ES256", "a", "ec", claims)); !auth.IsTokenError(err) {
			t.Errorf("%s: %v", claims, err)
		}
	}
	if _, err := j.Verify(t.Context(), makeToken(plainHeader, claims, sha256.New, secret+"x")); !auth.IsTokenError(err) {
		t.Errorf("another secret: %v", err)
	}
}
