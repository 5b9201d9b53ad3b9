package direct_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
	"github.com/twinpath/twinpath/internal/wireproxy"
)

// shape is the names of the phases, children in brackets, and checks on the way
// that they follow each other without gaps.
func shape(t *testing.T, phases []dbaccess.Phase) string {
	t.Helper()
	names := make([]string, len(phases))
	for i, p := range phases {
		names[i] = p.Name
		if p.Duration < 0 {
			t.Errorf("phase %s lasts %v", p.Name, p.Duration)
		}
		if i > 0 {
			last := phases[i-1]
			if end := last.Start.Add(last.Duration); !end.Equal(p.Start) {
				t.Errorf("%v between phases %s and %s", p.Start.Sub(end), last.Name, p.Name)
			}
		}
		if len(p.Children) == 0 {
			continue
		}
		names[i] += "[" + shape(t, p.Children) + "]"
		first, last := p.Children[0], p.Children[len(p.Children)-1]
		if !first.Start.Equal(p.Start) || !last.Start.Add(last.Duration).Equal(p.Start.Add(p.Duration)) {
			t.Errorf("the children of phase %s don't fill it", p.Name)
		}
	}
	return strings.Join(names, " ")
}

// unqueued leaves out the queue before a connection was made: on a busy machine it
// takes a while until the pool's goroutine runs.
func unqueued(shape string) string {
	return strings.ReplaceAll(shape, "acquire[queue connect", "acquire[connect")
}

// longest is the name of the longest phase at the top.
func longest(phases []dbaccess.Phase) string {
	var name string
	var d time.Duration
	for _, p := range phases {
		if p.Duration > d {
			name, d = p.Name, p.Duration
		}
	}
	return name
}

const inOneTrip = "network+pooler database rows"

// A delay lands in the phase that it belongs to.
func TestPhases(t *testing.T) {
	t.Parallel()
	const delay = 400 * time.Millisecond
	db := pgtest.Golden(t)
	db.Exec(t, `create view public.slow as select 1 as id from pg_sleep(0.4); grant select on public.slow to anon;`)
	pooler := pgtest.NewPooler(t, localpg.PoolerConfig{PoolSize: 1})
	dsn := pooler.DSN(pgtest.LoginRole, pgtest.LoginPassword, db.Name)
	proxy, err := wireproxy.Start(wireproxy.Config{Target: pooler.Addr()})
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close(t.Context())
	b := open(t, direct.Config{DSN: strings.Replace(pgtest.At(t, dsn, proxy.Addr()), "127.0.0.1", "localhost", 1), MaxConns: 1})

	check := func(name string, q query.Query, conn dbaccess.ConnClass, wantShape, wantLongest string) {
		t.Helper()
		res, err := b.Do(t.Context(), call(q, anon))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(wantShape, unqueued(shape(t, res.Phases))); diff != "" {
			t.Errorf("%s: phases (-want +got):\n%s", name, diff)
		}
		if got := longest(res.Phases); wantLongest != "" && got != wantLongest {
			t.Errorf("%s: most of the time is in %s, want %s: %+v", name, got, wantLongest, res.Phases)
		}
		if res.Conn != conn {
			t.Errorf("%s: connection %q, want %q", name, res.Conn, conn)
		}
	}
	proxy.SetDelay(delay / 4)
	check("first call on a distant server", lists, dbaccess.ConnNew, "prepare acquire[connect[dns tcp startup]] "+inOneTrip, dbaccess.PhaseAcquire)
	check("distant server", lists, dbaccess.ConnIdle, "prepare acquire "+inOneTrip, dbaccess.PhaseNetwork)
	proxy.SetDelay(0)
	check("slow statement", query.From("slow"), dbaccess.ConnIdle, "prepare acquire "+inOneTrip, dbaccess.PhaseDatabase)

	// The pooler's only server connection is taken for a while.
	holder, err := pgconn.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close(context.Background())
	if _, err := holder.Exec(t.Context(), "begin; select 1").ReadAll(); err != nil {
		t.Fatal(err)
	}
	released := make(chan error, 1)
	go func() {
		time.Sleep(delay)
		_, err := holder.Exec(t.Context(), "commit").ReadAll()
		released <- err
	}()
	check("queued in the pooler", lists, dbaccess.ConnIdle, "prepare acquire "+inOneTrip, dbaccess.PhaseNetwork)
	if err := <-released; err != nil {
		t.Fatal(err)
	}

	// Our own only connection is taken until our call waits for it.
	locker, err := pgconn.Connect(t.Context(), db.SuperDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer locker.Close(context.Background())
	if _, err := locker.Exec(t.Context(), "begin; lock table public.watchlists in access exclusive mode").ReadAll(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := b.Do(t.Context(), call(lists, anon))
		done <- err
	}()
	awaitLocked(t, db)
	go func() {
		time.Sleep(delay)
		_, err := locker.Exec(t.Context(), "commit").ReadAll()
		released <- err
	}()
	check("queued in the pool", lists, dbaccess.ConnQueued, "prepare acquire "+inOneTrip, "")
	for _, c := range []chan error{released, done} {
		if err := <-c; err != nil {
			t.Fatal(err)
		}
	}
}

func TestPhasesOfFailures(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	b := open(t, direct.Config{DSN: db.PoolerDSN})
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	silent := open(t, direct.Config{DSN: "host=127.0.0.1 port=1"})
	for name, tt := range map[string]struct {
		b    *direct.Backend
		c    *dbaccess.Call
		want string
	}{
		"before sending":   {b, call(lists, none), "prepare"},
		"while connecting": {silent, call(lists, anon), "prepare acquire[connect[tcp]]"},
		"by the server":    {b, call(query.From("secrets"), anon), "prepare acquire network+pooler"},
	} {
		res, err := tt.b.Do(t.Context(), tt.c)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		if diff := cmp.Diff(tt.want, unqueued(shape(t, res.Phases))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// An app's pool can't tell the steps of a connection, but its making is seen.
func TestConnClassOfAppsPool(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	pool, err := pgxpool.New(t.Context(), db.PoolerDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	b := open(t, direct.Config{Pool: pool})
	for _, want := range []dbaccess.ConnClass{dbaccess.ConnNew, dbaccess.ConnIdle, dbaccess.ConnIdle} {
		res, err := b.Do(t.Context(), call(lists, anon))
		if err != nil {
			t.Fatal(err)
		}
		if res.Conn != want {
			t.Errorf("connection %q, want %q", res.Conn, want)
		}
	}
}
