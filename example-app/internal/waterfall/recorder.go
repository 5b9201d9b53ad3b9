package waterfall

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/getsentry/sentry-go"
)

// Recorder keeps the last transactions. It is safe for concurrent use.
type Recorder struct {
	mu   sync.Mutex
	ring []Trace
	next int // where the next one goes, once the ring is full
	size int
}

// NewRecorder returns a recorder of the last size transactions, at least one.
func NewRecorder(size int) *Recorder { return &Recorder{size: max(1, size)} }

// BeforeSend records the transaction and lets it go on to wherever the client sends it. It is a
// sentry.ClientOptions.BeforeSendTransaction.
func (r *Recorder) BeforeSend(event *sentry.Event, _ *sentry.EventHint) *sentry.Event {
	if b, err := json.Marshal(event); err == nil {
		if t, err := Parse(b); err == nil {
			r.add(t)
		}
	}
	return event
}

func (r *Recorder) add(t Trace) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ring) < r.size {
		r.ring = append(r.ring, t)
		return
	}
	r.ring[r.next] = t
	r.next = (r.next + 1) % r.size
}

// Traces returns what is kept, the newest first.
func (r *Recorder) Traces() []Trace {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := slices.Concat(r.ring[r.next:], r.ring[:r.next])
	slices.Reverse(list)
	return list
}

// Pair is the last transaction of one route on each path.
type Pair struct {
	Name   string
	REST   *Trace // nil when there is none
	Direct *Trace
}

// Pairs returns the routes that made database calls, by name.
func Pairs(traces []Trace) []Pair {
	byName := map[string]*Pair{}
	var names []string
	for i := range traces {
		t := &traces[i]
		if t.Path == "" {
			continue
		}
		p := byName[t.Name]
		if p == nil {
			p = &Pair{Name: t.Name}
			byName[t.Name] = p
			names = append(names, t.Name)
		}
		switch {
		case t.Path == "rest" && p.REST == nil:
			p.REST = t
		case t.Path == "direct" && p.Direct == nil:
			p.Direct = t
		}
	}
	slices.Sort(names)
	pairs := make([]Pair, len(names))
	for i, n := range names {
		pairs[i] = *byName[n]
	}
	return pairs
}
