package main

import (
	"runtime"
	"slices"
	"time"
)

// effort is how long to measure.
type effort struct {
	rounds int           // pairs of blocks by the clock; 0 measures nothing by it
	block  time.Duration // the least that a block of operations lasts
	counts int           // operations per round of counting
}

var (
	full  = effort{rounds: 41, block: 20 * time.Millisecond, counts: 500}
	quick = effort{rounds: 15, block: 4 * time.Millisecond, counts: 100}
)

// operation is what is measured: one call of an application.
type operation func() error

func (op operation) times(n int) error {
	for range n {
		if err := op(); err != nil {
			return err
		}
	}
	return nil
}

// allocated is what one operation allocates.
type allocated struct{ objects, bytes float64 }

// countRounds is how often a count is repeated; the smallest is taken.
const countRounds = 5

// allocations counts what an operation allocates. It is the process that is counted.
func allocations(e effort, op operation) (allocated, error) {
	if err := op.times(e.counts); err != nil { // fills caches and pools
		return allocated{}, err
	}
	var least allocated
	for round := range countRounds {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := op.times(e.counts); err != nil {
			return allocated{}, err
		}
		runtime.ReadMemStats(&after)
		objects := float64(after.Mallocs-before.Mallocs) / float64(e.counts)
		bytes := float64(after.TotalAlloc-before.TotalAlloc) / float64(e.counts)
		if round == 0 {
			least = allocated{objects, bytes}
		}
		least = allocated{min(least.objects, objects), min(least.bytes, bytes)}
	}
	return least, nil
}

// timeRatio is how long ours takes, as a multiple of the peer. The two run in turns, in blocks, and change
// places after each, so that whatever slows the machine down meets both.
func timeRatio(e effort, ours, peer operation) (interval, error) {
	n, err := opsPerBlock(e, peer)
	if err != nil {
		return interval{}, err
	}
	ratios := make([]float64, e.rounds)
	for i := range ratios {
		var took [2]time.Duration
		for turn := range 2 {
			side := (i + turn) % 2
			start := time.Now()
			if err := []operation{ours, peer}[side].times(n); err != nil {
				return interval{}, err
			}
			took[side] = time.Since(start)
		}
		ratios[i] = float64(took[0]) / float64(took[1])
	}
	return median(ratios), nil
}

// nanoseconds is how long an operation takes.
func nanoseconds(e effort, op operation) (interval, error) {
	n, err := opsPerBlock(e, op)
	if err != nil {
		return interval{}, err
	}
	samples := make([]float64, e.rounds)
	for i := range samples {
		start := time.Now()
		if err := op.times(n); err != nil {
			return interval{}, err
		}
		samples[i] = float64(time.Since(start)) / float64(n)
	}
	return median(samples), nil
}

func opsPerBlock(e effort, op operation) (int, error) {
	for n := 1; ; n *= 2 {
		start := time.Now()
		if err := op.times(n); err != nil {
			return 0, err
		}
		if time.Since(start) >= e.block {
			return n, nil
		}
	}
}

// median returns the median of the samples, and the narrowest pair of them that the true median lies
// between at least 95 times in 100. Each sample is above it or below it as a coin falls, whatever the
// distribution, so the pair's places follow from the binomial distribution. Below six samples no pair
// will do, and the interval is that from the smallest to the largest.
func median(samples []float64) interval {
	s := slices.Sorted(slices.Values(samples))
	n := len(s)
	mid := (s[(n-1)/2] + s[n/2]) / 2

	// below is the probability that fewer than k samples are below the median.
	k, below, term := 0, 0.0, 1.0
	for range n {
		term /= 2
	}
	for below+term <= 0.025 {
		below += term
		term *= float64(n-k) / float64(k+1)
		k++
	}
	k = max(k, 1)
	return interval{mid: mid, low: s[k-1], high: s[n-k]}
}
