package pgxtrace

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/tracing/internal/spans"
)

type acquireKey struct{}

// acquisition is an Acquire under way.
type acquisition struct {
	timeline
	idle    bool  // a connection was idle when it began
	waiters int64 // how many had found none before
}

// acquired is how a connection was come by. It waits in the connection's own
// data for the first query.
type acquired struct {
	class dbaccess.ConnClass
	wait  time.Duration
	steps []step
}

func (a *acquired) describe(m map[string]any) {
	if a == nil {
		return
	}
	m["db.connection"] = string(a.class)
	m["db.phase.acquire_ms"] = spans.Milliseconds(a.wait)
	describe(m, a.steps)
	if a.class == dbaccess.ConnNew {
		m["cold"] = true
	}
}

// TraceAcquireStart begins waiting for a connection.
func (t *Tracer) TraceAcquireStart(ctx context.Context, pool *pgxpool.Pool, _ pgxpool.TraceAcquireStartData) context.Context {
	if !wanted(ctx) {
		return ctx
	}
	stat := pool.Stat()
	a := &acquisition{idle: stat.IdleConns() > 0, waiters: stat.EmptyAcquireCount()}
	a.begin(stepQueue, false)
	return context.WithValue(ctx, acquireKey{}, a)
}

// TraceAcquireEnd keeps how the connection was come by for the query that comes
// next. A long or futile wait, and one for a connection being made, is a span.
func (t *Tracer) TraceAcquireEnd(ctx context.Context, pool *pgxpool.Pool, data pgxpool.TraceAcquireEndData) {
	a, ok := ctx.Value(acquireKey{}).(*acquisition)
	if !ok {
		return
	}
	now := time.Now()
	steps, made := a.close(now)
	start := now
	if len(steps) > 0 {
		start = steps[0].start
	}
	got := &acquired{class: a.class(pool, steps, made), wait: now.Sub(start), steps: steps}
	if data.Err != nil || got.wait >= t.slow || made || connects(steps) {
		acquireSpan(ctx, "acquire", start, now, got, data.Err)
	}
	if data.Err == nil && data.Conn != nil {
		stateOf(data.Conn, true).acquired = got
	}
}

func connects(steps []step) bool {
	for _, s := range steps {
		if s.connect {
			return true
		}
	}
	return false
}

// shortQueue is the longest that taking an idle connection takes.
const shortQueue = time.Millisecond

func (a *acquisition) class(pool *pgxpool.Pool, steps []step, made bool) dbaccess.ConnClass {
	switch {
	case made:
		return dbaccess.ConnNew
	case !a.idle:
		return dbaccess.ConnQueued
	case len(steps) > 0 && steps[0].name == stepQueue && steps[0].end.Sub(steps[0].start) >= shortQueue &&
		pool.Stat().EmptyAcquireCount() > a.waiters:
		return dbaccess.ConnQueued // others were faster
	}
	return dbaccess.ConnIdle
}

func acquireSpan(ctx context.Context, name string, start, end time.Time, got *acquired, err error) {
	out := outcomeOf(err)
	m := map[string]any{"sentry.category": "twinpath"}
	setOutcome(m, out)
	if err == nil {
		m["db.connection"] = string(got.class)
	}
	s := spans.Span{
		Op: phaseOp, Description: name, Origin: origin, Status: out.Status,
		Start: start, End: end, Data: m,
	}
	if len(got.steps) > 1 || connects(got.steps) {
		s.Children = stepSpans(got.steps)
		if err != nil { // it was the last step that failed
			s.Children[len(s.Children)-1].Status = out.Status
		}
	}
	spans.Record(ctx, s)
}

// TraceRelease forgets what a connection was used for.
func (t *Tracer) TraceRelease(_ *pgxpool.Pool, data pgxpool.TraceReleaseData) {
	if data.Conn != nil {
		delete(data.Conn.PgConn().CustomData(), customKey)
	}
}

// state is what a connection's own data has of a tracer.
type state struct {
	acquired    *acquired
	transaction *transaction
}

// customKey is where a connection's data has its *state.
const customKey = "github.com/twinpath/twinpath/tracing/pgxtrace"

// stateOf returns the connection's state, nil when it has none unless it is to be
// made.
func stateOf(conn *pgx.Conn, create bool) *state {
	if conn == nil {
		return nil
	}
	data := conn.PgConn().CustomData()
	s, ok := data[customKey].(*state)
	if !ok && create {
		s = &state{}
		data[customKey] = s
	}
	return s
}

// takeAcquired returns how the connection was come by, once.
func (s *state) takeAcquired() *acquired {
	if s == nil {
		return nil
	}
	a := s.acquired
	s.acquired = nil
	return a
}
