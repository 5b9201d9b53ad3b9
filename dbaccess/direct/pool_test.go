package direct_test

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
	"github.com/twinpath/twinpath/internal/wireproxy"
)

// tlsPooler starts a PgBouncer that wants TLS, and a password by SCRAM.
func tlsPooler(t *testing.T, cfg localpg.PoolerConfig) *localpg.Pooler {
	t.Helper()
	web := httptest.NewTLSServer(nil) // for its certificate
	pair := web.TLS.Certificates[0]
	web.Close()
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "twinpath-tls-") // t.TempDir is closed to the pooler's user
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cfg.Settings = map[string]string{
		"client_tls_sslmode": "allow", "client_tls_key_file": write("key", "PRIVATE KEY", key),
		"client_tls_cert_file": write("cert", "CERTIFICATE", pair.Certificate[0]),
	}
	return pgtest.NewPooler(t, cfg)
}

// route is a way to the test's database through a proxy.
type route struct {
	proxy *wireproxy.Proxy
	dsn   string
}

// through puts a proxy in front of addr; dsn is that of the server behind it.
func through(t *testing.T, dsn, addr string, delay time.Duration) route {
	t.Helper()
	p, err := wireproxy.Start(wireproxy.Config{Target: addr, Delay: delay})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close(context.Background()) })
	return route{p, pgtest.At(t, dsn, p.Addr())}
}

// routes are the test's database through PgBouncer in transaction mode with TLS and
// SCRAM, and straight.
func routes(t *testing.T, db *pgtest.Database) map[string]route {
	t.Helper()
	pooler := tlsPooler(t, localpg.PoolerConfig{})
	secure := through(t, pooler.DSN(pgtest.LoginRole, pgtest.LoginPassword, db.Name), pooler.Addr(), 0)
	secure.dsn += "&sslmode=require"
	return map[string]route{"pgbouncer, TLS, SCRAM": secure, "postgres": through(t, db.DirectDSN, db.Addr, 0)}
}

// fill has the pool make n connections, and returns when all are idle.
func fill(t *testing.T, b *direct.Backend, n int) {
	t.Helper()
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	release := direct.TakeAll(t.Context(), b, n)
	release()
	await(t, func() bool { return b.PoolStats().Idle == n })
}

// await waits until the condition holds.
func await(t *testing.T, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited for too long")
		}
	}
}

const alicesPublic = `[{"id":2,"title":"Alice public"}]`

// Idle connections that die, however, cost one new one, and no call fails.
func TestDeadIdleConnections(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, shelf)
	insert := query.Insert("shelf", fields{"id": 70})
	for name, r := range routes(t, db) {
		for how, cut := range map[string]func() int{"closed": r.proxy.DropAll, "reset": r.proxy.ResetAll} {
			b := open(t, direct.Config{DSN: r.dsn, MaxConns: 3, KeepWarm: -1})
			if err := r.proxy.AwaitOpen(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			fill(t, b, 3)
			if cut() != 3 {
				t.Fatal("there were not three connections")
			}
			await(t, func() bool { return direct.Dead(b) == 3 })
			// A write, too: the connection is known to be dead before anything is sent.
			for _, q := range []query.Query{undone(insert), lists} {
				if _, err := b.Do(t.Context(), call(q, anon)); err != nil {
					t.Errorf("%s, %s: %v", name, how, err)
				}
			}
			if got := body(t, b, lists, anon); got != alicesPublic {
				t.Errorf("%s, %s: %s", name, how, got)
			}
			if s := b.PoolStats(); s.New != 4 || s.Replaced != 3 || s.Closed != 3 {
				t.Errorf("%s, %s: %+v, want 3 replaced by one", name, how, s)
			}
			if err := b.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}

// A connection that a NAT has forgotten costs a bounded probe, also when it is the
// only one that there may be.
func TestSilentlyDroppedConnections(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	for name, r := range routes(t, db) {
		for _, n := range []int{1, 3} {
			b := open(t, direct.Config{DSN: r.dsn, MaxConns: int32(n), KeepWarm: -1})
			fill(t, b, n)
			direct.SetSuspect(b, time.Nanosecond)
			if got := body(t, b, lists, anon); got != alicesPublic { // one that answers stays
				t.Errorf("%s: %s", name, got)
			}
			if s := b.PoolStats(); s.New != int64(n) || s.Replaced != 0 {
				t.Errorf("%s: %+v before, want none replaced", name, s)
			}
			direct.Forget(b)
			res, err := b.Do(t.Context(), call(lists, anon))
			if err != nil || res.Conn != dbaccess.ConnNew {
				t.Fatalf("%s: connection %q, error %v", name, res.Conn, err)
			}
			if took := res.Phases[1].Duration; took > 10*time.Second {
				t.Errorf("%s: it took %v to find out", name, took)
			}
			if s := b.PoolStats(); s.New != int64(n)+1 || s.Replaced != int64(n) {
				t.Errorf("%s: %+v, want all replaced by one", name, s)
			}
			if err := b.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}

// A caller that gives up while a suspect is being asked does not wait for it.
func TestCallerGivesUpOnASuspect(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	r := through(t, db.DirectDSN, db.Addr, 0)
	b := open(t, direct.Config{DSN: r.dsn + "&pool_ping_timeout=1h", KeepWarm: -1})
	fill(t, b, 1)
	direct.SetSuspect(b, time.Nanosecond)
	r.proxy.Stall(true)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.Do(ctx, call(lists, anon)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the deadline", err)
	}
	r.proxy.Stall(false)
	if got := body(t, b, lists, anon); got != alicesPublic {
		t.Errorf("afterwards: %s", got)
	}
}
