package dbaccess

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// ReasonTransaction is the reason of calls that went direct because their context
// is that of a transaction. An observer that repeats calls, or compares them with
// the other path, must leave them alone: they see what is not committed yet.
const ReasonTransaction = "transaction"

// opTransaction is what errors call it.
const opTransaction = "transaction"

// TransactionScope is a transaction as a [DB] knows it: who it acts as, and what its
// observers are told. It is for authors of backends, who begin one with
// [DB.BeginTransaction] and hand it to the calls within by [WithTransaction].
// Applications use direct.Tx.
type TransactionScope struct {
	db     *DB
	call   Call
	routed Routed
	start  CallStart
}

// transaction is what a context within a transaction holds.
type transaction struct {
	*TransactionScope
	backend Backend
}

type transactionKey struct{}

func transactionOf(ctx context.Context) *transaction {
	tx, _ := ctx.Value(transactionKey{}).(*transaction)
	return tx
}

// WithTransaction returns a context whose calls run in the transaction: on b,
// whatever the DB's router says. Calls of another DB, or of another identity than
// the transaction's, fail with [ErrTransaction]. The context does not count as one of
// a call, even if ctx does: see [TransactionScope.Quiet].
func WithTransaction(ctx context.Context, s *TransactionScope, b Backend) context.Context {
	ctx = context.WithValue(ctx, inCallKey{}, nil)
	return context.WithValue(ctx, transactionKey{}, &transaction{TransactionScope: s, backend: b})
}

// BeginTransaction prepares a transaction of the name, which may be "", and tells
// the observers that it begins. It fails where ctx is within a transaction already,
// and as a call with ctx would. The context returned is the transaction's; it must
// be given to End.
func (db *DB) BeginTransaction(ctx context.Context, name string) (context.Context, *TransactionScope, error) {
	start := db.cfg.now()
	fail := func(err error) (context.Context, *TransactionScope, error) {
		return ctx, nil, transactionFailure(name, err)
	}
	switch {
	case db.closed.Load():
		return fail(ErrClosed)
	case transactionOf(ctx) != nil:
		return fail(misused("the context is within a transaction already, and there are no nested ones: use that, or a context from outside of it"))
	case db.cfg.Direct == nil:
		return fail(&Error{Kind: ErrUnsupported, Advice: "transactions are for the direct path alone: set Config.Direct"})
	}
	id, err := db.identity(ctx)
	if err != nil {
		return fail(err)
	}
	headers, err := db.forwarded(ctx)
	if err != nil {
		return fail(err)
	}
	s := &TransactionScope{db: db, call: Call{
		// As if a function of that name were called.
		Query: &query.Spec{Op: query.OpCall, From: name, Name: name}, Identity: id, Headers: headers,
	}}
	s.routed, _ = db.route(ctx, id, name)
	s.routed.Path, s.routed.Reason = Direct, ReasonTransaction
	s.start = CallStart{
		Verb: "Tx", Query: s.call.Query, SQL: &SQL{Operation: opTransaction}, Name: name, Route: s.routed, Role: id.Role, Start: start,
	}
	return db.tell(ctx, s.start), s, nil
}

// Backend is the DB's direct path.
func (s *TransactionScope) Backend() Backend { return s.db.cfg.Direct }

// Call has the identity and the headers that the transaction acts with. Its query
// is that of a function by the transaction's name, which is what policies see as
// the request's method and path. Read-only.
func (s *TransactionScope) Call() *Call { return &s.call }

// Quiet returns a context that counts as one of a call, see [InCall], for the
// backend's own work.
func (s *TransactionScope) Quiet(ctx context.Context) context.Context {
	return context.WithValue(ctx, inCallKey{}, true)
}

// Start is when the transaction began.
func (s *TransactionScope) Start() time.Time { return s.start.Start }

// Allows fails where ctx says that somebody else asks than the transaction acts as,
// or belongs to another transaction.
func (s *TransactionScope) Allows(ctx context.Context) error {
	if tx := transactionOf(ctx); tx != nil && tx.TransactionScope != s {
		return misused("the context is that of another transaction")
	}
	if _, ok := auth.From(ctx); !ok && !auth.IsService(ctx) {
		return nil // it says nothing
	}
	id, err := s.db.identity(ctx)
	if err != nil {
		return err
	}
	return s.same(id)
}

// allows is Allows for a call of a DB.
func (tx *transaction) allows(db *DB, id auth.Identity) error {
	if tx.db != db {
		return misused("the context is within a transaction of another DB, whose calls can't be part of it: use a context from outside of the transaction")
	}
	return tx.same(id)
}

func (s *TransactionScope) same(id auth.Identity) error {
	if mine := &s.call.Identity; id.Role != mine.Role || !bytes.Equal(id.Claims, mine.Claims) {
		return misused("the context has another identity than the transaction, which acts as one alone: begin another transaction for it")
	}
	return nil
}

// StatementStart tells the observers that a statement of the application's own is
// about to be sent: verb is the method called, name the statement's, or "". The
// context returned is the statement's. It counts as one of a call, see [InCall].
func (s *TransactionScope) StatementStart(ctx context.Context, verb, name string, sql SQL) (context.Context, CallStart) {
	start := CallStart{
		Verb: verb, Query: &query.Spec{Name: name, From: sql.Table}, SQL: &sql, Name: name, Route: s.routed,
		Role: s.call.Identity.Role, Start: s.db.cfg.now(),
	}
	return context.WithValue(s.db.tell(ctx, start), inCallKey{}, true), start
}

// End tells the observers that the statement, or the transaction itself, has ended.
// ctx is what StatementStart or BeginTransaction returned.
func (s *TransactionScope) End(ctx context.Context, e CallEnd) { s.db.tellEnd(ctx, e) }

// Ended completes what End is told of the transaction itself.
func (s *TransactionScope) Ended(phases []Phase, conn ConnClass, err error) CallEnd {
	return CallEnd{CallStart: s.start, End: s.db.cfg.now(), Phases: phases, Rows: -1, Conn: conn, Err: err}
}

// Fail gives an error of the transaction's own its names.
func (s *TransactionScope) Fail(err error) error { return transactionFailure(s.start.Name, err) }

func transactionFailure(name string, err error) error {
	if err == nil {
		return nil
	}
	c := call{spec: query.Spec{Op: query.OpCall, Name: name}}
	e, ok := errors.AsType[*Error](c.fail(Direct, err))
	if !ok {
		return err
	}
	e.Op, e.Query = opTransaction, name
	if name != "" {
		e.Query = opTransaction + " " + name
	}
	return e
}

func misused(advice string) error { return &Error{Kind: ErrTransaction, Advice: advice} }

// tell tells the observers that a call begins.
func (db *DB) tell(ctx context.Context, s CallStart) context.Context {
	for _, o := range db.cfg.Observers {
		ctx = o.CallStart(ctx, s)
	}
	return ctx
}

func (db *DB) tellEnd(ctx context.Context, e CallEnd) {
	for i := len(db.cfg.Observers) - 1; i >= 0; i-- {
		db.cfg.Observers[i].CallEnd(ctx, e)
	}
}
