package main_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	main "github.com/twinpath/twinpath/example-app"
	"github.com/twinpath/twinpath/example-app/internal/measure"
)

// runMeasure runs the sub-command and returns what it printed and its exit status.
func runMeasure(ctx context.Context, args ...string) (stdout, stderr string, code int, err error) {
	var out, progress transcript
	m := &main.Main{
		Getenv:   func(string) string { return "" },
		LookPath: func(name string) (string, error) { return "", &exec.Error{Name: name, Err: exec.ErrNotFound} },
	}
	err = m.Run(ctx, append([]string{"measure"}, args...), &out, &progress)
	return out.String(), progress.String(), main.ExitCode(err), err
}

// TestMeasureShowsWhoPaysForConnections is the table of the README with shorter times: of the two shapes of
// traffic, a client per request pays for its handshakes in both, a pool that lets its idle connections go in
// the spaced one, and the direct path's own pool in neither. It runs beside no other test: a burst that is
// held up for longer than the idle limit is none.
func TestMeasureShowsWhoPaysForConnections(t *testing.T) {
	dir := t.TempDir()
	samples, chart := filepath.Join(dir, "samples.csv"), filepath.Join(dir, "chart.svg")
	const rounds = 4
	out, progress, code, err := runMeasure(t.Context(), "--shape", "both", "--rtt", "5ms", "--naive-idle", "2s", "--gap", "4500ms", "--rounds", "4",
		"--modes", "direct,direct-per-request,direct-naive-pool", "--seed", "1", "--json", "--csv", samples, "--svg", chart)
	if err != nil || code != 0 {
		t.Fatalf("exit status %d, %v\n%s", code, err, progress)
	}
	var both measure.Both
	if err := json.Unmarshal([]byte(out), &both); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for mode, want := range map[string]struct {
		pays          string
		burst, spaced int
	}{
		"direct": {"never", 0, 0}, "direct-per-request": {"in both", rounds, rounds}, "direct-naive-pool": {"in spaced", 0, rounds},
	} {
		if c := both.Modes[mode]; c.Pays != want.pays {
			t.Errorf("%s pays for connections %s, want %s", mode, c.Pays, want.pays)
		}
		for shape, got := range map[string]*measure.ModeReport{"burst": both.Burst.Modes[mode], "spaced": both.Spaced.Modes[mode]} {
			n := want.burst
			if shape == "spaced" {
				n = want.spaced
			}
			if got.N != rounds || got.NewConnections != n || got.Connecting != n || got.Cold.N != n || got.Warm.N != rounds-n || got.Errors != 0 {
				t.Errorf("%s, %s: %+v, want %d new connections", shape, mode, got, n)
				continue
			}
			if n > 0 { // TCP, authentication and session start are round trips of 5 ms
				if h := *got.Cold.Handshakes; h < 10 || got.Cold.Layers.Pool < h-0.1 {
					t.Errorf("%s, %s: handshakes of %v ms, pool %v ms", shape, mode, h, got.Cold.Layers.Pool)
				}
			} else if *got.Warm.Handshakes != 0 {
				t.Errorf("%s, %s: handshakes of %v ms without a connection", shape, mode, *got.Warm.Handshakes)
			}
		}
	}
	if both.Burst.StandIn || both.Spaced.Gap == nil || *both.Spaced.Gap != 4500 {
		t.Errorf("burst %+v", both.Burst)
	}
	for file, want := range map[string]string{samples: "spaced,3,false,", chart: "spaced: server time of each round, ms"} {
		if b, err := os.ReadFile(file); err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s: %v, %d bytes without %q", file, err, len(b), want)
		}
	}
	if !strings.Contains(progress, "5ms added to each round trip") || !strings.Contains(progress, "burst: 4 of 4 rounds, 0 answers failed") {
		t.Errorf("progress:\n%s", progress)
	}
}

func TestMeasureARunningDemo(t *testing.T) {
	t.Parallel()
	out, progress, code, err := runMeasure(t.Context(), "--url", site.url, "--rounds", "8", "--warmup", "1", "--one-by-one")
	if err != nil || code != 0 {
		t.Fatalf("exit status %d, %v\n%s", code, err, progress)
	}
	for _, want := range []string{"burst: 8 rounds;", "rest ", "direct-naive-pool ", "\nno verdict: stand-in (", "network+pooler", "p99 368"} {
		if !strings.Contains(out, want) {
			t.Errorf("the report has no %q:\n%s", want, out)
		}
	}
	out, progress, code, err = runMeasure(t.Context(), "--shape", "rate", "--rps", "50", "--rounds", "20", "--json",
		"a="+site.url+"/api/debug/latency/direct", "b="+site.url+"/api/debug/latency/direct")
	var rep measure.Report
	if err != nil || code != 0 || json.Unmarshal([]byte(out), &rep) != nil {
		t.Fatalf("exit status %d, %v\n%s", code, err, progress)
	}
	if rep.Modes["a"].N != 20 || rep.Modes["b"].N != 20 || rep.Baseline != "a" || *rep.RPS != 50 || rep.StandIn {
		t.Errorf("%s", out)
	}
}

func TestMeasureInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out transcript
	err := (&main.Main{}).Run(ctx, []string{"measure", "--url", site.url, "--modes", "direct", "--rounds", "100000"}, &out, firstWrite(cancel))
	if code := main.ExitCode(err); code != 130 || !strings.Contains(out.String(), "of 100000, interrupted") {
		t.Errorf("exit status %d, %v:\n%s", code, err, out.String())
	}
	cancel()
	for _, args := range [][]string{{"--url", site.url}, {}} {
		if out, _, code, err := runMeasure(ctx, args...); code != 130 || out != "" {
			t.Errorf("%v, interrupted before it began: exit status %d, %v, %q", args, code, err, out)
		}
	}
}

// firstWrite is a writer that calls a function.
type firstWrite func()

func (f firstWrite) Write(p []byte) (int, error) {
	f()
	return len(p), nil
}

func TestMeasureFails(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--url", srv.URL}, 1, "nothing could be measured"},
		{[]string{"--url", site.url, "--modes", "direct,sideways"}, 1, "no such mode"},
		{[]string{"--url", site.url, "--csv", filepath.Join(t.TempDir(), "none", "x.csv")}, 1, "--csv"},
		{[]string{"--url", site.url + "/x"}, 1, "404"},
		{[]string{"--url", "127.0.0.1:8080"}, 2, "--url"},
		{[]string{"--url", "http://u:canary8315@127.0.0.1"}, 2, "MEASURE_AUTHORIZATION"},
		{[]string{"--nonsense"}, 2, "-nonsense"},
		{[]string{"--shape", "wavy"}, 2, "--shape must be"},
		{[]string{"--rounds", "0"}, 2, "--rounds must be above 0"},
		{[]string{"--rounds", "-5"}, 2, "--rounds must be"},
		{[]string{"--rounds", "99999999999999999999"}, 2, "rounds"},
		{[]string{"--warmup", "-1"}, 2, "--warmup must not"},
		{[]string{"--gap", "1s"}, 2, "--gap is for"},
		{[]string{"--shape", "both", "--gap", "-1s"}, 2, "--gap must be"},
		{[]string{"--rps", "5"}, 2, "--rps is for"},
		{[]string{"--shape", "rate", "--rps", "NaN"}, 2, "--rps must be"},
		{[]string{"--rtt", "6s"}, 2, "--rtt must be"},
		{[]string{"--naive-idle", "1ms"}, 2, "--naive-idle must be"},
		{[]string{"--url", site.url, "--rtt", "1ms"}, 2, "--rtt is for the demo"},
		{[]string{"--url", site.url, "http://127.0.0.1/a"}, 2, "either --url or"},
		{[]string{"--modes", "a", "http://127.0.0.1/a"}, 2, "--modes goes with"},
		{[]string{"http://127.0.0.1/a", "--csv=x"}, 2, "move --csv"},
		{[]string{"http://127.0.0.1/a", "http://127.0.0.1/a"}, 2, "two modes are called"},
		{[]string{"--modes", "rest,,direct"}, 2, "no name of a mode"},
		{[]string{"--modes", "../../../api/home"}, 2, "no name of a mode"},
		{[]string{"--baseline", "other"}, 2, "--baseline must be"},
		{[]string{"--csv", "a", "-h", "--nonsense"}, 0, ""},
	} {
		out, _, code, err := runMeasure(t.Context(), tt.args...)
		if code != tt.code || code != 0 && (!strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "canary8315")) {
			t.Errorf("%v: exit status %d, %v; want %d and %q in it", tt.args, code, err, tt.code, tt.want)
		}
		if (code == 0) != strings.HasPrefix(out, "Usage: example-app measure") {
			t.Errorf("%v: printed %q", tt.args, out)
		}
	}
	err := (&main.Main{}).Run(t.Context(), []string{"serve", "--naive-idle", "2h"}, io.Discard, io.Discard)
	if main.ExitCode(err) != 2 || !strings.Contains(err.Error(), "--naive-idle must be") {
		t.Errorf("serve --naive-idle 2h: %v", err)
	}
}
