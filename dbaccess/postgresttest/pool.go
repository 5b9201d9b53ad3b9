package postgresttest

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// pool is a database on Postgres. It keeps what it connected and adds no trips
// of its own, such as pings.
type pool struct {
	knowledge knowledge
	schemas   []string // exposed
	extra     []string // of the search path
	cfg       *pgconn.Config
	slots     chan struct{} // one for each connection that may be in use

	mu     sync.Mutex
	idle   []*pgconn.PgConn // used from the end
	closed bool
}

var _ database = (*pool)(nil)

const (
	acquireTimeout = 10 * time.Second // PostgREST's db-pool-acquisition-timeout
	closeConnLimit = time.Second
)

func newPool(conn *pgconn.Config, cfg Config) *pool {
	return &pool{cfg: conn, schemas: cfg.Schemas, extra: cfg.ExtraSearchPath, slots: make(chan struct{}, cfg.MaxConns)}
}

// acquire waits for a connection as long as PostgREST does.
func (p *pool) acquire(ctx context.Context) (*pgconn.PgConn, error) {
	timeout := time.NewTimer(acquireTimeout)
	defer timeout.Stop()
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timeout.C:
		return nil, &failure{status: http.StatusGatewayTimeout, code: "PGRST003", message: "Timed out acquiring connection from connection pool."}
	}
	if conn := p.take(); conn != nil {
		return conn, nil
	}
	conn, err := pgconn.ConnectConfig(ctx, p.cfg)
	if err != nil {
		<-p.slots
	}
	return conn, err
}

func (p *pool) take() *pgconn.PgConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n := len(p.idle); n > 0; n-- {
		conn := p.idle[n-1]
		p.idle = p.idle[:n-1]
		if !conn.IsClosed() {
			return conn
		}
	}
	return nil
}

// release gives a connection back, unless it is broken or in a transaction.
func (p *pool) release(conn *pgconn.PgConn) {
	defer func() { <-p.slots }()
	p.mu.Lock()
	keep := !p.closed && !conn.IsClosed() && conn.TxStatus() == 'I'
	if keep {
		p.idle = append(p.idle, conn)
	}
	p.mu.Unlock()
	if !keep {
		closeConn(conn)
	}
}

// close closes the idle connections; those in use follow when they come back.
func (p *pool) close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, conn := range idle {
		closeConn(conn)
	}
}

func closeConn(conn *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.Background(), closeConnLimit)
	defer cancel()
	_ = conn.Close(ctx)
	<-conn.CleanupDone()
}
