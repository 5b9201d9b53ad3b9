package direct

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// suspectAfter is how long a connection may have been silent before it is asked
	// for a sign of life ahead of a call, where nothing keeps connections warm. The
	// far end, or a NAT in between, may have forgotten it.
	suspectAfter = time.Minute
	// suspectIntervals is the same as a multiple of Config.KeepWarm: this process
	// was frozen, as functions are between requests.
	suspectIntervals = 2
	// probeTimeout bounds the wait for the sign of life.
	probeTimeout = 500 * time.Millisecond
)

// suspectAge is how long a connection may have been silent.
func (s *settled) suspectAge() time.Duration {
	if s.KeepWarm > 0 {
		return suspectIntervals * s.KeepWarm
	}
	return suspectAfter
}

// poolConfig is that of the backend's own pool.
func (b *Backend) poolConfig() *pgxpool.Config {
	cfg := b.cfg.dsn.Pool.Copy()
	cfg.MaxConns = b.cfg.MaxConns
	cfg.MinConns = min(cfg.MinConns, cfg.MaxConns)
	cfg.MinIdleConns = min(cfg.MinIdleConns, cfg.MaxConns)
	cfg.ConnConfig.ConnectTimeout = b.cfg.ConnectTimeout
	if cfg.PingTimeout > 0 {
		b.probe = cfg.PingTimeout
	}
	// The pool's own ping would make a sparse call's round trip two. Ours are below.
	cfg.ShouldPing = func(ctx context.Context, p pgxpool.ShouldPingParams) bool {
		if a, ok := ctx.Value(acquisitionKey{}).(*acquisition); ok {
			a.waited = p.IdleDuration < time.Since(a.start) // given back since we asked
		}
		return false
	}
	cfg.PrepareConn = b.prepareConn
	cfg.BeforeConnect = b.beforeConnect
	return cfg
}

// prepareConn is the pool's hook: it says whether a connection will do for whoever
// asks. Where not, the pool closes it, and goes on to the next or makes one.
func (b *Backend) prepareConn(ctx context.Context, conn *pgx.Conn) (bool, error) {
	a, ok := ctx.Value(acquisitionKey{}).(*acquisition)
	so := socketOf(conn.PgConn().Conn())
	if !ok || so == nil || so.of == a.connecting.Load() {
		return true, nil // of the pool's own doing, or just made
	}
	if !so.alive() {
		a.dead++
		return false, nil
	}
	if a.keeper || !a.wary && so.silent(time.Now()) <= b.suspect {
		return true, nil
	}
	if a.mute {
		// It has been silent for longer than the one that gave no sign of life.
		a.dead++
		return false, nil
	}
	if ask(ctx, conn, so, b.probe) {
		return true, nil
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	a.mute = true
	a.dead++
	return false, nil
}

// ask waits for a sign of life. A connection that gives none is closed at once,
// without a goodbye and without a request to cancel the question, so that its place
// is free.
func ask(ctx context.Context, conn *pgx.Conn, so *socket, timeout time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	so.quiet.Store(true)
	err := conn.Ping(ctx)
	if conn.IsClosed() {
		_ = so.Close()
		return false
	}
	so.quiet.Store(false)
	return err == nil || !isContext(err) // an error of the server's is a sign of life
}
