package pgxtrace

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twinpath/twinpath/internal/sqltext"
	"github.com/twinpath/twinpath/tracing/internal/spans"
)

type batchKey struct{}

// batchTrace is a batch under way. pgx calls back on one goroutine.
type batchTrace struct {
	start       time.Time
	size        int
	acquired    *acquired
	transaction membership
	prepared    time.Duration // of it, for preparing its statements
	queries     []spans.Span
}

// maxBatchQueries bounds what is kept of a batch.
const maxBatchQueries = 100

// TraceBatchStart begins a batch.
func (t *Tracer) TraceBatchStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	if !wanted(ctx) {
		return ctx
	}
	st := stateOf(conn, false)
	b := &batchTrace{start: time.Now(), acquired: st.takeAcquired(), transaction: st.membership()}
	if data.Batch != nil {
		b.size = data.Batch.Len()
	}
	return context.WithValue(ctx, batchKey{}, b)
}

// TraceBatchQuery notes one query of the batch, from when its result began to be
// read.
func (t *Tracer) TraceBatchQuery(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	b, ok := ctx.Value(batchKey{}).(*batchTrace)
	if !ok || len(b.queries) == maxBatchQueries {
		return
	}
	s := sqltext.Parse(data.SQL)
	if s.Control != sqltext.NoControl {
		return
	}
	end := time.Now()
	start := data.ReadStartTime
	if start.IsZero() { // it failed before anything was read
		start = end
	}
	out := outcomeOf(data.Err)
	m := statementData(s, out)
	setRows(m, data.CommandTag, data.Err)
	b.queries = append(b.queries, spans.Span{
		Op: "db", Description: s.Summary(), Origin: origin, Status: out.Status,
		Start: start, End: end, Data: m,
	})
}

// TraceBatchEnd makes the batch's span, with its queries as children: those are
// what Sentry lists as queries.
func (t *Tracer) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchEndData) {
	b, ok := ctx.Value(batchKey{}).(*batchTrace)
	if !ok {
		return
	}
	out := outcomeOf(data.Err)
	m := map[string]any{
		"sentry.category": "twinpath",
		"db.system":       "postgresql", "db.system.name": "postgresql",
		"db.access_path": "direct",
	}
	if b.size != 1 { // by convention a batch of one is none
		m["db.operation.batch.size"] = b.size
	}
	setOutcome(m, out)
	b.acquired.describe(m)
	b.transaction.describe(m)
	end := time.Now()
	if b.prepared > 0 {
		m["db.phase.prepare_ms"] = spans.Milliseconds(b.prepared)
	}
	m["db.phase.query_ms"] = spans.Milliseconds(end.Sub(b.start) - b.prepared)
	spans.Record(ctx, spans.Span{
		Op: "twinpath.batch", Description: "batch", Origin: origin, Status: out.Status,
		Start: b.start, End: end, Data: m, Children: b.queries,
	})
}

type copyKey struct{}

type copyTrace struct {
	statement   sqltext.Statement
	start       time.Time
	acquired    *acquired
	transaction membership
}

// TraceCopyFromStart begins a COPY. pgx leaves out its end where the table does
// not exist; there is then no span.
func (t *Tracer) TraceCopyFromStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceCopyFromStartData) context.Context {
	if !wanted(ctx) {
		return ctx
	}
	st := stateOf(conn, false)
	return context.WithValue(ctx, copyKey{}, &copyTrace{
		statement: sqltext.Statement{Operation: "copy", Table: sqltext.Table(data.TableName...)},
		start:     time.Now(), acquired: st.takeAcquired(), transaction: st.membership(),
	})
}

// TraceCopyFromEnd makes the COPY's span.
func (t *Tracer) TraceCopyFromEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceCopyFromEndData) {
	c, ok := ctx.Value(copyKey{}).(*copyTrace)
	if !ok {
		return
	}
	out := outcomeOf(data.Err)
	m := statementData(c.statement, out)
	setRows(m, data.CommandTag, data.Err)
	c.acquired.describe(m)
	c.transaction.describe(m)
	spans.Record(ctx, spans.Span{
		Op: "db", Description: c.statement.Summary(), Origin: origin, Status: out.Status,
		Start: c.start, End: time.Now(), Data: m,
	})
}
