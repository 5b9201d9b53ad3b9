package direct_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
	"github.com/twinpath/twinpath/internal/wireproxy"
)

// things are tables to write to in transactions.
const things = `
create table public.things (id int primary key, name text not null unique, meta jsonb, tags text[], uid uuid, at timestamptz);
create table public.parts (id int primary key, thing int references public.things deferrable initially deferred);
grant select, insert, update, delete on public.things, public.parts to authenticated;
create table public.mine (id int primary key, owner uuid not null default (current_setting('request.jwt.claims')::json->>'sub')::uuid);
alter table public.mine enable row level security;
create policy own on public.mine to authenticated using (owner = (current_setting('request.jwt.claims')::json->>'sub')::uuid);
grant select, insert on public.mine to authenticated;
` + seen

// events are the events of a DB's calls.
type events struct {
	mu   sync.Mutex
	ends []dbaccess.CallEnd
}

func (o *events) CallStart(ctx context.Context, _ dbaccess.CallStart) context.Context { return ctx }

func (o *events) CallEnd(_ context.Context, e dbaccess.CallEnd) {
	o.mu.Lock()
	defer o.mu.Unlock()
	e.Phases = slices.Clone(e.Phases)
	o.ends = append(o.ends, e)
}

func (o *events) take() []dbaccess.CallEnd {
	o.mu.Lock()
	defer o.mu.Unlock()
	ends := o.ends
	o.ends = nil
	return ends
}

// backends are those of the DBs that txDB has made.
var backends sync.Map

// txDB makes a DB on a backend of its own, whose router says REST.
func txDB(tb testing.TB, cfg direct.Config, observers ...dbaccess.Observer) *dbaccess.DB {
	tb.Helper()
	b, err := direct.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	db, err := dbaccess.New(dbaccess.Config{REST: refusing{}, Direct: b, Observers: observers, Service: &service})
	if err != nil {
		tb.Fatal(err)
	}
	backends.Store(db, b)
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := db.Close(ctx); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return db
}

// refusing is a REST path that nothing may use.
type refusing struct{}

func (refusing) Do(context.Context, *dbaccess.Call) (*dbaccess.Result, error) {
	return nil, errors.New("the REST path was used")
}

func (refusing) Close(context.Context) error { return nil }

// directly makes calls outside of a transaction go direct as well.
func directly(ctx context.Context) context.Context {
	return dbaccess.WithDecision(ctx, dbaccess.Decision{Path: dbaccess.Direct})
}

type seenRow struct {
	Usr     string `db:"usr"`
	Path    string `db:"path"`
	Claims  string `db:"claims"`
	Method  string `db:"method"`
	Req     string `db:"req"`
	Ro      string `db:"ro"`
	Timeout string `db:"timeout"`
}

var seenQuery = query.From("seen").Columns("usr", "path", "claims", "method", "req", "ro", "timeout")

// count returns the rows of a table, as superuser.
func count(t *testing.T, db *pgtest.Database, table string) int {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), db.SuperDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var n int
	if err := conn.QueryRow(t.Context(), "select count(*) from "+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// checkUnchanged makes certain that the next callers on the same connection get
// what is theirs, and that it is the same connection.
func checkUnchanged(t *testing.T, db *dbaccess.DB, conns int64) {
	t.Helper()
	row, err := dbaccess.One[seenRow](auth.With(directly(t.Context()), anon), db, seenQuery)
	if err != nil {
		t.Errorf("the next call: %v", err)
		return
	}
	want := seenRow{Usr: "anon", Path: `"public", "public"`, Claims: `{"role":"anon"}`, Method: "GET", Req: "/seen", Ro: "on", Timeout: "0"}
	if diff := cmp.Diff(want, row); diff != "" {
		t.Errorf("the next call finds something else (-want +got):\n%s", diff)
	}
	b, ok := backends.Load(db)
	if made := direct.NewConns(b.(*direct.Backend)); !ok || conns >= 0 && made != conns {
		t.Errorf("%d connections were made, want %d", made, conns)
	}
}

func TestTxCommitsAndRollsBack(t *testing.T) {
	t.Parallel()
	pg := pgtest.Golden(t)
	pg.Exec(t, things)
	db := txDB(t, direct.Config{DSN: pg.PoolerDSN, MaxConns: 1})
	ctx := auth.With(t.Context(), alice)
	own := errors.New("the function's own")
	insert := func(id int) func(context.Context, direct.Transaction) error {
		return func(ctx context.Context, tx direct.Transaction) error {
			tag, err := tx.Exec(ctx, "insert into things (id, name) values ($1, $2)", id, "thing")
			if err == nil && tag.RowsAffected() != 1 {
				t.Errorf("%d rows", tag.RowsAffected())
			}
			return err
		}
	}
	if err := direct.Tx(ctx, db, direct.TxOptions{}, func(ctx context.Context, tx direct.Transaction) error {
		if err := insert(1)(ctx, tx); err != nil {
			return err
		}
		return own
	}); err != own {
		t.Errorf("error %v, want the function's own as it is", err)
	}
	if n := count(t, pg, "things"); n != 0 {
		t.Errorf("%d rows after the rollback", n)
	}
	if err := direct.Tx(ctx, db, direct.TxOptions{}, insert(1)); err != nil {
		t.Fatal(err)
	}
	if n := count(t, pg, "things"); n != 1 {
		t.Errorf("%d rows after the commit, want 1", n)
	}
	err := direct.Tx(ctx, db, direct.TxOptions{}, insert(2)) // a name that is taken
	pe, ok := errors.AsType[*pgconn.PgError](err)
	if !errors.Is(err, dbaccess.ErrConflict) || !ok || pe.Code != "23505" {
		t.Errorf("error %v, want ErrConflict of a *pgconn.PgError", err)
	}
	checkNoCanary(t, "conflict", err)
	checkUnchanged(t, db, 1)
}

// The settings are those of a call, and nothing of them stays.
func TestTxSettings(t *testing.T) {
	t.Parallel()
	pg := pgtest.Golden(t)
	pg.Exec(t, things+`alter role authenticated in database "`+pg.Name+`" set work_mem = '5MB'`)
	db := txDB(t, direct.Config{DSN: pg.PoolerDSN, MaxConns: 1, Schemas: []string{"public", "private_api"}})
	claims, err := alice.ClaimsWithRole()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		opts direct.TxOptions
		want seenRow
	}{
		{"plain", direct.TxOptions{}, seenRow{Ro: "off", Req: "/rpc/", Timeout: "0"}},
		{"named", direct.TxOptions{Name: "move shares"}, seenRow{Ro: "off", Req: "/rpc/move%20shares", Timeout: "0"}},
		{"read only", direct.TxOptions{ReadOnly: true}, seenRow{Ro: "on", Req: "/rpc/", Timeout: "0"}},
	} {
		err := direct.Tx(auth.With(t.Context(), alice), db, tt.opts, func(ctx context.Context, tx direct.Transaction) error {
			tt.want.Usr, tt.want.Path, tt.want.Claims, tt.want.Method = "authenticated", `"public", "public"`, string(claims), "POST"
			const sql = "select usr, path, claims, method, req, ro, timeout from public.seen"
			check := func(when string) {
				rows, err := tx.Query(ctx, sql)
				if err != nil {
					t.Errorf("%s: %s: %v", tt.name, when, err)
					return
				}
				got, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[seenRow])
				if err != nil {
					t.Errorf("%s: %s: %v", tt.name, when, err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", tt.name, when, diff)
				}
			}
			check("at first")
			// A verb's own are there for it alone.
			row, err := dbaccess.One[seenRow](ctx, db, seenQuery)
			if err != nil {
				return err
			}
			verb := tt.want
			verb.Method, verb.Req = "GET", "/seen"
			if diff := cmp.Diff(verb, row); diff != "" {
				t.Errorf("%s: a verb (-want +got):\n%s", tt.name, diff)
			}
			if _, err := dbaccess.JSON(ctx, db, query.From("companies").Limit(1)); err != nil {
				return err
			}
			check("after verbs")
			if _, err := tx.Exec(ctx, "set local search_path to ''"); err != nil {
				return err
			}
			tt.want.Path = ""
			if _, err := dbaccess.JSON(ctx, db, query.From("companies").Limit(1)); err != nil {
				return err
			}
			tt.want.Path = `""`
			check("after a verb, with another path")
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		checkUnchanged(t, db, 1)
	}

	deadline, cancel := context.WithTimeout(auth.With(t.Context(), alice), 50*time.Second)
	defer cancel()
	var timeout string
	if err := direct.Tx(deadline, db, direct.TxOptions{Timeout: 40 * time.Second}, func(ctx context.Context, tx direct.Transaction) error {
		return tx.QueryRow(ctx, "select current_setting('statement_timeout')").Scan(&timeout)
	}); err != nil {
		t.Error(err)
	}
	if d, err := time.ParseDuration(timeout); err != nil || d > 40*time.Second || d < 20*time.Second {
		t.Errorf("statement_timeout %s, want a bit less than 40s", timeout)
	}
}

func TestTxIsolation(t *testing.T) {
	t.Parallel()
	pg := pgtest.Golden(t)
	db := txDB(t, direct.Config{DSN: pg.PoolerDSN})
	for _, tt := range []struct {
		opts direct.TxOptions
		want string
	}{
		{direct.TxOptions{}, "read committed off off"},
		{direct.TxOptions{Isolation: pgx.ReadCommitted}, "read committed off off"},
		{direct.TxOptions{Isolation: pgx.ReadUncommitted}, "read uncommitted off off"},
		{direct.TxOptions{Isolation: pgx.RepeatableRead, ReadOnly: true}, "repeatable read on off"},
		{direct.TxOptions{Isolation: pgx.Serializable}, "serializable off off"},
		{direct.TxOptions{Isolation: pgx.Serializable, ReadOnly: true, Deferrable: true}, "serializable on on"},
	} {
		var got string
		if err := direct.Tx(auth.With(t.Context(), alice), db, tt.opts, func(ctx context.Context, tx direct.Transaction) error {
			return tx.QueryRow(ctx, `select concat_ws(' ', current_setting('transaction_isolation'), current_setting('transaction_read_only'),
				current_setting('transaction_deferrable'))`).Scan(&got)
		}); err != nil || got != tt.want {
			t.Errorf("%+v: %q, error %v; want %q", tt.opts, got, err, tt.want)
		}
	}
	err := direct.Tx(auth.With(t.Context(), alice), db, direct.TxOptions{ReadOnly: true}, func(ctx context.Context, tx direct.Transaction) error {
		_, err := dbaccess.Exec(ctx, db, query.Delete("watchlists").Where(query.Eq("id", 1)))
		return err
	})
	if e, ok := errors.AsType[*dbaccess.Error](err); !ok || e.SQLState != "25006" {
		t.Errorf("a write in a read-only transaction: %v", err)
	}
}

// Policies see the headers that the DB forwards.
func TestTxForwardsHeaders(t *testing.T) {
	t.Parallel()
	pg := pgtest.Golden(t)
	b, err := direct.New(direct.Config{DSN: pg.PoolerDSN})
	if err != nil {
		t.Fatal(err)
	}
	db, err := dbaccess.New(dbaccess.Config{Direct: b, ForwardHeaders: []string{"x-tenant", "cookie"}, Default: &anon})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(t.Context())
	ctx := dbaccess.WithRequestHeaders(t.Context(), http.Header{"X-Tenant": {"7"}, "Cookie": {"a=b"}, "X-Other": {canary}, "Authorization": {canary}})
	var got string
	if err := direct.Tx(ctx, db, direct.TxOptions{}, func(ctx context.Context, tx direct.Transaction) error {
		return tx.QueryRow(ctx, "select current_setting('request.headers') || current_setting('request.cookies')").Scan(&got)
	}); err != nil {
		t.Fatal(err)
	}
	if want := `{"x-tenant":"7"}{"a":"b"}`; got != want {
		t.Errorf("policies see %s, want %s", got, want)
	}
}

func TestTxOptionsValidate(t *testing.T) {
	t.Parallel()
	db := txDB(t, direct.Config{DSN: "postgres://app@127.0.0.1:1/x"})
	nothing := func(context.Context, direct.Transaction) error { return nil }
	for name, tt := range map[string]struct {
		opts direct.TxOptions
		fn   func(context.Context, direct.Transaction) error
		says string
	}{
		"isolation":  {direct.TxOptions{Isolation: "snapshot; drop table x"}, nothing, "TxOptions.Isolation"},
		"deferrable": {direct.TxOptions{Deferrable: true}, nothing, "TxOptions.Deferrable"},
		"retries":    {direct.TxOptions{Retries: direct.MaxRetries + 1}, nothing, "TxOptions.Retries"},
		"negative":   {direct.TxOptions{Retries: -1}, nothing, "TxOptions.Retries"},
		"timeout":    {direct.TxOptions{Timeout: -1}, nothing, "TxOptions.Timeout"},
		"function":   {direct.TxOptions{}, nil, "function"},
	} {
		err := direct.Tx(auth.With(t.Context(), alice), db, tt.opts, tt.fn)
		if !errors.Is(err, dbaccess.ErrUnsupported) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: error %v, want ErrUnsupported about %s", name, err, tt.says)
		}
	}
	if err := direct.Tx(t.Context(), db, direct.TxOptions{}, nothing); !errors.Is(err, dbaccess.ErrNoIdentity) {
		t.Errorf("nobody: error %v, want ErrNoIdentity", err)
	}
	if err := direct.Tx(auth.With(t.Context(), alice), db, direct.TxOptions{}, nothing); !errors.Is(err, dbaccess.ErrUnavailable) {
		t.Errorf("no server: error %v, want ErrUnavailable", err)
	}
	foreign, err := dbaccess.New(dbaccess.Config{Direct: refusing{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := direct.Tx(auth.With(t.Context(), alice), foreign, direct.TxOptions{}, nothing); !errors.Is(err, dbaccess.ErrUnsupported) {
		t.Errorf("another backend: error %v, want ErrUnsupported", err)
	}
}

// Whatever the application's SQL does, it acts as its own identity or is not
// committed.
func TestTxIdentityCannotBeChanged(t *testing.T) {
	t.Parallel()
	pg := pgtest.Golden(t)
	pg.Exec(t, things+`create function public.become(who text, local bool) returns text language sql as $$ select set_config('role', who, local) $$;`)
	n := newNeighbour(t, pg)
	db := txDB(t, direct.Config{DSN: n.dsn, MaxConns: 1})
	checkNeighbour := func(name string) {
		if got := n.look(t); got != cleanNeighbour {
			t.Errorf("%s: left behind: %s", name, got)
		}
	}
	const insert = "insert into things (id, name) values (1, 'x')"
	for _, tt := range []struct {
		name    string
		sql     []string // the last one changes the identity
		refused bool     // before it is sent
	}{
		{"set role", []string{insert, "SET ROLE service_role"}, true},
		{"set local role", []string{insert, "set local role service_role"}, true},
		{"set session role", []string{insert, "set session role service_role"}, true},
		{"set role none", []string{insert, "set role none"}, true},
		{"set role, quoted", []string{insert, `set local "Role" to service_role`}, true},
		{"set role, far behind", []string{insert, strings.Repeat(" ", 1<<15) + "set role service_role"}, true},
		{"set role, behind a comment's return", []string{insert, "-- x\rset role service_role"}, true},
		{"reset role", []string{insert, "/* x */ reset role"}, true},
		{"reset all", []string{insert, "reset all"}, true},
		{"set session authorization", []string{insert, "set session authorization postgres"}, true},
		{"set local session authorization", []string{insert, "set local session authorization default"}, true},
		{"session setting", []string{insert, "set statement_timeout = 0"}, true},
		{"session characteristics", []string{insert, "set session characteristics as transaction read only"}, true},
		{"commit", []string{insert, "commit"}, true},
		{"commit, hidden", []string{insert, "; -- x\n COMMIT and chain"}, true},
		{"commit, far behind", []string{insert, "/*" + strings.Repeat(" ", 1<<15) + "*/commit"}, true},
		{"end", []string{insert, "end"}, true},
		{"rollback", []string{insert, "rollback"}, true},
		{"rollback work", []string{insert, "rollback work"}, true},
		{"abort", []string{insert, "abort"}, true},
		{"begin", []string{insert, "begin"}, true},
		{"start transaction", []string{insert, "start transaction"}, true},
		{"prepare transaction", []string{insert, "prepare transaction 'x'"}, true},
		{"prepare", []string{insert, "prepare x as select 1"}, true},
		{"listen", []string{insert, "listen x"}, true},
		{"copy", []string{insert, "copy things from stdin"}, true},
		{"set_config role", []string{insert, "select set_config('role', 'service_role', true)"}, false},
		{"set_config role for good", []string{insert, "select set_config('role', 'service_role', false)"}, false},
		{"set_config role none", []string{insert, "select set_config('role', 'none', true)"}, false},
		{"through a function", []string{insert, "select become('service_role', true)"}, false},
		{"through a function, reset", []string{insert, "select become('none', false)"}, false},
		{"a do block", []string{insert, "do $$ begin execute 'reset role'; end $$"}, false},
		{"a do block, set role", []string{insert, "do $$ begin set role service_role; end $$"}, false},
		{"claims", []string{insert, `select set_config('request.jwt.claims', '{"role":"authenticated","sub":"` + bobID + `"}', true)`}, false},
		{"claims for good", []string{insert, `select set_config('request.jwt.claims', '', false)`}, false},
		{"set local claims", []string{insert, `set local request.jwt.claims = '{}'`}, false},
		{"operators of its own", []string{
			insert, "create temp table t ()", `set local search_path to pg_temp, pg_catalog`, "select set_config('role', 'service_role', true)",
		}, false},
	} {
		var last error
		err := direct.Tx(auth.With(t.Context(), alice), db, direct.TxOptions{}, func(ctx context.Context, tx direct.Transaction) error {
			for _, sql := range tt.sql {
				_, last = tx.Exec(ctx, sql)
			}
			if tt.refused {
				// Nothing was sent, and the transaction goes on.
				if _, err := tx.Exec(ctx, "select 1"); err != nil {
					t.Errorf("%s: afterwards: %v", tt.name, err)
				}
				return last
			}
			return nil
		})
		if !errors.Is(err, dbaccess.ErrTransaction) {
			t.Errorf("%s: error %v, want ErrTransaction", tt.name, err)
		}
		if (last != nil) != tt.refused {
			t.Errorf("%s: the statement's error is %v", tt.name, last)
		}
		if n := count(t, pg, "things"); n != 0 {
			t.Errorf("%s: committed", tt.name)
			pg.Exec(t, "delete from things")
		}
		checkUnchanged(t, db, 1)
		checkNeighbour(tt.name)
	}

	// What is put back within the transaction does not come out behind it.
	if err := direct.Tx(auth.With(t.Context(), alice), db, direct.TxOptions{}, func(ctx context.Context, tx direct.Transaction) error {
		_, err := tx.Exec(ctx, `select set_config('role', 'service_role', false), set_config('role', 'authenticated', true),
			set_config('request.jwt.claims', '{}', false), set_config('request.jwt.claims', $1, true)`, `{"sub":"`+aliceID+`","role":"authenticated"}`)
		return err
	}); err != nil {
		t.Errorf("put back: %v", err)
	}
	checkNeighbour("put back")

	// A verb does not run as anybody else either.
	err := direct.Tx(auth.With(t.Context(), alice), db, direct.TxOptions{}, func(ctx context.Context, tx direct.Transaction) error {
		if _, err := tx.Exec(ctx, "select set_config('role', 'service_role', true)"); err != nil {
			return err
		}
		rows, err := dbaccess.JSON(ctx, db, query.From("secrets"))
		if err == nil {
			t.Errorf("a verb read as another role: %s", rows)
		}
		return err
	})
	if !errors.Is(err, dbaccess.ErrTransaction) {
		t.Errorf("a verb after set_config: error %v, want ErrTransaction", err)
	}
	checkUnchanged(t, db, 1)

	for _, fine := range []string{
		"savepoint a", "rollback to savepoint a", "rollback work to a", "release a", "set local work_mem = '5MB'", "set constraints all immediate",
		"set transaction read only", "set local time zone 'UTC'", "lock table things in share mode", "notify x", "",
	} {
		if err := direct.Tx(auth.With(t.Context(), alice), db, direct.TxOptions{}, func(ctx context.Context, tx direct.Transaction) error {
			if strings.Contains(fine, " a") && fine != "savepoint a" {
				if _, err := tx.Exec(ctx, "savepoint a"); err != nil {
					return err
				}
			}
			_, err := tx.Exec(ctx, fine)
			return err
		}); err != nil {
			t.Errorf("%s: %v", fine, err)
		}
	}
	checkUnchanged(t, db, 1)
}

// What a transaction makes for its session, and not for itself alone, ends with it: a
// neighbour on the same server connection would take it for what its own functions name.
func TestTxLeavesNothingInTheSession(t *testing.T) {
	t.Parallel()
	pg := pgtest.Golden(t)
	pg.Exec(t, things+`create function public.names() returns setof text stable language sql as 'select name from things';
		insert into things (id, name) values (1, 'everybody''s');`)
	n := newNeighbour(t, pg)
	db := txDB(t, direct.Config{DSN: n.dsn, MaxConns: 1})
	if err := direct.Tx(auth.With(t.Context(), alice), db, direct.TxOptions{}, func(ctx context.Context, tx direct.Transaction) error {
		for _, sql := range []string{
			"create temp table things as select 'alice''s' as name",
			"select 'alice''s' as name into temp parts",
			"create temp view mine as select 'alice''s' as name",
			"create domain pg_temp.text as pg_catalog.text",
			"declare held cursor with hold for select 'alice''s'",
		} {
			if _, err := tx.Exec(ctx, sql); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if got, err := dbaccess.JSON(directly(auth.With(t.Context(), bob)), db, query.Call("names", nil)); err != nil || compact(t, got) != `["everybody's"]` {
		t.Errorf("bob's call yields %s, error %v", got, err)
	}
	var left string
	if err := n.pool.QueryRow(t.Context(), `select concat((select count(*) from pg_class where relnamespace = pg_my_temp_schema()), ' relations, ',
		(select count(*) from pg_type where typnamespace = pg_my_temp_schema()), ' types, ', (select count(*) from pg_cursors where is_holdable), ' cursors')`).Scan(&left); err != nil {
		t.Fatal(err)
	}
	if left != "0 relations, 0 types, 0 cursors" {
		t.Errorf("left behind: %s", left)
	}
	checkUnchanged(t, db, 1)
}

// A statement that gets out of the transaction by a way that nobody knew of is the
// last that runs, and its connection serves nobody else.
func TestTxLeftBehindItsBack(t *testing.T) {
	t.Parallel()
	pg := pgtest.Golden(t)
	pg.Exec(t, things)
	db := txDB(t, direct.Config{DSN: pg.PoolerDSN, MaxConns: 1})
	err := direct.Tx(auth.With(t.Context(), alice), db, direct.TxOptions{}, func(ctx context.Context, tx direct.Transaction) error {
		if err := direct.SendUnchecked(ctx, tx, "commit"); err != nil {
			t.Error(err)
		}
		if _, err := tx.Exec(ctx, "insert into things (id, name) values (1, 'x')"); !errors.Is(err, dbaccess.ErrTransaction) {
			t.Errorf("the next statement: %v, want ErrTransaction", err)
		}
		if _, err := dbaccess.JSON(ctx, db, query.From("companies")); !errors.Is(err, dbaccess.ErrTransaction) {
			t.Errorf("the next verb: %v, want ErrTransaction", err)
		}
		return nil
	})
	if !errors.Is(err, dbaccess.ErrTransaction) {
		t.Errorf("error %v, want ErrTransaction", err)
	}
	checkUnchanged(t, db, 2)
}

func TestTxContexts(t *testing.T) {
	t.Parallel()
	pg := pgtest.Golden(t)
	pg.Exec(t, things)
	db := txDB(t, direct.Config{DSN: pg.PoolerDSN, AcquireTimeout: 200 * time.Millisecond, MaxConns: 1})
	other := txDB(t, direct.Config{DSN: pg.PoolerDSN})
	outside := auth.With(directly(t.Context()), alice)
	var after context.Context
	var afterTx direct.Transaction
	err := direct.Tx(outside, db, direct.TxOptions{}, func(ctx context.Context, tx direct.Transaction) error {
		after, afterTx = ctx, tx
		for name, tt := range map[string]struct {
			err  error
			want error
		}{
			"nested":           {direct.Tx(ctx, db, direct.TxOptions{}, nil), dbaccess.ErrTransaction},
			"nested, other DB": {direct.Tx(ctx, other, direct.TxOptions{}, nil), dbaccess.ErrTransaction},
			"verb as another":  {second(dbaccess.JSON(auth.With(ctx, bob), db, lists)), dbaccess.ErrTransaction},
			"verb as service":  {second(dbaccess.JSON(auth.AsService(ctx), db, lists)), dbaccess.ErrTransaction},
			"verb of another":  {second(dbaccess.JSON(ctx, other, lists)), dbaccess.ErrTransaction},
			"sql as another":   {second(tx.Exec(auth.With(ctx, bob), "select 1")), dbaccess.ErrTransaction},
			"sql as nobody":    {second(tx.Exec(context.Background(), "select 1")), nil},
			"sql outside":      {second(tx.Exec(outside, "select 1")), nil},
			// O9: a pool of one, whose connection is ours.
			"verb outside": {second(dbaccess.JSON(outside, db, lists)), dbaccess.ErrSaturated},
			"tx outside":   {direct.Tx(outside, db, direct.TxOptions{}, func(context.Context, direct.Transaction) error { return nil }), dbaccess.ErrSaturated},
		} {
			if !errors.Is(tt.err, tt.want) || tt.err != nil && tt.want == nil {
				t.Errorf("%s: error %v, want %v", name, tt.err, tt.want)
			}
		}
		// The catalog isn't known yet, and there is no second connection to load it by.
		n, err := dbaccess.Exec(ctx, db, query.Insert("things", map[string]any{"id": 1, "name": "x"}))
		if err == nil && n != 1 {
			t.Errorf("%d rows were inserted", n)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"verb": second(dbaccess.JSON(auth.With(context.WithoutCancel(after), alice), db, lists)),
		"sql":  second(afterTx.Exec(t.Context(), "select 1")),
	} {
		if !errors.Is(err, dbaccess.ErrTransaction) {
			t.Errorf("%s after the end: error %v, want ErrTransaction", name, err)
		}
	}
	checkUnchanged(t, db, 1)
}

func second[T any](_ T, err error) error { return err }

// Verbs see what the transaction did, tables made in it included, and nobody else
// does.
func TestTxVerbs(t *testing.T) {
	t.Parallel()
	pg := pgtest.Golden(t)
	pg.Exec(t, things+"grant create on schema public to service_role; grant select, references on public.things to service_role")
	rec := &events{}
	db := txDB(t, direct.Config{DSN: pg.PoolerDSN, MaxConns: 1}, rec)
	type thing struct {
		ID   int    `db:"id"`
		Name string `db:"name"`
	}
	byID := query.From("things").OrderBy(query.Asc("id"))
	err := direct.Tx(auth.With(t.Context(), alice), db, direct.TxOptions{Name: "verbs"}, func(ctx context.Context, tx direct.Transaction) error {
		for i, name := range []string{"a", "b", "c"} {
			if _, err := dbaccess.One[thing](ctx, db, query.Insert("things", thing{i, name})); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, "update things set name = 'd' where id = $1", 2); err != nil {
			return err
		}
		all, err := dbaccess.All[thing](ctx, db, byID)
		if err != nil {
			return err
		}
		if diff := cmp.Diff([]thing{{0, "a"}, {1, "b"}, {2, "d"}}, all); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		page, total, err := dbaccess.Page[thing](ctx, db, byID.Limit(1))
		if err != nil || len(page) != 1 || total != 3 {
			t.Errorf("a page of %d of %d, error %v", len(page), total, err)
		}
		each := 0
		for row, err := range dbaccess.Each[thing](ctx, db, query.From("things"), "id") {
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, "update things set meta = $2 where id = $1", row.ID, row); err != nil {
				return err
			}
			each++
		}
		if each != 3 {
			t.Errorf("Each yielded %d rows", each)
		}
		if _, err := dbaccess.One[thing](ctx, db, byID.Where(query.Eq("id", 9))); !errors.Is(err, dbaccess.ErrNoRows) {
			t.Errorf("no row: %v", err)
		}
		if n, err := dbaccess.Count(ctx, db, byID); err != nil || n != 3 {
			t.Errorf("after no row: %d, %v", n, err)
		}
		if n := count(t, pg, "things"); n != 0 {
			t.Errorf("others see %d rows", n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := count(t, pg, "things"); n != 3 {
		t.Errorf("%d rows were committed, want 3", n)
	}
	for _, e := range rec.take() {
		if e.Route.Path != dbaccess.Direct || e.Route.Reason != dbaccess.ReasonTransaction || e.Role != "authenticated" {
			t.Errorf("%s %s went over %s (%s) as %s", e.Verb, e.Summary(), e.Route.Path, e.Route.Reason, e.Role)
		}
	}

	err = direct.Tx(auth.AsService(t.Context()), db, direct.TxOptions{}, func(ctx context.Context, tx direct.Transaction) error {
		if _, err := tx.Exec(ctx, "create table public.made (id int primary key, thing int references things)"); err != nil {
			return err
		}
		if _, err := dbaccess.Exec(ctx, db, query.Insert("made", map[string]any{"id": 7})); err != nil {
			return err
		}
		got, err := dbaccess.JSON(ctx, db, query.From("made"))
		if err == nil && compact(t, got) != `[{"id":7,"thing":null}]` {
			t.Errorf("made: %s", got)
		}
		return errors.Join(err, errRollBack)
	})
	if err != nil && !errors.Is(err, errRollBack) {
		t.Error(err)
	}

	// A verb that fails leaves the transaction good for nothing.
	err = direct.Tx(auth.With(t.Context(), alice), db, direct.TxOptions{}, func(ctx context.Context, tx direct.Transaction) error {
		if _, err := dbaccess.Exec(ctx, db, query.Insert("things", thing{8, "a"})); !errors.Is(err, dbaccess.ErrConflict) {
			t.Errorf("error %v, want ErrConflict", err)
		}
		if _, err := tx.Exec(ctx, "select 1"); err == nil {
			t.Error("the transaction goes on")
		}
		return nil
	})
	if !errors.Is(err, dbaccess.ErrConflict) || !strings.Contains(err.Error(), "returned nil") {
		t.Errorf("swallowed: error %v, want ErrConflict", err)
	}
	err = direct.Tx(auth.With(t.Context(), alice), db, direct.TxOptions{}, func(ctx context.Context, tx direct.Transaction) error {
		if _, err := tx.Exec(ctx, "savepoint here"); err != nil {
			return err
		}
		if _, err := dbaccess.Exec(ctx, db, query.Insert("things", thing{8, "a"})); !errors.Is(err, dbaccess.ErrConflict) {
			t.Errorf("error %v, want ErrConflict", err)
		}
		if _, err := tx.Exec(ctx, "rollback to here"); err != nil {
			return err
		}
		_, err := dbaccess.Exec(ctx, db, query.Insert("things", thing{8, "e"}))
		return err
	})
	if err != nil {
		t.Errorf("back to a savepoint: %v", err)
	}
	if n := count(t, pg, "things"); n != 4 {
		t.Errorf("%d rows, want 4", n)
	}
	checkUnchanged(t, db, 1)
}

var errRollBack = errors.New("roll back")

// Arguments and results are those of an ordinary pgx connection.
func TestTxArguments(t *testing.T) {
	t.Parallel()
	pg := pgtest.Golden(t)
	pg.Exec(t, things)
	db := txDB(t, direct.Config{DSN: pg.PoolerDSN})
	type meta struct{ N int }
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.FixedZone("", 7200))
	err := direct.Tx(auth.With(t.Context(), alice), db, direct.TxOptions{}, func(ctx context.Context, tx direct.Transaction) error {
		for i, m := range []any{[]byte(`{"N": 5}`), json.RawMessage(`{"N": 5}`), `{"N": 5}`, map[string]any{"N": 5}, meta{5}, &meta{5}} {
			id := [16]byte{15: byte(i)}
			if _, err := tx.Exec(ctx, "insert into things (id, name, meta, tags, uid, at) values ($1, $2, $3, $4, $5, $6)",
				i, "n"+string(rune('a'+i)), m, []string{"x", "y'"}, id, at); err != nil {
				return err
			}
			var gotMeta meta
			var tags []string
			var uid [16]byte
			var when time.Time
			if err := tx.QueryRow(ctx, "select meta, tags, uid, at from things where id = any($1)", []int{i}).Scan(&gotMeta, &tags, &uid, &when); err != nil {
				return err
			}
			if gotMeta != (meta{5}) || !slices.Equal(tags, []string{"x", "y'"}) || uid != id || !when.Equal(at) || when.Location() != time.Local {
				t.Errorf("%T: %v %v %v %v", m, gotMeta, tags, uid, when)
			}
		}
		var n int
		if err := tx.QueryRow(ctx, "select count(*) from things where name like @pattern", pgx.NamedArgs{"pattern": "n%"}).Scan(&n); err != nil || n != 6 {
			t.Errorf("named arguments: %d, %v", n, err)
		}
		if err := tx.QueryRow(ctx, "select 1 where false").Scan(&n); err != pgx.ErrNoRows {
			t.Errorf("no row: %v, want pgx.ErrNoRows itself", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		sql  string
		args []any
		want error
	}{
		"too few":         {"select $1::int + $2::int", []any{1}, dbaccess.ErrInvalid},
		"not encodable":   {"select $1::int", []any{canary}, dbaccess.ErrInvalid},
		"bad text":        {"select $1::text::int", []any{canary}, dbaccess.ErrInvalid},
		"two statements":  {"select 1; select '" + canary + "'", nil, nil},
		"two, with value": {"select $1::text; select 2", []any{canary}, nil},
		"mode":            {"select $1::text", []any{pgx.QueryExecModeSimpleProtocol, canary}, dbaccess.ErrTransaction},
		"formats":         {"select $1::text", []any{pgx.QueryResultFormats{1}, canary}, dbaccess.ErrTransaction},
		"no table":        {"select * from missing", nil, dbaccess.ErrNotFound},
		"no right":        {"select * from secrets", nil, dbaccess.ErrPermission},
	} {
		err := direct.Tx(auth.With(t.Context(), alice), db, direct.TxOptions{}, func(ctx context.Context, tx direct.Transaction) error {
			var v any
			return tx.QueryRow(ctx, tt.sql, tt.args...).Scan(&v)
		})
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%s: error %v, want %v", name, err, tt.want)
		}
		checkNoCanary(t, name, err)
	}
	err = direct.Tx(auth.With(t.Context(), alice), db, direct.TxOptions{}, func(ctx context.Context, tx direct.Transaction) error {
		var n int
		return tx.QueryRow(ctx, "select $1::text as label", canary).Scan(&n)
	})
	if !errors.Is(err, dbaccess.ErrInvalid) || !strings.Contains(err.Error(), `"label"`) {
		t.Errorf("scan: error %v, want ErrInvalid that names the column", err)
	}
	checkNoCanary(t, "scan", err)
	checkUnchanged(t, db, -1)
}

func TestTxRoundTrips(t *testing.T) {
	t.Parallel()
	pg := pgtest.Golden(t)
	pg.Exec(t, things)
	proxy, err := wireproxy.Start(wireproxy.Config{Target: pg.PoolerAddr, Delay: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close(t.Context())
	db := txDB(t, direct.Config{DSN: pgtest.At(t, pg.PoolerDSN, proxy.Addr())})
	if err := db.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx := auth.With(directly(t.Context()), alice)
	if _, err := dbaccess.Exec(ctx, db, query.Insert("things", map[string]any{"id": 0, "name": "loads the catalog"})); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		want int64 // beside BEGIN and COMMIT
		do   func(ctx context.Context, tx direct.Transaction) error
	}{
		{"nothing", 0, func(context.Context, direct.Transaction) error { return nil }},
		{"a plain statement", 1, func(ctx context.Context, tx direct.Transaction) error {
			_, err := tx.Exec(ctx, "update things set name = 'x'")
			return err
		}},
		{"a statement with arguments", 2, func(ctx context.Context, tx direct.Transaction) error {
			_, err := tx.Exec(ctx, "update things set name = $1", "y")
			return err
		}},
		{"three times the same", 4, func(ctx context.Context, tx direct.Transaction) error {
			for range 3 {
				if _, err := tx.Exec(ctx, "update things set name = $1", "y"); err != nil {
					return err
				}
			}
			return nil
		}},
		{"a batch", 2, func(ctx context.Context, tx direct.Transaction) error {
			var b pgx.Batch
			for i := range 20 {
				b.Queue("insert into things (id, name) values ($1, $2)", i+10, "b"+string(rune('a'+i)))
			}
			b.Queue("select count(*) from things")
			return tx.SendBatch(ctx, &b).Close()
		}},
		{"verbs", 2, func(ctx context.Context, _ direct.Transaction) error {
			if _, err := dbaccess.JSON(ctx, db, query.From("things")); err != nil {
				return err
			}
			_, err := dbaccess.Exec(ctx, db, query.Delete("things").Where(query.Eq("id", 10)))
			return err
		}},
	} {
		if err := proxy.Idle(t.Context()); err != nil {
			t.Fatal(err)
		}
		proxy.Reset()
		if err := direct.Tx(ctx, db, direct.TxOptions{}, tt.do); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if s := proxy.Stats(); s.RoundTrips != tt.want+2 || s.Accepted != 0 {
			t.Errorf("%s: %d round trips on %d new connections, want %d on none", tt.name, s.RoundTrips, s.Accepted, tt.want+2)
		}
	}
}
