package direct_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// psql runs a script as it would be run by hand, and returns what psql says.
func psql(t *testing.T, dsn, script string, variables ...string) (string, error) {
	t.Helper()
	args := []string{"--no-psqlrc", "--quiet", "--dbname", dsn}
	for _, v := range variables {
		args = append(args, "--set", v)
	}
	cmd := exec.CommandContext(t.Context(), "psql", args...)
	cmd.Stdin = strings.NewReader(script)
	cmd.Env = []string{"PATH=/usr/bin:/usr/local/bin:/opt/homebrew/bin", "LC_ALL=C"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// The script makes a login that works, with odd names, as superuser and as one who
// may only create roles, and as often as it is run.
func TestSetupSQL(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	admin, _ := newRole(t, db, "_admin", "login createrole password 'secret'")
	like, quotedLike := newRole(t, db, "_like", "noinherit")
	db.Exec(t, "alter role "+quotedLike+" set statement_timeout = '8s'; alter role "+quotedLike+" set work_mem = '9MB'")
	role, quotedRole := newRole(t, db, ` "role' \$setup0$`, "nologin")
	db.Exec(t, "grant usage on schema public to "+quotedRole+"; grant select on public.watchlists to "+quotedRole)
	for suffix, dsn := range map[string]string{` "login' \$setup0$ :'login_password'`: db.SuperDSN, "_plain": as(t, db.DirectDSN, admin, "secret")} {
		login := db.Name[len("twinpath_"):] + suffix
		script, err := direct.SetupSQL(direct.SetupConfig{Login: login, Roles: []string{"anon", "authenticated", role}, Like: like})
		if err != nil {
			t.Fatal(err)
		}
		const password = `it's "secret" \ $setup0$`
		if strings.Contains(script, password) {
			t.Errorf("the script holds the password:\n%s", script)
		}
		if out, err := psql(t, dsn, script); err == nil || !strings.Contains(out, "syntax error") {
			t.Errorf("%s: without the password: %v, %s", suffix, err, out)
		}
		for range 2 {
			if out, err := psql(t, dsn, script, "login_password="+password); err != nil {
				t.Fatalf("%s: %v: %s\n%s", suffix, err, out, script)
			}
		}
		t.Cleanup(func() { dropRole(t, db, pgx.Identifier{login}.Sanitize()) })

		b := open(t, direct.Config{DSN: as(t, db.DirectDSN, login, password)})
		if got := body(t, b, lists, alice); got != `[{"id":1,"title":"Alice private"},{"id":2,"title":"Alice public"}]` {
			t.Errorf("%s: alice's rows: %s", suffix, got)
		}
		conn, err := pgx.Connect(t.Context(), as(t, db.DirectDSN, login, password))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		var found string
		err = conn.QueryRow(t.Context(), `select concat_ws(' ', current_setting('statement_timeout'), current_setting('work_mem'), rolinherit,
			pg_has_role($1, 'member'), pg_has_role($1, 'usage')) from pg_roles where rolname = current_user`, role).Scan(&found)
		if err != nil || found != "8s 4MB f t f" {
			t.Errorf("%s: the login has %s, error %v", suffix, found, err)
		}
		if _, err := conn.Exec(t.Context(), "select from public.watchlists"); err == nil {
			t.Errorf("%s: the login can read a table itself", suffix)
		}
	}

	for name, cfg := range map[string]direct.SetupConfig{
		"is superuser or has BYPASSRLS": {Login: "service_role", Roles: []string{"anon"}},
		"does not exist":                {Login: db.Name + "_new", Roles: []string{db.Name + "_nobody"}},
	} {
		script, err := direct.SetupSQL(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := psql(t, db.SuperDSN, script, "login_password=x"); err == nil || !strings.Contains(out, name) {
			t.Errorf("%v, %s; want an error that says %q", err, out, name)
		}
	}
}

func TestSetupSQLRefuses(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]direct.SetupConfig{
		"zero byte":                  {Login: "a\x00b"},
		"one is empty":               {Roles: []string{""}},
		"SetupConfig.Roles is empty": {Roles: []string{}},
		"63 bytes at most":           {Login: strings.Repeat("é", 32)},
		"must not hold":              {Login: "anon"},
	} {
		if script, err := direct.SetupSQL(cfg); err == nil || !strings.Contains(err.Error(), want) || script != "" {
			t.Errorf("error %v, want one about %q", err, want)
		}
	}
}

func ExampleSetupSQL() {
	script, err := direct.SetupSQL(direct.SetupConfig{Login: "shop_login", Roles: []string{"web_anon", "web_user"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	// Run it with psql: psql "$ADMIN_URL" -v login_password="$LOGIN_PASSWORD" -f setup.sql
	fmt.Println(script[strings.LastIndex(script, "alter role"):])
	// Output:
	// alter role "shop_login" with login noinherit password :'login_password';
	//
	// commit;
}
