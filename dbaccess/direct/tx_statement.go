package direct

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/internal/sqltext"
)

// statement is one piece of the application's SQL at work. It has the connection.
type statement struct {
	t     *tx
	ctx   context.Context // the statement's own
	stop  func()          // gives up what ctx holds
	start dbaccess.CallStart

	described, sent, answered time.Time
}

// statement begins one. It is to be ended where err is nil.
func (t *tx) statement(ctx context.Context, verb, name string, sql dbaccess.SQL) (*statement, error) {
	if err := t.run.scope.Allows(ctx); err != nil {
		return nil, t.run.scope.Fail(err)
	}
	if err := t.take(); err != nil {
		return nil, t.run.scope.Fail(err)
	}
	s := &statement{t: t, stop: func() {}}
	if txOf(ctx) != t {
		// Not the function's context: the transaction's end is its end all the same.
		both, cancel := context.WithCancelCause(ctx)
		detach := context.AfterFunc(t.ctx, func() { cancel(context.Cause(t.ctx)) })
		ctx, s.stop = both, func() { detach(); cancel(errFinished) }
	}
	s.ctx, s.start = t.run.scope.StatementStart(ctx, verb, name, sql)
	return s, nil
}

// single begins a statement of the text.
func (t *tx) single(ctx context.Context, verb, sql string) (*statement, error) {
	if err := refused(sql); err != nil {
		return nil, t.run.scope.Fail(err)
	}
	s := sqltext.Parse(sql)
	return t.statement(ctx, verb, s.Name, dbaccess.SQL{Operation: s.Operation, Table: s.Table})
}

// end gives the connection back and tells the observers.
func (s *statement) end(rows int64, err error) {
	s.t.give()
	s.stop()
	e := dbaccess.CallEnd{CallStart: s.start, End: time.Now(), Rows: rows, Err: err}
	at := s.start.Start
	phase := func(name string, until time.Time) {
		if until.Before(at) {
			return // not reached
		}
		e.Phases = append(e.Phases, dbaccess.Phase{Name: name, Start: at, Duration: until.Sub(at)})
		at = until
	}
	if s.sent.IsZero() {
		s.sent = e.End
	}
	phase(dbaccess.PhaseDescribe, s.described)
	phase(dbaccess.PhasePrepare, s.sent)
	phase(dbaccess.PhaseNetwork, s.answered)
	phase(dbaccess.PhaseRows, e.End)
	s.t.run.scope.End(s.ctx, e)
}

// fail makes the error of a statement that was sent.
func (s *statement) fail(err error) error {
	if err == nil {
		return nil
	}
	f := failedCall{call: s.t.run.scope.Call(), stage: stageEnd, readOnly: true, ownTimeout: s.t.begin.ownTimeout}
	failure := s.named(s.t.b.runFailure(s.t.ended(s.ctx), f, err))
	s.t.note(failure)
	return failure
}

// named fills in what failed.
func (s *statement) named(err error) error {
	name := s.start.Name
	if name == "" {
		name = s.start.Summary()
	}
	return named(err, s.start.SQL.Operation, name)
}

// ended is the context that tells why a statement's has ended: the transaction's
// own limits, if it is them.
func (t *tx) ended(ctx context.Context) context.Context {
	if t.limits.Err() != nil {
		return t.limits
	}
	return ctx
}

// Exec runs a statement and returns its tag.
func (t *tx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	s, err := t.single(ctx, "Exec", sql)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	tag, err := s.exec(sql, args)
	rows := int64(-1)
	if err == nil {
		rows = tag.RowsAffected()
	}
	s.end(rows, err)
	return tag, err
}

func (s *statement) exec(sql string, args []any) (pgconn.CommandTag, error) {
	sql, args, err := rewritten(s.ctx, sql, args)
	if err != nil {
		return pgconn.CommandTag{}, s.named(err)
	}
	var r *pgconn.ResultReader
	if len(args) == 0 {
		s.sent = time.Now()
		r = s.t.pg.ExecParams(s.ctx, sql, nil, nil, nil, nil)
	} else if r, err = s.send(sql, args); err != nil {
		return pgconn.CommandTag{}, err
	}
	tag, err := r.Close()
	s.answered = time.Now()
	s.t.forget(tag)
	return tag, s.fail(err)
}

// Query runs a statement that yields rows. They have the connection until they are
// closed.
func (t *tx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	s, err := t.single(ctx, "Query", sql)
	if err != nil {
		return failedRows(err), err
	}
	rows, err := s.query(sql, args)
	if err != nil {
		s.end(-1, err)
		return failedRows(err), err
	}
	return rows, nil
}

func (s *statement) query(sql string, args []any) (*txRows, error) {
	sql, args, err := rewritten(s.ctx, sql, args)
	if err != nil {
		return nil, s.named(err)
	}
	r, err := s.send(sql, args)
	if err != nil {
		return nil, err
	}
	rows := &txRows{s: s, rows: pgx.RowsFromResultReader(s.t.conn.TypeMap(), r), whole: true}
	s.t.keep(rows)
	return rows, nil
}

// QueryRow runs a statement of whose rows only the first is wanted.
func (t *tx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	rows, _ := t.Query(ctx, sql, args...)
	return rows.(*txRows).row()
}

// send sends a statement with its arguments, as its description wants them.
func (s *statement) send(sql string, args []any) (*pgconn.ResultReader, error) {
	d, err := s.t.describe(s, sql)
	if err != nil {
		return nil, s.fail(err)
	}
	if err := s.t.build(d, args); err != nil {
		return nil, s.named(err)
	}
	s.sent = time.Now()
	b := &s.t.builder
	return s.t.pg.ExecParams(s.ctx, sql, b.ParamValues, d.ParamOIDs, b.ParamFormats, b.ResultFormats), nil
}

// describe asks the server for the types of a statement, once.
func (t *tx) describe(s *statement, sql string) (*pgconn.StatementDescription, error) {
	if d, ok := t.described[sql]; ok {
		return d, nil
	}
	d, err := t.pg.Prepare(s.ctx, "", sql, nil)
	s.described = time.Now()
	if err != nil {
		return nil, err
	}
	t.remember(sql, d)
	return d, nil
}

// maxDescribed bounds what is kept of a transaction's statements.
const maxDescribed = 256

func (t *tx) remember(sql string, d *pgconn.StatementDescription) {
	if t.described == nil || len(t.described) >= maxDescribed {
		t.described = make(map[string]*pgconn.StatementDescription)
	}
	t.described[sql] = d
}

// forget forgets all descriptions after a statement that may have changed tables, or
// the search path: one that is neither a query nor a plain write.
func (t *tx) forget(tag pgconn.CommandTag) {
	if !tag.Select() && !tag.Insert() && !tag.Update() && !tag.Delete() {
		clear(t.described)
	}
}

// build encodes the arguments.
func (t *tx) build(d *pgconn.StatementDescription, args []any) error {
	if len(args) != len(d.ParamOIDs) {
		return &dbaccess.Error{Kind: dbaccess.ErrInvalid, Advice: fmt.Sprintf(
			"the statement has %d parameters and was given %d arguments", len(d.ParamOIDs), len(args))}
	}
	if err := t.builder.Build(t.conn.TypeMap(), d, args); err != nil {
		// pgx's text quotes the value.
		return dbaccess.Error{
			Kind: dbaccess.ErrInvalid, Advice: "an argument can't be encoded as the type that its parameter has" + t.culprit(d, args),
		}.With(dbaccess.ServerText{}, err)
	}
	return nil
}

// culprit names the first argument that can't be encoded.
func (t *tx) culprit(d *pgconn.StatementDescription, args []any) string {
	for i := range args {
		one := &pgconn.StatementDescription{ParamOIDs: d.ParamOIDs[i : i+1]}
		if t.builder.Build(t.conn.TypeMap(), one, args[i:i+1]) != nil {
			name := fmt.Sprintf("of OID %d", d.ParamOIDs[i])
			if ty, ok := t.conn.TypeMap().TypeForOID(d.ParamOIDs[i]); ok {
				name = ty.Name
			}
			return fmt.Sprintf(": $%d is %s, and the argument a %T", i+1, name, args[i])
		}
	}
	return ""
}

// rewritten applies pgx's named arguments. pgx's other options choose a mode or a
// format, of which there is no choice here.
func rewritten(ctx context.Context, sql string, args []any) (string, []any, error) {
	if len(args) == 0 {
		return sql, args, nil
	}
	switch a := args[0].(type) {
	case pgx.QueryRewriter:
		// It gets no connection: that would be the way around the transaction.
		newSQL, newArgs, err := a.RewriteQuery(ctx, nil, sql, args[1:])
		if err != nil {
			return "", nil, dbaccess.Error{Kind: dbaccess.ErrInvalid, Advice: "the query rewriter failed"}.With(dbaccess.ServerText{}, err)
		}
		if err := refused(newSQL); err != nil {
			return "", nil, err
		}
		return newSQL, newArgs, nil
	case pgx.QueryExecMode, pgx.QueryResultFormats, pgx.QueryResultFormatsByOID:
		return "", nil, misused("a transaction has one execution mode and one result format: leave pgx's option out")
	}
	return sql, args, nil
}
