package direct

import (
	"context"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
)

// tx is one attempt's transaction. It is the Transaction that the function gets, and
// the backend of the facade's calls within.
type tx struct {
	b      *Backend
	run    *txRun
	limits *limits
	ctx    context.Context // the function's
	cancel context.CancelFunc
	begin  txBegin
	conn   *pgx.Conn
	pg     *pgconn.PgConn
	way    *acquisition // to the connection
	unused bool         // that had died while it was idle: nothing has begun

	mu      sync.Mutex // guards what follows, up to lost
	changed *sync.Cond // of the next two
	busy    bool       // a statement has the connection
	results opened     // its results, while they are being read
	over    bool

	lost bool // the connection is not in the transaction any more

	// Whoever is busy has these to itself.
	failure   error // the first of a statement, for one that swallows it
	builder   pgx.ExtendedQueryBuilder
	described map[string]*pgconn.StatementDescription
	known     *catalog.Catalog
}

var (
	_ Transaction      = (*tx)(nil)
	_ dbaccess.Backend = (*tx)(nil)
)

// opened are results that are being read. abandon closes them, from whichever
// goroutine, and returns what is wrong with them.
type opened interface{ abandon() error }

// txKey is where the function's context has its transaction.
type txKey struct{}

// txOf returns the transaction that ctx is within, nil for none.
func txOf(ctx context.Context) *tx {
	t, _ := ctx.Value(txKey{}).(*tx)
	return t
}

// take gives the connection to one statement alone.
func (t *tx) take() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.over:
		return misused("the transaction has ended: use it within its function only")
	case t.busy && t.results != nil:
		return misused("rows, or the results of a batch, are still open: read them to the end or close them before the next statement")
	case t.busy:
		return misused("another goroutine's statement is at work: a transaction runs one at a time")
	case t.lost:
		return misused("a statement has ended the transaction behind its back")
	}
	t.busy = true
	return nil
}

// give takes it back. A statement that has left the transaction is the last.
func (t *tx) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy, t.results = false, nil
	if !t.pg.IsClosed() && t.pg.TxStatus() == idle {
		t.lost = true
	}
	t.changed.Broadcast()
}

// keep says that the statement's results are being read.
func (t *tx) keep(o opened) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.results = o
	t.changed.Broadcast()
}

// end lets no further statement in and returns when none is at work: results that
// are still open are closed, and their error is returned. What another goroutine
// still does is cancelled, and an error too.
func (t *tx) end() (err error) {
	t.mu.Lock()
	t.over = true
	for t.busy && t.results == nil {
		err = misused("a statement was still at work when the function returned: wait for the goroutines that it starts")
		t.cancel()
		t.changed.Wait()
	}
	results := t.results
	t.mu.Unlock()
	if results == nil {
		return err
	}
	return errors.Join(err, results.abandon())
}

// note keeps the first failure that the server knows of.
func (t *tx) note(err error) {
	if t.failure == nil && (t.pg.IsClosed() || t.pg.TxStatus() == failed) {
		t.failure = err
	}
}
