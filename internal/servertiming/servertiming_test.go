package servertiming_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/internal/servertiming"
)

func TestRead(t *testing.T) {
	t.Parallel()
	const us = time.Microsecond
	all := "jwt;dur=0.1, parse;dur=0.2, plan;dur=0.3, transaction;dur=4.0, response;dur=0.4"
	five := []servertiming.Phase{
		{"postgrest.jwt", 2500 * us, 100 * us}, {"postgrest.parse", 2600 * us, 200 * us}, {"postgrest.plan", 2800 * us, 300 * us},
		{"postgrest.transaction", 3100 * us, 4000 * us}, {"postgrest.response", 7100 * us, 400 * us},
	}
	for _, tt := range []struct {
		name, server, release, timing string
		wait                          time.Duration
		want                          []servertiming.Phase
	}{
		{"by header", "postgrest/14.2", "", all, 10 * time.Millisecond, five},
		{"by config", "cloudflare", "15.0 (abc)", all, 10 * time.Millisecond, five},
		{"a gateway's beside it", "PostgREST/14.17", "", "cdn;dur=9, " + all, 10 * time.Millisecond, five},
		{"too old", "postgrest/14.1", "", all, 10 * time.Millisecond, nil},
		{"unknown", "cloudflare", "", all, 10 * time.Millisecond, nil},
		{"none", "postgrest/14.2", "", "", 10 * time.Millisecond, nil},
		{"more than there was", "postgrest/14.2", "", all, 4 * time.Millisecond, nil},
		{"twice", "postgrest/14.2", "", "jwt;dur=1, jwt;dur=1", 10 * time.Millisecond, nil},
		{"malformed", "postgrest/14.2", "", "jwt;dur=NaN", 10 * time.Millisecond, nil},
		{"without a duration", "postgrest/14.2", "", "jwt", 10 * time.Millisecond, nil},
		{"rounded up", "postgrest/14.2", "", "jwt;dur=0.1, plan;dur=1.0", 1050 * us, []servertiming.Phase{
			{"postgrest.jwt", 0, 50 * us}, {"postgrest.plan", 50 * us, 1000 * us},
		}},
	} {
		h := http.Header{"Server": {tt.server}}
		if tt.timing != "" {
			h.Set("Server-Timing", tt.timing)
		}
		if diff := cmp.Diff(tt.want, servertiming.Read(h, tt.release, tt.wait)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestCredible(t *testing.T) {
	t.Parallel()
	for release, want := range map[string]bool{
		"14.2": true, "v14.2.1": true, "15": true, "100.0": true, "14": false, "13.9": false, "": false, "14.x": false, "main": false, "99999.1": false,
	} {
		if got := servertiming.Credible(release); got != want {
			t.Errorf("%q: %t", release, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("jwt;dur=0.1, parse;dur=0.2", "14.2")
	f.Fuzz(func(t *testing.T, timing, release string) {
		const wait = 10 * time.Millisecond
		at := time.Duration(0)
		for _, p := range servertiming.Read(http.Header{"Server-Timing": {timing}}, release, wait) {
			if p.Offset < at || p.Duration < 0 {
				t.Fatalf("%v begins before %v", p, at)
			}
			at = p.Offset + p.Duration
		}
		if at > wait {
			t.Fatalf("the phases end after %v of %v", at, wait)
		}
	})
}
