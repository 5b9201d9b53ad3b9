package pgxtrace

import (
	"context"
	"errors"
	"time"

	"github.com/getsentry/sentry-go"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/internal/sqltext"
	"github.com/twinpath/twinpath/tracing/internal/outcome"
	"github.com/twinpath/twinpath/tracing/internal/spans"
)

// Tracer makes spans of what pgx does. It keeps no state of its own and may be
// shared by any number of pools.
type Tracer struct{ slow time.Duration }

var (
	_ pgx.QueryTracer       = (*Tracer)(nil)
	_ pgx.BatchTracer       = (*Tracer)(nil)
	_ pgx.CopyFromTracer    = (*Tracer)(nil)
	_ pgx.PrepareTracer     = (*Tracer)(nil)
	_ pgx.ConnectTracer     = (*Tracer)(nil)
	_ pgxpool.AcquireTracer = (*Tracer)(nil)
	_ pgxpool.ReleaseTracer = (*Tracer)(nil)
)

// Option changes what a [Tracer] shows.
type Option interface{ apply(*Tracer) }

type slow time.Duration

func (d slow) apply(t *Tracer) { t.slow = time.Duration(d) }

// DefaultSlow is the time from which what is not a query is a span.
const DefaultSlow = 100 * time.Millisecond

// Slow makes a span of what is not a query, but takes at least d: waiting for a
// connection, preparing a statement ahead of its use, a transaction as a whole.
// What is faster is told by attributes of the queries. Making a connection is
// always a span, and so is what failed. Defaults to DefaultSlow.
func Slow(d time.Duration) Option { return slow(d) }

// New makes a Tracer, for a config's field Tracer. [Configure] sets it, and sees
// more. Nil options are ignored.
func New(opts ...Option) *Tracer {
	t := &Tracer{slow: DefaultSlow}
	for _, o := range opts {
		if o != nil {
			o.apply(t)
		}
	}
	return t
}

// wanted says whether anything is to be recorded with ctx.
func wanted(ctx context.Context) bool { return spans.Recording(ctx) && !dbaccess.InCall(ctx) }

const origin sentry.SpanOrigin = "auto.db.pgx"

// phaseOp does not begin with "db", or Sentry would list phases as queries.
const phaseOp = "twinpath.phase"

// statementData describes a statement in both generations of attributes.
func statementData(s sqltext.Statement, out outcome.Outcome) map[string]any {
	const most = 16
	m := make(map[string]any, most)
	m["db.system"] = "postgresql"
	m["db.system.name"] = "postgresql"
	m["db.access_path"] = "direct"
	op := any(s.Operation)
	m["db.operation"] = op
	m["db.operation.name"] = op
	m["db.query.summary"] = s.Summary()
	if s.Table != "" {
		m["db.collection.name"] = s.Table
	}
	if s.Name != "" {
		m["db.query.name"] = s.Name
	}
	setOutcome(m, out)
	return m
}

func setOutcome(m map[string]any, out outcome.Outcome) {
	if out.Code != "" {
		m["db.response.status_code"] = out.Code
	}
	if out.ErrorType != "" {
		m["error.type"] = out.ErrorType
	}
}

func setRows(m map[string]any, tag pgconn.CommandTag, err error) {
	switch {
	case err != nil || tag.String() == "":
	case tag.Select():
		m["db.response.returned_rows"] = tag.RowsAffected()
	default:
		m["db.response.affected_rows"] = tag.RowsAffected()
	}
}

// outcomeOf classifies pgx's errors as the facade does, and drops their text.
func outcomeOf(err error) outcome.Outcome {
	if errors.Is(err, pgx.ErrNoRows) {
		return outcome.Of(nil)
	}
	if errors.Is(err, context.Canceled) {
		return outcome.Of(context.Canceled)
	}
	if pe, ok := errors.AsType[*pgconn.PgError](err); ok {
		return outcome.Of(&dbaccess.Error{Kind: dbaccess.KindOf(pe.Code, 0), Code: pe.Code})
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return outcome.Of(dbaccess.ErrTimeout)
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return outcome.Of(dbaccess.ErrUnavailable)
	}
	return outcome.Of(err)
}

// phase records what is not a query.
func phase(ctx context.Context, name string, start time.Time, err error) {
	out := outcomeOf(err)
	m := map[string]any{"sentry.category": "twinpath"}
	setOutcome(m, out)
	spans.Record(ctx, spans.Span{
		Op: phaseOp, Description: name, Origin: origin, Status: out.Status,
		Start: start, End: time.Now(), Data: m,
	})
}
