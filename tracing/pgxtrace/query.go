package pgxtrace

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twinpath/twinpath/tracing/internal/spans"
)

type queryKey struct{}

// queryTrace is a query under way.
type queryTrace struct {
	statement statement
	start     time.Time
	acquired  *acquired
	prepared  time.Duration // of it, for preparing the statement
}

// TraceQueryStart begins a query.
func (t *Tracer) TraceQueryStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if !wanted(ctx) {
		return ctx
	}
	s := parse(data.SQL)
	if s.control {
		return ctx
	}
	return context.WithValue(ctx, queryKey{}, &queryTrace{statement: s, start: time.Now(), acquired: takeAcquired(conn)})
}

// TraceQueryEnd makes the query's span.
func (t *Tracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	q, ok := ctx.Value(queryKey{}).(*queryTrace)
	if !ok {
		return
	}
	out := outcomeOf(data.Err)
	m := statementData(q.statement, out)
	setRows(m, data.CommandTag, data.Err)
	q.acquired.describe(m)
	if q.prepared > 0 {
		m["db.phase.prepare_ms"] = spans.Milliseconds(q.prepared)
	}
	spans.Record(ctx, spans.Span{
		Op: "db", Description: q.statement.summary(), Origin: origin, Status: out.Status,
		Start: q.start, End: time.Now(), Data: m,
	})
}

type prepareKey struct{}

// TracePrepareStart begins the preparation of a statement.
func (t *Tracer) TracePrepareStart(ctx context.Context, _ *pgx.Conn, _ pgx.TracePrepareStartData) context.Context {
	if !wanted(ctx) {
		return ctx
	}
	return context.WithValue(ctx, prepareKey{}, time.Now())
}

// TracePrepareEnd adds the time to the query that needed the statement. A
// preparation that the application asked for is a span of its own, unless there
// was nothing left to do.
func (t *Tracer) TracePrepareEnd(ctx context.Context, _ *pgx.Conn, data pgx.TracePrepareEndData) {
	start, ok := ctx.Value(prepareKey{}).(time.Time)
	if !ok || data.AlreadyPrepared {
		return
	}
	if q, ok := ctx.Value(queryKey{}).(*queryTrace); ok {
		q.prepared += time.Since(start)
		return
	}
	phase(ctx, "prepare", start, data.Err)
}
