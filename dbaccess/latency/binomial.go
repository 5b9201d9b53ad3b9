package latency

import "math"

// binomial is the distribution of the number of successes in n trials.
// Only the numbers that have a noticeable chance are kept, of which there are in
// the order of √n.
type binomial struct {
	first int       // number of successes that chance[0] is of
	p     []float64 // chances, which add up to 1
}

// negligible is the chance, against that of the likeliest number, below which the
// tails are cut off: all of them together are then far below any tail that is asked for.
const negligible = 1e-18

// newBinomial walks from the likeliest number to both sides by the ratio of
// neighbors' chances, so that no factorial is needed and nothing overflows.
func newBinomial(n int, q float64) binomial {
	mode := min(int(math.Floor(float64(n+1)*q)), n)
	odds := q / (1 - q)
	var below, above []float64
	for k, c := mode, 1.0; k > 0 && c > negligible; k-- {
		c *= float64(k) / (float64(n-k+1) * odds)
		below = append(below, c)
	}
	for k, c := mode, 1.0; k < n && c > negligible; k++ {
		c *= float64(n-k) * odds / float64(k+1)
		above = append(above, c)
	}
	b := binomial{first: mode - len(below), p: make([]float64, 0, len(below)+1+len(above))}
	for i := len(below) - 1; i >= 0; i-- {
		b.p = append(b.p, below[i])
	}
	b.p = append(append(b.p, 1), above...)
	sum := 0.0
	for _, c := range b.p {
		sum += c
	}
	for i := range b.p {
		b.p[i] /= sum
	}
	return b
}

// lowest is the largest r of which the chance of fewer than r successes is at most
// tail.
func (b *binomial) lowest(tail float64) int {
	sum := 0.0
	for i, c := range b.p {
		if sum += c; sum > tail {
			return b.first + i
		}
	}
	return b.first + len(b.p) - 1
}

// highest is the smallest r of which the chance of r or more successes is at most
// tail.
func (b *binomial) highest(tail float64) int {
	sum := 0.0
	for i := len(b.p) - 1; i >= 0; i-- {
		if sum += b.p[i]; sum > tail {
			return b.first + i + 1
		}
	}
	return b.first
}
