package pgxtrace

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twinpath/twinpath/internal/sqltext"
	"github.com/twinpath/twinpath/tracing/internal/spans"
)

type queryKey struct{}

// queryTrace is a query under way.
type queryTrace struct {
	statement   sqltext.Statement
	start       time.Time
	acquired    *acquired
	transaction membership
	prepared    time.Duration // of it, for preparing the statement
}

// TraceQueryStart begins a query.
func (t *Tracer) TraceQueryStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if !wanted(ctx) {
		return ctx
	}
	s := sqltext.Parse(data.SQL)
	if s.Control != sqltext.NoControl {
		return startControl(ctx, conn, s)
	}
	st := stateOf(conn, false)
	return context.WithValue(ctx, queryKey{}, &queryTrace{
		statement: s, start: time.Now(), acquired: st.takeAcquired(), transaction: st.membership(),
	})
}

// TraceQueryEnd makes the query's span.
func (t *Tracer) TraceQueryEnd(ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryEndData) {
	if !wanted(ctx) {
		return
	}
	if c, ok := ctx.Value(controlKey{}).(*control); ok {
		c.end(ctx, conn, t.slow, data.Err)
		return
	}
	q, ok := ctx.Value(queryKey{}).(*queryTrace)
	if !ok {
		return
	}
	out, end := outcomeOf(data.Err), time.Now()
	m := statementData(q.statement, out)
	setRows(m, data.CommandTag, data.Err)
	q.acquired.describe(m)
	q.transaction.describe(m)
	if q.prepared > 0 {
		m["db.phase.prepare_ms"] = spans.Milliseconds(q.prepared)
	}
	m["db.phase.query_ms"] = spans.Milliseconds(end.Sub(q.start) - q.prepared)
	spans.Record(ctx, spans.Span{
		Op: "db", Description: q.statement.Summary(), Origin: origin, Status: out.Status,
		Start: q.start, End: end, Data: m,
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
// preparation that the application asked for is a span of its own when it was
// slow or failed.
func (t *Tracer) TracePrepareEnd(ctx context.Context, _ *pgx.Conn, data pgx.TracePrepareEndData) {
	start, ok := ctx.Value(prepareKey{}).(time.Time)
	if !ok || data.AlreadyPrepared {
		return
	}
	if q, ok := ctx.Value(queryKey{}).(*queryTrace); ok {
		q.prepared += time.Since(start)
		return
	}
	if b, ok := ctx.Value(batchKey{}).(*batchTrace); ok {
		b.prepared += time.Since(start)
		return
	}
	if data.Err != nil || time.Since(start) >= t.slow {
		phase(ctx, "prepare", start, data.Err)
	}
}
