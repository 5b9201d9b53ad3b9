package pgxtrace

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/multitracer"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/twinpath/twinpath/dbaccess"
)

type connectKey struct{}

// TraceConnectStart begins making a connection.
func (t *Tracer) TraceConnectStart(ctx context.Context, _ pgx.TraceConnectStartData) context.Context {
	if !wanted(ctx) {
		return ctx
	}
	line := &timeline{}
	if a, ok := ctx.Value(acquireKey{}).(*acquisition); ok {
		line = &a.timeline
	}
	line.begin(stepConnect, true)
	return context.WithValue(ctx, connectKey{}, line)
}

// TraceConnectEnd ends it. A connection made for an Acquire is part of the
// Acquire's span, if it is over in time; one made for itself has its own.
func (t *Tracer) TraceConnectEnd(ctx context.Context, data pgx.TraceConnectEndData) {
	line, ok := ctx.Value(connectKey{}).(*timeline)
	if !ok {
		return
	}
	line.connected(data.Err == nil)
	if _, ok := ctx.Value(acquireKey{}).(*acquisition); ok {
		return
	}
	now := time.Now()
	steps, _ := line.close(now)
	got := &acquired{class: dbaccess.ConnNew, steps: withoutLast(steps, stepAfterConnect)}
	start, end := now, now
	if n := len(got.steps); n > 0 {
		start, end = got.steps[0].start, got.steps[n-1].end
		got.wait = end.Sub(start)
	}
	acquireSpan(ctx, "connect", start, end, got, data.Err)
	if data.Err == nil && data.Conn != nil {
		stateOf(data.Conn, true).acquired = got
	}
}

func withoutLast(steps []step, name string) []step {
	if n := len(steps); n > 0 && steps[n-1].name == name {
		return steps[:n-1]
	}
	return steps
}

// Configure makes a pool tell all that it does: it sets the config's tracer,
// beside one that is there already, and wraps the hooks by which the making of a
// connection can be divided into dns, tcp, tls and startup, and by which the pool
// can be seen to ping a connection that was idle. Whatever the hooks did before
// they still do. It is to be called once, after the last change to the config.
func Configure(cfg *pgxpool.Config, opts ...Option) {
	ConfigureConn(cfg.ConnConfig, opts...)

	ping := cfg.ShouldPing
	if ping == nil {
		// As pgxpool has it, without a hook.
		ping = func(_ context.Context, p pgxpool.ShouldPingParams) bool { return p.IdleDuration > time.Second }
	}
	cfg.ShouldPing = func(ctx context.Context, p pgxpool.ShouldPingParams) bool {
		yes := ping(ctx, p)
		if yes {
			beginStep(ctx, stepPing)
		}
		return yes
	}
	if before := cfg.BeforeConnect; before != nil {
		cfg.BeforeConnect = func(ctx context.Context, c *pgx.ConnConfig) error {
			beginStep(ctx, stepBeforeConnect)
			return before(ctx, c)
		}
	}
	prepare := cfg.PrepareConn
	//lint:ignore SA1019 who still uses it is to be told about it
	if before := cfg.BeforeAcquire; prepare == nil && before != nil {
		prepare = func(ctx context.Context, c *pgx.Conn) (bool, error) { return before(ctx, c), nil }
	}
	if prepare != nil {
		cfg.PrepareConn = func(ctx context.Context, c *pgx.Conn) (bool, error) {
			beginStep(ctx, stepPrepareConn)
			return prepare(ctx, c)
		}
	}
}

// beginStep begins a step of the acquisition that ctx belongs to, if any.
func beginStep(ctx context.Context, name string) {
	if a, ok := ctx.Value(acquireKey{}).(*acquisition); ok {
		a.begin(name, false)
	}
}

// ConfigureConn is [Configure] for a connection without a pool.
func ConfigureConn(cfg *pgx.ConnConfig, opts ...Option) {
	if other := cfg.Tracer; other != nil {
		cfg.Tracer = multitracer.New(other, New(opts...))
	} else {
		cfg.Tracer = New(opts...)
	}

	lookup, dial, after := cfg.LookupFunc, cfg.DialFunc, cfg.AfterNetConnect
	if lookup != nil {
		cfg.LookupFunc = func(ctx context.Context, host string) ([]string, error) {
			if line, ok := ctx.Value(connectKey{}).(*timeline); ok && net.ParseIP(host) == nil {
				line.begin(stepDNS, true)
			}
			return lookup(ctx, host)
		}
	}
	if dial != nil {
		cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			line, ok := ctx.Value(connectKey{}).(*timeline)
			if !ok {
				return dial(ctx, network, addr) // not wanted, or a cancel request
			}
			line.dialling()
			conn, err := dial(ctx, network, addr)
			if err == nil {
				line.dialled()
			}
			return conn, err
		}
	}
	cfg.AfterNetConnect = func(ctx context.Context, c *pgconn.Config, conn net.Conn) (net.Conn, error) {
		if line, ok := ctx.Value(connectKey{}).(*timeline); ok {
			if err := handshake(ctx, line, conn); err != nil {
				return conn, err
			}
		}
		if after != nil {
			return after(ctx, c, conn)
		}
		return conn, nil
	}
}

// handshake shakes hands where TLS would do so at the first byte, and its time
// would be the session's start.
func handshake(ctx context.Context, line *timeline, conn net.Conn) error {
	t, ok := conn.(*tls.Conn)
	if !ok {
		line.plain()
		return nil
	}
	if err := t.HandshakeContext(ctx); err != nil {
		return err
	}
	line.secured()
	return nil
}
