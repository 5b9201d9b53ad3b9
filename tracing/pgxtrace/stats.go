package pgxtrace

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/twinpath/twinpath/dbaccess"
)

// Stats lets metrics report a pool that package dbaccess has nothing to do with:
// tracing.MetricsConfig.Pools and dbprom.Config.Pools take it. A pool does not
// count the connections that it found dead, so Replaced is 0.
func Stats(pool *pgxpool.Pool) dbaccess.PoolReporter { return reporter{pool} }

type reporter struct{ pool *pgxpool.Pool }

// PoolStats reads the pool's own statistics.
func (r reporter) PoolStats() dbaccess.PoolStats {
	s := r.pool.Stat()
	return dbaccess.PoolStats{
		Max: int(s.MaxConns()), Idle: int(s.IdleConns()), InUse: int(s.AcquiredConns()), Connecting: int(s.ConstructingConns()),
		Acquired: s.AcquireCount(), Queued: s.EmptyAcquireCount(), Wait: s.EmptyAcquireWaitTime(), Canceled: s.CanceledAcquireCount(),
		New: s.NewConnsCount(), Closed: s.MaxLifetimeDestroyCount() + s.MaxIdleDestroyCount(),
	}
}
