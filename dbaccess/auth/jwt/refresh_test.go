package jwt_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
)

// at runs a test on a clock of its own, with an issuer that is asked without a
// network.
func at(t *testing.T, change func(*jwt.JWKSConfig), test func(t *testing.T, i *issuer, j *jwt.JWKS)) {
	t.Helper()
	i := &issuer{document: keySet(t, jwk(t, "ec", "a", nil))}
	signingKeys()
	synctest.Test(t, func(t *testing.T) {
		j := newRemote(t, "https://issuer.example/keys?apikey=canary", func(c *jwt.JWKSConfig) {
			c.Transport = i
			if change != nil {
				change(c)
			}
		})
		test(t, i, j)
	})
}

func good(t *testing.T, j *jwt.JWKS) {
	t.Helper()
	if _, err := j.Verify(t.Context(), signES256(t, "a", "ec")); err != nil {
		t.Fatal(err)
	}
	synctest.Wait() // for a request in the background
}

func TestKeysAreRefreshed(t *testing.T) {
	t.Parallel()
	at(t, nil, func(t *testing.T, i *issuer, j *jwt.JWKS) {
		good(t, j)
		time.Sleep(7 * time.Minute)
		good(t, j)
		i.want(t, 1)
		time.Sleep(2 * time.Minute) // old enough to be asked for without waiting
		good(t, j)
		i.want(t, 2)
		good(t, j)
		i.want(t, 2)
		time.Sleep(time.Hour) // nobody came: the next caller waits
		good(t, j)
		i.want(t, 3)
		i.publish(keySet(t, jwk(t, "ec2", "b", nil)))
		time.Sleep(jwt.DefaultRefresh)
		if _, err := j.Verify(t.Context(), signES256(t, "a", "ec")); !auth.IsTokenError(err) {
			t.Errorf("a key revoked %v ago: %v", jwt.DefaultRefresh, err)
		}
		i.want(t, 4) // the keys are young, so that the missing one is not looked for
	})
}

func TestOutage(t *testing.T) {
	t.Parallel()
	at(t, nil, func(t *testing.T, i *issuer, j *jwt.JWKS) {
		good(t, j)
		i.fail()
		end := time.Now().Add(jwt.DefaultRefresh + jwt.DefaultGrace)
		for time.Until(end) > 0 {
			good(t, j)
			time.Sleep(time.Minute)
		}
		_, err := j.Verify(t.Context(), signES256(t, "a", "ec"))
		u := wantUnavailable(t, err, "can't be reached")
		if u.RetryAfter > 30*time.Second {
			t.Errorf("come back in %v", u.RetryAfter)
		}
		i.publish(keySet(t, jwk(t, "ec", "a", nil)))
		time.Sleep(u.RetryAfter)
		good(t, j)
	})
	at(t, func(c *jwt.JWKSConfig) { c.Grace = -1 }, func(t *testing.T, i *issuer, j *jwt.JWKS) {
		good(t, j)
		i.fail()
		time.Sleep(jwt.DefaultRefresh)
		_, err := j.Verify(t.Context(), signES256(t, "a", "ec"))
		wantUnavailable(t, err, "can't be reached")
	})
}

// TestRetries: an issuer that is down is asked ever more seldom, whoever comes.
func TestRetries(t *testing.T) {
	t.Parallel()
	at(t, nil, func(t *testing.T, i *issuer, j *jwt.JWKS) {
		i.fail()
		for n, pause := range []time.Duration{1, 2, 4, 8, 16, 30, 30, 30} {
			pause *= time.Second
			for _, token := range []string{signES256(t, "a", "ec"), signES256(t, "b", "ec"), signES256(t, "", "ec")} {
				_, err := j.Verify(t.Context(), token)
				if u := wantUnavailable(t, err, "can't be reached"); u.RetryAfter != pause {
					t.Errorf("failure %d: come back in %v, want %v", n, u.RetryAfter, pause)
				}
			}
			i.want(t, int64(n+1))
			time.Sleep(pause)
		}
		i.publish(keySet(t, jwk(t, "ec", "a", nil)))
		good(t, j)
	})
}

func TestUnknownKeyPause(t *testing.T) {
	t.Parallel()
	at(t, nil, func(t *testing.T, i *issuer, j *jwt.JWKS) {
		good(t, j)
		i.publish(keySet(t, jwk(t, "ec", "a", nil), jwk(t, "ec2", "b", nil)))
		time.Sleep(jwt.DefaultUnknownKeyPause - time.Second)
		if _, err := j.Verify(t.Context(), signES256(t, "b", "ec2")); !auth.IsTokenError(err) {
			t.Errorf("too early: %v", err)
		}
		i.want(t, 1)
		time.Sleep(time.Second)
		if _, err := j.Verify(t.Context(), signES256(t, "b", "ec2")); err != nil {
			t.Error(err)
		}
		i.want(t, 2)
	})
}

func TestStartKeepsKeysFresh(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	logs := func(c *jwt.JWKSConfig) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) }
	at(t, logs, func(t *testing.T, i *issuer, j *jwt.JWKS) {
		for range 2 { // once is enough
			if err := j.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		i.want(t, 1)
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := i.requests.Load(); n < 7 || n > 9 {
			t.Errorf("%d requests in an hour, want one in 8 minutes", n)
		}
		i.fail()
		time.Sleep(24 * time.Hour)
		i.publish(keySet(t, jwk(t, "ec", "a", nil)))
		time.Sleep(30 * time.Second)
		synctest.Wait()
		before := i.requests.Load()
		good(t, j)
		i.want(t, before) // nobody had to wait
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		good(t, j) // Close forgets nothing
		time.Sleep(24 * time.Hour)
		_, err := j.Verify(t.Context(), signES256(t, "a", "ec"))
		wantUnavailable(t, err, "closed")
		wantUnavailable(t, j.Start(t.Context()), "closed")
		i.want(t, before)
		if got := log.String(); strings.Count(got, "can't be had") != 1 || strings.Count(got, "can be had again") != 1 || strings.Contains(got, "canary") {
			t.Errorf("the log: %s", got)
		}
	})
}

func TestStartReportsAnOutage(t *testing.T) {
	t.Parallel()
	at(t, nil, func(t *testing.T, i *issuer, j *jwt.JWKS) {
		i.fail()
		wantUnavailable(t, j.Start(t.Context()), "can't be reached")
		i.publish(keySet(t, jwk(t, "ec", "a", nil)))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		before := i.requests.Load()
		good(t, j)
		i.want(t, before)
	})
}

func TestDocumentNeedsNoStart(t *testing.T) {
	t.Parallel()
	j := newDocument(t, keySet(t, jwk(t, "ec", "a", nil)), nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := j.Start(ctx); err != nil {
		t.Error(err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}
