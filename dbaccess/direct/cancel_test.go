package direct_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
	"github.com/twinpath/twinpath/internal/wireproxy"
)

// sleeping is a view whose reading takes 30 s.
const sleeping = `create view public.sleeping as select 1 as id from pg_sleep(30);
	grant select on public.sleeping to anon, authenticated;`

// awaitSleepers waits until n statements sleep in the database.
func awaitSleepers(t *testing.T, db *pgtest.Database, n int) {
	t.Helper()
	awaitStatements(t, db, n, "wait_event = 'PgSleep'")
}

// awaitLocked waits until a statement waits for a lock in the database.
func awaitLocked(t *testing.T, db *pgtest.Database) {
	t.Helper()
	awaitStatements(t, db, 1, "wait_event_type = 'Lock'")
}

func awaitStatements(t *testing.T, db *pgtest.Database, n int, condition string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), db.SuperDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		var found int
		err := conn.QueryRow(t.Context(), `select count(*) from pg_stat_activity where datname = current_database() and `+condition).Scan(&found)
		if err != nil {
			t.Fatal(err)
		}
		if found == n {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d statements with %s, want %d", found, condition, n)
		}
	}
}

func TestCancelStopsTheStatement(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, sleeping)
	b := open(t, direct.Config{DSN: db.PoolerDSN})
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := b.Do(ctx, call(query.From("sleeping"), anon))
		failed <- err
	}()
	awaitSleepers(t, db, 1)
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) || errors.Is(err, dbaccess.ErrUnavailable) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	awaitSleepers(t, db, 0)
	if got := body(t, b, lists, anon); got != `[{"id":2,"title":"Alice public"}]` {
		t.Errorf("after the cancel: %s", got)
	}
}

// A statement that the server ends keeps its connection.
func TestStatementTimeoutKeepsTheConnection(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, sleeping)
	proxy, err := wireproxy.Start(wireproxy.Config{Target: ownPooler(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close(t.Context())
	b := open(t, direct.Config{DSN: pgtest.At(t, db.PoolerDSN, proxy.Addr()) + "&statement_timeout=200ms", MaxConns: 1})
	for range 3 {
		_, err := b.Do(t.Context(), call(query.From("sleeping"), anon))
		e, ok := err.(*dbaccess.Error)
		if !ok || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, dbaccess.ErrTimeout) || e.Code != "57014" || e.HTTPStatus != 500 {
			t.Fatalf("error %v, want ErrTimeout as 57014 with status 500", err)
		}
	}
	if n := proxy.Stats().Accepted; n != 1 {
		t.Errorf("%d connections were made, want 1", n)
	}
}

// Whoever ends the call at its deadline, the server a little before or the client,
// the error is the same.
func TestDeadline(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, sleeping)
	b := open(t, direct.Config{DSN: db.PoolerDSN})
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
	defer cancel()
	_, err := b.Do(ctx, call(query.From("sleeping"), anon))
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, dbaccess.ErrTimeout) || errors.Is(err, dbaccess.ErrUnavailable) {
		t.Errorf("error %v, want ErrTimeout", err)
	}
	awaitSleepers(t, db, 0)
}

func TestDeadlineBelowTheMargin(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, sleeping)
	b := open(t, direct.Config{DSN: db.PoolerDSN})
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := b.Do(ctx, call(query.From("sleeping"), anon)); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, dbaccess.ErrTimeout) {
		t.Errorf("error %v, want ErrTimeout", err)
	}
	awaitSleepers(t, db, 0)
}

func TestEndedContextSendsNothing(t *testing.T) {
	t.Parallel()
	b := open(t, direct.Config{DSN: "host=127.0.0.1 port=1"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Do(ctx, call(lists, anon)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	ctx, cancel = context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if _, err := b.Do(ctx, call(lists, anon)); !errors.Is(err, dbaccess.ErrTimeout) {
		t.Errorf("error %v, want ErrTimeout", err)
	}
}

// timeouts reads the statement_timeout that a call runs under, in milliseconds.
func timeouts(t *testing.T, b dbaccess.Backend, ctx context.Context) int {
	t.Helper()
	res, err := b.Do(ctx, call(query.From("limits").Columns("ms"), anon))
	if err != nil {
		t.Fatal(err)
	}
	s := compact(t, res.Body)
	n, err := strconv.Atoi(s[len(`[{"ms":`) : len(s)-len(`}]`)])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestStatementTimeout(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	const limits = `create view public.limits as select setting::int as ms from pg_settings where name = 'statement_timeout';
		grant select on public.limits to anon;`
	db.Exec(t, limits+`
		alter role authenticator in database `+db.Name+` set statement_timeout = '8s';`)
	limited := open(t, direct.Config{DSN: db.DirectDSN})
	unlimited := pgtest.Golden(t)
	unlimited.Exec(t, limits)
	plain := open(t, direct.Config{DSN: unlimited.PoolerDSN})
	given := open(t, direct.Config{DSN: unlimited.PoolerDSN + "&statement_timeout=2s"})
	minute, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	second, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	between := func(name string, got, low, high int) {
		t.Helper()
		if got < low || got > high {
			t.Errorf("%s: statement_timeout %d ms, want %d to %d", name, got, low, high)
		}
	}
	between("neither", timeouts(t, plain, t.Context()), 0, 0)
	between("a deadline", timeouts(t, plain, minute), 30_000, 59_950)
	between("the role's", timeouts(t, limited, t.Context()), 8000, 8000)
	between("a deadline after the role's", timeouts(t, limited, minute), 8000, 8000)
	between("the DSN's", timeouts(t, given, t.Context()), 2000, 2000)
	between("a deadline after the DSN's", timeouts(t, given, second), 2000, 2000)
	short, cancel := context.WithTimeout(t.Context(), 1900*time.Millisecond)
	defer cancel()
	between("a deadline before the DSN's", timeouts(t, given, short), 1, 1850)
	short, cancel = context.WithTimeout(t.Context(), 7*time.Second)
	defer cancel()
	between("a deadline before the role's", timeouts(t, limited, short), 1, 6950)
}

func TestSaturation(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, sleeping)
	b := open(t, direct.Config{DSN: db.PoolerDSN, MaxConns: 1, AcquireTimeout: 100 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := b.Do(ctx, call(query.From("sleeping"), anon))
		failed <- err
	}()
	awaitSleepers(t, db, 1)
	_, err := b.Do(t.Context(), call(lists, anon))
	checkSaturated(t, err, "1 of 1 connections were in use")
	if errors.Is(err, context.DeadlineExceeded) {
		t.Error("the wait for a connection is taken for the caller's deadline")
	}
	// Whoever's deadline ends the wait, it is no saturation by itself.
	soon, cancelSoon := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancelSoon()
	_, err = b.Do(soon, call(lists, anon))
	checkTimeout(t, err, "while the call waited for a connection, when 1 of 1 connections were in use")
	if !errors.Is(err, dbaccess.ErrSaturated) {
		t.Errorf("error %v, want it to answer for the pool that was full too", err)
	}
	for _, other := range []error{dbaccess.ErrUnavailable, dbaccess.ErrUnknownOutcome} {
		if errors.Is(err, other) {
			t.Errorf("error %v answers for %v", err, other)
		}
	}
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

// A pool that had room has no part in a deadline that passes too soon.
func TestDeadlineWithoutSaturation(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	proxy, err := wireproxy.Start(wireproxy.Config{Target: ownPooler(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close(t.Context())
	proxy.Stall(true)
	b := open(t, direct.Config{DSN: pgtest.At(t, db.PoolerDSN, proxy.Addr())})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = b.Do(ctx, call(lists, anon))
	checkTimeout(t, err, "while a connection was being made")
	if errors.Is(err, dbaccess.ErrSaturated) {
		t.Errorf("error %v, want none about the pool", err)
	}
}

func checkTimeout(t *testing.T, err error, advice string) {
	t.Helper()
	e, ok := err.(*dbaccess.Error)
	if !ok || e.Kind != dbaccess.ErrTimeout || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want ErrTimeout", err)
		return
	}
	if !strings.Contains(e.Advice, advice) {
		t.Errorf("advice %q, want %q in it", e.Advice, advice)
	}
}

// A server that has frozen closes nothing and says nothing. Calls whose context has
// no deadline end all the same, and so does Close.
func TestTimeoutWithoutDeadline(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	proxy, err := wireproxy.Start(wireproxy.Config{Target: ownPooler(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close(t.Context())
	b := open(t, direct.Config{DSN: pgtest.At(t, db.PoolerDSN, proxy.Addr()), Timeout: 300 * time.Millisecond, MaxConns: 1})
	patient, cancelStart := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancelStart()
	if err := b.Start(patient); err != nil {
		t.Fatal(err)
	}
	proxy.Stall(true)
	_, err = b.Do(t.Context(), call(lists, anon))
	checkTimeout(t, err, "direct.Config.Timeout, which bounds calls whose context has no deadline, passed while the server worked")
	_, err = b.Do(t.Context(), call(lists, anon))
	checkTimeout(t, err, "direct.Config.Timeout")
	if err := b.Start(t.Context()); !errors.Is(err, dbaccess.ErrTimeout) {
		t.Errorf("Start: error %v, want ErrTimeout", err)
	}
	if _, err := b.SchemaCache(t.Context()); !errors.Is(err, dbaccess.ErrTimeout) {
		t.Errorf("SchemaCache: error %v, want ErrTimeout", err)
	}
	proxy.Stall(false)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := b.Do(ctx, call(lists, anon)); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// The caller's own deadline counts, sooner or later, and its end is told as such.
func TestDeadlineTakesTheTimeoutsPlace(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, `create view public.slow as select 1 as id from pg_sleep(0.3); grant select on public.slow to anon;`)
	b := open(t, direct.Config{DSN: db.PoolerDSN, Timeout: time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := b.Do(ctx, call(query.From("slow"), anon)); err != nil {
		t.Errorf("a deadline after Timeout: %v", err)
	}
	_, err := b.Do(t.Context(), call(query.From("slow"), anon))
	checkTimeout(t, err, "direct.Config.Timeout")
	awaitSleepers(t, db, 0)
}

// Calls that are given up don't multiply connections, closing ones included.
func TestCancelledCallsStayWithinMaxConns(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, sleeping)
	b := open(t, direct.Config{DSN: db.DirectDSN, MaxConns: 2})
	super, err := pgx.Connect(t.Context(), db.SuperDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer super.Close(context.Background())
	for range 12 {
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := b.Do(ctx, call(query.From("sleeping"), anon))
			failed <- err
		}()
		time.Sleep(15 * time.Millisecond)
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Fatalf("error %v, want context.Canceled", err)
		}
		var n int
		err := super.QueryRow(t.Context(), `select count(*) from pg_stat_activity where datname = current_database() and usename = 'authenticator'`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		if n > 2+2 { // each closing one may have a cancel request beside it
			t.Fatalf("%d connections, want no more than 4", n)
		}
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, sleeping)

	unused, err := direct.New(direct.Config{DSN: db.PoolerDSN})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := unused.Close(t.Context()); err != nil {
			t.Errorf("unused: %v", err)
		}
	}
	if err := unused.Start(t.Context()); !errors.Is(err, dbaccess.ErrClosed) {
		t.Errorf("Start after Close: %v, want ErrClosed", err)
	}

	busy, err := direct.New(direct.Config{DSN: db.PoolerDSN})
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() {
		_, err := busy.Do(t.Context(), call(query.From("sleeping"), anon))
		failed <- err
	}()
	awaitSleepers(t, db, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := busy.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("busy: %v, want DeadlineExceeded", err)
	}
	if err := <-failed; !errors.Is(err, dbaccess.ErrClosed) {
		t.Errorf("the call that was interrupted: %v, want ErrClosed", err)
	}
	awaitSleepers(t, db, 0)
	if err := busy.Close(t.Context()); err != nil {
		t.Errorf("closed again: %v", err)
	}
}
