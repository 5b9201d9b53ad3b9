package direct

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/twinpath/twinpath/dbaccess"
)

// txRows are a statement's rows. They know no *pgx.Conn, which would be a way around
// the transaction. The mutex is for the end of the transaction, which closes them
// from another goroutine if need be.
type txRows struct {
	s     *statement
	rows  pgx.Rows // nil for rows that are only an error
	whole bool     // the statement ends with them; else it is a batch

	mu     sync.Mutex
	n      int64
	err    error
	closed bool
}

var _ pgx.Rows = (*txRows)(nil)

func failedRows(err error) *txRows { return &txRows{err: err, closed: true} }

// Next reads the next row, and closes the rows behind the last.
func (r *txRows) Next() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	more := r.rows.Next()
	if r.whole && r.s.answered.IsZero() {
		r.s.answered = time.Now()
	}
	if !more {
		r.close()
		return false
	}
	r.n++
	return true
}

// Close reads what is left of the rows.
func (r *txRows) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.close()
}

// abandon closes rows that the function left open.
func (r *txRows) abandon() error {
	r.Close()
	return r.Err()
}

func (r *txRows) close() {
	if r.closed {
		return
	}
	r.closed = true
	r.rows.Close()
	if r.err == nil {
		r.err = r.wrap(r.rows.Err())
	}
	if !r.whole {
		return
	}
	if r.s.answered.IsZero() {
		r.s.answered = time.Now()
	}
	r.s.t.forget(r.rows.CommandTag())
	rows := r.n
	if r.err != nil {
		rows = -1
	}
	r.s.end(rows, r.err)
}

// wrap keeps values out of an error's text, whether it comes from the server or
// from decoding.
func (r *txRows) wrap(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*dbaccess.Error](err); ok {
		return err // it has been here: a RowScanner returned it
	}
	if _, ok := errors.AsType[*pgconn.PgError](err); ok || r.s.t.pg.IsClosed() {
		return r.s.fail(err)
	}
	e := dbaccess.Error{Kind: dbaccess.ErrInvalid, Advice: "a row does not fit its destinations"}
	if arg, ok := errors.AsType[pgx.ScanArgError](err); ok {
		e.Advice = fmt.Sprintf("column %d, %q, does not fit its destination", arg.ColumnIndex+1, arg.FieldName)
	}
	return r.s.named(e.With(dbaccess.ServerText{}, err))
}

// Err is the error that ended the rows, nil while they are open.
func (r *txRows) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Scan copies the row into the destinations. Rows are closed by its error.
func (r *txRows) Scan(dest ...any) error {
	if r.rows == nil {
		return r.Err()
	}
	if len(dest) == 1 {
		if one, ok := dest[0].(pgx.RowScanner); ok {
			return r.failed(one.ScanRow(r)) // which scans by this
		}
	}
	r.mu.Lock()
	if r.closed {
		defer r.mu.Unlock()
		return r.over()
	}
	err := r.rows.Scan(dest...)
	r.mu.Unlock()
	return r.failed(err)
}

// Values decodes the row.
func (r *txRows) Values() ([]any, error) {
	if r.rows == nil {
		return nil, r.Err()
	}
	r.mu.Lock()
	if r.closed {
		defer r.mu.Unlock()
		return nil, r.over()
	}
	v, err := r.rows.Values()
	r.mu.Unlock()
	return v, r.failed(err)
}

// over is the error of reading rows that are closed.
func (r *txRows) over() error {
	if r.err != nil {
		return r.err
	}
	return misused("the rows are closed: scan each behind a Next that returned true")
}

func (r *txRows) failed(err error) error {
	if err == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	err = r.wrap(err)
	if r.err == nil {
		r.err = err
	}
	r.close()
	return err
}

// RawValues are the row's bytes, until the next one.
func (r *txRows) RawValues() [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	return r.rows.RawValues()
}

// FieldDescriptions are those of the columns.
func (r *txRows) FieldDescriptions() []pgconn.FieldDescription {
	if r.rows == nil {
		return nil
	}
	return r.rows.FieldDescriptions()
}

// CommandTag is known when the rows are closed.
func (r *txRows) CommandTag() pgconn.CommandTag {
	if r.rows == nil {
		return pgconn.CommandTag{}
	}
	return r.rows.CommandTag()
}

// Conn is nil: the connection is the transaction's own.
func (r *txRows) Conn() *pgx.Conn { return nil }

// TypeMap decodes the values.
func (r *txRows) TypeMap() *pgtype.Map {
	if r.rows == nil {
		return nil
	}
	return r.rows.TypeMap()
}

// row makes a Row of the rows.
func (r *txRows) row() pgx.Row { return txRow{r} }

// txRow is the first of a statement's rows.
type txRow struct{ rows *txRows }

// Scan copies the row, and closes the rest. It fails with pgx.ErrNoRows where there
// is none.
func (r txRow) Scan(dest ...any) error {
	defer r.rows.Close()
	for _, d := range dest {
		if _, ok := d.(*pgtype.DriverBytes); ok {
			return errors.New("direct: a *pgtype.DriverBytes does not outlive its row: use Query")
		}
	}
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	if err := r.rows.Scan(dest...); err != nil {
		return err
	}
	r.rows.Close() // which may find an error behind the row
	return r.rows.Err()
}
