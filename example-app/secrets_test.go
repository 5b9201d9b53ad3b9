package main_test

import (
	"compress/gzip"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
	"github.com/twinpath/twinpath/example-app/internal/stock"
)

// planted is in everything that a caller of TestNothingIsShown sends.
const planted = "canary7261"

// TestNothingIsShown sends secrets wherever the demo takes something, and looks for them in all that it
// shows: answers, pages, logs, and what Sentry gets, which here is a Spotlight sidecar.
func TestNothingIsShown(t *testing.T) {
	t.Parallel()
	s := &search{T: t, secrets: []string{planted, secret}}
	good := s.token(secret, stock.RoleAuthenticated, time.Hour)

	for _, path := range []string{"rest", "direct"} {
		for _, r := range plantedRequests() {
			s.send(r, "Bearer "+good, path)
		}
		for authorization, status := range map[string]int{
			"Bearer " + good: http.StatusOK,
			"Bearer " + s.token(secret, stock.RoleAuthenticated, -time.Hour):                    http.StatusUnauthorized,
			"Bearer " + s.token(strings.Repeat(planted, 5), stock.RoleAuthenticated, time.Hour): http.StatusUnauthorized,
			"Bearer " + s.token(secret, planted, time.Hour):                                     http.StatusUnauthorized,
			"Bearer " + planted:                     http.StatusUnauthorized,
			"Bearer " + planted + ".e30." + planted: http.StatusUnauthorized,
			"Basic " + base64.StdEncoding.EncodeToString([]byte("someone:"+strings.Repeat("x", 9))): http.StatusOK, // not for the demo
		} {
			s.send(plantedRequest{http.MethodGet, "/api/watchlists?n=" + planted, "", status}, authorization, path)
		}
	}
	for _, page := range []string{
		"/", "/?ticker=" + planted, "/traces", "/traces?route=" + planted + "&scale=own", "/api/home?ticker=" + planted,
		"/traces?route=" + url.QueryEscape("GET /api/watchlists"), "/traces?route=" + url.QueryEscape("POST /api/watchlists/:id/items"),
		"/api/debug/traces?n=" + planted, "/api/debug/report?n=" + planted, "/api/debug/report?format=json",
		"/api/debug/latency/rest?n=" + planted, "/api/debug/latency/direct", "/api/debug/health/db?path=direct&n=" + planted,
	} {
		s.send(plantedRequest{http.MethodGet, page, "", http.StatusOK}, "Bearer "+good, "")
	}

	// Transactions arrive in their order, in the background.
	last := s.lastTrace()
	wanted := []string{
		`"type":"transaction"`, `"db.access_path":"rest"`, `"db.access_path":"direct"`, `"GET /api/watchlists"`, `"DELETE /api/watchlists/:id/items/:ticker"`,
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		sent := spotlight.sent.String()
		missing := slices.IndexFunc(wanted, func(want string) bool { return !strings.Contains(sent, want) })
		if missing < 0 && strings.Contains(sent, last) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("Spotlight did not get everything in time; number of what is missing: %d", missing)
		}
	}
	s.look("the log", site.output.String())
	s.look("Sentry", spotlight.sent.String())
}

// lastTrace makes a request like any other, and returns its trace.
func (s *search) lastTrace() string {
	s.Helper()
	timing := get(s.T, "/api/sectors").header.Get("Server-Timing")
	_, trace, ok := strings.Cut(timing, `trace;desc="`)
	if !ok {
		s.Fatalf("Server-Timing has no trace: %q", timing)
	}
	return strings.TrimRight(trace, `"`)
}

// plantedRequest is a request and the status of its answer.
type plantedRequest struct {
	method, path, body string
	status             int
}

// plantedRequests are requests with secrets in them that succeed and fail in all the ways there are.
func plantedRequests() []plantedRequest {
	const filings, items = "/api/stocks/NRVA/insider-transactions", "/api/watchlists/2/items"
	get := func(path string, status int) plantedRequest { return plantedRequest{http.MethodGet, path, "", status} }
	return []plantedRequest{
		get(filings+"?insider="+planted, 200),
		get(filings+"?insider="+planted+"*", 400), // the facade refuses it
		get(filings+"?insider=%00"+planted, 400),
		get(filings+"?insider="+strings.Repeat(planted, 100), 400),
		get(filings+"?since="+planted, 400),
		get(filings+"?kind="+planted, 400),
		get(filings+"?"+planted+"=1", 200),
		get(filings+"?"+planted+"="+strings.Repeat("x", 300), 400),
		get("/api/market/pulse?n="+planted, 200),
		get("/api/market/large-trades?min_value="+planted, 400),
		get("/api/stocks/"+planted, 404),
		get("/api/stocks/ZZZZ?n="+planted, 404),
		get("/api/"+planted, 404),
		get("/api/debug/"+planted, 404),
		get("/api/debug/latency/"+planted, 404),
		get("/api/debug/health/db?path="+planted, 400),
		get("/static/"+planted, 404),
		get("/"+planted, 404),
		{http.MethodPut, "/api/sectors?n=" + planted, planted, 405},
		{http.MethodPost, "/flag", "percent=" + planted, 400},
		{http.MethodPost, "/user", "user=" + planted, 400},
		{http.MethodPost, items, `{"ticker": "` + planted + `"}`, 400},
		{http.MethodPost, items, `{"ticker": "ZZZZ", "note": "` + planted + `"}`, 409},                       // the foreign key
		{http.MethodPost, "/api/watchlists/999/items", `{"ticker": "NRVA", "note": "` + planted + `"}`, 403}, // row level security
		{http.MethodPost, "/api/watchlists/" + planted + "/items", `{"ticker": "NRVA"}`, 404},
		{http.MethodDelete, items + "/" + planted, "", 404},
	}
}

// search looks for secrets in what a demo shows.
type search struct {
	*testing.T
	secrets []string
}

// token signs a token that is full of secrets, and is one itself.
func (s *search) token(key, role string, life time.Duration) string {
	s.Helper()
	signer, err := jwt.NewHS256(jwt.Config{Secret: []byte(key)})
	if err != nil {
		s.Fatal(err)
	}
	claims := `{"sub":"` + stock.Alice + `","exp":` + jsonNumber(time.Now().Add(life).Unix()) + `,"email":"` + planted + `@example.com","app":{"key":"` + planted + `"}}`
	token, err := signer.Sign(context.Background(), auth.Identity{Role: role, Claims: []byte(claims)})
	if err != nil {
		s.Fatal(err)
	}
	s.secrets = append(s.secrets, strings.Split(token, ".")[1:]...) // the first part only says which algorithm it is
	return token
}

// send sends a request with secrets in its headers, over the given path, and looks at the answer.
func (s *search) send(r plantedRequest, authorization, path string) {
	s.Helper()
	where := r.method + " " + r.path
	header := http.Header{
		"Authorization": {authorization}, "User-Agent": {planted}, "Referer": {"http://" + planted + ".example/"}, "X-Api-Key": {planted},
		"Cookie":       {"session=" + planted + "; demo_token_" + site.url[strings.LastIndexByte(site.url, ':')+1:] + "=" + planted},
		"Sentry-Trace": {"771a43a4192642f0b136d5159a501700-b1e9c0c2a4c3a1de-1"}, "Baggage": {"session=" + planted}, "Tracestate": {"session=" + planted},
		"X-Db-Access-Path": {planted},
	}
	if strings.HasPrefix(r.body, "percent=") || strings.HasPrefix(r.body, "user=") {
		header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	target := r.path
	if path != "" && strings.HasPrefix(target, "/api/") && !strings.Contains(target, "path=") {
		sep := "?"
		if strings.Contains(target, "?") {
			sep = "&"
		}
		target += sep + "path=" + path
	}
	a := request(s.T, r.method, target, r.body, header)
	if a.status != r.status {
		s.Errorf("%s over %q: status %d, want %d: %.300s", where, path, a.status, r.status, a.body)
	}
	s.look("the answer to "+where, a.body)
	for name, values := range a.header {
		s.look("the header of the answer to "+where, name+": "+strings.Join(values, ", "))
	}
}

// look fails the test for a secret in a text.
func (s *search) look(where, text string) {
	s.Helper()
	for i, secret := range s.secrets {
		if at := strings.Index(text, secret); at >= 0 {
			s.Errorf("%s shows secret %d: …%s…", where, i, text[max(0, at-200):min(len(text), at+200)])
		}
	}
}

// sidecar stands in for Spotlight: it is in good health, and keeps what it gets.
type sidecar struct {
	address string // host and port
	sent    transcript
	server  *httptest.Server
}

func newSidecar() *sidecar {
	s := &sidecar{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "OK") })
	mux.HandleFunc("POST /api/{project}/envelope/", func(w http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			z, err := gzip.NewReader(r.Body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			body = z
		}
		if _, err := io.Copy(&s.sent, body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_, _ = io.WriteString(w, "{}")
	})
	s.server = httptest.NewServer(mux)
	s.address = strings.TrimPrefix(s.server.URL, "http://")
	return s
}
