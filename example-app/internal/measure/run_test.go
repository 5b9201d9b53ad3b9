package measure_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/example-app/internal/measure"
)

func TestBurst(t *testing.T) {
	t.Parallel()
	a := newApp(t, func(mode string, n int) reply {
		switch {
		case mode == "direct-per-request":
			return probe(5).connecting(10)
		case mode == "direct":
			return probe(5)
		case n == 0:
			return probe(20).connecting(30)
		}
		return probe(20)
	})
	_, rep := run(t, measure.Config{Targets: a.targets(t, "rest", "direct", "direct-per-request"), Rounds: 10, WarmUp: 2})
	if rep.RoundsDone != 10 || rep.Interrupted || rep.Baseline != "rest" || rep.StandIn {
		t.Errorf("%+v", rep)
	}
	for mode, want := range map[string]struct{ warm, cold, conns, warmUp int }{
		"rest": {10, 0, 0, 1}, "direct": {10, 0, 0, 0}, "direct-per-request": {0, 10, 10, 2},
	} {
		m := rep.Modes[mode]
		if m.Warm.N != want.warm || m.Cold.N != want.cold || m.NewConnections != want.conns || m.WarmUp.NewConnections != want.warmUp || m.WarmUp.N != 2 || m.Reconnects != 0 {
			t.Errorf("%s: %+v", mode, m)
		}
	}
	if p50 := rep.Modes["direct"].Warm.P50; p50 == nil || *p50 != 5 || rep.Modes["direct"].Warm.P90 != nil {
		t.Errorf("direct: %+v", rep.Modes["direct"].Warm)
	}
	cold := rep.Modes["direct-per-request"].Cold
	if *cold.Handshakes != 10 || cold.Layers.Pool != 10 || *cold.P50 != 15 {
		t.Errorf("direct-per-request: %+v, layers %+v", cold, cold.Layers)
	}
	l := cold.Layers // of the probe's 15 ms, 0.5 + 10 + 2.5 + 2 are the queries'
	if sum := l.Client + l.App + l.Pool + l.Network + l.PostgREST + l.Database; math.Abs(sum-15) > 0.01 || l.App != 0.5 {
		t.Errorf("the layers add up to %v: %+v", sum, l)
	}
	if want := "direct takes 0.25 times what rest takes (95 % interval 0.25 to 0.25, 10 rounds)"; rep.Verdict != want {
		t.Errorf("verdict %q", rep.Verdict)
	}
	var got []string
	for _, c := range rep.Comparisons {
		got = append(got, fmt.Sprintf("%s/%s %v %t", c.Mode, c.Baseline, c.Ratio.Value, c.Decided))
	}
	if diff := cmp.Diff([]string{"direct/rest 0.25 true", "direct-per-request/rest 0.75 true", "direct-per-request/direct 3 true"}, got); diff != "" {
		t.Errorf("comparisons (-want +got):\n%s", diff)
	}
}

// TestOrder checks that the order within rounds is random, and the same for the same seed.
func TestOrder(t *testing.T) {
	t.Parallel()
	order := func(seed uint64) (first []string) {
		a := newApp(t, func(string, int) reply { return probe(1) })
		res, _ := run(t, measure.Config{Targets: a.targets(t, "a", "b", "c"), Rounds: 30, WarmUp: 1, Seed: seed, OneByOne: true})
		var got []string
		for _, s := range res.Samples {
			got = append(got, s.Mode)
			if s.Position == 0 && !s.WarmUp {
				first = append(first, s.Mode)
			}
		}
		if diff := cmp.Diff(a.modes, got); diff != "" {
			t.Errorf("the samples are not in the order in which the app was asked (-asked +samples):\n%s", diff)
		}
		return first
	}
	one, again, other := order(1), order(1), order(2)
	if diff := cmp.Diff(one, again); diff != "" {
		t.Errorf("the same seed (-first +second):\n%s", diff)
	}
	if cmp.Equal(one, other) {
		t.Error("two seeds give one order")
	}
	for _, mode := range []string{"a", "b", "c"} {
		if !slices.Contains(one, mode) {
			t.Errorf("%s is never first: %v", mode, one)
		}
	}
}

func TestSpaced(t *testing.T) {
	t.Parallel()
	const gap = 60 * time.Millisecond
	a := newApp(t, func(string, int) reply { return probe(1) })
	res, rep := run(t, measure.Config{Targets: a.targets(t, "a", "b"), Shape: measure.Spaced, Rounds: 5, Gap: gap, Concurrency: 2})
	ends := map[int]time.Time{}
	for _, s := range res.Samples {
		if s.WarmUp {
			continue
		}
		tick := s.Round / 2 // two rounds at once
		if before, ok := ends[tick-1]; ok && s.Start.Sub(before) < gap {
			t.Errorf("round %d begins %s after the one before ended", s.Round, s.Start.Sub(before))
		}
		if end := s.Start.Add(s.Client); end.After(ends[tick]) {
			ends[tick] = end
		}
	}
	if rep.RoundsDone != 5 || *rep.Gap != 60 || rep.Modes["a"].WarmUp.N != 2 {
		t.Errorf("%d rounds, gap %v, warm-up %+v", rep.RoundsDone, *rep.Gap, rep.Modes["a"].WarmUp)
	}
	if !strings.HasPrefix(rep.Verdict, "no verdict: not enough samples: 5 rounds") {
		t.Errorf("verdict %q", rep.Verdict)
	}
}

// TestRateCountsFromWhenItWasDue has one answer that takes long. The rounds behind it begin late, and
// their times say so.
func TestRateCountsFromWhenItWasDue(t *testing.T) {
	t.Parallel()
	const slow = 400 * time.Millisecond
	a := newApp(t, func(_ string, n int) reply {
		r := probe(1)
		if n == 2 {
			r.wait = slow
		}
		return r
	})
	res, rep := run(t, measure.Config{Targets: a.targets(t, "a"), Shape: measure.Rate, RPS: 100, Rounds: 10, WarmUp: -1, Concurrency: 1})
	late := 0
	for _, s := range res.Samples {
		if s.Delay != 0 && s.Start.Sub(s.Intended) != s.Delay {
			t.Errorf("round %d was due %s before it began, and says %s", s.Round, s.Start.Sub(s.Intended), s.Delay)
		}
		if s.Round > 2 && s.Corrected() > 250*time.Millisecond && s.Client < s.Corrected() {
			late++
		}
	}
	if late < 5 {
		t.Errorf("%d rounds were late: %+v", late, res.Samples)
	}
	if *rep.RPS != 100 || *rep.MaxDelay < 250 || *rep.Modes["a"].Warm.ClientP50 < 100 || *rep.Modes["a"].Warm.P50 != 1 {
		t.Errorf("rps %v, delay %v, %+v", *rep.RPS, *rep.MaxDelay, rep.Modes["a"].Warm)
	}
}

func TestReconnects(t *testing.T) {
	t.Parallel()
	t.Run("some", func(t *testing.T) {
		t.Parallel()
		a := newApp(t, func(mode string, n int) reply {
			r := probe(1)
			r.hangUp = mode == "b" && (n == 5 || n == 7) // the next ones need a connection
			return r
		})
		res, rep := run(t, measure.Config{Targets: a.targets(t, "a", "b"), Rounds: 20, WarmUp: 1})
		if m := rep.Modes["b"]; m.Reconnects != 2 || m.NewConnections != 0 || rep.Modes["a"].Reconnects != 0 {
			t.Errorf("a: %+v, b: %+v", rep.Modes["a"], m)
		}
		if c := rep.Comparisons[0]; c.Reconnected != 2 || c.Rounds != 18 {
			t.Errorf("%+v", c)
		}
		for _, s := range res.Samples {
			if s.Reconnected && s.Connect <= 0 {
				t.Errorf("%+v", s)
			}
		}
	})
	t.Run("all", func(t *testing.T) {
		t.Parallel()
		a := newApp(t, func(string, int) reply { r := probe(1); r.hangUp = true; return r })
		_, rep := run(t, measure.Config{Targets: a.targets(t, "a", "b"), Rounds: 8, WarmUp: 1})
		if c := rep.Comparisons[0]; c.Reconnected != 0 || c.Rounds != 8 || rep.Modes["a"].Reconnects != 8 {
			t.Errorf("%+v, reconnects %d", c, rep.Modes["a"].Reconnects)
		}
	})
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	a := newApp(t, func(_ string, n int) reply {
		if n == 7 {
			cancel()
		}
		return probe(1)
	})
	res, err := measure.Run(ctx, measure.Config{Targets: a.targets(t, "a"), Rounds: 1000, WarmUp: 1})
	if err != nil {
		t.Fatal(err)
	}
	if rep := res.Report(); !rep.Interrupted || rep.RoundsDone < 6 || rep.RoundsDone > 7 || rep.Modes["a"].Errors != 0 {
		t.Errorf("%d rounds, %+v", rep.RoundsDone, rep.Modes["a"])
	}
	if _, err := measure.Run(ctx, measure.Config{Targets: a.targets(t, "a")}); !errors.Is(err, measure.ErrNothing) {
		t.Errorf("interrupted before it began: %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	b := newApp(t, func(string, int) reply { return probe(1) })
	res, err = measure.Run(ctx, measure.Config{
		Targets: b.targets(t, "a"), Shape: measure.Spaced, Gap: time.Hour, Progress: onWrite(cancel), // it tells before it pauses
	})
	if err != nil || !res.Interrupted || len(res.Samples) != 1 {
		t.Errorf("in a pause: %v, %+v", err, res)
	}
}

// onWrite is a writer that calls a function.
type onWrite func()

func (f onWrite) Write(p []byte) (int, error) {
	f()
	return len(p), nil
}

func TestFailures(t *testing.T) {
	t.Parallel()
	a := newApp(t, func(mode string, n int) reply {
		r := probe(2)
		if mode == "direct" && n > 0 && n%3 == 0 {
			r.status = http.StatusServiceUnavailable
		}
		return r
	})
	_, rep := run(t, measure.Config{Targets: a.targets(t, "rest", "direct"), Rounds: 20, WarmUp: 1})
	m := rep.Modes["direct"]
	if m.N != 14 || m.Errors != 6 || m.Failures["status 503"] != 6 || m.Warm.N != 14 {
		t.Errorf("%+v", m)
	}
	if want := "no verdict: 6 of 20 rounds of direct and rest failed"; rep.Verdict != want {
		t.Errorf("verdict %q", rep.Verdict)
	}
}

func TestUnknownModes(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/direct") {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"error":{"code":"not_found","message":"there are latency/ with one of direct"}}`))
			return
		}
		_, _ = w.Write([]byte(`{"mode":"direct","server_total_ms":1,"queries":[]}`))
	}))
	defer srv.Close()
	targets, err := measure.TargetsBelow(srv.URL+"/probes/", []string{"rest", "direct"})
	if err != nil {
		t.Fatal(err)
	}
	var progress strings.Builder
	_, rep := run(t, measure.Config{Targets: targets, Rounds: 6, Progress: &progress})
	if rep.Modes["rest"] != nil || rep.Baseline != "direct" || rep.Modes["direct"].N != 6 || len(rep.Notices) != 1 || !strings.Contains(progress.String(), "rest is left out") {
		t.Errorf("%+v\n%s", rep, progress.String())
	}
	if !strings.Contains(progress.String(), "burst: 6 of 6 rounds, 0 answers failed") {
		t.Errorf("progress %q", progress.String())
	}
	_, err = measure.Run(t.Context(), measure.Config{Targets: targets, Rounds: 6, KeepUnknown: true})
	if !errors.Is(err, measure.ErrNothing) || !strings.Contains(err.Error(), "with one of direct") {
		t.Errorf("with KeepUnknown: %v", err)
	}
	_, err = measure.Run(t.Context(), measure.Config{Targets: targets[:1], Rounds: 6})
	if !errors.Is(err, measure.ErrNothing) {
		t.Errorf("without any: %v", err)
	}
}
