package main

import (
	"fmt"
	"strconv"
	"strings"
)

// budget is something measured and the most that it may be.
type budget struct {
	name string // as in "direct/50rows/allocs"

	what, against string // in words, for the README; against is "" where there is no peer
	quantity      string // "time", "allocations", …

	unit  string // "×" for a ratio to the peer
	got   interval
	limit float64
	timed bool // by the clock, so no gate
	info  bool // without a limit
}

// interval is an estimate and where the true value lies; all three are the same for what is counted.
type interval struct{ mid, low, high float64 }

func exactly(v float64) interval { return interval{v, v, v} }

// The verdicts.
const (
	ok    = "ok"
	miss  = "miss"
	noise = "noise"
)

func (b *budget) verdict() string {
	switch {
	case b.got.high <= b.limit:
		return ok
	case b.got.low > b.limit:
		return miss
	}
	return noise
}

// failed says whether the budget is a gate that was missed.
func (b *budget) failed() bool { return !b.info && !b.timed && b.verdict() != ok }

// String is the budget's line.
func (b *budget) String() string {
	var line strings.Builder
	if b.info {
		fmt.Fprintf(&line, "info %s %s", b.name, number(b.got.mid, b.unit))
	} else {
		fmt.Fprintf(&line, "budget %s %s %s %s", b.name, number(b.got.mid, b.unit), number(b.limit, b.unit), b.verdict())
	}
	if b.timed {
		fmt.Fprintf(&line, " (%s to %s)", number(b.got.low, b.unit), number(b.got.high, b.unit))
	}
	return line.String()
}

// number writes ratios with two digits and all else without.
func number(v float64, unit string) string {
	if unit == "×" {
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}
