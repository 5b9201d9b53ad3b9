package direct_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

func TestNewReportsAllProblems(t *testing.T) {
	t.Parallel()
	_, err := direct.New(direct.Config{
		DSN:    "postgres://app:" + canary + "@h/db?timezone=UTC&default_query_exec_mode=describe_exec",
		Schema: "api", Schemas: []string{"public"}, SearchPath: []string{""},
		MaxConns: -1, AcquireTimeout: -time.Second, ConnectTimeout: -1, Timeout: -1, PreRequest: "hooks.",
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{
		"timezone", "describe_exec", "Config.Schemas", "Config.Schema, Schemas", "Config.MaxConns", "Config.AcquireTimeout", "Config.ConnectTimeout", "Config.Timeout", "Config.PreRequest",
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %s", err, part)
		}
	}
	checkNoSecret(t, err)
	for name, cfg := range map[string]direct.Config{
		"neither":     {},
		"white space": {DSN: "\n"},
		"both":        {DSN: "host=h", Pool: &pgxpool.Pool{}},
		"pool's size": {Pool: &pgxpool.Pool{}, MaxConns: 3},
	} {
		if _, err := direct.New(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func checkNoSecret(t *testing.T, err error) {
	t.Helper()
	if strings.Contains(err.Error(), canary) {
		t.Errorf("the password is in the error: %v", err)
	}
}

// The DSN's search_path is what it would be through the startup packet, which a
// pooler refuses.
func TestSearchPathOfDSN(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, seen)
	db.Exec(t, `create schema app; grant usage on schema app to anon; create view app.seen as select * from public.seen; grant select on app.seen to anon;`)
	q := query.From("seen").Columns("path")
	for name, tt := range map[string]struct {
		cfg  direct.Config
		want string
	}{
		"none":               {direct.Config{DSN: db.PoolerDSN}, `[{"path":"\"public\", \"public\""}]`},
		"first is ours":      {direct.Config{DSN: db.PoolerDSN + "&search_path=app,auth,public"}, `[{"path":"\"app\", \"auth\", \"public\""}]`},
		"one alone":          {direct.Config{DSN: db.PoolerDSN + "&search_path=app"}, `[{"path":"\"app\""}]`},
		"the config's first": {direct.Config{DSN: db.PoolerDSN + "&search_path=app", Schema: "public"}, `[{"path":"\"public\", \"app\""}]`},
		"the config's only":  {direct.Config{DSN: db.PoolerDSN + "&search_path=app", Schema: "app", SearchPath: []string{}}, `[{"path":"\"app\""}]`},
	} {
		if got := body(t, open(t, tt.cfg), q, anon); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
