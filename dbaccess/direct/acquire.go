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
	until time.Time // when Config.AcquireTimeout passes
	// waited says that the connection was given back by another call meanwhile.
	waited bool
	// wary wants a sign of life of any connection that was idle.
	wary bool
	// keeper says that it is keepWarm that asks, and no call.
	keeper bool
	// dead is how many connections were found dead on the way.
	dead int
	// mute says that one of them gave no sign of life.
	mute bool
	// connecting is the connection that the pool makes for this call; it is made
	// on a goroutine of the pool, which may outlive the call.
	connecting atomic.Pointer[connecting]
	// began is closed when that begins, nil where nobody waits for it.
	began chan struct{}
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
// and l allow.
func (b *Backend) acquire(l *limits, pool *pgxpool.Pool, a *acquisition) (*pgxpool.Conn, error) {
	a.Context = l
	var before *pgxpool.Stat
	if b.cfg.dsn == nil {
		before = pool.Stat()
	}
	l.wait(a, b.cfg.AcquireTimeout)
	b.warm.await(a, pool)
	conn, err := pool.Acquire(a)
	if !l.waited(a) && err == nil {
		conn.Release()
		conn, err = nil, context.DeadlineExceeded
	}
	if before != nil {
		// Another call's wait may be taken for this one's: an app's pool has no hooks
		// that would tell.
		after := pool.Stat()
		a.made = after.NewConnsCount() > before.NewConnsCount()
		a.waited = after.EmptyAcquireCount() > before.EmptyAcquireCount()
	}
	b.counts.acquired(a, err)
	return conn, err
}

// connects notes that the pool makes a connection for this call.
func (a *acquisition) connects(c *connecting) {
	a.connecting.Store(c)
	if a.began != nil {
		close(a.began)
		a.began = nil
	}
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

// queued is how long the call waited until a connection was given back, or until
// there was a place for a new one.
func (a *acquisition) queued(now time.Time) time.Duration {
	if c := a.connecting.Load(); c != nil {
		now = c.times().start
	} else if !a.waited {
		return 0
	}
	if d := now.Sub(a.start); d > queueNoise {
		return d
	}
	return 0
}

// queueNoise is what it takes to find out that a connection has to be made.
const queueNoise = time.Millisecond
