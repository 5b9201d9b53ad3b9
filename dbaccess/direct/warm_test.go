package direct_test

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/internal/localpg"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// Whatever idle limit the connections have, pings keep them below it, and replace
// those that die meanwhile, so that no call has to.
func TestKeepWarm(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	for name, r := range routes(t, db) {
		b := open(t, direct.Config{DSN: r.dsn, MaxConns: 3, KeepWarm: 200 * time.Millisecond})
		fill(t, b, 3)
		before := r.proxy.Stats().RoundTrips
		await(t, func() bool { return r.proxy.Stats().RoundTrips >= before+6 })
		if s := b.PoolStats(); s.New != 3 || s.Replaced != 0 || s.Closed != 0 {
			t.Errorf("%s: %+v, want the three that there were", name, s)
		}
		if r.proxy.DropAll() != 3 {
			t.Fatal("there were not three connections")
		}
		await(t, func() bool { return b.PoolStats().Replaced == 3 && b.PoolStats().Idle == 3 })
		res, err := b.Do(t.Context(), call(lists, anon))
		if err != nil || res.Conn == dbaccess.ConnNew {
			t.Errorf("%s: connection %q, error %v; want one that was there", name, res.Conn, err)
		}
		if s := b.PoolStats(); s.New != 6 || s.Closed != 3 || s.Acquired != 2 { // Start's and the call's
			t.Errorf("%s: %+v", name, s)
		}
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := r.proxy.AwaitOpen(t.Context(), 0); err != nil {
			t.Error(err)
		}
	}
}

// New starts nothing, and -1 and an app's own pool keep it that way.
func TestNoPings(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	r := through(t, db.DirectDSN, db.Addr, 0)
	before := runtime.NumGoroutine()
	for range 50 {
		b, err := direct.New(direct.Config{DSN: r.dsn})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if n := runtime.NumGoroutine(); n > before+40 { // of the tests beside this one
		t.Errorf("%d goroutines, %d before", n, before)
	}
	if n := r.proxy.Stats().Accepted; n != 0 {
		t.Errorf("New made %d connections", n)
	}
	b := open(t, direct.Config{DSN: r.dsn, KeepWarm: -1})
	fill(t, b, 1)
	if direct.Warm(b) {
		t.Error("KeepWarm -1 pings")
	}
}

// A call that comes while the only connection is being pinged waits for it, which
// takes one round trip, and makes no other.
func TestPingDoesNotCostAConnection(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	r := through(t, db.DirectDSN, db.Addr, 100*time.Millisecond)
	b := open(t, direct.Config{DSN: r.dsn, KeepWarm: 400 * time.Millisecond})
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		await(t, func() bool { return direct.Holding(b) > 0 })
		if s := b.PoolStats(); s.Idle+s.InUse != 1 || s.InUse != 0 && direct.Holding(b) > 0 {
			t.Errorf("%+v while one is pinged, want it idle", s)
		}
		if got := body(t, b, lists, anon); got != alicesPublic {
			t.Errorf("while it is pinged: %s", got)
		}
	}
	// On a busy machine a ping may take longer than a call is ready to wait.
	if s := b.PoolStats(); s.New > 2 {
		t.Errorf("%+v, want no new connections", s)
	}
}

// A connection is replaced ahead of the pool's age limit, so that no call has to
// make one.
func TestAgedConnectionsAreReplaced(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	for _, n := range []int32{1, 2} {
		b := open(t, direct.Config{DSN: db.DirectDSN + "&pool_max_conn_lifetime=1500ms", MaxConns: n, KeepWarm: 200 * time.Millisecond})
		if err := b.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		await(t, func() bool { return b.PoolStats().New >= 3 })
		if s := b.PoolStats(); s.Acquired != 1 || s.Replaced != 0 || s.Closed < 1 {
			t.Errorf("%+v, want connections that were closed for their age", s)
		}
	}
}

// What the network has forgotten without a word is replaced before a call meets it, and
// what can't be replaced at once is later.
func TestPingsFindForgottenConnections(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	r := through(t, db.DirectDSN, db.Addr, 0)
	b := open(t, direct.Config{DSN: r.dsn, MaxConns: 1, KeepWarm: 300 * time.Millisecond, ConnectTimeout: 500 * time.Millisecond})
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.proxy.Stall(true)
	await(t, func() bool { return b.PoolStats().Closed == 1 && b.PoolStats().Connecting == 0 })
	r.proxy.DropAll()
	r.proxy.Stall(false)
	await(t, func() bool { return b.PoolStats().Idle == 1 })
	res, err := b.Do(t.Context(), call(lists, anon))
	if err != nil || res.Conn == dbaccess.ConnNew {
		t.Errorf("connection %q, error %v; want one that was there", res.Conn, err)
	}
}

// Logins that are refused are not repeated in the background: poolers block clients
// that keep failing.
func TestRefusedLoginIsNotRepeated(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		code  string
		again bool
	}{"password": {"28P01", false}, "starting": {"57P03", true}} {
		var logins atomic.Int64
		addr := listen(t, func(conn net.Conn) error {
			b := pgproto3.NewBackend(conn, conn)
			if _, err := b.ReceiveStartupMessage(); err != nil {
				return err
			}
			logins.Add(1)
			b.Send(&pgproto3.ErrorResponse{Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: tt.code, Message: "no"})
			return b.Flush()
		})
		b := open(t, direct.Config{DSN: "postgres://app@" + addr + "/db?sslmode=disable", KeepWarm: 20 * time.Millisecond})
		if err := b.Start(t.Context()); !errors.Is(err, dbaccess.ErrUnavailable) {
			t.Fatalf("%s: error %v, want ErrUnavailable", name, err)
		}
		if tt.again {
			await(t, func() bool { return logins.Load() >= 4 })
			continue
		}
		await(t, func() bool { return logins.Load() >= 2 }) // the first in the background
		time.Sleep(300 * time.Millisecond)                  // or 60 looks
		if n := logins.Load(); n != 2 {
			t.Errorf("%s: %d logins, want Start's and one more", name, n)
		}
	}
}

// The pooler or the server restarts: a connection that was idle costs a new one, and
// no read fails.
func TestRestarts(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	pooler := tlsPooler(t, localpg.PoolerConfig{})
	b := open(t, direct.Config{DSN: pooler.DSN(pgtest.LoginRole, pgtest.LoginPassword, db.Name) + "&sslmode=require", KeepWarm: -1})
	for range 2 {
		fill(t, b, 1)
		if err := pooler.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := body(t, b, lists, anon); got != alicesPublic {
			t.Errorf("after the pooler's restart: %s", got)
		}
	}
	if s := b.PoolStats(); s.Replaced != 2 || s.New != 3 {
		t.Errorf("%+v, want two replaced", s)
	}
}

func TestPostgresRestart(t *testing.T) {
	t.Parallel()
	cluster, err := localpg.Start(t.Context(), localpg.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := cluster.Exec(t.Context(), "postgres", `create role anon; create role authenticator noinherit login password 'authenticator'; grant anon to authenticator;
		create table watchlists (id int, title text); insert into watchlists values (2, 'Alice public'); grant select on watchlists to anon`); err != nil {
		t.Fatal(err)
	}
	pooler := pgtest.NewPooler(t, localpg.PoolerConfig{Upstream: cluster.Addr(), Users: map[string]string{"authenticator": "authenticator"}})
	backends := map[string]*direct.Backend{}
	for name, dsn := range map[string]string{"straight": cluster.DSN("authenticator", "authenticator", "postgres"), "pooled": pooler.DSN("authenticator", "authenticator", "postgres")} {
		backends[name] = open(t, direct.Config{DSN: dsn, KeepWarm: -1})
		fill(t, backends[name], 2)
	}
	if err := cluster.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, b := range backends {
		for range 3 {
			if got := body(t, b, lists, anon); got != alicesPublic {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
	if s := backends["straight"].PoolStats(); s.Replaced != 2 || s.New != 3 {
		t.Errorf("%+v, want the two replaced by one", s)
	}
}

// A process that was stopped for longer than its idle limits finds out by itself.
func TestSuspectAge(t *testing.T) {
	t.Parallel()
	for keep, want := range map[time.Duration]time.Duration{0: 2 * direct.DefaultKeepWarm, 3 * time.Second: 6 * time.Second, -1: time.Minute} {
		if got := direct.Suspect(open(t, direct.Config{DSN: "host=h", KeepWarm: keep})); got != want {
			t.Errorf("KeepWarm %v: suspected after %v, want %v", keep, got, want)
		}
	}
	_, err := direct.New(direct.Config{DSN: "host=h", KeepWarm: -2})
	if err == nil || !strings.Contains(err.Error(), "Config.KeepWarm") {
		t.Errorf("error %v, want one about KeepWarm", err)
	}
}
