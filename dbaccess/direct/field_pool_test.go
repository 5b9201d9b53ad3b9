package direct_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// inFull says that the cases are to last as long as they did in the field.
func inFull() bool { return os.Getenv("FIELD") != "" }

const sleepsASecond = `create view public.second as select 1 as id from pg_sleep(1); grant select on public.second to anon;`

// Calls that are given up do not multiply sockets: there are never more than twice as
// many as MaxConns, cancel requests and closing ones included. Those that the server
// ends a little before their deadline cost no connection at all.
func TestFieldCaseO05(t *testing.T) {
	t.Parallel()
	calls := 60
	if inFull() {
		calls = 200
	}
	db := pgtest.Golden(t)
	db.Exec(t, sleepsASecond)
	const maxConns = 4
	pooler := tlsPooler(t, localpg.PoolerConfig{})
	r := through(t, pooler.DSN(pgtest.LoginRole, pgtest.LoginPassword, db.Name), pooler.Addr(), 0)
	b := open(t, direct.Config{DSN: r.dsn + "&sslmode=require", MaxConns: maxConns})
	fill(t, b, maxConns)

	storm := func(calls int, give func(i int) (context.Context, context.CancelFunc)) (most int) {
		t.Helper()
		ctx, done := context.WithCancel(t.Context())
		var watching, calling sync.WaitGroup
		watching.Go(func() {
			for ctx.Err() == nil {
				most = max(most, direct.Sockets(b))
				time.Sleep(time.Millisecond)
			}
		})
		var next atomic.Int64
		for range 2 * maxConns {
			calling.Go(func() {
				for i := next.Add(1); i <= int64(calls); i = next.Add(1) {
					ctx, cancel := give(int(i))
					_, err := b.Do(ctx, call(query.From("second"), anon))
					cancel()
					if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
						t.Errorf("error %v, want that of the context", err)
					}
				}
			})
		}
		calling.Wait()
		done()
		watching.Wait()
		return most
	}
	most := storm(calls, func(i int) (context.Context, context.CancelFunc) {
		if i%2 == 0 { // the client goes away, of which the server knows nothing
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(50*time.Millisecond, cancel)
			return ctx, cancel
		}
		return context.WithTimeout(t.Context(), 50*time.Millisecond)
	})
	if most > 2*maxConns {
		t.Errorf("%d sockets, want no more than %d", most, 2*maxConns)
	}
	if got := body(t, b, lists, anon); got != alicesPublic {
		t.Errorf("after the storm: %s", got)
	}
	await(t, func() bool { return direct.Sockets(b) <= maxConns })

	fill(t, b, maxConns)
	before := b.PoolStats().New
	storm(maxConns, func(int) (context.Context, context.CancelFunc) {
		return context.WithTimeout(t.Context(), 800*time.Millisecond)
	})
	if made := b.PoolStats().New - before; made > maxConns/2 { // a busy machine may be late for some
		t.Errorf("%d connections were made after timeouts that the server knew of, want none", made)
	}
}

// A sparse call finds a connection, whatever limit the pooler sets to idle ones. Without
// keep-warm it does not, and still succeeds.
func TestFieldCaseO06(t *testing.T) {
	t.Parallel()
	limit, gap, keep, calls, delay := 2*time.Second, 3*time.Second, 400*time.Millisecond, 3, time.Millisecond
	if inFull() {
		limit, gap, keep, calls, delay = 10*time.Second, 25*time.Second, 0, 10, 10*time.Millisecond
	}
	db := pgtest.Golden(t)
	for name, tt := range map[string]struct {
		drops bool
		keep  time.Duration
		cold  bool
	}{
		"kept warm":                         {false, keep, false},
		"kept warm, the pooler drops":       {true, keep, false},
		"left alone, the pooler drops them": {true, -1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := localpg.PoolerConfig{}
			if tt.drops {
				cfg.ClientIdleTimeout = limit
			}
			pooler := tlsPooler(t, cfg)
			r := through(t, pooler.DSN(pgtest.LoginRole, pgtest.LoginPassword, db.Name), pooler.Addr(), delay)
			b := open(t, direct.Config{DSN: r.dsn + "&sslmode=require", KeepWarm: tt.keep})
			if err := b.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			cold := 0
			for range calls {
				time.Sleep(gap)
				res, err := b.Do(t.Context(), call(lists, anon))
				if err != nil {
					t.Fatal(err)
				}
				if res.Conn == dbaccess.ConnNew {
					cold++
				}
			}
			if tt.cold && cold != calls || !tt.cold && cold > calls/10 {
				t.Errorf("%d of %d calls made a connection", cold, calls)
			}
			if s := b.PoolStats(); tt.cold && s.Replaced != int64(calls) {
				t.Errorf("%+v, want each dead connection to be counted", s)
			}
		})
	}
}

// Idle connections that die are counted, and no read fails: (a) the server closes
// them, (b) it resets them, (c) it said why, while the process was stopped.
func TestFieldCaseO07(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	for name, r := range routes(t, db) {
		b := open(t, direct.Config{DSN: r.dsn, KeepWarm: -1})
		if got := body(t, b, lists, anon); got != alicesPublic {
			t.Fatalf("%s: %s", name, got)
		}
		for i, death := range []func(){
			func() { r.proxy.DropAll() },
			func() { r.proxy.ResetAll() },
			func() {
				db.Exec(t, `select pg_terminate_backend(pid) from pg_stat_activity where usename = 'authenticator' and datname = current_database()`)
				if strings.HasPrefix(name, "pgbouncer") {
					r.proxy.DropAll()
				}
			},
		} {
			death()
			await(t, func() bool { return direct.Dead(b) == 1 })
			if got := body(t, b, lists, anon); got != alicesPublic {
				t.Errorf("%s: read %s", name, got)
			}
			// A pooler may lend a server connection that has died too: one more.
			if n := b.PoolStats().Replaced; n < int64(i)+1 || n > int64(i)+2 {
				t.Errorf("%s: %d connections replaced, want %d", name, n, i+1)
			}
		}
	}
}

// A call that waits for itself is told why in time, and one within a transaction uses
// that.
func TestFieldCaseO09(t *testing.T) {
	t.Parallel()
	pg := pgtest.Golden(t)
	db := txDB(t, direct.Config{DSN: pg.PoolerDSN, MaxConns: 1, AcquireTimeout: 200 * time.Millisecond})
	ctx := auth.With(directly(t.Context()), anon)
	err := direct.Tx(ctx, db, direct.TxOptions{}, func(inner context.Context, tx direct.Transaction) error {
		_, err := dbaccess.All[struct {
			ID int `db:"id"`
		}](ctx, db, query.From("watchlists"))
		var e *dbaccess.Error
		if !errors.As(err, &e) || e.Kind != dbaccess.ErrSaturated || errors.Is(err, dbaccess.ErrTimeout) || !strings.Contains(e.Advice, "1 of 1 connections were in use") {
			t.Errorf("without the transaction: error %v, want ErrSaturated with what is in use", err)
		}
		if n, err := dbaccess.Count(inner, db, query.From("watchlists")); err != nil || n != 1 {
			t.Errorf("within it: %d, error %v", n, err)
		}
		rows, err := tx.Query(inner, `select id from watchlists`)
		if err != nil {
			return err
		}
		rows.Next() // and forgets the rest
		return nil
	})
	if err != nil && !errors.Is(err, dbaccess.ErrTransaction) {
		t.Errorf("the transaction: %v", err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = direct.Tx(ctx, db, direct.TxOptions{}, func(inner context.Context, tx direct.Transaction) error {
			if _, err := tx.Query(inner, `select id from watchlists`); err != nil {
				return err
			}
			panic("with rows open")
		})
	}()
	if n, err := dbaccess.Count(ctx, db, query.From("watchlists")); err != nil || n != 1 {
		t.Errorf("afterwards: %d, error %v", n, err)
	}
}

// Nothing that the pool keeps goes stale with the schema: no call fails while tables
// change, nor afterwards.
func TestDDLUnderLoad(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, shelf)
	for _, dsn := range []string{db.PoolerDSN, db.DirectDSN} {
		b := open(t, direct.Config{DSN: dsn})
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		var done atomic.Int64
		for range 4 {
			wg.Go(func() {
				for ctx.Err() == nil {
					if _, err := b.Do(t.Context(), call(query.From("shelf"), anon)); err != nil {
						t.Errorf("while the table changes: %v", err)
						return
					}
					done.Add(1)
				}
			})
		}
		super, err := pgx.Connect(t.Context(), db.SuperDSN)
		if err != nil {
			t.Fatal(err)
		}
		for range 8 {
			for _, ddl := range []string{`alter table shelf add column extra text default 'x'`, `alter table shelf drop column extra`} {
				if _, err := super.Exec(t.Context(), ddl); err != nil {
					t.Error(err)
				}
				had := done.Load()
				await(t, func() bool { return done.Load() > had+8 })
			}
		}
		_ = super.Close(t.Context())
		stop()
		wg.Wait()
		if s := b.PoolStats(); s.New > 4 || s.Replaced != 0 {
			t.Errorf("%+v, want the first four connections", s)
		}
	}
}
