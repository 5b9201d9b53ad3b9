package localpg_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twinpath/twinpath/internal/localpg"
)

// TestPooler runs what needs a server behind the pooler on one cluster, with a role app.
func TestPooler(t *testing.T) {
	t.Parallel()
	c := start(t, localpg.Config{})
	if err := c.Exec(t.Context(), "postgres", `create role app login password 'p"w'`); err != nil {
		t.Fatal(err)
	}
	pooler := func(t *testing.T, cfg localpg.PoolerConfig) *localpg.Pooler {
		cfg.Upstream, cfg.Users = c.Addr(), map[string]string{"app": `p"w`}
		return startPooler(t, cfg)
	}
	for name, test := range map[string]func(*testing.T, startFunc){
		"life": testPoolerLife, "shares servers": testPoolerSharesServers, "startup parameters": testPoolerStartupParameters,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, pooler)
		})
	}
}

// startFunc starts a pooler in front of the test's cluster.
type startFunc func(*testing.T, localpg.PoolerConfig) *localpg.Pooler

func testPoolerLife(t *testing.T, start startFunc) {
	ctx, dir := t.Context(), openDir(t)
	p := start(t, localpg.PoolerConfig{Dir: dir, PoolSize: 3, MaxClients: 50, ClientIdleTimeout: 90 * time.Second})
	dsn := p.DSN("app", `p"w`, "postgres")

	if got, err := query(t, dsn, "select current_user::text"); err != nil || got != "app" {
		t.Fatalf("through the pooler: user %q, %v", got, err)
	}
	if _, err := query(t, p.DSN("app", "wrong", "postgres"), "select 'x'"); err == nil {
		t.Error("a wrong password was let in")
	}
	if v := p.Version(); !strings.Contains(v, ".") {
		t.Errorf("Version() = %q", v)
	}

	pools, err := p.Show(ctx, "POOLS")
	if err != nil {
		t.Fatal(err)
	}
	mode := ""
	for _, row := range pools {
		if row["user"] == "app" {
			mode = row["pool_mode"]
		}
	}
	if mode != "transaction" {
		t.Errorf("pool_mode of app is %q, want transaction; SHOW POOLS: %v", mode, pools)
	}
	settings, err := p.Show(ctx, "CONFIG")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"default_pool_size": "3", "max_client_conn": "50", "client_idle_timeout": "90", "ignore_startup_parameters": ""}
	for _, row := range settings {
		if w, ok := want[row["key"]]; ok && row["value"] != w {
			t.Errorf("%s = %q, want %q", row["key"], row["value"], w)
		}
		delete(want, row["key"])
	}
	if len(want) > 0 {
		t.Errorf("SHOW CONFIG lacks %v", want)
	}

	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	port := p.Port()
	if err := p.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	if p.Port() != port {
		t.Errorf("the port changed from %d to %d", port, p.Port())
	}
	if err := conn.Ping(ctx); err == nil {
		t.Error("a connection outlived the restart")
	}
	if _, err := query(t, dsn, "select 'x'"); err != nil {
		t.Errorf("after the restart: %v", err)
	}

	if err := p.Command(ctx, "PAUSE"); err != nil {
		t.Error(err)
	}
	if err := p.Command(ctx, "MAKE COFFEE"); err == nil {
		t.Error("the console made coffee")
	}
	for range 2 {
		if err := p.Stop(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if left := entries(t, dir); len(left) > 0 {
		t.Errorf("Stop left %v", left)
	}
	if err := p.Restart(ctx); err == nil {
		t.Error("Restart after Stop succeeded")
	}
}

// testPoolerSharesServers proves transaction mode by what it does: two clients, one server process.
func testPoolerSharesServers(t *testing.T, start startFunc) {
	p := start(t, localpg.PoolerConfig{PoolSize: 1, Auth: localpg.AuthTrust})
	dsn := p.DSN("app", "", "postgres")
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	var pids [2]string
	for i := range pids {
		conn, err := pgx.ConnectConfig(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		if err := conn.QueryRow(t.Context(), "select pg_backend_pid()::text").Scan(&pids[i]); err != nil {
			t.Fatal(err)
		}
	}
	if pids[0] != pids[1] {
		t.Errorf("server processes %v, want one", pids)
	}
}

func testPoolerStartupParameters(t *testing.T, start startFunc) {
	strict := start(t, localpg.PoolerConfig{})
	lax := start(t, localpg.PoolerConfig{IgnoreStartupParameters: []string{"statement_timeout", "search_path"}})
	const extra = "&search_path=nowhere&statement_timeout=1s"
	if _, err := query(t, strict.DSN("app", `p"w`, "postgres")+extra, "select 'x'"); err == nil {
		t.Error("the default pooler took unknown start-up parameters")
	}
	if _, err := query(t, lax.DSN("app", `p"w`, "postgres")+extra, "select 'x'"); err != nil {
		t.Errorf("the lax pooler: %v", err)
	}
}

func TestStartPoolerErrors(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() }) // after the parallel subtests
	users := map[string]string{"app": "app"}
	for _, tt := range []struct {
		name string
		cfg  localpg.PoolerConfig
		want []string
	}{
		{"port taken", localpg.PoolerConfig{Upstream: "127.0.0.1:1", Users: users, Port: taken.Addr().(*net.TCPAddr).Port},
			[]string{"pgbouncer did not start", "Address already in use"}},
		{"bad setting", localpg.PoolerConfig{Upstream: "127.0.0.1:1", Users: users, Settings: map[string]string{"no_such": "1"}},
			[]string{"pgbouncer did not start", "no_such"}},
		{"every bad field", localpg.PoolerConfig{Upstream: "nowhere", PoolMode: "swimming", PoolSize: -1, MaxClients: -1, IgnoreStartupParameters: []string{"a b"}},
			[]string{"Upstream", "Users", "PoolMode", "PoolSize", "MaxClients", "IgnoreStartupParameters"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.cfg.Dir = openDir(t)
			p, err := localpg.StartPooler(t.Context(), tt.cfg)
			if err == nil {
				t.Fatal(errors.Join(errors.New("StartPooler succeeded"), p.Stop(context.Background())))
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error lacks %q: %v", want, err)
				}
			}
			if left := entries(t, tt.cfg.Dir); len(left) > 0 {
				t.Errorf("the failed start left %v", left)
			}
		})
	}
}
