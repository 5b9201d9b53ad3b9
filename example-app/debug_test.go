package main_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/twinpath/twinpath/dbaccess/latency"
)

// TestProbes runs each mode twice on the real stack.
func TestProbes(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{latency.ModeREST, latency.ModeDirect, latency.ModeDirectPerRequest, "direct-naive-pool"} {
		var res latency.ProbeResult
		for i := range 2 {
			a := get(t, "/api/debug/latency/"+mode)
			if a.status != http.StatusOK {
				t.Fatalf("%s: status %d: %s", mode, a.status, a.body)
			}
			res = decode[latency.ProbeResult](t, a)
			if res.Mode != mode || len(res.Queries) < 8 || i == 1 && res.Idle == nil || res.ProcessAge <= 0 {
				t.Errorf("%s, probe %d: %+v", mode, i, res)
			}
			sum := 0.0
			for _, q := range res.Queries {
				sum += q.Time
				if q.Rows < 1 || len(q.Phases) < 3 {
					t.Errorf("%s: %+v", mode, q)
				}
			}
			if sum <= 0 || sum > res.ServerTotal || res.Database <= 0 {
				t.Errorf("%s: queries of %v ms, database %v ms, in %v ms altogether", mode, sum, res.Database, res.ServerTotal)
			}
			if res.Error != nil || a.header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %+v", mode, res.Error)
			}
		}
		if mode != latency.ModeDirectPerRequest {
			continue
		}
		if connect := res.Queries[0].Phases["acquire/connect"]; connect <= 0 || res.Layers.Pool < connect || res.NewConnections != 1 || !res.Cold {
			t.Errorf("%s: connecting took %v, new connections %d, cold %t", mode, connect, res.NewConnections, res.Cold)
		}
	}
}

func TestHealthPair(t *testing.T) {
	t.Parallel()
	if a := get(t, "/api/debug/health/app"); a.status != http.StatusOK || decode[latency.HealthResult](t, a).Status != "ok" {
		t.Errorf("app: status %d: %s", a.status, a.body)
	}
	for _, path := range []string{"rest", "direct"} {
		a := get(t, "/api/debug/health/db?path="+path)
		if r := decode[latency.HealthResult](t, a); a.status != http.StatusOK || r.Status != "ok" || r.Mode != path || r.ServerTotal <= 0 {
			t.Errorf("%s: status %d: %s", path, a.status, a.body)
		}
	}
	if a := get(t, "/api/debug/health/db?path=sideways"); a.status != http.StatusBadRequest || strings.Contains(a.body, "sideways") {
		t.Errorf("status %d: %s", a.status, a.body)
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"rest", "direct"} {
		for range 2 {
			get(t, "/api/sectors?path="+path)
		}
	}
	rep := decode[latency.Report](t, get(t, "/api/debug/report?format=json"))
	found := false
	for _, q := range rep.Queries {
		if q.Name != "sector_activity" {
			continue
		}
		found = true
		for path, p := range map[string]*latency.PathReport{"rest": q.REST, "direct": q.Direct} {
			if p == nil || p.Cold == nil || p.Cold.N+warmN(p) < 2 || p.Cold.Layers.Database <= 0 {
				t.Errorf("%s: %+v", path, p)
			}
		}
	}
	if text := get(t, "/api/debug/report").body; !found || !strings.Contains(text, "sector_activity") || !strings.Contains(text, "not enough samples") {
		t.Errorf("the report:\n%s", text)
	}
}

func warmN(p *latency.PathReport) int64 {
	if p.Warm == nil {
		return 0
	}
	return p.Warm.N
}

// TestDebugStaysHidden asks as a proxy in front of the site would, and as a page whose name resolves
// to this machine.
func TestDebugStaysHidden(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/api/debug/latency/rest", "/api/debug/health/app", "/api/debug/report", "/api/debug/traces"} {
		for name, value := range map[string]string{"X-Forwarded-For": "127.0.0.1", "Forwarded": "for=127.0.0.1", "Sec-Fetch-Site": "cross-site"} {
			if a := request(t, http.MethodGet, path, "", http.Header{name: {value}}); a.status != http.StatusNotFound {
				t.Errorf("%s with %s: status %d", path, name, a.status)
			}
		}
	}
}

// TestServerTiming shows a browser on the same machine how long the database calls took, and nobody
// else.
func TestServerTiming(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"rest", "direct"} {
		timing := get(t, "/api/market/pulse?path="+path).header.Get("Server-Timing")
		for _, want := range []string{"app;dur=", "db_" + path + ";dur=", "trace;desc="} {
			if !strings.Contains(timing, want) {
				t.Errorf("over %s: Server-Timing %q has no %s", path, timing, want)
			}
		}
		a := request(t, http.MethodGet, "/api/market/pulse?path="+path, "", http.Header{"X-Forwarded-For": {"192.0.2.1"}})
		if timing := a.header.Get("Server-Timing"); a.status != http.StatusOK || timing != "" {
			t.Errorf("over %s, through a proxy: status %d, Server-Timing %q", path, a.status, timing)
		}
	}
}
