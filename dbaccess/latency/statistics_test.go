package latency_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/twinpath/twinpath/dbaccess/latency"
)

// TestRanks compares with published tables and with sums over the binomial
// distribution by its definition.
func TestRanks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		n         int
		q         float64
		low, high int // 0 for none
	}{
		{5, 0.5, 0, 0}, {6, 0.5, 1, 6}, {10, 0.5, 2, 9}, {100, 0.5, 40, 61},
		{35, 0.9, 0, 0}, {36, 0.9, 29, 36}, {100, 0.9, 84, 96},
		{71, 0.95, 0, 0}, {367, 0.99, 0, 0}, {1000, 0.99, 983, 997},
		{100, 0.1, 5, 17}, // the mirror of 0.9
		{0, 0.5, 0, 0}, {100, 0, 0, 0}, {100, 1, 0, 0}, {100, math.NaN(), 0, 0}, {-1, 0.5, 0, 0},
	} {
		low, high, ok := latency.Ranks(tt.n, tt.q)
		if low != tt.low || high != tt.high || ok != (tt.low > 0) {
			t.Errorf("Ranks(%d, %v) = %d, %d, %t; want %d, %d", tt.n, tt.q, low, high, ok, tt.low, tt.high)
		}
	}
	for q, want := range map[float64]int{0.5: 6, 0.9: 36, 0.95: 72, 0.99: 368, 0.999: 3688, 0.1: 36, 0: math.MaxInt, 1: math.MaxInt} {
		if got := latency.MinSamples(q); got != want {
			t.Errorf("MinSamples(%v) = %d, want %d", q, got, want)
		}
	}
}

func TestRanksByDefinition(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 1500; n = n*6/5 + 1 {
		for _, q := range []float64{0.01, 0.1, 0.5, 0.9, 0.95, 0.99} {
			low, high, ok := latency.Ranks(n, q)
			if ok != (n >= latency.MinSamples(q)) {
				t.Fatalf("Ranks(%d, %v): ok is %t", n, q, ok)
			}
			if !ok {
				if most := max(math.Pow(q, float64(n)), math.Pow(1-q, float64(n))); most <= 0.025 {
					t.Errorf("Ranks(%d, %v): none, though the extremes are enough: %v", n, q, most)
				}
				continue
			}
			const slack = 1e-9
			if below, next := atMost(n, low-1, q), atMost(n, low, q); below > 0.025+slack || next <= 0.025-slack {
				t.Errorf("Ranks(%d, %v): low %d has %v below it and %v with it", n, q, low, below, next)
			}
			if above, next := 1-atMost(n, high-1, q), 1-atMost(n, high-2, q); above > 0.025+slack || next <= 0.025-slack {
				t.Errorf("Ranks(%d, %v): high %d has %v from it and %v from the one below", n, q, high, above, next)
			}
		}
	}
}

// atMost is the chance of at most k successes in n trials, by the logarithms of
// factorials.
func atMost(n, k int, q float64) float64 {
	sum := 0.0
	for i := 0; i <= k; i++ {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(i + 1))
		c, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(a - b - c + float64(i)*math.Log(q) + float64(n-i)*math.Log1p(-q))
	}
	return sum
}

// TestRanksOfMillions is a histogram of a long time: the interval narrows with the root of n.
func TestRanksOfMillions(t *testing.T) {
	t.Parallel()
	const n = 100_000_000
	for _, q := range []float64{0.5, 0.9, 0.99} {
		low, high, ok := latency.Ranks(n, q)
		half := 1.96 * math.Sqrt(n*q*(1-q)) // the normal approximation, good here
		if !ok || math.Abs(float64(low)-(n*q-half)) > half/100 || math.Abs(float64(high)-(n*q+half)) > half/100 {
			t.Errorf("Ranks(%d, %v) = %d, %d, %t; want about %.0f ± %.0f", n, q, low, high, ok, n*q, half)
		}
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	before := slices.Clone(hundred)
	for _, tt := range []struct {
		q    float64
		want latency.Estimate
	}{
		{0.5, latency.Estimate{N: 100, Value: 50.5, Low: 40, High: 61, Confidence: 0.95}},
		{0.9, latency.Estimate{N: 100, Value: 90, Low: 84, High: 96, Confidence: 0.95}},
	} {
		if got, err := latency.Quantile(hundred, tt.q); err != nil || got != tt.want {
			t.Errorf("Quantile(1…100, %v) = %+v, %v; want %+v", tt.q, got, err, tt.want)
		}
	}
	if !slices.Equal(hundred, before) {
		t.Error("Quantile changes its samples")
	}
	_, err := latency.Quantile(hundred, 0.99)
	if !errors.Is(err, latency.ErrNotEnough) || err.Error() != "not enough samples: 100 of 368" {
		t.Errorf("Quantile(1…100, 0.99): %v", err)
	}
	for name, samples := range map[string][]float64{"NaN": {math.NaN()}, "infinite": append(slices.Clone(hundred), math.Inf(1))} {
		if _, err := latency.Quantile(samples, 0.5); err == nil || errors.Is(err, latency.ErrNotEnough) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := latency.Quantile(hundred, 1); err == nil || errors.Is(err, latency.ErrNotEnough) {
		t.Errorf("quantile 1: %v", err)
	}
}

// covers repeats an experiment and counts how often its interval holds the truth.
func covers(t *testing.T, times int, truth float64, experiment func() (latency.Estimate, error)) (share float64) {
	t.Helper()
	held := 0
	for range times {
		e, err := experiment()
		if err != nil {
			t.Fatal(err)
		}
		if e.Low > e.Value || e.Value > e.High {
			t.Fatalf("the value is outside of its own interval: %+v", e)
		}
		if !e.Excludes(truth) {
			held++
		}
	}
	return float64(held) / float64(times)
}

// TestQuantileCoverage draws from distributions whose quantiles are known: the
// interval holds them at least as often as it says, and not much more often where
// there are many samples, which an interval of all samples would.
func TestQuantileCoverage(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	const times = 600
	slack := 3 * math.Sqrt(0.95*0.05/times)
	for _, d := range []struct { // in this order: they draw from one source
		name string
		draw func() float64
		at   func(q float64) float64
	}{
		{"exponential", r.ExpFloat64, func(q float64) float64 { return -math.Log(1 - q) }},
		{"log-normal", func() float64 { return math.Exp(1.5 * r.NormFloat64()) }, func(q float64) float64 { return math.Exp(1.5 * math.Sqrt2 * math.Erfinv(2*q-1)) }},
		{"Pareto", func() float64 { return math.Pow(r.Float64(), -1) }, func(q float64) float64 { return 1 / (1 - q) }}, // without a mean
	} {
		for _, tt := range []struct {
			n    int
			q    float64
			most float64
		}{{6, 0.5, 1}, {100, 0.5, 0.985}, {36, 0.9, 1}, {400, 0.9, 0.985}, {368, 0.99, 1}, {1000, 0.99, 0.985}} {
			got := covers(t, times, d.at(tt.q), func() (latency.Estimate, error) {
				samples := make([]float64, tt.n)
				for i := range samples {
					samples[i] = d.draw()
				}
				return latency.Quantile(samples, tt.q)
			})
			if got < 0.95-slack || got > tt.most {
				t.Errorf("%s, quantile %v of %d: the interval holds it in %.3f of all cases", d.name, tt.q, tt.n, got)
			}
		}
	}
}

// TestPairedRatioCoverage has rounds that differ a hundredfold among themselves, as by
// the hour of the day, and times with long tails. The pairing takes both out.
func TestPairedRatioCoverage(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	rounds := func(n int, ratio float64) []latency.Pair {
		pairs := make([]latency.Pair, n)
		for i := range pairs {
			drift := math.Exp(2 * r.NormFloat64())
			pairs[i] = latency.Pair{A: drift * math.Exp(0.2*r.NormFloat64()), B: drift * ratio * math.Exp(0.2*r.NormFloat64())}
		}
		return pairs
	}
	for _, n := range []int{6, 30, 200} {
		width := 0.0
		got := covers(t, 600, 0.8, func() (latency.Estimate, error) {
			e, err := latency.PairedRatio(rounds(n, 0.8))
			width = e.High - e.Low
			return e, err
		})
		if got < 0.95-0.027 {
			t.Errorf("%d rounds: the interval holds the ratio in %.3f of all cases", n, got)
		}
		if n == 200 && width > 0.15 {
			t.Errorf("200 rounds: the interval is %.3f wide, though the rounds' differences cancel", width)
		}
	}
	// Equal ways are told apart no more often than the confidence allows.
	if got := covers(t, 600, 1, func() (latency.Estimate, error) { return latency.PairedRatio(rounds(50, 1)) }); got < 0.95-0.027 {
		t.Errorf("equal ways: the interval holds 1 in %.3f of all cases", got)
	}
}

func TestPairedRatio(t *testing.T) {
	t.Parallel()
	pairs := []latency.Pair{{1, 2}, {10, 20}, {100, 200}, {1000, 2000}, {2, 4}, {4, 16}}
	e, err := latency.PairedRatio(pairs)
	if err != nil || math.Abs(e.Value-2) > 1e-12 || math.Abs(e.Low-2) > 1e-12 || math.Abs(e.High-4) > 1e-12 || e.N != 6 {
		t.Errorf("got %+v, %v", e, err)
	}
	if !e.Excludes(1) || e.Excludes(3) || !e.Excludes(5) {
		t.Errorf("%+v excludes the wrong numbers", e)
	}
	// Which way is called A makes no difference.
	swapped := make([]latency.Pair, len(pairs))
	for i, p := range pairs {
		swapped[i] = latency.Pair{A: p.B, B: p.A}
	}
	if s, err := latency.PairedRatio(swapped); err != nil || math.Abs(s.Value-1/e.Value) > 1e-12 || math.Abs(s.Low-1/e.High) > 1e-12 {
		t.Errorf("swapped: %+v, %v", s, err)
	}
	if _, err := latency.PairedRatio(pairs[:5]); !errors.Is(err, latency.ErrNotEnough) {
		t.Errorf("five rounds: %v", err)
	}
	for _, bad := range []latency.Pair{{0, 1}, {1, 0}, {-1, 1}, {math.NaN(), 1}, {1, math.Inf(1)}} {
		if _, err := latency.PairedRatio(append(slices.Clone(pairs), bad)); err == nil || errors.Is(err, latency.ErrNotEnough) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

func TestPairedDifference(t *testing.T) {
	t.Parallel()
	pairs := []latency.Pair{{0, 3}, {10, 13}, {100, 103}, {1000, 1003}, {2, 5}, {4, 9}, {4, 6}}
	e, err := latency.PairedDifference(pairs)
	if want := (latency.Estimate{N: 7, Value: 3, Low: 2, High: 5, Confidence: 0.95}); err != nil || e != want {
		t.Errorf("got %+v, %v; want %+v", e, err, want)
	}
	if _, err := latency.PairedDifference(nil); !errors.Is(err, latency.ErrNotEnough) {
		t.Errorf("no round: %v", err)
	}
}
