package latency

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Confidence is that of every interval in this package.
const Confidence = 0.95

// ErrNotEnough means that there are too few samples for a number with an
// interval. The error that wraps it says how many there are and how many it
// takes.
var ErrNotEnough = errors.New("not enough samples")

func notEnough(have, need int) error {
	return fmt.Errorf("%w: %d of %d", ErrNotEnough, have, need)
}

// Estimate is a number that was measured and its interval, which holds the true
// one in [Confidence] of all experiments, whatever the distribution is.
type Estimate struct {
	N          int // samples it is made of
	Value      float64
	Low, High  float64
	Confidence float64
}

// Excludes says whether x lies outside the interval: whether it is known, to the
// interval's confidence, not to be the true number.
func (e Estimate) Excludes(x float64) bool { return x < e.Low || x > e.High }

// Ranks returns the order statistics that bound quantile q of n samples,
// counted from 1: the interval from the low-th smallest sample to the high-th.
// Not ok means that there is no such interval: n is below [MinSamples], or q is
// not between 0 and 1.
//
// How many of n samples lie below the quantile is binomial, whatever the
// samples' distribution is, as long as they are independent. Each side errs
// in at most half of what the confidence leaves.
// Sources: W. J. Conover, Practical Nonparametric Statistics, 3rd ed., section
// 3.2; Hahn and Meeker, Statistical Intervals, section 5.2.
func Ranks(n int, q float64) (low, high int, ok bool) {
	if !(q > 0 && q < 1) || n < MinSamples(q) {
		return 0, 0, false
	}
	b := newBinomial(n, q)
	tail := (1 - Confidence) / 2
	return b.lowest(tail), b.highest(tail), true
}

// MinSamples is the least number of samples that quantile q, between 0 and 1,
// takes: 6 for the median, 36 for 0.9, 368 for 0.99. It is math.MaxInt where q is
// out of range.
func MinSamples(q float64) int {
	if !(q > 0 && q < 1) {
		return math.MaxInt
	}
	// The rarer side must show up: (1-rare)^n at most half of what is left.
	rare := min(q, 1-q)
	n := math.Log((1-Confidence)/2) / math.Log1p(-rare)
	if n > math.MaxInt32 {
		return math.MaxInt
	}
	return int(math.Ceil(n))
}

// rank is the sample that stands for quantile q of n: the ⌈qn⌉-th smallest, with
// a margin for what q lacks in binary.
func rank(n int, q float64) int {
	return min(max(int(math.Ceil(q*float64(n)-1e-9)), 1), n)
}

// Quantile estimates quantile q, between 0 and 1, of what samples were drawn from.
// The samples must be independent; they are not changed. The error is
// [ErrNotEnough], or says that a sample is no number.
func Quantile(samples []float64, q float64) (Estimate, error) {
	for i, v := range samples {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return Estimate{}, fmt.Errorf("latency: sample %d is no finite number", i)
		}
	}
	if !(q > 0 && q < 1) {
		return Estimate{}, errors.New("latency: a quantile lies between 0 and 1")
	}
	low, high, ok := Ranks(len(samples), q)
	if !ok {
		return Estimate{}, notEnough(len(samples), MinSamples(q))
	}
	s := slices.Sorted(slices.Values(samples))
	e := Estimate{N: len(s), Value: s[rank(len(s), q)-1], Low: s[low-1], High: s[high-1], Confidence: Confidence}
	if half := len(s) / 2; q == 0.5 && len(s)%2 == 0 {
		e.Value = s[half-1]/2 + s[half]/2
	}
	return e, nil
}

// Pair is one round of an experiment: both ways took the same request at about
// the same time, in random order. A and B are their times, in one unit.
type Pair struct{ A, B float64 }

// PairedRatio estimates the median of B/A over the rounds: 0.8 means that in the
// middle round B took 80 % of A's time. Whatever slows down a whole round slows
// down both and leaves the ratio alone, which is why the ratio of two medians, or
// of two 99th percentiles, of unrelated samples is no substitute: it is not
// offered.
//
// The interval is the sign test's: its only assumption is that rounds are
// independent and their ratios have one median. It does not ask that ratios be
// symmetric, as the Hodges-Lehmann estimate of the signed-rank test would: times
// have long tails on one side. The error is [ErrNotEnough] below six rounds, or
// says that a time is not a positive finite number.
// Source: Conover, as for [Ranks], sections 3.4 and 5.7.
func PairedRatio(pairs []Pair) (Estimate, error) {
	logs := make([]float64, len(pairs))
	for i, p := range pairs {
		if !(p.A > 0 && p.B > 0) {
			return Estimate{}, fmt.Errorf("latency: round %d has a time that is not positive", i)
		}
		logs[i] = math.Log(p.B) - math.Log(p.A)
	}
	e, err := Quantile(logs, 0.5)
	if err != nil {
		return Estimate{}, err
	}
	e.Value, e.Low, e.High = math.Exp(e.Value), math.Exp(e.Low), math.Exp(e.High)
	return e, nil
}

// PairedDifference estimates the median of B − A over the rounds, in their unit. It
// assumes what [PairedRatio] does. With the times of a request that makes no
// database call as A, and of one that makes one as B, it is the cost of access.
func PairedDifference(pairs []Pair) (Estimate, error) {
	differences := make([]float64, len(pairs))
	for i, p := range pairs {
		differences[i] = p.B - p.A
	}
	return Quantile(differences, 0.5)
}
