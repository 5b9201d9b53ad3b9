package direct_test

import (
	"context"
	"strings"
	"testing"

	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
	"github.com/twinpath/twinpath/internal/wireproxy"
)

// Settings that a pooler refuses at startup are refused before, by name, or become the
// call's own, wherever they come from.
func TestFieldCaseO03(t *testing.T) { // not parallel: it sets PGOPTIONS
	db := pgtest.Golden(t)
	db.Exec(t, `create schema app; grant usage on schema app to anon; create table app.t (n int); insert into app.t values (42); grant select on app.t to anon`)
	pooler, err := wireproxy.Start(wireproxy.Config{Target: db.PoolerAddr})
	if err != nil {
		t.Fatal(err)
	}
	defer pooler.Close(context.Background())
	base := pgtest.At(t, db.PoolerDSN, pooler.Addr())

	works := func(dsn string) {
		t.Helper()
		if got, want := body(t, open(t, direct.Config{DSN: dsn}), query.From("t").Columns("n"), anon), `[{"n":42}]`; got != want {
			t.Errorf("%s: %s, want %s", dsn[len(base):], got, want)
		}
	}
	refused := func(dsn, name string) {
		t.Helper()
		pooler.Reset()
		_, err := direct.New(direct.Config{DSN: dsn})
		if err == nil || !strings.Contains(err.Error(), name+":") || strings.Contains(err.Error(), pgtest.LoginPassword) {
			t.Errorf("error %v, want one about %s", err, name)
		}
		if n := pooler.Stats().Accepted; n != 0 {
			t.Errorf("%s: %d connections were made", name, n)
		}
	}
	works(base + "&search_path=app")
	works(base + "&options=-c%20search_path%3Dapp%20-c%20statement_timeout%3D9s")
	refused(base+"&lock_timeout=5s", "lock_timeout")
	refused(base+"&default_transaction_isolation=serializable", "default_transaction_isolation")
	refused(base+"&options=-c%20idle_in_transaction_session_timeout%3D5s", "idle_in_transaction_session_timeout (from options)")
	t.Setenv("PGOPTIONS", "-c search_path=app")
	works(base)
	t.Setenv("PGOPTIONS", "-c search_path=app -c lock_timeout=5s")
	refused(base, "lock_timeout (from PGOPTIONS)")
	t.Setenv("PGOPTIONS", "")
	t.Setenv("PGTZ", "Asia/Seoul")
	refused(base, "timezone (from PGTZ)")
}

// A URL in the dialect of another library works, and what can't be translated is named.
func TestFieldCaseO04(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	b := open(t, direct.Config{DSN: db.PoolerDSN + "&pgbouncer=true&connection_limit=1"})
	if got := body(t, b, query.From("companies").Columns("ticker").OrderBy(query.Asc("ticker")).Limit(1), anon); !strings.HasPrefix(got, `[{"ticker":`) {
		t.Errorf("read %s", got)
	}
	if explained := strings.Join(b.Explain(), "\n"); !strings.Contains(explained, "connection_limit: taken as") || !strings.Contains(explained, "pgbouncer: taken as") {
		t.Errorf("explained as %q", explained)
	}
	if d, err := direct.ParseDSN(db.PoolerDSN + "&pgbouncer=true&connection_limit=1"); err != nil || d.MaxConns != 1 || d.Mode != "transaction" {
		t.Errorf("explained as %+v, error %v", d, err)
	}
	for _, name := range []string{"statement_cache_mode", "pool_timeout", "schema", "sslaccept", "socket_timeout", "uselibpqcompat"} {
		_, err := direct.New(direct.Config{DSN: strings.Replace(db.PoolerDSN, pgtest.LoginPassword+"@", "canary@", 1) + "&pgbouncer=true&" + name + "=x"})
		if err == nil || !strings.Contains(err.Error(), name+": ") || strings.Contains(err.Error(), "canary") {
			t.Errorf("error %v, want one about %s", err, name)
		}
	}
}
