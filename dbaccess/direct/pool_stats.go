package direct

import (
	"sync/atomic"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
)

var _ dbaccess.PoolReporter = (*Backend)(nil)

// poolCounts are what the pool itself does not count, or counts otherwise.
type poolCounts struct {
	lent, queued, canceled, made, replaced atomic.Int64
	wait                                   atomic.Int64 // in ns
}

// acquired counts a call's way to a connection.
func (p *poolCounts) acquired(a *acquisition, err error) {
	switch {
	case err == nil:
		p.lent.Add(1)
		if a.dead > 0 {
			p.replaced.Add(int64(a.dead))
		}
	case isContext(err) && !isConnect(err):
		p.canceled.Add(1)
		if a.connecting.Load() == nil {
			a.waited = true
		}
	}
	if d := a.queued(time.Now()); d > 0 {
		p.queued.Add(1)
		p.wait.Add(int64(d))
	}
}

// PoolStats tells what the pool's connections are doing, and have done. Of an app's
// own pool it tells what that counts for all its users, Replaced apart; it then
// counts those that were tried among the new, and takes the making of a
// connection for a wait.
func (b *Backend) PoolStats() dbaccess.PoolStats {
	b.mu.RLock()
	pool := b.pool
	b.mu.RUnlock()
	s := dbaccess.PoolStats{Max: int(b.cfg.MaxConns), Replaced: b.counts.replaced.Load()}
	if pool != nil {
		now := pool.Stat()
		s.Max, s.Idle, s.InUse, s.Connecting = int(now.MaxConns()), int(now.IdleConns()), int(now.AcquiredConns()), int(now.ConstructingConns())
		if b.cfg.dsn == nil {
			s.Acquired, s.Queued, s.Wait = now.AcquireCount(), now.EmptyAcquireCount(), now.EmptyAcquireWaitTime()
			s.Canceled, s.New = now.CanceledAcquireCount(), now.NewConnsCount()
			s.Closed = max(0, s.New-int64(now.TotalConns()))
			return s
		}
	}
	held := min(b.warm.holding(), s.InUse) // lent to no call
	s.Idle, s.InUse = s.Idle+held, s.InUse-held
	c := &b.counts
	s.Acquired, s.Queued, s.Wait = c.lent.Load(), c.queued.Load(), time.Duration(c.wait.Load())
	s.Canceled, s.New, s.Closed = c.canceled.Load(), c.made.Load(), b.sockets.closings()
	return s
}
