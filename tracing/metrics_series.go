package tracing

import (
	"math"
	"sync"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
)

// otherQueries is the name of those that have no series of their own.
const otherQueries = "other"

type seriesKey struct {
	query string
	path  dbaccess.Path
	cold  bool
}

// seriesBook has the series by their key. There are at most max of them, and those
// of other queries.
type seriesBook struct {
	max int

	mu     sync.RWMutex
	series map[seriesKey]*series
}

func newSeriesBook(limit int) seriesBook {
	return seriesBook{max: limit, series: make(map[seriesKey]*series)}
}

func (b *seriesBook) of(key seriesKey) *series {
	b.mu.RLock()
	s, full := b.series[key], len(b.series) >= b.max
	if s == nil && full {
		key.query = otherQueries
		s = b.series[key]
	}
	b.mu.RUnlock()
	if s != nil {
		return s
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.series[key]; s != nil {
		return s
	}
	if len(b.series) >= b.max {
		key.query = otherQueries
		if s := b.series[key]; s != nil {
			return s
		}
	}
	s = &series{}
	b.series[key] = s
	return s
}

// take calls f with what each series has counted, and empties them.
func (b *seriesBook) take(f func(seriesKey, *counts)) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var c counts
	for key, s := range b.series {
		s.mu.Lock()
		c, s.counts = s.counts, counts{}
		s.mu.Unlock()
		if c.calls > 0 {
			f(key, &c)
		}
	}
}

type series struct {
	mu sync.Mutex
	counts
}

// counts are those of an interval.
type counts struct {
	calls, errors, rows int64
	sum, min, max       time.Duration
	buckets             [buckets]uint32
}

func (s *series) add(d time.Duration, rows int64, failed bool) {
	d = max(0, d)
	i := bucketOf(d)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls == 0 || d < s.min {
		s.min = d
	}
	s.max = max(s.max, d)
	s.calls++
	s.rows += rows
	s.sum += d
	if failed {
		s.errors++
	}
	s.buckets[i]++
}

// The buckets' bounds grow by a factor of 2^(1/perOctave), from finest on: a
// quantile is off by 5 % at most.
const (
	finest    = 50 * time.Microsecond
	perOctave = 8
	octaves   = 21 // up to 105 s
	buckets   = octaves*perOctave + 2
)

func bucketOf(d time.Duration) int {
	if d < finest {
		return 0
	}
	return min(1+int(math.Log2(float64(d)/float64(finest))*perOctave), buckets-1)
}

// quantile returns the middle of the bucket that has the quantile, within what was
// measured.
func (c *counts) quantile(q float64) time.Duration {
	rank := int64(math.Ceil(q * float64(c.calls)))
	seen := int64(0)
	for i, n := range c.buckets {
		if seen += int64(n); seen >= rank && n > 0 {
			if i == 0 {
				return c.min
			}
			middle := float64(finest) * math.Exp2((float64(i)-.5)/perOctave)
			return min(max(time.Duration(middle), c.min), c.max)
		}
	}
	return c.max
}
