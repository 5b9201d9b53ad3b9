package direct

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/twinpath/twinpath/dbaccess"
)

// acquisition is one call's way to a connection. It is the context that the pool
// gets to see, so that the pool's hooks find it.
type acquisition struct {
	context.Context
	start time.Time
	// waited says that the connection was given back by another call meanwhile.
	waited bool
	// connecting is the connection that the pool makes for this call; it is made
	// on a goroutine of the pool, which may outlive the call.
	connecting atomic.Pointer[connecting]
	// made says that an app's own pool made a connection meanwhile.
	made bool
}

type acquisitionKey struct{}

func (a *acquisition) Value(key any) any {
	if _, ok := key.(acquisitionKey); ok {
		return a
	}
	return a.Context.Value(key)
}

// acquire takes a connection from the pool, waiting no longer than the config
// and ctx allow.
func (b *Backend) acquire(ctx context.Context, pool *pgxpool.Pool, a *acquisition) (*pgxpool.Conn, error) {
	a.Context = ctx
	if b.cfg.AcquireTimeout > 0 && !endsWithin(ctx, b.cfg.AcquireTimeout) {
		bounded, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		timer := time.AfterFunc(b.cfg.AcquireTimeout, func() { a.expire(cancel) })
		defer timer.Stop()
		a.Context = bounded
	}
	if b.cfg.dsn != nil {
		return pool.Acquire(a)
	}
	before := pool.Stat()
	conn, err := pool.Acquire(a)
	after := pool.Stat()
	// Another call's wait may be taken for this one's: an app's pool has no hooks
	// that would tell.
	a.made = after.NewConnsCount() > before.NewConnsCount()
	a.waited = after.EmptyAcquireCount() > before.EmptyAcquireCount()
	return conn, err
}

// endsWithin says whether ctx has a deadline before d has passed.
func endsWithin(ctx context.Context, d time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) <= d
}

// expire ends the wait for a place in the pool, but not one for a connection that
// is being made for this call: that has a bound of its own.
func (a *acquisition) expire(cancel context.CancelCauseFunc) {
	if a.dialling() {
		return
	}
	cancel(context.DeadlineExceeded)
}

// dialling says that a connection is being made for the call.
func (a *acquisition) dialling() bool {
	c := a.connecting.Load()
	return c != nil && !c.times().complete()
}

// class says how the connection was come by.
func (a *acquisition) class() dbaccess.ConnClass {
	switch c := a.connecting.Load(); {
	case c != nil && c.times().complete(), a.made:
		return dbaccess.ConnNew
	case a.waited:
		return dbaccess.ConnQueued
	}
	return dbaccess.ConnIdle
}
