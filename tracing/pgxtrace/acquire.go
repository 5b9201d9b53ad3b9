package pgxtrace

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/tracing/internal/spans"
)

type acquireKey struct{}

// acquisition is an Acquire under way.
type acquisition struct {
	start time.Time
	idle  bool // a connection was idle when it began
	// made is set when a connection was made for it, on a goroutine of the
	// pool's that may outlive the Acquire.
	made atomic.Bool
}

// acquired is how a connection was come by. It waits in the connection's own
// data for the first query.
type acquired struct {
	class dbaccess.ConnClass
	wait  time.Duration
}

func (a *acquired) describe(m map[string]any) {
	if a == nil {
		return
	}
	m["db.connection"] = string(a.class)
	m["db.phase.acquire_ms"] = spans.Milliseconds(a.wait)
	if a.class == dbaccess.ConnNew {
		m["cold"] = true
	}
}

// customKey is where a connection's data has its *acquired.
const customKey = "github.com/twinpath/twinpath/tracing/pgxtrace"

func takeAcquired(conn *pgx.Conn) *acquired {
	if conn == nil {
		return nil
	}
	data := conn.PgConn().CustomData()
	a, ok := data[customKey].(*acquired)
	if ok {
		delete(data, customKey)
	}
	return a
}

// TraceAcquireStart begins waiting for a connection.
func (t *Tracer) TraceAcquireStart(ctx context.Context, pool *pgxpool.Pool, _ pgxpool.TraceAcquireStartData) context.Context {
	if !wanted(ctx) {
		return ctx
	}
	return context.WithValue(ctx, acquireKey{}, &acquisition{start: time.Now(), idle: pool.Stat().IdleConns() > 0})
}

// TraceAcquireEnd keeps how the connection was come by for the query that comes
// next. A long or futile wait is a span.
func (t *Tracer) TraceAcquireEnd(ctx context.Context, _ *pgxpool.Pool, data pgxpool.TraceAcquireEndData) {
	a, ok := ctx.Value(acquireKey{}).(*acquisition)
	if !ok {
		return
	}
	wait := time.Since(a.start)
	if data.Err != nil || wait >= t.slowAcquire {
		phase(ctx, "acquire", a.start, data.Err)
	}
	if data.Err != nil || data.Conn == nil {
		return
	}
	class := dbaccess.ConnQueued
	switch {
	case a.made.Load():
		class = dbaccess.ConnNew
	case a.idle:
		class = dbaccess.ConnIdle
	}
	data.Conn.PgConn().CustomData()[customKey] = &acquired{class: class, wait: wait}
}

// TraceRelease forgets how the connection was come by.
func (t *Tracer) TraceRelease(_ *pgxpool.Pool, data pgxpool.TraceReleaseData) {
	if data.Conn != nil {
		takeAcquired(data.Conn)
	}
}

type connectKey struct{}

// TraceConnectStart begins making a connection.
func (t *Tracer) TraceConnectStart(ctx context.Context, _ pgx.TraceConnectStartData) context.Context {
	if !wanted(ctx) {
		return ctx
	}
	return context.WithValue(ctx, connectKey{}, time.Now())
}

// TraceConnectEnd makes a span of it.
func (t *Tracer) TraceConnectEnd(ctx context.Context, data pgx.TraceConnectEndData) {
	start, ok := ctx.Value(connectKey{}).(time.Time)
	if !ok {
		return
	}
	if a, ok := ctx.Value(acquireKey{}).(*acquisition); ok && data.Err == nil {
		a.made.Store(true)
	}
	phase(ctx, "connect", start, data.Err)
}
