package pgxtrace

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twinpath/twinpath/internal/sqltext"
	"github.com/twinpath/twinpath/tracing/internal/spans"
)

// transaction is one that a connection is in.
type transaction struct {
	ctx        context.Context // of its begin
	start      time.Time
	begin      time.Duration // that BEGIN took, until a statement has told it
	statements int
}

type controlKey struct{}

// control is a BEGIN, COMMIT, ROLLBACK or the like under way.
type control struct {
	kind  sqltext.Control
	start time.Time
	// ended is the transaction that it ends.
	ended *transaction
}

func startControl(ctx context.Context, conn *pgx.Conn, s sqltext.Statement) context.Context {
	c := &control{kind: s.Control, start: time.Now()}
	if s.Control == sqltext.End {
		if st := stateOf(conn, false); st != nil {
			c.ended, st.transaction = st.transaction, nil
		}
	}
	return context.WithValue(ctx, controlKey{}, c)
}

// end notes that the statement is over.
func (c *control) end(ctx context.Context, conn *pgx.Conn, slow time.Duration, err error) {
	now := time.Now()
	switch c.kind {
	case sqltext.Begin:
		if err == nil && conn != nil {
			stateOf(conn, true).transaction = &transaction{ctx: ctx, start: c.start, begin: now.Sub(c.start)}
		}
	case sqltext.End:
		if c.ended != nil && now.Sub(c.ended.start) >= slow {
			c.ended.record(now.Sub(c.start), now, err)
		}
	}
}

// record makes a span of the transaction. Its statements are beside it, not under
// it: theirs were made before.
func (t *transaction) record(ending time.Duration, end time.Time, err error) {
	out := outcomeOf(err)
	m := map[string]any{
		"sentry.category": "twinpath", "db.system": "postgresql", "db.system.name": "postgresql",
		"db.transaction.statements": t.statements,
		"db.transaction.end_ms":     spans.Milliseconds(ending),
	}
	setOutcome(m, out)
	spans.Record(t.ctx, spans.Span{
		Op: "twinpath.transaction", Description: "transaction", Origin: origin, Status: out.Status,
		Start: t.start, End: end, Data: m,
	})
}

// membership is what a statement has to tell of the transaction that it is in:
// the first one the time of BEGIN too.
type membership struct {
	in    bool
	begin time.Duration
}

func (s *state) membership() membership {
	if s == nil || s.transaction == nil {
		return membership{}
	}
	t := s.transaction
	t.statements++
	m := membership{in: true, begin: t.begin}
	t.begin = 0
	return m
}

func (m membership) describe(data map[string]any) {
	if m.in {
		data["db.transaction"] = true
	}
	if m.begin > 0 {
		data["db.phase.begin_ms"] = spans.Milliseconds(m.begin)
	}
}
