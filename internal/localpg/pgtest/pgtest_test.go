package pgtest_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/twinpath/twinpath/internal/localpg"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// scalar runs a query that returns one text and returns it.
func scalar(t *testing.T, dsn, sql string) string {
	t.Helper()
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var s string
	if err := conn.QueryRow(t.Context(), sql).Scan(&s); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return s
}

func TestGoldenIsReachableEveryWay(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	const whoAndWhat = "select current_user || ' ' || current_database()"
	for name, tt := range map[string]struct{ dsn, want string }{
		"super":  {db.SuperDSN, " " + db.Name},
		"direct": {db.DirectDSN, "authenticator " + db.Name},
		"pooler": {db.PoolerDSN, "authenticator " + db.Name},
	} {
		if got := scalar(t, tt.dsn, whoAndWhat); !strings.HasSuffix(got, tt.want) {
			t.Errorf("%s: connected as %q, want %q", name, got, tt.want)
		}
	}
	if got := scalar(t, db.SuperDSN, "select count(*)::text from insider_transactions"); got != "120" {
		t.Errorf("the fixture has %s transactions, want 120", got)
	}
	if got, want := pgtest.At(t, db.DirectDSN, db.PoolerAddr), db.PoolerDSN; got != want {
		t.Error("At(DirectDSN, PoolerAddr) is not PoolerDSN")
	}
}

func TestGoldenIsTheTestsOwn(t *testing.T) {
	t.Parallel()
	a, b := pgtest.Golden(t), pgtest.Golden(t)
	a.Exec(t, "delete from watchlist_items")
	if got := scalar(t, a.SuperDSN, "select count(*)::text from watchlist_items"); got != "0" {
		t.Errorf("%s rows left after the delete", got)
	}
	if got := scalar(t, b.SuperDSN, "select count(*)::text from watchlist_items"); got != "4" {
		t.Errorf("another test's database has %s rows, want 4", got)
	}
}

func TestDatabaseIsDroppedWithItsConnections(t *testing.T) {
	t.Parallel()
	outer := pgtest.NewDatabase(t)
	var inner *pgtest.Database
	t.Run("inner", func(t *testing.T) {
		inner = pgtest.Golden(t)
		conn, err := pgx.Connect(t.Context(), inner.PoolerDSN)
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) }) // runs before the drop
	})
	got := scalar(t, outer.SuperDSN, "select count(*)::text from pg_database where datname = '"+inner.Name+"'")
	if got != "0" {
		t.Error("the inner test's database is still there")
	}
}

func TestNewDatabaseLoadsFilesInOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, second := filepath.Join(dir, "1.sql"), filepath.Join(dir, "2.sql")
	writeFile(t, first, "create table t (n int);")
	writeFile(t, second, "insert into t values (42);")
	db := pgtest.NewDatabase(t, first, second)
	if got := scalar(t, db.SuperDSN, "select n::text from t"); got != "42" {
		t.Errorf("n = %s, want 42", got)
	}
	if db.PoolerDSN != "" {
		t.Error("PoolerDSN is set although no pooler was asked for")
	}
}

func TestNewPoolerIsTheTestsOwn(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	p := pgtest.NewPooler(t, localpg.PoolerConfig{PoolSize: 1, IgnoreStartupParameters: []string{"search_path"}})
	dsn := p.DSN(pgtest.LoginRole, pgtest.LoginPassword, db.Name) + "&search_path=nowhere"
	if got := scalar(t, dsn, "select current_setting('search_path')"); got == "nowhere" {
		t.Error("PgBouncer passed on a parameter that it was told to ignore")
	}
	if p.Port() == pgtest.Pooler(t).Port() {
		t.Error("NewPooler returned the shared pooler")
	}
}

func TestOpenGoldenDrops(t *testing.T) {
	t.Parallel()
	db, drop, err := pgtest.OpenGolden(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := drop(); err != nil {
		t.Fatal(err)
	}
	if err := localpg.Exec(t.Context(), db.SuperDSN, "select 1"); err == nil {
		t.Error("the database is still there after the drop")
	}
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
