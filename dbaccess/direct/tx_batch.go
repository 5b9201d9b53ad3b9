package direct

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/internal/sqltext"
)

// SendBatch sends all statements of the batch. Its results have the connection until
// they are closed.
func (t *tx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	name := ""
	for _, q := range b.QueuedQueries {
		if err := refused(q.SQL); err != nil {
			return &txResults{err: t.run.scope.Fail(err), closed: true}
		}
		if name == "" {
			name = sqltext.Parse(q.SQL).Name
		}
	}
	s, err := t.statement(ctx, "SendBatch", name, dbaccess.SQL{Operation: "batch"})
	if err != nil {
		return &txResults{err: err, closed: true}
	}
	r := &txResults{s: s, queued: b.QueuedQueries}
	if err := r.send(); err != nil {
		r.err, r.closed = err, true
		s.end(-1, err)
		return r
	}
	t.keep(r)
	return r
}

// send describes the statements that are new, and sends all of them.
func (r *txResults) send() error {
	t := r.s.t
	type ready struct {
		sql  string
		args []any
	}
	all := make([]ready, len(r.queued))
	var unknown []string
	for i, q := range r.queued {
		sql, args, err := rewritten(r.s.ctx, q.SQL, q.Arguments)
		if err != nil {
			return r.s.named(err)
		}
		all[i] = ready{sql, args}
		if _, ok := t.described[sql]; !ok {
			unknown = append(unknown, sql)
		}
	}
	known, err := t.describeAll(r.s, unknown)
	if err != nil {
		return r.s.fail(err)
	}
	var batch pgconn.Batch
	for _, q := range all {
		d, ok := known[q.sql]
		if !ok {
			d = t.described[q.sql]
		}
		if err := t.build(d, q.args); err != nil {
			return r.s.named(err)
		}
		batch.ExecParams(q.sql, t.builder.ParamValues, d.ParamOIDs, t.builder.ParamFormats, t.builder.ResultFormats)
	}
	r.s.sent = time.Now()
	r.results = t.pg.ExecBatch(r.s.ctx, &batch)
	return nil
}

// describeAll asks for the types of several statements in one round trip.
func (t *tx) describeAll(s *statement, sqls []string) (map[string]*pgconn.StatementDescription, error) {
	if len(sqls) == 0 {
		return nil, nil
	}
	known := make(map[string]*pgconn.StatementDescription, len(sqls))
	var order []string
	p := t.pg.StartPipeline(s.ctx)
	for _, sql := range sqls {
		if _, ok := known[sql]; !ok {
			known[sql] = nil
			order = append(order, sql)
			p.SendPrepare("", sql, nil)
		}
	}
	err := p.Sync()
	for i := 0; i < len(order) && err == nil; i++ {
		var res any
		if res, err = p.GetResults(); err != nil {
			break
		}
		d, ok := res.(*pgconn.StatementDescription)
		if !ok {
			err = errAnswer
			break
		}
		known[order[i]] = d
	}
	if closeErr := p.Close(); err == nil {
		err = closeErr
	}
	s.described = time.Now()
	if err != nil {
		return nil, err
	}
	for sql, d := range known {
		t.remember(sql, d)
	}
	return known, nil
}

// txResults are the results of a batch.
type txResults struct {
	s       *statement
	results *pgconn.MultiResultReader
	queued  []*pgx.QueuedQuery

	mu     sync.Mutex // for the end of the transaction, as in txRows
	at     int        // the next result
	rows   *txRows    // of the last one
	read   int64
	err    error
	closed bool
}

var _ pgx.BatchResults = (*txResults)(nil)

var errNoResult = errors.New("direct: the batch has no further result, or is closed")

// next moves to the next result.
func (r *txResults) next() (*pgconn.ResultReader, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return nil, r.err
	}
	if r.rows != nil {
		r.rows.Close()
		r.rows = nil
	}
	if r.closed || r.at >= len(r.queued) {
		return nil, errNoResult
	}
	r.at++
	if !r.results.NextResult() {
		err := r.results.Close()
		if err == nil {
			err = errAnswer
		}
		r.err = r.s.fail(err)
		return nil, r.err
	}
	if r.s.answered.IsZero() {
		r.s.answered = time.Now()
	}
	return r.results.ResultReader(), nil
}

// Exec reads the next result's tag.
func (r *txResults) Exec() (pgconn.CommandTag, error) {
	reader, err := r.next()
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	tag, err := reader.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.err = r.s.fail(err)
		return tag, r.err
	}
	r.s.t.forget(tag)
	r.read += tag.RowsAffected()
	return tag, nil
}

// Query reads the next result's rows.
func (r *txResults) Query() (pgx.Rows, error) {
	reader, err := r.next()
	if err != nil {
		return failedRows(err), err
	}
	rows := &txRows{s: r.s, rows: pgx.RowsFromResultReader(r.s.t.conn.TypeMap(), reader)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = rows
	return rows, nil
}

// QueryRow reads the next result's first row.
func (r *txResults) QueryRow() pgx.Row {
	rows, _ := r.Query()
	return rows.(*txRows).row()
}

// Close reads what is left, calls the functions that were queued with it, and gives
// the connection back.
func (r *txResults) Close() error {
	for r.pending() {
		q := r.queued[r.at]
		var err error
		if q.Fn != nil {
			err = q.Fn(r)
		} else {
			_, err = r.Exec()
		}
		if err != nil {
			r.fail(err)
		}
	}
	return r.abandon()
}

func (r *txResults) pending() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err == nil && !r.closed && r.at < len(r.queued)
}

func (r *txResults) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
}

// abandon closes the results without calling anything.
func (r *txResults) abandon() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return r.err
	}
	r.closed = true
	if r.rows != nil {
		r.rows.Close()
		if r.err == nil {
			r.err = r.rows.Err()
		}
	}
	if err := r.results.Close(); err != nil && r.err == nil {
		r.err = r.s.fail(err)
	}
	rows := r.read
	if r.err != nil {
		rows = -1
	}
	r.s.end(rows, r.err)
	return r.err
}

// Tx is nil: the transaction is the one that the batch is in.
func (r *txResults) Tx() pgx.Tx { return nil }
