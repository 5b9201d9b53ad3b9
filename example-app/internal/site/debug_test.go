package site_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/latency"
	"github.com/twinpath/twinpath/example-app/internal/site"
)

// local asks as somebody on the same machine does.
func local(t *testing.T, h http.Handler, method, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080})
	r := httptest.NewRequestWithContext(ctx, method, path, nil)
	r.RemoteAddr, r.Host = "127.0.0.1:50000", "localhost:8080"
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// debugPaths are all that is below /api/debug.
var debugPaths = []string{
	"/api/debug/traces", "/api/debug/report", "/api/debug/latency/rest", "/api/debug/latency/direct-per-request",
	"/api/debug/health/app", "/api/debug/health/db?path=rest",
}

func newDebugSite(t *testing.T) *site.Site {
	t.Helper()
	b := backend{rows: `[{"canary":"value"}]`}
	s, err := newSiteWith(b, func(cfg *site.Config) {
		cfg.Report = latency.NewRecorder(latency.RecorderConfig{})
		cfg.Modes = map[string]latency.Mode{
			latency.ModeREST:             {Backend: b},
			latency.ModeDirectPerRequest: {Open: func(context.Context) (dbaccess.Backend, error) { return b, nil }},
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDebugIsForLoopback(t *testing.T) {
	t.Parallel()
	s := newDebugSite(t)
	nowhere := get(t, s, "/api/debug/nowhere")
	for _, path := range debugPaths {
		w := local(t, s, http.MethodGet, path)
		if w.Code != http.StatusOK || w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: status %d, headers %v: %.200s", path, w.Code, w.Header(), w.Body)
		}
		if strings.Contains(w.Body.String(), "canary") {
			t.Errorf("%s holds what rows contain: %s", path, w.Body)
		}
		for name, w := range map[string]*httptest.ResponseRecorder{
			"from elsewhere": get(t, s, path), "passed on": local(t, s, http.MethodGet, path, "X-Forwarded-For", "127.0.0.1"),
		} {
			if w.Code != http.StatusNotFound || w.Body.String() != nowhere.Body.String() || !cmp.Equal(w.Header(), nowhere.Header()) {
				t.Errorf("%s %s: status %d, %v: %s", path, name, w.Code, w.Header(), w.Body)
			}
		}
	}
	for _, path := range debugPaths {
		for _, method := range []string{http.MethodPost, http.MethodDelete} {
			if w := local(t, s, method, path); w.Code != http.StatusMethodNotAllowed || !strings.Contains(w.Header().Get("Allow"), "GET") {
				t.Errorf("%s %s: status %d", method, path, w.Code)
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, nil))
			if w.Code != http.StatusNotFound {
				t.Errorf("%s %s from elsewhere: status %d", method, path, w.Code)
			}
		}
	}
	if w := local(t, s, http.MethodHead, "/api/debug/latency/rest"); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("HEAD runs a probe, or so it seems: status %d", w.Code)
	}
}

func TestDebugWithoutModes(t *testing.T) {
	t.Parallel()
	s, _, err := newSite(backend{rows: "[]"})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range debugPaths[1:] {
		if w := local(t, s, http.MethodGet, path); w.Code != http.StatusNotFound {
			t.Errorf("%s: status %d", path, w.Code)
		}
	}
	if w := local(t, s, http.MethodGet, "/"); strings.Contains(w.Body.String(), "instruments") {
		t.Error("the home page links to instruments that aren't there")
	}
}

func TestProbeRunsTheHomePagesQueries(t *testing.T) {
	t.Parallel()
	s := newDebugSite(t)
	var res latency.ProbeResult
	if err := json.Unmarshal(local(t, s, http.MethodGet, "/api/debug/latency/rest").Body.Bytes(), &res); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, q := range res.Queries {
		names = append(names, q.Name)
	}
	want := []string{"company", "quotes", "price_history", "recent_filings", "movers", "large_trades", "sector_activity", "top_holders"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
}

func TestHomeLinksToInstruments(t *testing.T) {
	t.Parallel()
	s := newDebugSite(t)
	body := local(t, s, http.MethodGet, "/").Body.String()
	for _, path := range []string{"/api/debug/report", "/api/debug/latency/rest", "/api/debug/latency/direct-per-request"} {
		if !strings.Contains(body, `href="`+path+`"`) {
			t.Errorf("the home page has no link to %s", path)
		}
	}
	if body := get(t, s, "/").Body.String(); strings.Contains(body, "/api/debug/") {
		t.Error("the home page links to instruments for somebody who can't use them")
	}
}
