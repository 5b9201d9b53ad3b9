package direct_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
	"github.com/twinpath/twinpath/internal/wireproxy"
)

func TestTxDeferredConstraints(t *testing.T) {
	t.Parallel()
	pg := pgtest.Golden(t)
	pg.Exec(t, things)
	db := txDB(t, direct.Config{DSN: pg.PoolerDSN, MaxConns: 1})
	err := direct.Tx(auth.With(t.Context(), alice), db, direct.TxOptions{Retries: 3}, func(ctx context.Context, tx direct.Transaction) error {
		_, err := tx.Exec(ctx, "insert into parts (id, thing) values (1, 99)")
		return err
	})
	e, ok := errors.AsType[*dbaccess.Error](err)
	if !errors.Is(err, dbaccess.ErrConflict) || !ok || e.SQLState != "23503" || e.OutcomeUnknown {
		t.Errorf("error %v, want ErrConflict with 23503", err)
	}
	if n := count(t, pg, "parts"); n != 0 {
		t.Errorf("%d rows", n)
	}
	checkUnchanged(t, db, 1)
}

// Two transactions that read what the other writes: one of them is run again.
func TestTxRetries(t *testing.T) {
	t.Parallel()
	pg := pgtest.Golden(t)
	pg.Exec(t, things+"insert into things (id, name) values (1, 'a'), (2, 'b')")
	rec := &events{}
	db := txDB(t, direct.Config{DSN: pg.PoolerDSN}, rec)
	ctx := auth.With(t.Context(), alice)
	skew := func(retries int) (errs [2]error, runs int64) {
		var calls atomic.Int64
		var met sync.WaitGroup
		met.Add(2)
		var done sync.WaitGroup
		for i := range 2 {
			done.Go(func() {
				first := true
				opts := direct.TxOptions{Isolation: pgx.Serializable, Retries: retries, Name: "skew"}
				errs[i] = direct.Tx(ctx, db, opts, func(ctx context.Context, tx direct.Transaction) error {
					calls.Add(1)
					var n int
					if err := tx.QueryRow(ctx, "select count(*) from things where meta is null").Scan(&n); err != nil {
						return err
					}
					if first {
						first = false
						met.Done()
						met.Wait()
					}
					_, err := tx.Exec(ctx, "update things set meta = $1 where id = $2", n, i+1)
					return err
				})
			})
		}
		done.Wait()
		return errs, calls.Load()
	}
	errs, runs := skew(0)
	failed := errors.Join(errs[0], errs[1])
	if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(failed, dbaccess.ErrSerialization) || runs != 2 {
		t.Errorf("without retries: errors %v after %d runs, want one ErrSerialization after 2", errs, runs)
	}
	rec.take()
	errs, runs = skew(5)
	if errs[0] != nil || errs[1] != nil || runs < 3 {
		t.Errorf("with retries: errors %v after %d runs, want none after 3", errs, runs)
	}
	again := ""
	for _, e := range rec.take() {
		if e.Verb != "Tx" {
			continue
		}
		shape := shape(t, e.Phases)
		if strings.Contains(shape, "backoff") {
			again = shape
		}
	}
	if !strings.Contains(again, "rollback backoff") && !strings.Contains(again, "commit backoff") || !strings.HasSuffix(again, "commit") {
		t.Errorf("the phases of what was retried: %s", again)
	}

	runs = 0
	for _, tt := range []struct {
		name string
		err  error
	}{
		{"its own error", errRollBack},
		{"a conflict", &dbaccess.Error{Kind: dbaccess.ErrConflict}},
		{"an unknown outcome", &dbaccess.Error{Kind: dbaccess.ErrSerialization, OutcomeUnknown: true}},
	} {
		n := 0
		err := direct.Tx(ctx, db, direct.TxOptions{Retries: 5}, func(context.Context, direct.Transaction) error {
			n++
			return tt.err
		})
		if err != tt.err || n != 1 {
			t.Errorf("%s: error %v after %d runs, want it after one", tt.name, err, n)
		}
	}

	// A deadlock between two, and a serialization failure that the function hides.
	n := 0
	err := direct.Tx(ctx, db, direct.TxOptions{Retries: 2}, func(ctx context.Context, tx direct.Transaction) error {
		n++
		_, _ = tx.Exec(ctx, "do $$ begin raise exception 'x' using errcode = '40P01'; end $$")
		return nil
	})
	if !errors.Is(err, dbaccess.ErrSerialization) || n != 3 {
		t.Errorf("hidden: error %v after %d runs, want ErrSerialization after 3", err, n)
	}
}

func TestTxPanics(t *testing.T) {
	t.Parallel()
	pg := pgtest.Golden(t)
	pg.Exec(t, things)
	rec := &events{}
	db := txDB(t, direct.Config{DSN: pg.PoolerDSN, MaxConns: 1}, rec)
	for name, tt := range map[string]struct {
		end  func()
		want any
	}{
		"panic":  {func() { panic(errRollBack) }, errRollBack},
		"goexit": {runtime.Goexit, nil},
	} {
		got := make(chan any, 1)
		go func() {
			defer func() { got <- recover() }()
			_ = direct.Tx(auth.With(t.Context(), alice), db, direct.TxOptions{}, func(ctx context.Context, tx direct.Transaction) error {
				if _, err := tx.Exec(ctx, "insert into things (id, name) values (1, 'x')"); err != nil {
					t.Error(err)
				}
				if _, err := tx.Query(ctx, "select generate_series(1, 1000)"); err != nil {
					t.Error(err)
				}
				tt.end()
				return nil
			})
		}()
		if v := <-got; v != tt.want {
			t.Errorf("%s: recovered %v, want %v", name, v, tt.want)
		}
		ends := rec.take()
		if last := ends[len(ends)-1]; last.Verb != "Tx" || last.Err == nil {
			t.Errorf("%s: observed %s with error %v, want Tx with one", name, last.Verb, last.Err)
		}
		if n := count(t, pg, "things"); n != 0 {
			t.Errorf("%s: %d rows were committed", name, n)
		}
		checkUnchanged(t, db, 1)
		rec.take()
	}
}

func TestTxOneStatementAtATime(t *testing.T) {
	t.Parallel()
	pg := pgtest.Golden(t)
	pg.Exec(t, things)
	db := txDB(t, direct.Config{DSN: pg.PoolerDSN, MaxConns: 1})
	ctx := auth.With(t.Context(), alice)

	// O9: rows that nobody closes.
	var left pgx.Rows
	if err := direct.Tx(ctx, db, direct.TxOptions{}, func(ctx context.Context, tx direct.Transaction) error {
		rows, err := tx.Query(ctx, "select generate_series(1, 100)")
		if err != nil {
			return err
		}
		if !rows.Next() || rows.Conn() != nil {
			t.Errorf("no row, or a connection: %v", rows.Conn())
		}
		left = rows
		for name, err := range map[string]error{
			"exec":   second(tx.Exec(ctx, "select 1")),
			"verb":   second(dbaccess.JSON(ctx, db, lists)),
			"batch":  tx.SendBatch(ctx, &pgx.Batch{}).Close(),
			"copy":   second(tx.CopyFrom(ctx, pgx.Identifier{"things"}, []string{"id"}, pgx.CopyFromRows(nil))),
			"rows":   tx.QueryRow(ctx, "select 1").Scan(nil),
			"nested": direct.Tx(ctx, db, direct.TxOptions{}, nil),
		} {
			if !errors.Is(err, dbaccess.ErrTransaction) {
				t.Errorf("%s while rows are open: error %v, want ErrTransaction", name, err)
			}
		}
		return nil
	}); err != nil {
		t.Errorf("rows left open: %v", err)
	}
	if err := left.Scan(new(int)); left.Next() || !errors.Is(err, dbaccess.ErrTransaction) {
		t.Errorf("the rows outlive their transaction: error %v", err)
	}
	checkUnchanged(t, db, 1)

	// Rows left open behind which an error waits.
	err := direct.Tx(ctx, db, direct.TxOptions{}, func(ctx context.Context, tx direct.Transaction) error {
		rows, err := tx.Query(ctx, "select 1 / (100000 - n) from generate_series(1, 100000) n")
		if err == nil && !rows.Next() {
			t.Error("no row")
		}
		return err
	})
	if !errors.Is(err, dbaccess.ErrInvalid) {
		t.Errorf("an error behind rows left open: %v, want ErrInvalid", err)
	}
	checkUnchanged(t, db, 1)

	// Goroutines that know no better.
	err = direct.Tx(ctx, db, direct.TxOptions{}, func(ctx context.Context, tx direct.Transaction) error {
		var wg sync.WaitGroup
		var refused, done atomic.Int64
		for range 8 {
			wg.Go(func() {
				for range 20 {
					var n int
					switch err := tx.QueryRow(ctx, "select $1::int", 7).Scan(&n); {
					case err == nil && n == 7:
						done.Add(1)
					case errors.Is(err, dbaccess.ErrTransaction):
						refused.Add(1)
					default:
						t.Errorf("%d, error %v", n, err)
					}
				}
			})
		}
		wg.Wait()
		if refused.Load()+done.Load() != 160 || done.Load() == 0 {
			t.Errorf("%d done, %d refused", done.Load(), refused.Load())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	checkUnchanged(t, db, 1)
}

// A goroutine that is still at work when the function returns keeps it from being
// committed.
func TestTxOutlived(t *testing.T) {
	t.Parallel()
	pg := pgtest.Golden(t)
	pg.Exec(t, things)
	db := txDB(t, direct.Config{DSN: pgtest.At(t, pg.PoolerDSN, ownPooler(t)), MaxConns: 1})
	var late sync.WaitGroup
	err := direct.Tx(auth.With(t.Context(), alice), db, direct.TxOptions{}, func(ctx context.Context, tx direct.Transaction) error {
		if _, err := tx.Exec(ctx, "insert into things (id, name) values (1, 'x')"); err != nil {
			return err
		}
		late.Go(func() {
			if _, err := tx.Exec(ctx, "select pg_sleep(30)"); err == nil {
				t.Error("it slept on")
			}
		})
		awaitSleepers(t, pg, 1)
		return nil
	})
	late.Wait()
	if !errors.Is(err, dbaccess.ErrTransaction) {
		t.Errorf("error %v, want ErrTransaction", err)
	}
	if n := count(t, pg, "things"); n != 0 {
		t.Errorf("%d rows were committed", n)
	}
	checkUnchanged(t, db, -1)
}

func TestTxCancelled(t *testing.T) {
	t.Parallel()
	pg := pgtest.Golden(t)
	pg.Exec(t, things)
	pooler := ownPooler(t)
	insert := func(ctx context.Context, tx direct.Transaction) error {
		_, err := tx.Exec(ctx, "insert into things (id, name) values (1, 'x')")
		return err
	}
	for _, tt := range []struct {
		name string
		opts direct.TxOptions
		cfg  direct.Config
		fn   func(ctx context.Context, cancel func(), tx direct.Transaction) error
		want error
		kept bool // the connection
	}{
		{"between statements", direct.TxOptions{}, direct.Config{}, func(_ context.Context, cancel func(), _ direct.Transaction) error {
			cancel()
			return nil
		}, context.Canceled, true},
		{"the next statement", direct.TxOptions{}, direct.Config{}, func(ctx context.Context, cancel func(), tx direct.Transaction) error {
			cancel()
			return second(tx.Exec(ctx, "select 1"))
		}, context.Canceled, true},
		{"the next batch", direct.TxOptions{}, direct.Config{}, func(ctx context.Context, cancel func(), tx direct.Transaction) error {
			cancel()
			var b pgx.Batch
			b.Queue("select $1::int", 1)
			return tx.SendBatch(ctx, &b).Close()
		}, context.Canceled, true},
		{"a statement", direct.TxOptions{}, direct.Config{}, func(ctx context.Context, cancel func(), tx direct.Transaction) error {
			go func() {
				awaitSleepers(t, pg, 1)
				cancel()
			}()
			return second(tx.Exec(ctx, "select pg_sleep(30)"))
		}, context.Canceled, false},
		{"Timeout, by the server", direct.TxOptions{Timeout: 500 * time.Millisecond}, direct.Config{}, func(ctx context.Context, _ func(), tx direct.Transaction) error {
			return second(tx.Exec(ctx, "select pg_sleep(30)"))
		}, context.DeadlineExceeded, false}, // which of both is faster depends
		{"Timeout, between statements", direct.TxOptions{Timeout: 3 * time.Second}, direct.Config{}, func(ctx context.Context, _ func(), _ direct.Transaction) error {
			<-ctx.Done()
			return nil
		}, context.DeadlineExceeded, true},
		{"Config.Timeout", direct.TxOptions{}, direct.Config{Timeout: 500 * time.Millisecond}, func(ctx context.Context, _ func(), tx direct.Transaction) error {
			return second(tx.Exec(ctx, "select pg_sleep(30)"))
		}, dbaccess.ErrTimeout, false},
		{"Config.Timeout, between statements", direct.TxOptions{}, direct.Config{Timeout: 3 * time.Second}, func(ctx context.Context, _ func(), _ direct.Transaction) error {
			<-ctx.Done()
			return nil
		}, dbaccess.ErrTimeout, true},
	} {
		cfg := tt.cfg
		cfg.DSN, cfg.MaxConns = pgtest.At(t, pg.PoolerDSN, pooler), 1
		db := txDB(t, cfg)
		ctx, cancel := context.WithCancel(auth.With(t.Context(), alice))
		err := direct.Tx(ctx, db, tt.opts, func(ctx context.Context, tx direct.Transaction) error {
			if err := insert(ctx, tx); err != nil {
				return err
			}
			return tt.fn(ctx, cancel, tx)
		})
		cancel()
		if !errors.Is(err, tt.want) || errors.Is(err, dbaccess.ErrUnknownOutcome) {
			t.Errorf("%s: error %v, want %v", tt.name, err, tt.want)
		}
		awaitSleepers(t, pg, 0)
		if n := count(t, pg, "things"); n != 0 {
			t.Errorf("%s: %d rows were committed", tt.name, n)
		}
		conns := int64(-1)
		if tt.kept {
			conns = 1
		}
		checkUnchanged(t, db, conns)
	}
}

// What became of a COMMIT whose answer never comes nobody knows; before it, nothing
// was done.
func TestTxConnectionLost(t *testing.T) {
	t.Parallel()
	pg := pgtest.Golden(t)
	pg.Exec(t, things+`
create function public.slow() returns trigger language plpgsql as $$ begin perform pg_sleep(30); return null; end $$;
create constraint trigger slow after insert on public.parts deferrable initially deferred for each row execute function public.slow();
insert into things (id, name) values (0, 'there');`)
	proxy, err := wireproxy.Start(wireproxy.Config{Target: ownPooler(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close(t.Context())
	db := txDB(t, direct.Config{DSN: pgtest.At(t, pg.PoolerDSN, proxy.Addr()), MaxConns: 1})
	for _, tt := range []struct {
		name    string
		sql     string
		opts    direct.TxOptions
		within  bool
		unknown bool
	}{
		{"in a statement", "select pg_sleep(30)", direct.TxOptions{Retries: 3}, true, false},
		{"in the commit", "insert into parts (id, thing) values (1, 0)", direct.TxOptions{Retries: 3}, false, true},
	} {
		runs := 0
		err := direct.Tx(auth.With(t.Context(), alice), db, tt.opts, func(ctx context.Context, tx direct.Transaction) error {
			runs++
			go func() {
				awaitSleepers(t, pg, 1)
				proxy.DropAll()
			}()
			return second(tx.Exec(ctx, tt.sql))
		})
		if !errors.Is(err, dbaccess.ErrUnavailable) || errors.Is(err, dbaccess.ErrUnknownOutcome) != tt.unknown || runs != 1 {
			t.Errorf("%s: error %v after %d runs; want ErrUnavailable after one, its outcome unknown: %v", tt.name, err, runs, tt.unknown)
		}
		endSleepers(t, pg)
		checkUnchanged(t, db, -1)
	}
}

// endSleepers ends statements that sleep in the database.
func endSleepers(t *testing.T, pg *pgtest.Database) {
	t.Helper()
	pg.Exec(t, "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'")
	awaitSleepers(t, pg, 0)
}

func TestTxBatchAndCopy(t *testing.T) {
	t.Parallel()
	pg := pgtest.Golden(t)
	pg.Exec(t, things)
	db := txDB(t, direct.Config{DSN: pg.PoolerDSN, MaxConns: 1})
	ctx := auth.With(t.Context(), alice)
	err := direct.Tx(ctx, db, direct.TxOptions{}, func(ctx context.Context, tx direct.Transaction) error {
		n, err := tx.CopyFrom(ctx, pgx.Identifier{"public", "things"}, []string{"id", "name", "meta"},
			pgx.CopyFromRows([][]any{{1, "a", map[string]any{"k": 1}}, {2, "b", nil}}))
		if err != nil || n != 2 {
			t.Errorf("%d rows copied, error %v", n, err)
		}
		var b pgx.Batch
		var names []string
		var seen int
		b.Queue("insert into things (id, name, meta) values ($1, $2, $3)", 3, "c", []byte(`{}`))
		b.Queue("select name from things order by id").Query(func(rows pgx.Rows) error {
			var err error
			names, err = pgx.CollectRows(rows, pgx.RowTo[string])
			return err
		})
		b.Queue("select count(*) from things where name = any(@names)", pgx.NamedArgs{"names": []string{"a", "c"}}).QueryRow(func(row pgx.Row) error {
			return row.Scan(&seen)
		})
		b.Queue("update things set name = name || '!'").Exec(func(tag pgconn.CommandTag) error {
			if tag.RowsAffected() != 3 {
				t.Errorf("%s", tag)
			}
			return nil
		})
		results := tx.SendBatch(ctx, &b)
		if results.Tx() != nil {
			t.Error("the results give away the transaction")
		}
		if err := results.Close(); err != nil {
			return err
		}
		if diff := cmp.Diff([]string{"a", "b", "c"}, names); diff != "" || seen != 2 {
			t.Errorf("%d, (-want +got):\n%s", seen, diff)
		}

		var one pgx.Batch
		one.Queue("select generate_series(1, 3)")
		one.Queue("select 'x'")
		results = tx.SendBatch(ctx, &one)
		rows, err := results.Query()
		if err != nil || !rows.Next() || rows.Conn() != nil {
			t.Errorf("a row of the first: %v", err)
		}
		var x string
		if err := results.QueryRow().Scan(&x); err != nil || x != "x" { // the rows before are closed
			t.Errorf("%q, error %v", x, err)
		}
		if _, err := results.Exec(); err == nil {
			t.Error("there is a third result")
		}
		return results.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := count(t, pg, "things where name like '%!'"); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}

	own := errors.New("the source's own")
	for name, tt := range map[string]struct {
		fn   func(ctx context.Context, tx direct.Transaction) error
		want error
	}{
		"a statement of a batch fails": {func(ctx context.Context, tx direct.Transaction) error {
			var b pgx.Batch
			b.Queue("insert into things (id, name) values (9, 'z')")
			b.Queue("insert into things (id, name) values ($1, $2)", 9, canary)
			b.Queue("select 1").QueryRow(func(pgx.Row) error { return errors.New("it was called") })
			return tx.SendBatch(ctx, &b).Close()
		}, dbaccess.ErrConflict},
		"a batch can't be described": {func(ctx context.Context, tx direct.Transaction) error {
			var b pgx.Batch
			b.Queue("select 1")
			b.Queue("select * from missing")
			return tx.SendBatch(ctx, &b).Close()
		}, dbaccess.ErrNotFound},
		"a batch can't be encoded": {func(ctx context.Context, tx direct.Transaction) error {
			var b pgx.Batch
			b.Queue("select $1::int", canary)
			return tx.SendBatch(ctx, &b).Close()
		}, dbaccess.ErrInvalid},
		"a batch that commits": {func(ctx context.Context, tx direct.Transaction) error {
			var b pgx.Batch
			b.Queue("commit")
			return tx.SendBatch(ctx, &b).Close()
		}, dbaccess.ErrTransaction},
		"a batch that begins": {func(ctx context.Context, tx direct.Transaction) error {
			var b pgx.Batch
			b.BeginTx(pgx.TxOptions{})
			return tx.SendBatch(ctx, &b).Close()
		}, dbaccess.ErrTransaction},
		"a callback": {func(ctx context.Context, tx direct.Transaction) error {
			var b pgx.Batch
			b.Queue("select 1").QueryRow(func(pgx.Row) error { return own })
			b.Queue("select 2")
			return tx.SendBatch(ctx, &b).Close()
		}, own},
		"copying fails": {func(ctx context.Context, tx direct.Transaction) error {
			return second(tx.CopyFrom(ctx, pgx.Identifier{"things"}, []string{"id", "name"}, pgx.CopyFromRows([][]any{{7, "x"}, {7, canary}})))
		}, dbaccess.ErrConflict},
		"copying to a table with policies": {func(ctx context.Context, tx direct.Transaction) error {
			return second(tx.CopyFrom(ctx, pgx.Identifier{"mine"}, []string{"id"}, pgx.CopyFromRows([][]any{{7}})))
		}, nil},
		"a source fails": {func(ctx context.Context, tx direct.Transaction) error {
			return second(tx.CopyFrom(ctx, pgx.Identifier{"things"}, []string{"id"}, failingSource{own}))
		}, own},
	} {
		err := direct.Tx(ctx, db, direct.TxOptions{}, tt.fn)
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%s: error %v, want %v", name, err, tt.want)
		}
		checkNoCanary(t, name, err)
		checkUnchanged(t, db, 1)
	}
	if n := count(t, pg, "things"); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
}

type failingSource struct{ err error }

func (s failingSource) Next() bool             { return false }
func (s failingSource) Values() ([]any, error) { return nil, s.err }
func (s failingSource) Err() error             { return s.err }

// What is seen of a transaction holds no value, and its phases are without gaps.
func TestTxObserved(t *testing.T) {
	t.Parallel()
	pg := pgtest.Golden(t)
	pg.Exec(t, things)
	rec := &events{}
	db := txDB(t, direct.Config{DSN: pg.PoolerDSN}, rec)
	err := direct.Tx(auth.With(t.Context(), alice), db, direct.TxOptions{Name: "audit"}, func(ctx context.Context, tx direct.Transaction) error {
		if dbaccess.InCall(ctx) {
			t.Error("the function's context counts as a call's: what else it does would not be traced")
		}
		if _, err := tx.Exec(ctx, "-- name: AddThing :exec\ninsert into things (id, name) values ($1, $2)", 1, canary); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "update things set name = '"+canary+"'"); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, "select generate_series(1, 3)")
		if err != nil {
			return err
		}
		if _, err := pgx.CollectRows(rows, pgx.RowTo[int]); err != nil {
			return err
		}
		var b pgx.Batch
		b.Queue("select 1")
		if err := tx.SendBatch(ctx, &b).Close(); err != nil {
			return err
		}
		if _, err := tx.CopyFrom(ctx, pgx.Identifier{"parts"}, []string{"id"}, pgx.CopyFromRows([][]any{{1}, {2}})); err != nil {
			return err
		}
		_, err = dbaccess.JSON(ctx, db, query.From("things").Named("read"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range rec.take() {
		at := e.Start
		for _, p := range e.Phases {
			if !p.Start.Equal(at) || p.Duration < 0 {
				t.Errorf("%s: %s begins %v after the phase before it", e.Verb, p.Name, p.Start.Sub(at))
			}
			at = p.Start.Add(p.Duration)
		}
		if gap := e.End.Sub(at); gap < 0 || gap > time.Second {
			t.Errorf("%s: the phases end %v early", e.Verb, gap)
		}
		if e.SQL != nil && strings.Contains(e.Summary()+e.Name+e.SQL.Operation+e.SQL.Table+e.Query.From, canary) {
			t.Errorf("%s shows a value", e.Verb)
		}
		if e.Role != "authenticated" || e.Route.Path != dbaccess.Direct || e.Err != nil {
			t.Errorf("%s as %s over %s, error %v", e.Verb, e.Role, e.Route.Path, e.Err)
		}
		got = append(got, strings.Join([]string{e.Verb, e.Name, e.Summary(), shape(t, e.Phases)}, "|"))
	}
	want := []string{
		"Exec|AddThing|insert things|describe prepare network+pooler rows",
		"Exec||update things|prepare network+pooler rows",
		"Query||select|describe prepare network+pooler rows",
		"SendBatch||batch|describe prepare network+pooler rows",
		"CopyFrom||copy parts|prepare network+pooler rows",
		"JSON|read|select things|prepare acquire network+pooler database rows decode",
		"Tx|audit|transaction|prepare acquire[connect[tcp startup]] begin work commit",
	}
	last := len(got) - 1
	got[last] = unqueued(got[last])
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
