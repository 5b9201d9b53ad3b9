package tracing

import (
	"context"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
)

// httpTimeline notes when a request got where. Its hooks are called by goroutines
// of net/http's, some of which go on after the request: a dial that another
// connection made superfluous still reports. phases closes it to them.
type httpTimeline struct {
	start time.Time

	mu       sync.Mutex
	closed   bool
	attempts int // to get a connection: net/http repeats a request whose kept connection had died
	attempt
}

// attempt is what happened since the last time a connection was asked for.
type attempt struct {
	asked, dialled       time.Time // dialled is when the first dial began
	resolving, resolved  time.Time
	connecting, securing time.Time
	got                  time.Time
	reused               bool
	wrote                time.Time // the request's last byte
	first                time.Time // the answer's first byte
}

// traced returns the context that tells the timeline.
func (t *httpTimeline) traced(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) {
			t.mark(func(now time.Time) {
				t.attempts++
				t.attempt = attempt{asked: now}
			})
		},
		DNSStart: func(httptrace.DNSStartInfo) {
			t.mark(func(now time.Time) { firstOf(&t.dialled, now); firstOf(&t.resolving, now) })
		},
		DNSDone: func(httptrace.DNSDoneInfo) {
			t.mark(func(now time.Time) { firstOf(&t.resolved, now) })
		},
		ConnectStart: func(string, string) { // several of them, where addresses are raced
			t.mark(func(now time.Time) { firstOf(&t.dialled, now); firstOf(&t.connecting, now) })
		},
		TLSHandshakeStart: func() {
			t.mark(func(now time.Time) { firstOf(&t.dialled, now); firstOf(&t.securing, now) })
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
	})
}

func firstOf(at *time.Time, now time.Time) {
	if at.IsZero() {
		*at = now
	}
}

func (t *httpTimeline) mark(set func(now time.Time)) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		set(now)
	}
}

// phases closes the timeline and divides the time from start to end without gaps.
// What was not reached has no phase: the one before it lasts until end. repeated
// counts how often the request was sent again.
func (t *httpTimeline) phases(end time.Time) (phases []dbaccess.Phase, conn dbaccess.ConnClass, repeated int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	conn = t.class()
	at := t.start
	begin := func(name string, until time.Time) {
		p := dbaccess.Phase{Name: name, Start: at}
		if until.After(at) {
			p.Duration = until.Sub(at)
			at = until
		}
		phases = append(phases, p)
	}
	t.connect(begin, conn)
	if !t.got.IsZero() {
		wrote := t.wrote
		if wrote.IsZero() || !t.first.IsZero() && t.first.Before(wrote) {
			wrote = t.first // answered before the request's end was noted
		}
		begin(dbaccess.PhaseSend, wrote)
		if !wrote.IsZero() {
			begin(dbaccess.PhaseWait, t.first)
		}
		if !t.first.IsZero() {
			begin(dbaccess.PhaseBody, end)
		}
	}
	last := &phases[len(phases)-1]
	last.Duration = max(0, end.Sub(last.Start))
	return phases, conn, max(0, t.attempts-1)
}

// connect begins the phases up to the connection.
func (t *httpTimeline) connect(begin func(string, time.Time), conn dbaccess.ConnClass) {
	if conn == dbaccess.ConnIdle || conn == dbaccess.ConnQueued || t.dialled.IsZero() {
		begin(dbaccess.PhaseAcquire, t.got)
		return
	}
	begin(dbaccess.PhaseAcquire, t.dialled)
	if !t.resolving.IsZero() {
		begin(dbaccess.PhaseDNS, t.resolved)
	}
	switch {
	case !t.securing.IsZero():
		begin(dbaccess.PhaseConnect, t.securing)
		begin(dbaccess.PhaseTLS, t.got)
	case t.connecting.IsZero() && !t.resolving.IsZero():
		// It went no further than the name.
	default:
		begin(dbaccess.PhaseConnect, t.got)
	}
}

// shortWait is the longest that taking an idle connection takes.
const shortWait = time.Millisecond

func (t *httpTimeline) class() dbaccess.ConnClass {
	switch {
	case t.got.IsZero():
		return dbaccess.ConnUnknown
	case !t.reused:
		return dbaccess.ConnNew
	case !t.dialled.IsZero(), t.got.Sub(t.asked) >= shortWait:
		return dbaccess.ConnQueued // another request's came free first
	}
	return dbaccess.ConnIdle
}
