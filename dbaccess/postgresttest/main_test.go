package postgresttest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
	"github.com/twinpath/twinpath/dbaccess/postgresttest"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

const secret = "a-secret-for-tests-of-at-least-32-bytes!"

// serve starts a server that ends with the test.
func serve(t testing.TB, cfg postgresttest.Config) *postgresttest.Server {
	t.Helper()
	srv, err := postgresttest.NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return srv
}

// token mints a token for a role.
func token(t testing.TB, role string) string {
	t.Helper()
	signer, err := jwt.NewHS256(jwt.Config{Secret: []byte(secret), Lifetime: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	s, err := signer.Sign(t.Context(), auth.Identity{Role: role, Claims: json.RawMessage(`{"sub":"u1"}`)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// response is an answer, read.
type response struct {
	status int
	header http.Header
	body   string
}

// code is the error's code.
func (r response) code(t testing.TB) string {
	t.Helper()
	var e struct{ Code string }
	if err := json.Unmarshal([]byte(r.body), &e); err != nil {
		t.Fatalf("the body is not JSON: %q", r.body)
	}
	return e.Code
}

// get asks for a path and query. Headers come in pairs.
func get(t testing.TB, srv *postgresttest.Server, target string, headers ...string) response {
	t.Helper()
	return send(t, http.MethodGet, srv.URL+target, "", headers...)
}

func send(t testing.TB, method, url, body string, headers ...string) response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response{resp.StatusCode, resp.Header, string(b)}
}
