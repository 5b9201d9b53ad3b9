package direct

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// limits is the context of a piece of work. It ends with its caller's; when
// Config.Timeout passes, if the caller has no deadline; and when
// Config.AcquireTimeout passes while it waits for a place in the pool. One timer
// serves both.
type limits struct {
	context.Context
	cancel context.CancelCauseFunc // nil where the caller's deadline comes first
	alarm  *alarm
	alarms *sync.Pool // of the backend's alarms
	until  time.Time  // when Config.Timeout passes; zero where the caller has a deadline
	// waiting is what AcquireTimeout bounds at the moment.
	waiting atomic.Pointer[acquisition]
}

// alarm is a timer that serves one piece of work after the other. It may ring too
// early, but not too late.
type alarm struct {
	timer *time.Timer
	mu    sync.Mutex
	works *limits // for whom; nil between two of them
}

func (a *alarm) ring() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.works != nil {
		a.works.expire()
	}
}

func (a *alarm) serve(l *limits) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.works = l
}

// never is longer than anything takes that the alarm is not set for.
const never = time.Hour

// in sets the alarm of l, which has one from its first use to its end.
func (l *limits) in(d time.Duration) {
	if l.alarm == nil {
		a, ok := l.alarms.Get().(*alarm)
		if !ok {
			a = &alarm{}
			a.timer = time.AfterFunc(never, a.ring)
		}
		l.alarm = a
		a.serve(l)
	}
	l.alarm.timer.Reset(d)
}

// Why a context of ours ended.
var (
	errTimeout  = errors.New("direct: Config.Timeout passed")
	errNoPlace  = errors.New("direct: Config.AcquireTimeout passed")
	errFinished = errors.New("direct: the call has ended")
)

// limit makes l the context of work that ctx's owner asked for. It must be ended.
func (b *Backend) limit(ctx context.Context, l *limits) {
	l.Context, l.alarms = ctx, &b.alarms
	_, ok := ctx.Deadline()
	if ok && (b.cfg.AcquireTimeout <= 0 || endsWithin(ctx, b.cfg.AcquireTimeout)) {
		return
	}
	l.Context, l.cancel = context.WithCancelCause(ctx)
	if !ok {
		l.until = time.Now().Add(b.cfg.Timeout)
		l.in(b.cfg.Timeout)
	}
}

// endsWithin says whether ctx has a deadline before d has passed.
func endsWithin(ctx context.Context, d time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) <= d
}

// end gives up what the context holds.
func (l *limits) end() {
	if a := l.alarm; a != nil {
		a.serve(nil)
		if a.timer.Stop() { // else it is about to ring
			l.alarms.Put(a)
		}
	}
	if l.cancel != nil {
		l.cancel(errFinished)
	}
}

// bounded says whether it is Config.Timeout that bounds the work.
func (l *limits) bounded() bool { return !l.until.IsZero() }

// Err tells a limit of ours from a caller that gave up.
func (l *limits) Err() error {
	err := l.Context.Err()
	if err == nil || l.cancel == nil {
		return err
	}
	if cause := context.Cause(l.Context); cause == errTimeout || cause == errNoPlace {
		return context.DeadlineExceeded
	}
	return err
}

// wait begins a wait for a place in the pool, which ends within d.
func (l *limits) wait(a *acquisition, d time.Duration) {
	if l.cancel == nil || d <= 0 || l.bounded() && time.Until(l.until) <= d {
		return
	}
	a.until = time.Now().Add(d)
	l.waiting.Store(a)
	l.in(d)
}

// waited ends it, and says whether it was in time.
func (l *limits) waited(a *acquisition) bool {
	if l.waiting.CompareAndSwap(a, nil) {
		if l.bounded() {
			l.in(time.Until(l.until))
		} else {
			l.in(never)
		}
		return true
	}
	return !l.noPlace()
}

// noPlace says that the wait for a place took too long.
func (l *limits) noPlace() bool { return l.cancel != nil && context.Cause(l.Context) == errNoPlace }

// expire is what the alarm does. It ends the wait for a place in the pool, but not
// one for a connection that is being made for this work: that has a bound of its
// own.
func (l *limits) expire() {
	now := time.Now()
	if l.bounded() && !now.Before(l.until) {
		l.cancel(errTimeout)
		return
	}
	a := l.waiting.Load()
	switch {
	case a != nil && now.Before(a.until):
		l.in(a.until.Sub(now))
		return
	case a != nil && !a.dialling() && l.waiting.CompareAndSwap(a, nil):
		l.cancel(errNoPlace)
		return
	}
	if l.bounded() {
		l.in(l.until.Sub(now))
	}
}
