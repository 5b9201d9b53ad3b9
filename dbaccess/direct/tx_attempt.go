package direct

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/twinpath/twinpath/dbaccess"
)

// attempt runs the function once, in a transaction of its own. again says that it
// may be run once more. A wary one follows one whose connection had died.
func (r *txRun) attempt(l *limits, b *Backend, wary bool) (again bool, err error) {
	if err := l.Err(); err != nil {
		r.mark(dbaccess.PhasePrepare)
		return false, r.scope.Fail(contextFailure(err))
	}
	begin, err := b.beginning(r.scope.Call(), r.opts)
	if err != nil {
		r.mark(dbaccess.PhasePrepare)
		return false, r.scope.Fail(err)
	}
	pool, err := b.begin()
	r.mark(dbaccess.PhasePrepare)
	if err != nil {
		return false, r.scope.Fail(err)
	}
	defer b.calls.Done()

	a := acquisition{start: r.at, wary: wary}
	conn, err := b.acquire(l, pool, &a)
	phase := r.mark(dbaccess.PhaseAcquire)
	if c := a.connecting.Load(); c != nil {
		phase.Children = connectPhases(phase.Start, r.at, c.times())
	}
	if err != nil {
		return false, r.scope.Fail(b.acquireFailure(l, pool, &a, err))
	}
	r.conn = a.class()
	t := &tx{b: b, run: r, limits: l, way: &a, begin: begin, conn: conn.Conn(), pg: conn.Conn().PgConn()}
	t.changed = sync.NewCond(&t.mu)
	defer conn.Release() // which gives up one that is broken, or still in a transaction
	if again, err = r.within(t, conn); !t.unused {
		return again, err
	}
	conn.Release()
	b.counts.replaced.Add(1)
	return r.attempt(l, b, true)
}

// within runs the function between BEGIN and COMMIT.
func (r *txRun) within(t *tx, conn *pgxpool.Conn) (again bool, err error) {
	ctx := dbaccess.WithTransaction(context.WithValue(t.limits, txKey{}, t), r.scope, t)
	t.ctx, t.cancel = context.WithCancel(ctx)
	defer t.cancel() // when all else is done: it costs the connection where rows are open
	returned := false
	defer func() {
		if !returned { // a panic, or runtime.Goexit, goes its way
			t.end()
			t.rollback()
			r.mark(dbaccess.PhaseRollback)
		}
	}()
	if err := t.open(); err != nil {
		returned = true
		t.rollback()
		r.mark(dbaccess.PhaseBegin)
		return retryable(err), r.scope.Fail(err)
	}
	r.mark(dbaccess.PhaseBegin)

	err = r.fn(t.ctx, t)
	returned = true
	r.mark(dbaccess.PhaseWork)

	left := t.end()
	if err == nil {
		if err = t.check(left); err == nil {
			if err = t.commit(); err == nil {
				r.mark(dbaccess.PhaseCommit)
				return false, nil
			}
			r.mark(dbaccess.PhaseCommit)
		}
		err = r.scope.Fail(err)
	}
	if t.rollback() {
		r.mark(dbaccess.PhaseRollback)
	}
	return retryable(err), err
}

// retryable says whether a transaction failed for what others did at the same time.
func retryable(err error) bool {
	if errors.Is(err, dbaccess.ErrUnknownOutcome) {
		return false
	}
	if errors.Is(err, dbaccess.ErrSerialization) {
		return true
	}
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && dbaccess.KindOf(pg.Code, 0) == dbaccess.ErrSerialization
}

// rollbackTimeout bounds the wait for the answer to a ROLLBACK, which also comes
// when the transaction's context has ended.
const rollbackTimeout = 5 * time.Second

// rollback ends the transaction if it is still there, and says whether it was. A
// connection that can't do that is closed.
func (t *tx) rollback() bool {
	if t.pg.IsClosed() {
		return false
	}
	if t.pg.TxStatus() == idle && !t.lost {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.limits), rollbackTimeout)
	defer cancel()
	if t.lost || t.pg.IsBusy() {
		_ = t.pg.Close(ctx)
		return true
	}
	if res := t.pg.ExecParams(ctx, "rollback", nil, nil, nil, nil).Read(); res.Err != nil || t.pg.TxStatus() != idle {
		_ = t.pg.Close(ctx)
	}
	return true
}

// idle is the transaction status of a connection that is in none.
const (
	idle          = 'I'
	inTransaction = 'T'
	failed        = 'E'
)

// check says why the transaction can't be committed. left is the error of what the
// function has left behind.
func (t *tx) check(left error) error {
	switch {
	case errors.Is(left, dbaccess.ErrTransaction):
		return left
	case t.limits.Err() != nil:
		if errors.Is(t.limits.Err(), context.Canceled) {
			return contextFailure(context.Canceled)
		}
		return t.b.deadlineFailure(t.limits, "before the transaction was committed, so it was rolled back", nil)
	case t.lost:
		return misused("a statement has ended the transaction behind its back: what was done before it may be committed, what came after it was refused")
	case t.pg.IsClosed():
		if t.failure != nil {
			return t.failure
		}
		return dbaccess.Error{
			Code: codeClient, HTTPStatus: 503, Kind: dbaccess.ErrUnavailable, Advice: "the connection was lost before the commit, so nothing was committed",
		}.With(dbaccess.ServerText{}, nil)
	case t.pg.TxStatus() == failed:
		return t.swallowed(left)
	case t.pg.TxStatus() != inTransaction:
		return misused("the transaction had ended before the commit")
	}
	return left
}

// swallowed is a failed statement whose error the function did not return.
func (t *tx) swallowed(left error) error {
	failure := t.failure
	if failure == nil {
		failure = left
	}
	e, ok := errors.AsType[*dbaccess.Error](failure)
	if !ok {
		return misused("a statement of the transaction has failed, so it was rolled back")
	}
	own := *e
	own.Advice = "a statement of the transaction had failed and the function returned nil: the transaction was rolled back"
	if e.Advice != "" {
		own.Advice += "; " + e.Advice
	}
	return &own
}

func misused(advice string) error {
	return &dbaccess.Error{Kind: dbaccess.ErrTransaction, Advice: advice}
}
