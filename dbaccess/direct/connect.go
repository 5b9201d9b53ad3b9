package direct

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// connecting is a connection in the making: it keeps the budget and the times.
type connecting struct {
	sockets  *sockets
	deadline time.Time

	made   *atomic.Int64 // counts those that are ready
	socket *socket       // set when it is ready

	mu sync.Mutex
	t  connectTimes
}

// connectTimes are when the steps of a connection were done, zero for those that
// have not been, or that it doesn't have. Where several addresses are tried they
// are the last one's.
type connectTimes struct {
	start, dns, tcp, tls, ready time.Time
}

func (t connectTimes) complete() bool { return !t.ready.IsZero() }

// beforeConnect is the pool's hook. cfg is this connection's own copy.
func (b *Backend) beforeConnect(ctx context.Context, cfg *pgx.ConnConfig) error {
	now := time.Now()
	c := &connecting{sockets: &b.sockets, made: &b.counts.made, deadline: now.Add(b.cfg.ConnectTimeout), t: connectTimes{start: now}}
	if a, ok := ctx.Value(acquisitionKey{}).(*acquisition); ok {
		a.connects(c)
	}
	// The dialer resolves the name itself: it races IPv6 and IPv4, where pgx
	// would try one address after the other.
	cfg.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	cfg.DialFunc = c.dial
	cfg.AfterNetConnect = c.handshake
	cfg.AfterConnect = c.finish
	return nil
}

func (c *connecting) times() connectTimes {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

// mark sets a time, and forgets those of the steps after it that an earlier
// address may have left.
func (c *connecting) mark(step func(*connectTimes)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	step(&c.t)
}

// errNothingToCancel keeps a connection that gives no sign of life from being
// waited for any longer.
var errNothingToCancel = errors.New("direct: the connection was asked for a sign of life, so there is nothing to cancel")

// dial opens the socket. pgx also calls it to cancel a query, on a connection
// that is long made; then its context alone bounds it.
func (c *connecting) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if c.times().complete() {
		if c.socket.quiet.Load() {
			return nil, errNothingToCancel
		}
		c.socket.leaving.Store(true)
		return c.sockets.dial(ctx, network, address, nil)
	}
	ctx, cancel := context.WithDeadline(ctx, c.deadline)
	defer cancel()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{DNSDone: func(httptrace.DNSDoneInfo) {
		c.mark(func(t *connectTimes) { t.dns, t.tcp, t.tls = time.Now(), time.Time{}, time.Time{} })
	}})
	conn, err := c.sockets.dial(ctx, network, address, c)
	if err != nil {
		return nil, err
	}
	c.mark(func(t *connectTimes) { t.tcp, t.tls = time.Now(), time.Time{} })
	// pgx's own timeout starts anew for each address. This one does not.
	if err := conn.SetDeadline(c.deadline); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// handshake runs before the first byte of Postgres' protocol. TLS would shake
// hands at that byte, and its time would be the session's start.
func (c *connecting) handshake(ctx context.Context, _ *pgconn.Config, conn net.Conn) (net.Conn, error) {
	if t, ok := conn.(*tls.Conn); ok {
		if err := t.HandshakeContext(ctx); err != nil {
			return conn, err
		}
		c.mark(func(t *connectTimes) { t.tls = time.Now() })
	}
	return conn, nil
}

func (c *connecting) finish(_ context.Context, conn *pgconn.PgConn) error {
	if err := conn.Conn().SetDeadline(time.Time{}); err != nil {
		return err
	}
	c.socket = socketOf(conn.Conn())
	c.made.Add(1)
	c.mark(func(t *connectTimes) { t.ready = time.Now() })
	return nil
}
