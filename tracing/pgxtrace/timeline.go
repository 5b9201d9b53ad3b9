package pgxtrace

import (
	"math"
	"sync"
	"time"

	"github.com/twinpath/twinpath/tracing/internal/spans"
)

// step is a stretch of the way to a connection. Steps follow each other without
// gaps.
type step struct {
	name       string
	connect    bool // part of making a connection
	start, end time.Time
}

// timeline is the steps of an acquisition, or of a connection that was made for
// itself. The pool makes connections on goroutines of its own, which may outlive
// the acquisition: what they tell after close is ignored.
type timeline struct {
	mu     sync.Mutex
	closed bool
	steps  []step
	// reached says that the socket of the latest address was handed to
	// AfterNetConnect: TLS, if any, is agreed on.
	reached bool
	made    bool // a connection was made
}

// begin ends the current step and begins another one, unless it is in it.
func (t *timeline) begin(name string, connect bool) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.beginAt(now, name, connect)
}

func (t *timeline) beginAt(now time.Time, name string, connect bool) {
	if t.closed {
		return
	}
	if n := len(t.steps); n > 0 {
		last := &t.steps[n-1]
		if last.name == stepConnect && connect {
			last.name = name // it is known more finely by now
		}
		if last.name == name {
			return
		}
		t.steps[n-1].end = now
	}
	t.steps = append(t.steps, step{name: name, connect: connect, start: now})
}

// dialled notes that there is a socket.
func (t *timeline) dialled() {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.beginAt(now, stepStartup, true)
	t.reached = false
}

// dialling notes that an address is tried.
func (t *timeline) dialling() {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.blameTLS()
	t.beginAt(now, stepTCP, true)
}

// secured notes that the handshake of TLS is over. What looked like the
// session's start until now was it, together with the question whether the server
// has TLS.
func (t *timeline) secured() {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reached = false
	t.blameTLS()
	t.reached = true
	t.beginAt(now, stepStartup, true)
}

func (t *timeline) plain() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reached = true
}

// blameTLS renames the start of a session that never came to it.
func (t *timeline) blameTLS() {
	if n := len(t.steps); !t.closed && n > 0 && !t.reached && t.steps[n-1].name == stepStartup {
		t.steps[n-1].name = stepTLS
	}
}

// connected notes the end of making a connection, and what follows where there is
// one.
func (t *timeline) connected(ok bool) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if !ok {
		t.blameTLS()
		return
	}
	t.made = t.made || !t.closed
	t.beginAt(now, stepAfterConnect, false)
}

// close ends the last step and returns all that lasted, and whether a connection
// was made on the way.
func (t *timeline) close(end time.Time) (steps []step, made bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.steps); n > 0 {
		t.steps[n-1].end = end
	}
	t.closed = true
	lasting := t.steps[:0]
	for _, s := range t.steps {
		if s.end.After(s.start) {
			lasting = append(lasting, s)
		}
	}
	return lasting, t.made
}

// The steps. Those of a pool's hooks are named after them.
const (
	stepQueue         = "queue"
	stepBeforeConnect = "before_connect"
	stepConnect       = "connect" // no finer, without Configure
	stepDNS           = "dns"
	stepTCP           = "tcp"
	stepTLS           = "tls"
	stepStartup       = "startup"
	stepAfterConnect  = "after_connect"
	stepPing          = "ping"
	stepPrepareConn   = "prepare_conn"
)

// describe adds up the steps by name.
func describe(m map[string]any, steps []step) {
	var connect time.Duration
	for _, s := range steps {
		d := s.end.Sub(s.start)
		key := "db.phase.acquire." + s.name + "_ms"
		if s.connect {
			connect += d
			if s.name == stepConnect {
				continue
			}
			key = "db.phase.connect." + s.name + "_ms"
		}
		before, _ := m[key].(float64)
		m[key] = math.Round(1000*(before+spans.Milliseconds(d))) / 1000 // a sum of decimals has a tail
	}
	if connect > 0 {
		m["db.phase.acquire.connect_ms"] = spans.Milliseconds(connect)
	}
}

// stepSpans makes spans of the steps, for the children of an acquisition's.
func stepSpans(steps []step) []spans.Span {
	out := make([]spans.Span, 0, len(steps))
	for _, s := range steps {
		name := s.name
		if s.connect && s.name != stepConnect {
			name = "connect: " + s.name
		}
		out = append(out, spans.Span{
			Op: phaseOp, Description: name, Origin: origin, Start: s.start, End: s.end,
			Status: outcomeOf(nil).Status, Data: map[string]any{"sentry.category": "twinpath"},
		})
	}
	return out
}
