package direct

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess"
)

// Transaction runs an application's own SQL within [Tx]. It is what sqlc generates
// code for with pgx/v5 (DBTX), its batches and copyfrom included, and like a pgx
// connection it runs one statement at a time: where rows are still open, or another
// goroutine's statement is at work, the next one fails with
// dbaccess.ErrTransaction.
//
// A statement is sent as pgx sends it in its mode describe_exec: its parameters have
// the types that Postgres gives them, so that structs and []byte go into jsonb, slices
// into arrays, and [16]byte into uuid. That takes a round trip the first time that a
// transaction runs a statement with arguments or rows, and none after that. A mode
// can't be chosen, and one call is one statement.
//
// Errors of the server are *[dbaccess.Error], in which errors.As finds the
// *pgconn.PgError; no rows is pgx.ErrNoRows.
//
// What would change who the transaction acts as, end it, or outlive it on a
// connection that a pooler lends to others, is refused before it is sent: SET ROLE,
// SET without LOCAL, RESET, COMMIT, PREPARE, LISTEN and the like. SAVEPOINT,
// ROLLBACK TO and SET LOCAL are fine. Instead of COPY there is CopyFrom. Temporary
// tables end with the transaction, and so do cursors WITH HOLD, unless the pool is
// the application's own.
type Transaction interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	// SendBatch describes all that is new in the batch in one round trip and runs it
	// in another, so a statement can't use a table that the same batch creates.
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
	CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error)
}

// TxOptions are those of [Tx]. The zero value is a transaction as BEGIN makes it.
type TxOptions struct {
	// Name is for traces and histograms, and what policies see as the path of the
	// request: /rpc/Name, by POST, as if a function of that name did the work.
	Name string
	// Isolation is the isolation level. Defaults to the server's, read committed as a
	// rule.
	Isolation pgx.TxIsoLevel
	// ReadOnly makes it a read-only transaction. Defaults to one that may write.
	ReadOnly bool
	// Deferrable makes a serializable, read-only transaction wait for a snapshot that
	// can't fail. Defaults to false.
	Deferrable bool
	// Retries is how often the function may be run again, in a new transaction, after
	// one that failed with dbaccess.ErrSerialization, a deadlock or a serialization
	// failure. The function must then not mind being run more than once: what it
	// assigns, sends or counts is not undone with the transaction. Defaults to 0.
	Retries int
	// Timeout bounds all of it, the wait for a connection and every retry included.
	// Defaults to the deadline of the context, or to Config.Timeout where it has none.
	Timeout time.Duration
}

// MaxRetries bounds TxOptions.Retries.
const MaxRetries = 20

func (o *TxOptions) validate() error {
	var errs []error
	if _, ok := isolation[string(o.Isolation)]; !ok && o.Isolation != "" {
		errs = append(errs, errors.New("TxOptions.Isolation must be one of pgx's levels, or empty for the server's default"))
	}
	if o.Deferrable && (o.Isolation != pgx.Serializable || !o.ReadOnly) {
		errs = append(errs, errors.New("TxOptions.Deferrable needs Isolation pgx.Serializable and ReadOnly: it means nothing to any other transaction"))
	}
	if o.Retries < 0 || o.Retries > MaxRetries {
		errs = append(errs, fmt.Errorf("TxOptions.Retries must be between 0 and %d", MaxRetries))
	}
	if o.Timeout < 0 {
		errs = append(errs, errors.New("TxOptions.Timeout must be positive, or 0 for the context's deadline"))
	}
	return errors.Join(errs...)
}

// begin is the statement that begins the transaction.
func (o *TxOptions) begin() string {
	var b strings.Builder
	b.WriteString("begin")
	if o.Isolation != "" {
		b.WriteString(" isolation level " + string(o.Isolation))
	}
	if o.ReadOnly {
		b.WriteString(" read only")
	}
	if o.Deferrable {
		b.WriteString(" deferrable")
	}
	return b.String()
}

// Tx runs fn in a transaction on db's direct path and commits it when fn returns
// nil. When fn returns an error or panics, the transaction is rolled back, and Tx
// returns that error as it is, or panics on. It is for what queries can't say: there
// is no such thing through PostgREST.
//
// The transaction acts as whoever the context says, with the same settings and checks
// as a call of the facade, all in the round trip of its BEGIN. The identity can't be
// changed within: Tx refuses statements that would, and makes certain in the round
// trip of the COMMIT that role and claims are what they were; where they aren't,
// nothing is committed, and the error is a dbaccess.ErrTransaction. SQL that changes
// them in between and changes them back, by set_config, is the application's own
// responsibility, as is whatever set_config sets beyond the transaction.
//
// The facade's verbs, given fn's context, run in the transaction too, whatever the
// router says, and see what it has done. Those that read may, for once, call functions
// that write. As in Postgres, a statement that fails, a verb's too, leaves the
// transaction good for nothing but being rolled back, unless that is to a savepoint:
// fn should return the error. If it returns nil all the same, nothing is committed and
// Tx returns the error. With fn's context, another identity, another DB and another
// Tx are refused. Neither that context nor tx can be used once fn has returned.
//
// Inside fn, use no other connection of the same pool: with one that is smaller
// than the number of such callers they wait for each other, until Config.AcquireTimeout
// ends it.
//
// When the context ends, so does the transaction; a statement that is at work then
// costs the connection. A deadline is also the server's statement_timeout, which each
// statement has to itself. Where the connection is lost while the COMMIT is on its way, the error answers
// errors.Is(err, dbaccess.ErrUnknownOutcome).
func Tx(ctx context.Context, db *dbaccess.DB, opts TxOptions, fn func(ctx context.Context, tx Transaction) error) (err error) {
	ctx, scope, err := db.BeginTransaction(ctx, opts.Name)
	if err != nil {
		return err
	}
	r := &txRun{scope: scope, opts: &opts, fn: fn, err: errPanicked}
	r.at = scope.Start()
	defer func() { scope.End(ctx, scope.Ended(r.phases, r.conn, r.err)) }()

	b, ok := scope.Backend().(*Backend)
	switch {
	case !ok:
		r.err = unsupportedTx("dbaccess.Config.Direct is none of package direct")
	case fn == nil:
		r.err = unsupportedTx("the function is nil")
	default:
		if e := opts.validate(); e != nil {
			r.err = unsupportedTx(e.Error())
		}
	}
	if r.err != errPanicked {
		r.mark(dbaccess.PhasePrepare)
		r.err = scope.Fail(r.err)
		return r.err
	}
	if opts.Timeout > 0 {
		bounded, cancel := context.WithTimeout(ctx, opts.Timeout)
		defer cancel()
		return r.run(bounded, b)
	}
	return r.run(ctx, b)
}

// errPanicked is what observers are told of a function that does not return.
var errPanicked = errors.New("direct: the transaction's function panicked, and nothing was committed")

func unsupportedTx(advice string) error {
	return &dbaccess.Error{Kind: dbaccess.ErrUnsupported, Advice: advice}
}

// txRun is one Tx, with all its attempts.
type txRun struct {
	scope *dbaccess.TransactionScope
	opts  *TxOptions
	fn    func(context.Context, Transaction) error

	at     time.Time // where the last phase ended
	phases []dbaccess.Phase
	conn   dbaccess.ConnClass
	err    error
}

// mark ends a phase.
func (r *txRun) mark(name string) *dbaccess.Phase {
	now := time.Now()
	r.phases = append(r.phases, dbaccess.Phase{Name: name, Start: r.at, Duration: now.Sub(r.at)})
	r.at = now
	return &r.phases[len(r.phases)-1]
}

func (r *txRun) run(ctx context.Context, b *Backend) error {
	var l limits
	b.limit(r.scope.Quiet(ctx), &l)
	defer l.end()
	for attempt := 0; ; attempt++ {
		again, err := r.attempt(&l, b, false)
		if again && attempt < r.opts.Retries && backoff(&l, attempt) {
			r.mark(dbaccess.PhaseBackoff)
			continue
		}
		r.err = err
		return err
	}
}

// backoff waits before the next attempt, longer each time and never for the same
// time, so that those who met don't meet again.
func backoff(ctx context.Context, attempt int) bool {
	const least, most = 5 * time.Millisecond, 250 * time.Millisecond
	d := min(least<<min(attempt, 10), most)
	timer := time.NewTimer(d/2 + rand.N(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
