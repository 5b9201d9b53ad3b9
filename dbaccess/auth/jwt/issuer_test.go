package jwt_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
)

// issuer publishes keys. It is a handler, and a transport for tests of time.
type issuer struct {
	requests atomic.Int64
	mu       sync.Mutex
	document []byte
	down     bool
	handler  http.HandlerFunc // instead of the document
}

func (i *issuer) publish(document []byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.document, i.down = document, false
}

func (i *issuer) fail() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.down = true
}

func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.requests.Add(1)
	i.mu.Lock()
	document, down := i.document, i.down
	i.mu.Unlock()
	switch {
	case i.handler != nil:
		i.handler(w, r)
	case down:
		http.Error(w, "canary in the page", http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(document)
	}
}

func (i *issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	i.mu.Lock()
	document, down := i.document, i.down
	i.mu.Unlock()
	i.requests.Add(1)
	if down {
		return nil, errors.New("canary in the error")
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(document)), Request: r}, nil
}

func (i *issuer) want(tb testing.TB, requests int64) {
	tb.Helper()
	if got := i.requests.Load(); got != requests {
		tb.Errorf("%d requests for keys, want %d", got, requests)
	}
}

// serve starts the issuer's server and a verifier that asks it.
func (i *issuer) serve(tb testing.TB, change func(*jwt.JWKSConfig)) *jwt.JWKS {
	tb.Helper()
	server := httptest.NewServer(i)
	tb.Cleanup(server.Close)
	return newRemote(tb, server.URL+"/keys?apikey=canary", change)
}

func newRemote(tb testing.TB, url string, change func(*jwt.JWKSConfig)) *jwt.JWKS {
	tb.Helper()
	cfg := jwt.JWKSConfig{URL: url, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&cfg)
	}
	j, err := jwt.NewJWKS(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := j.Close(); err != nil {
			tb.Error(err)
		}
	})
	return j
}
