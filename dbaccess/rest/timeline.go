package rest

import (
	"context"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
)

// timeline notes when a call got where. Its hooks are called by other
// goroutines, some of which go on after the call ended: a dial that another
// connection made superfluous still reports. phases closes the timeline to them.
type timeline struct {
	trace httptrace.ClientTrace

	mu     sync.Mutex
	closed bool

	start      time.Time // of the call
	tried      time.Time // a connection was asked for, first time
	asked      time.Time // the same, last time: net/http repeats a read whose kept connection had died
	dnsDone    time.Time
	dialing    bool
	connecting bool // the name, if it was one, is resolved
	connected  time.Time
	hasDNS     bool
	hasTLS     bool
	got        time.Time // the connection is there
	reused     bool
	wrote      time.Time // the request's last byte
	first      time.Time // the answer's first byte
}

// hook sets the hooks of a request, but for what happens in a dial.
func (t *timeline) hook(secure bool) {
	t.trace = httptrace.ClientTrace{
		GetConn: func(string) {
			t.mark(func(now time.Time) {
				if t.tried.IsZero() {
					t.tried = now
				}
				t.asked = now
				t.dnsDone, t.connected = time.Time{}, time.Time{}
				t.got, t.wrote, t.first = time.Time{}, time.Time{}, time.Time{}
				t.dialing, t.connecting, t.hasDNS, t.hasTLS, t.reused = false, false, false, false, false
			})
		},
		GotConn: func(info httptrace.GotConnInfo) {
			t.mark(func(now time.Time) { t.got, t.reused = now, info.Reused })
		},
		WroteRequest: func(httptrace.WroteRequestInfo) {
			t.mark(func(now time.Time) { t.wrote = now })
		},
		GotFirstResponseByte: func() {
			t.mark(func(now time.Time) { t.first = now })
		},
	}
	if secure {
		t.trace.TLSHandshakeStart = func() {
			t.mark(func(time.Time) { t.hasTLS = true })
		}
	}
}

// addDial adds what happens in a dial.
func (t *timeline) addDial(trace *httptrace.ClientTrace) {
	trace.DNSStart = func(httptrace.DNSStartInfo) {
		t.mark(func(time.Time) { t.dialing, t.hasDNS = true, true })
	}
	trace.DNSDone = func(httptrace.DNSDoneInfo) {
		t.mark(func(now time.Time) { t.dnsDone = now })
	}
	trace.ConnectStart = func(string, string) {
		t.mark(func(time.Time) { t.dialing, t.connecting = true, true })
	}
	trace.ConnectDone = func(_, _ string, err error) {
		t.mark(func(now time.Time) {
			if err == nil && t.connected.IsZero() {
				t.connected = now
			}
		})
	}
}

// timelineKey finds the timeline in the context of a dial of the backend's own
// transport. Most calls dial nothing, and the hooks of a dial are the dear ones.
type timelineKey struct{}

// traced returns the context that a request is sent with.
func (t *timeline) traced(ctx context.Context, own, secure bool) context.Context {
	t.hook(secure)
	if own {
		ctx = context.WithValue(ctx, timelineKey{}, t)
	} else {
		t.addDial(&t.trace)
	}
	return httptrace.WithClientTrace(ctx, &t.trace)
}

// tracedDial returns the context that the backend's own transport dials with.
func tracedDial(ctx context.Context) context.Context {
	t, ok := ctx.Value(timelineKey{}).(*timeline)
	if !ok {
		return ctx
	}
	trace := &httptrace.ClientTrace{}
	t.addDial(trace)
	return httptrace.WithClientTrace(ctx, trace)
}

func (t *timeline) mark(set func(now time.Time)) {
	now := time.Now()
	t.mu.Lock()
	if !t.closed {
		set(now)
	}
	t.mu.Unlock()
}

// phases closes the timeline and divides the time from its start to end, which
// is the answer's last byte or the failure, without gaps. What was not reached
// has no phase: the one before it lasts until end.
func (t *timeline) phases(end time.Time) ([]dbaccess.Phase, dbaccess.ConnClass) {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()

	conn := t.class()
	c := cutter{at: t.start, phases: make([]dbaccess.Phase, 0, 6)}
	prepared := t.tried
	if conn == dbaccess.ConnIdle && t.asked.Equal(t.tried) {
		prepared = t.got // a free connection costs no time worth a phase of its own
	}
	c.begin(dbaccess.PhasePrepare, prepared)
	if !t.tried.IsZero() {
		t.connect(&c, conn)
	}
	if !t.got.IsZero() {
		wrote := t.wrote
		if wrote.IsZero() || !t.first.IsZero() && t.first.Before(wrote) {
			wrote = t.first // answered before the request's end was noted
		}
		c.begin(dbaccess.PhaseSend, wrote)
		if !wrote.IsZero() {
			c.begin(dbaccess.PhaseWait, t.first)
		}
		if !t.first.IsZero() {
			c.begin(dbaccess.PhaseBody, time.Time{})
		}
	}
	return c.finish(end), conn
}

func (t *timeline) class() dbaccess.ConnClass {
	switch {
	case t.got.IsZero():
		return dbaccess.ConnUnknown
	case !t.reused:
		return dbaccess.ConnNew
	case t.dialing:
		return dbaccess.ConnQueued // it dialled, but another call's came free first
	}
	return dbaccess.ConnIdle
}

// connect adds the phases between the first request for a connection and the
// connection.
func (t *timeline) connect(c *cutter, conn dbaccess.ConnClass) {
	switch conn {
	case dbaccess.ConnIdle:
		if !t.asked.Equal(t.tried) {
			c.begin(dbaccess.PhaseAcquire, t.got)
		}
		return
	case dbaccess.ConnQueued:
		c.begin(dbaccess.PhaseAcquire, t.got)
		return
	}
	if !t.asked.Equal(t.tried) {
		c.begin(dbaccess.PhaseAcquire, t.asked) // the connection that had died
	}
	if t.hasDNS {
		c.begin(dbaccess.PhaseDNS, t.dnsDone)
		if !t.connecting && t.got.IsZero() {
			return
		}
	}
	if !t.hasTLS {
		c.begin(dbaccess.PhaseConnect, t.got)
		return
	}
	c.begin(dbaccess.PhaseConnect, t.connected)
	c.begin(dbaccess.PhaseTLS, t.got)
}

// cutter cuts a stretch of time into phases.
type cutter struct {
	at     time.Time
	phases []dbaccess.Phase
}

// begin adds a phase that lasts until until or, when that is zero, until the
// next phase's end.
func (c *cutter) begin(name string, until time.Time) {
	p := dbaccess.Phase{Name: name, Start: c.at}
	if until.After(c.at) {
		p.Duration = until.Sub(c.at)
		c.at = until
	}
	c.phases = append(c.phases, p)
}

// finish lets the last phase last until end.
func (c *cutter) finish(end time.Time) []dbaccess.Phase {
	if last := len(c.phases) - 1; last >= 0 {
		c.phases[last].Duration = max(0, end.Sub(c.phases[last].Start))
	}
	return c.phases
}
