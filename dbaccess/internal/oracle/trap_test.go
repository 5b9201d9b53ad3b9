package oracle_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// trap is a database in which nothing goes unnoticed: a table that nobody has a
// reason to touch, and a function that leaves a trace even where its transaction
// is undone. Everybody may use both.
type trap struct {
	db     *pgtest.Database
	before map[string]string
	scans  string
}

func setTrap(t *testing.T, db *pgtest.Database) *trap {
	t.Helper()
	db.Exec(t, `
		create table public.canary (id int primary key);
		insert into public.canary values (1);
		create sequence public.canary_trace start 100;
		select nextval('canary_trace');
		create function public.canary_fn() returns text language sql as $$ select nextval('public.canary_trace')::text $$;
		grant all on public.canary, public.canary_trace to anon, authenticated, service_role;`)
	tr := &trap{db: db}
	tr.before = tr.look(t)
	tr.scans = tr.touched(t)
	return tr
}

// check says what is not as it was. Everybody else must have left the database.
func (tr *trap) check(t *testing.T) {
	t.Helper()
	if diff := cmp.Diff(tr.scans, tr.touched(t)); diff != "" {
		t.Errorf("the canary has been touched (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(tr.before, tr.look(t)); diff != "" {
		t.Errorf("tables are not what they were (-want +got):\n%s", diff)
	}
}

// look is the content of all tables. A sequence that gives tables their keys goes on
// even where an insert fails.
func (tr *trap) look(t *testing.T) map[string]string {
	t.Helper()
	conn := connect(t, tr.db.SuperDSN)
	defer conn.Close(t.Context())
	m := dump(t, conn)
	maps.DeleteFunc(m, func(name, _ string) bool { return strings.HasSuffix(name, "_id_seq") })
	return m
}

// touched counts what has been done to the canary. Only sessions that have ended
// have told it all.
func (tr *trap) touched(t *testing.T) string {
	t.Helper()
	conn := connect(t, tr.db.SuperDSN)
	defer conn.Close(t.Context())
	// A pooler keeps its connections; what they have done is known when they end.
	rows(t, conn, "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()")
	for range 200 {
		others := *rows(t, conn, "select count(*)::text from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()")[0][0]
		if others == "0" {
			return *rows(t, conn, "select concat_ws(' ', seq_scan, idx_scan, n_tup_ins, n_tup_upd, n_tup_del) from pg_stat_user_tables where relname = 'canary'")[0][0]
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("somebody is still connected to the database")
	return ""
}
