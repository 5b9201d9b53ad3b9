package doctor_test

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"

	"github.com/twinpath/twinpath/dbaccess/doctor"
	"github.com/twinpath/twinpath/dbaccess/postgresttest"
	"github.com/twinpath/twinpath/internal/localpg"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// role makes a login role of the test's own, with what SQL says after its name, and
// returns its name and a DSN. Roles outlive databases: names are random.
func role(t *testing.T, db *pgtest.Database, options string, more ...string) (name, dsn string) {
	t.Helper()
	name = "doctor_" + strings.ToLower(rand.Text())
	script := "create role " + name + " password 'canary' login " + options + ";"
	for _, m := range more {
		script += strings.ReplaceAll(m, "{role}", name) + ";"
	}
	db.Exec(t, script)
	t.Cleanup(func() {
		if err := localpg.Exec(context.Background(), db.SuperDSN, "drop owned by "+name+" cascade; drop role "+name); err != nil {
			t.Error(err)
		}
	})
	return name, "postgres://" + name + ":canary@" + db.Addr + "/" + db.Name + "?sslmode=disable"
}

func TestPrivileges(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	// Its own settings and limits are looked at together.
	_, several := role(t, db, "noinherit createrole replication connection limit 3", "alter role {role} set timezone = 'Asia/Seoul'", "alter role {role} set statement_timeout = '7s'")
	r := run(t, doctor.Config{DirectDSN: several})
	wantFinding(t, r, "login.privileges", doctor.Warning, "may create roles")
	wantFinding(t, r, "login.privileges", doctor.Warning, "may replicate")
	wantFinding(t, r, "login.settings", doctor.Warning, "TimeZone is set for the login role", "reset")
	wantFinding(t, r, "timeouts", doctor.OK, "login's is 7s")
	wantFinding(t, r, "pool.size", doctor.Error, "may have 3 connections")
	checkNoSecret(t, r, "canary")

	for _, tt := range []struct {
		name, options string
		more          []string
		id            string
		severity      doctor.Severity
		words         []string
	}{
		{"superuser", "superuser", nil, "login.privileges", doctor.Error, []string{"is a superuser", "SetupSQL"}},
		{"bypassrls", "noinherit bypassrls", nil, "login.privileges", doctor.Error, []string{"bypasses row-level security"}},
		{"inherits", "inherit", []string{"grant anon to {role}"}, "login.privileges", doctor.Error, []string{"inherits"}},
		{"owner", "noinherit", []string{"create table public.t_{role} ()", "alter table public.t_{role} owner to {role}"}, "login.privileges", doctor.Error, []string{"owns tables of schema public"}},
		{"no member", "noinherit", []string{"grant anon to {role}"}, "login.roles", doctor.Error, []string{"no member of authenticated", "grant authenticated to"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, dsn := role(t, db, tt.options, tt.more...)
			r := run(t, doctor.Config{DirectDSN: dsn})
			wantFinding(t, r, tt.id, tt.severity, tt.words...)
			checkNoSecret(t, r, "canary")
		})
	}
}

func TestRoles(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	limited, _ := role(t, db, "noinherit bypassrls", "alter role {role} set statement_timeout = '3s'", "grant {role} to "+pgtest.LoginRole)
	r := run(t, doctor.Config{DirectDSN: db.DirectDSN, Roles: []string{"anon", limited, "no_such_role", pgtest.LoginRole}})
	wantFinding(t, r, "login.roles", doctor.Error, "there is no role no_such_role")
	wantFinding(t, r, "login.roles", doctor.Warning, limited, "not bound by row-level security")
	wantFinding(t, r, "login.privileges", doctor.Error, "is also a role that callers act as")
	wantFinding(t, r, "timeouts", doctor.OK, limited+" 3s", "anon has none of its own")
}

// The backends refuse a login with privileges: the doctor has said so already.
func TestPrivilegedLoginIsNotCompared(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	r := run(t, doctor.Config{DirectDSN: db.SuperDSN, RESTURL: standIn(t, postgresttest.Config{DSN: db.DirectDSN})})
	wantFinding(t, r, "same.database", doctor.Info, "privileges of its own")
}

func TestOtherDatabase(t *testing.T) {
	t.Parallel()
	db, other := pgtest.Golden(t), pgtest.Golden(t)
	r := run(t, doctor.Config{DirectDSN: db.DirectDSN, RESTURL: standIn(t, postgresttest.Config{DSN: other.DirectDSN})})
	// Both are copies of one template, with the same numbers: the report doesn't claim more.
	wantFinding(t, r, "same.database", doctor.OK, "or a copy")
	empty := pgtest.NewDatabase(t)
	empty.Exec(t, "grant usage on schema public to anon")
	r = run(t, doctor.Config{DirectDSN: db.DirectDSN, RESTURL: standIn(t, postgresttest.Config{DSN: empty.DirectDSN})})
	wantFinding(t, r, "same.database", doctor.Error, "does not know table", "notify pgrst")

	// The same tables, made anew, and empty.
	other.Exec(t, `do $$ declare t text; begin for t in select c.relname from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' loop
		execute format('alter table public.%I rename to %I', t, t || '_old');
		execute format('create table public.%I (like public.%I including all)', t, t || '_old');
		execute format('grant select on public.%I to anon', t); end loop; end $$`)
	r = run(t, doctor.Config{DirectDSN: db.DirectDSN, RESTURL: standIn(t, postgresttest.Config{DSN: other.DirectDSN})})
	wantFinding(t, r, "same.database", doctor.Error, "different databases")
}

func TestOtherJSON(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	_, dsn := role(t, db, "noinherit", "grant anon, authenticated to {role}", "alter role {role} set intervalstyle = 'iso_8601'", "alter role {role} set bytea_output = 'escape'")
	r := run(t, doctor.Config{DirectDSN: db.DirectDSN, RESTURL: standIn(t, postgresttest.Config{DSN: dsn})})
	wantFinding(t, r, "same.database", doctor.OK, "same row")
	wantFinding(t, r, "same.json", doctor.Error, "IntervalStyle (interval)", "bytea_output (bytea)")
}

func TestNothingToCompare(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	name, _ := role(t, db, "noinherit", "grant {role} to "+pgtest.LoginRole)
	r := run(t, doctor.Config{
		DirectDSN: db.DirectDSN, AnonRole: name, RESTURL: standIn(t, postgresttest.Config{DSN: db.DirectDSN, AnonRole: name}),
	})
	wantFinding(t, r, "same.database", doctor.Info, "no table of schema public")
}
