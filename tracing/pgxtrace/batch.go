package pgxtrace

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twinpath/twinpath/tracing/internal/spans"
)

type batchKey struct{}

// batchTrace is a batch under way. pgx calls back on one goroutine.
type batchTrace struct {
	start    time.Time
	size     int
	acquired *acquired
	queries  []spans.Span
}

// maxBatchQueries bounds what is kept of a batch.
const maxBatchQueries = 100

// TraceBatchStart begins a batch.
func (t *Tracer) TraceBatchStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	if !wanted(ctx) {
		return ctx
	}
	b := &batchTrace{start: time.Now(), acquired: takeAcquired(conn)}
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
	s := parse(data.SQL)
	if s.control {
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
		Op: "db", Description: s.summary(), Origin: origin, Status: out.Status,
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
	spans.Record(ctx, spans.Span{
		Op: "twinpath.batch", Description: "batch", Origin: origin, Status: out.Status,
		Start: b.start, End: time.Now(), Data: m, Children: b.queries,
	})
}

type copyKey struct{}

type copyTrace struct {
	statement statement
	start     time.Time
	acquired  *acquired
}

// TraceCopyFromStart begins a COPY. pgx leaves out its end where the table does
// not exist; there is then no span.
func (t *Tracer) TraceCopyFromStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceCopyFromStartData) context.Context {
	if !wanted(ctx) {
		return ctx
	}
	return context.WithValue(ctx, copyKey{}, &copyTrace{
		statement: statement{operation: "copy", table: tableName(data.TableName)},
		start:     time.Now(),
		acquired:  takeAcquired(conn),
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
	spans.Record(ctx, spans.Span{
		Op: "db", Description: c.statement.summary(), Origin: origin, Status: out.Status,
		Start: c.start, End: time.Now(), Data: m,
	})
}
