package direct

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
)

// Backend runs calls on a pool of Postgres connections. It is safe for
// concurrent use. [New] makes one.
type Backend struct {
	cfg     *settled // a pointer, behind which fmt does not look
	sockets sockets
	counts  poolCounts
	calls   sync.WaitGroup
	suspect time.Duration // how long a connection is silent before it is suspected
	probe   time.Duration // how long a suspect has to answer
	alarms  sync.Pool     // of *alarm
	schema  *catalog.Source
	loads   atomic.Uint64 // of the schema that have ended
	login   login

	mu     sync.RWMutex
	pool   *pgxpool.Pool // made by the first call or Start, or the app's
	warm   *warmth       // of that pool, nil for an app's or where it isn't wanted
	closed bool
}

var (
	_ dbaccess.Backend = (*Backend)(nil)
	_ dbaccess.Starter = (*Backend)(nil)
)

// New checks the config and reports all that is wrong with it. It starts nothing
// and opens no connection: see [Backend.Start].
func New(cfg Config) (*Backend, error) {
	s, err := cfg.settle()
	if err != nil {
		return nil, err
	}
	b := &Backend{cfg: s, pool: s.Pool, suspect: s.suspectAge(), probe: probeTimeout}
	if b.schema, err = b.newSchema(); err != nil {
		return nil, fmt.Errorf("direct: Config.SchemaCache: %w", err)
	}
	return b, nil
}

// String names the backend and nothing of its config.
func (b *Backend) String() string { return "direct.Backend" }

// Format leaves out the DSN for every verb, %+v and %#v included.
func (b *Backend) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, b.String()) }

// Explain tells what became of the DSN's parameters that are not simply sent to
// the server, one sentence each, without values.
func (b *Backend) Explain() []string {
	if b.cfg.dsn == nil {
		return nil
	}
	return b.cfg.dsn.Explain()
}

// Start opens one connection, so that the first call finds it and a server that
// can't be reached is known at once, and from then on keeps it warm, see
// Config.KeepWarm. It takes no longer than Config.ConnectTimeout to
// connect, and as long again to the first answer. A Backend that
// could not start may be used all the same, and must be closed.
func (b *Backend) Start(ctx context.Context) error { return named(b.connect(ctx), "connect", "") }

func (b *Backend) connect(ctx context.Context) error {
	pool, err := b.begin()
	if err != nil {
		return err
	}
	defer b.calls.Done()
	var l limits
	b.limit(ctx, &l)
	defer l.end()
	a := acquisition{start: time.Now()}
	conn, err := b.acquire(&l, pool, &a)
	if err != nil {
		return b.acquireFailure(&l, pool, &a, err)
	}
	defer conn.Release()
	ping, cancel := context.WithTimeout(&l, b.pingTimeout())
	defer cancel()
	return b.checkLogin(ping, &l, conn.Conn().PgConn())
}

// pingTimeout bounds the first question on a connection: a pooler makes its own
// connection to Postgres when it comes.
func (b *Backend) pingTimeout() time.Duration {
	if b.cfg.ConnectTimeout > 0 {
		return b.cfg.ConnectTimeout
	}
	return DefaultConnectTimeout
}

// Close waits for running calls until ctx ends, then interrupts them, and closes
// the connections of the backend's own pool; an app's pool stays open. Calls made
// afterwards fail with dbaccess.ErrClosed. Closing again is harmless.
func (b *Backend) Close(ctx context.Context) error {
	b.mu.Lock()
	b.closed = true
	pool, warm := b.pool, b.warm
	b.mu.Unlock()
	b.sockets.end()
	warm.halt()

	done := make(chan struct{})
	go func() {
		defer close(done)
		b.calls.Wait()
		warm.end()
		if pool != nil && b.cfg.dsn != nil {
			pool.Close()
		}
	}()
	select {
	case <-done:
		return b.schema.Close(ctx) // with nothing in flight
	case <-ctx.Done():
		_ = b.schema.Close(ctx)
		b.sockets.interrupt()
		return fmt.Errorf("direct: close: calls were still running: %w", ctx.Err())
	}
}

// begin returns the pool for one more call, which must end with b.calls.Done.
func (b *Backend) begin() (*pgxpool.Pool, error) {
	b.mu.RLock()
	pool := b.pool
	if !b.closed && pool != nil {
		b.calls.Add(1)
		b.mu.RUnlock()
		return pool, nil
	}
	b.mu.RUnlock()

	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, errClosed()
	}
	if b.pool == nil {
		pool, err := pgxpool.NewWithConfig(context.Background(), b.poolConfig())
		if err != nil {
			return nil, dbaccess.Error{Kind: dbaccess.ErrUnavailable, Advice: "the pool could not be made"}.With(dbaccess.ServerText{}, err)
		}
		b.pool, b.warm = pool, b.keepWarm(pool)
	}
	b.calls.Add(1)
	return b.pool, nil
}

func (b *Backend) isClosed() bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.closed
}
