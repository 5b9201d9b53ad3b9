package latency

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/twinpath/twinpath/dbaccess"
)

// Limits of a [Recorder].
const (
	// DefaultMaxQueries is how many queries have histograms of their own.
	DefaultMaxQueries = 100
	// Highest is the longest time that is told apart: what takes longer counts as
	// this, but for the report's maximum.
	Highest = 10 * time.Minute
	// Other is the name that queries beyond the limit share.
	Other = "other"

	maxName           = 200  // bytes of a query's name that are kept
	lowest            = 1000 // ns
	significantDigits = 2
)

// RecorderConfig makes a [Recorder].
type RecorderConfig struct {
	// MaxQueries is the number of queries that have histograms of their own, by
	// name, first come first served; all others share those of [Other]. A query has
	// up to four histograms (two paths, cold and warm), each made when its first
	// call ends, of 26 KB each: 10 MB for the default, where every query goes
	// both ways. Defaults to DefaultMaxQueries.
	MaxQueries int
}

// Recorder is an observer that keeps a histogram of the calls' times for each
// query, path and temperature. Times are exact to 1 % or half a microsecond.
//
// Recording takes no allocation for a query that has a name, and one for a query
// that is known by its summary. It holds a lock of that query and path alone.
type Recorder struct {
	max   int
	since time.Time

	entries atomic.Pointer[map[string]*entry] // replaced, never changed
	mu      sync.Mutex                        // held while it is replaced
	other   *entry
}

var _ dbaccess.Observer = (*Recorder)(nil)

// NewRecorder makes a recorder. A MaxQueries below 1 means the default.
func NewRecorder(cfg RecorderConfig) *Recorder {
	if cfg.MaxQueries < 1 {
		cfg.MaxQueries = DefaultMaxQueries
	}
	r := &Recorder{max: cfg.MaxQueries, since: time.Now(), other: &entry{}}
	r.entries.Store(&map[string]*entry{})
	return r
}

// entry is what is known about a query.
type entry struct{ rest, direct track }

// track is what is known about a query on a path.
type track struct {
	mu         sync.Mutex
	called     bool
	warm, cold *series // nil until there is one

	failed, timedOut, canceled int64
}

// series is what is known about a query on a path at a temperature.
type series struct {
	times    *hdrhistogram.Histogram // of nanoseconds
	min, max time.Duration
	newConns int64
	layers   Layers
}

// CallStart implements [dbaccess.Observer].
func (r *Recorder) CallStart(ctx context.Context, _ dbaccess.CallStart) context.Context { return ctx }

// CallEnd implements [dbaccess.Observer].
func (r *Recorder) CallEnd(_ context.Context, e dbaccess.CallEnd) {
	name := e.Name
	if name == "" {
		name = e.Summary()
	}
	en := r.entry(name)
	t := &en.rest
	if e.Route.Path == dbaccess.Direct {
		t = &en.direct
	}
	t.record(&e, LayersOf(e.Phases), en != r.other)
}

// entry returns that of a name, a new one while there is room.
func (r *Recorder) entry(name string) *entry {
	name = cut(name)
	if en, ok := (*r.entries.Load())[name]; ok {
		return en
	}
	if name == Other || len(*r.entries.Load()) >= r.max {
		return r.other
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	known := *r.entries.Load()
	if en, ok := known[name]; ok {
		return en
	}
	if len(known) >= r.max {
		return r.other
	}
	more := maps.Clone(known)
	en := &entry{}
	more[name] = en
	r.entries.Store(&more)
	return en
}

// cut shortens a name that nobody meant to be read, to whole characters.
func cut(name string) string {
	if len(name) <= maxName {
		return name
	}
	end := maxName
	for end > 0 && !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end]
}

// record adds a call. Where several queries share the track it can't tell a first
// call.
func (t *track) record(e *dbaccess.CallEnd, layers Layers, own bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	first := own && !t.called
	t.called = true
	if e.Err != nil && !answered(e.Err) {
		t.failed++
		switch {
		case errors.Is(e.Err, context.Canceled):
			t.canceled++
		case errors.Is(e.Err, dbaccess.ErrTimeout):
			t.timedOut++
		}
		return
	}
	s := &t.warm
	if first || e.Conn == dbaccess.ConnNew {
		s = &t.cold
	}
	if *s == nil {
		*s = &series{times: hdrhistogram.New(lowest, int64(Highest), significantDigits)}
	}
	(*s).add(e.Duration(), e.Conn == dbaccess.ConnNew, &layers)
}

// answered says whether a call failed with the answer it came for: no row is one.
func answered(err error) bool {
	return errors.Is(err, dbaccess.ErrNoRows) || errors.Is(err, dbaccess.ErrMultipleRows) || errors.Is(err, dbaccess.ErrTruncated)
}

func (s *series) add(d time.Duration, newConn bool, layers *Layers) {
	d = max(d, 0) // a clock that was set back
	if s.times.TotalCount() == 0 || d < s.min {
		s.min = d
	}
	s.max = max(s.max, d)
	if s.times.RecordValue(int64(min(d, Highest))) != nil {
		return // 2^63 calls
	}
	if newConn {
		s.newConns++
	}
	s.layers.plus(layers)
}

// Format prints how many queries are known.
func (r *Recorder) Format(s fmt.State, _ rune) {
	_, _ = fmt.Fprintf(s, "latency.Recorder{Queries: %d}", len(*r.entries.Load()))
}
