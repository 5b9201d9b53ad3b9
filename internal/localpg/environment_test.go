package localpg_test

import (
	"context"
	"net/url"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/internal/localpg"
)

// foreign is a shell profile for somebody's own server, with a value of every
// variable that would keep a connection to another one from being made, or change
// what it does.
func foreign() map[string]string {
	return map[string]string{
		"PGHOST": "db.invalid", "PGHOSTADDR": "192.0.2.1", "PGPORT": "none", "PGDATABASE": "zz", "PGUSER": "zz", "PGPASSWORD": "zz",
		"PGPASSFILE": "/nonexistent", "PGSERVICE": "zz", "PGSERVICEFILE": "/nonexistent", "PGOPTIONS": "-c role=x", "PGTZ": "Asia/Tokyo",
		"PGAPPNAME": "zz", "PGCONNECT_TIMEOUT": "soon", "PGTARGETSESSIONATTRS": "standby", "PGDATESTYLE": "German", "PGCLIENTENCODING": "LATIN1",
		"PGSSLMODE": "verify-full", "PGSSLKEY": "/nonexistent", "PGSSLCERT": "/nonexistent", "PGSSLCERTMODE": "require", "PGSSLSNI": "9",
		"PGSSLROOTCERT": "/nonexistent", "PGSSLPASSWORD": "zz", "PGSSLNEGOTIATION": "direct",
		"PGMINPROTOCOLVERSION": "9", "PGMAXPROTOCOLVERSION": "1", "PGCHANNELBINDING": "require", "PGREQUIREAUTH": "none",
	}
}

// TestForeignEnvironment starts servers in a shell of somebody who has another
// one, with each variable by itself and with all of them.
func TestForeignEnvironment(t *testing.T) {
	cluster := start(t, localpg.Config{}) // before: setting an environment takes it from all
	check := func(t *testing.T) {
		t.Helper()
		for _, dsn := range []string{
			cluster.SuperDSN("postgres"),
			"host=127.0.0.1 port=" + port(t, cluster) + " user=postgres dbname=postgres sslmode=disable password=" + password(t, cluster),
		} {
			if err := localpg.Exec(t.Context(), dsn, `do $$ begin
				if current_setting('TimeZone') = 'Asia/Tokyo' or current_user <> 'postgres' or current_database() <> 'postgres' or
					current_setting('application_name') <> 'twinpath-localpg' or current_setting('client_encoding') <> 'UTF8' then
					raise 'a variable came through';
				end if;
			end $$`); err != nil {
				t.Error(err)
			}
		}
		if _, err := cluster.Version(t.Context()); err != nil {
			t.Error(err)
		}
	}
	for name, value := range foreign() {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			t.Setenv(name, value)
			check(t)
		})
	}
	t.Run("all", func(t *testing.T) {
		temp := openDir(t)
		t.Setenv("TMPDIR", temp)
		for name, value := range foreign() {
			t.Setenv(name, value)
		}
		check(t)
		own, err := localpg.Start(t.Context(), localpg.Config{})
		if err != nil {
			t.Fatal(err)
		}
		pooler, err := localpg.StartPooler(t.Context(), localpg.PoolerConfig{Upstream: own.Addr(), Users: map[string]string{"app": "app"}})
		if err != nil {
			t.Error(err)
		} else if err := pooler.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		if err := own.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		if left := entries(t, temp); len(left) > 0 {
			t.Errorf("left in the directory for temporary files: %v", left)
		}
	})
}

func TestClearEnvironment(t *testing.T) {
	keep := map[string]string{"PGRST_JWT_SECRET": "kept", "TWINPATH_PGTZ": "kept"}
	for _, vars := range []map[string]string{foreign(), keep} {
		for name, value := range vars {
			t.Setenv(name, value)
		}
	}
	if err := localpg.ClearEnvironment(); err != nil {
		t.Fatal(err)
	}
	for name := range foreign() {
		if v, ok := os.LookupEnv(name); ok {
			t.Errorf("%s is still %q", name, v)
		}
	}
	for name, want := range keep {
		if got := os.Getenv(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	cfg, err := pgconn.ParseConfig("postgres://u:p@127.0.0.1/d?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{}, cfg.RuntimeParams); diff != "" {
		t.Errorf("pgx would send (-want +got):\n%s", diff)
	}
}

func port(t *testing.T, c *localpg.Cluster) string { return parsed(t, c).Port() }

func password(t *testing.T, c *localpg.Cluster) string {
	p, _ := parsed(t, c).User.Password()
	return p
}

func parsed(t *testing.T, c *localpg.Cluster) *url.URL {
	t.Helper()
	u, err := url.Parse(c.SuperDSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	return u
}
