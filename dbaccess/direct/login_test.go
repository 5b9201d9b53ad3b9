package direct_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
	"github.com/twinpath/twinpath/internal/wireproxy"
)

// newRole makes a role of the test's own: roles belong to the server, not to the
// database. It returns the quoted name too.
func newRole(t *testing.T, db *pgtest.Database, suffix, options string) (name, quoted string) {
	t.Helper()
	name = db.Name + suffix
	quoted = pgx.Identifier{name}.Sanitize()
	db.Exec(t, "create role "+quoted+" "+options)
	t.Cleanup(func() { dropRole(t, db, quoted) })
	return name, quoted
}

func dropRole(t *testing.T, db *pgtest.Database, quoted string) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), db.SuperDSN)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(context.Background(), "drop owned by "+quoted+"; drop role "+quoted, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Error(err)
	}
}

// as returns a DSN with another user.
func as(t *testing.T, dsn, user, password string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(user, password)
	return u.String()
}

// noting is a view whose reading leaves a trace that no rollback undoes.
const noting = `create sequence public.notes_taken;
	create function public.note() returns int volatile language sql security definer as $$ select nextval('public.notes_taken')::int $$;
	create view public.noting as select public.note() as id;
	grant select on public.noting to anon;`

func taken(t *testing.T, db *pgtest.Database) bool {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), db.SuperDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var called bool
	if err := conn.QueryRow(t.Context(), "select is_called from public.notes_taken").Scan(&called); err != nil {
		t.Fatal(err)
	}
	return called
}

// Types of the session's own, which come before the server's where a name has no schema,
// make no difference to who a call may act as, nor to what the login role is
// asked. Others that share the pooler's connections can leave them there.
func TestTypesOfTheSession(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, noting+"grant select on public.noting to public;")
	login, quoted := newRole(t, db, "_login", "noinherit login password 'secret'")
	bypass, quotedBypass := newRole(t, db, "_bypass", "noinherit bypassrls login password 'secret'")
	db.Exec(t, "grant anon to "+quoted+", "+quotedBypass)
	for _, user := range []string{login, bypass} {
		cfg, err := pgxpool.ParseConfig(as(t, db.DirectDSN, user, "secret"))
		if err != nil {
			t.Fatal(err)
		}
		cfg.MaxConns = 1
		cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
			for _, name := range []string{"int4", "text", "bool", "jsonb", "json", "float8", "regclass"} {
				// No text is true, an object or a number any more, and each is one.
				if _, err := conn.Exec(ctx, "create domain pg_temp."+name+" as pg_catalog.text"); err != nil {
					return err
				}
			}
			return nil
		}
		pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		b := open(t, direct.Config{Pool: pool})
		want := direct.ErrPrivilegedLogin
		if user == login {
			if got := body(t, b, lists, anon); got != `[{"id":2,"title":"Alice public"}]` {
				t.Errorf("an ordinary call yields %s", got)
			}
			want = dbaccess.ErrPermission
		}
		if _, err := b.Do(t.Context(), call(query.From("noting"), auth.Identity{Role: user})); !errors.Is(err, want) {
			t.Errorf("as %s: error %v, want %v", user, err, want)
		}
		if taken(t, db) {
			t.Fatal("a statement was run as the login role")
		}
	}
}

func TestPrivilegedLogins(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, noting)
	proxy, err := wireproxy.Start(wireproxy.Config{Target: db.Addr})
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close(t.Context())
	for _, tt := range []struct{ name, options, more, mend, advice string }{
		{"_super", "noinherit superuser", "", "nosuperuser", "is superuser,"},
		{"_bypass", "noinherit bypassrls", "", "nobypassrls", "has BYPASSRLS,"},
		{"_inherit", "inherit", "", "noinherit", "inherits the privileges of anon, authenticated,"},
		{"_nested", "noinherit", "create role {group} inherit; grant anon to {group}; grant {group} to {login}; alter role {login} inherit", "noinherit",
			"inherits the privileges of anon, {group},"},
		{"_owner", "noinherit", "create table public.owned (id int); alter table public.owned owner to {login}", "drop table public.owned", "owns public.owned,"},
		{"_schema", "noinherit", "create schema owned authorization {login}", "drop schema owned", "owns owned,"},
	} {
		login, quoted := newRole(t, db, tt.name, tt.options+" login password 'secret'")
		if tt.name != "_nested" {
			db.Exec(t, "grant anon to "+quoted)
		}
		if tt.name == "_inherit" {
			db.Exec(t, "grant authenticated to "+quoted)
		}
		group := db.Name + "_group"
		names := strings.NewReplacer("{login}", quoted, "{group}", group)
		if tt.more != "" {
			db.Exec(t, names.Replace(tt.more))
		}
		if tt.name == "_nested" {
			t.Cleanup(func() { dropRole(t, db, group) })
		}
		dsn := as(t, pgtest.At(t, db.DirectDSN, proxy.Addr()), login, "secret")
		cfg := direct.Config{DSN: dsn, MaxConns: 1, Schemas: []string{"public", "owned"}}
		b := open(t, cfg)

		_, err := b.Do(t.Context(), call(query.From("noting"), anon))
		want := names.Replace(tt.advice)
		if e, ok := err.(*dbaccess.Error); !ok || !errors.Is(err, direct.ErrPrivilegedLogin) || !strings.Contains(e.Advice, want) ||
			!strings.Contains(e.Advice, "SetupSQL") || e.HTTPStatus != 500 || e.Query == "" {
			t.Errorf("%s: error %v, want ErrPrivilegedLogin with %q", tt.name, err, want)
		}
		if taken(t, db) {
			t.Fatalf("%s: the statement was run", tt.name)
		}

		// Nothing more is sent, not even to connect.
		if err := proxy.Idle(t.Context()); err != nil {
			t.Fatal(err)
		}
		proxy.Reset()
		insert := query.Insert("noting", map[string]any{"id": 1})
		for _, c := range []*dbaccess.Call{call(query.From("noting"), anon), {Query: spec(insert), Identity: anon}} {
			if _, err := b.Do(t.Context(), c); !errors.Is(err, direct.ErrPrivilegedLogin) {
				t.Errorf("%s: later error %v, want ErrPrivilegedLogin", tt.name, err)
			}
		}
		if s := proxy.Stats(); s.RoundTrips != 0 || s.Accepted != 0 {
			t.Errorf("%s: %d round trips on %d new connections after the refusal, want none", tt.name, s.RoundTrips, s.Accepted)
		}
		if err := b.Start(t.Context()); !errors.Is(err, direct.ErrPrivilegedLogin) {
			t.Errorf("%s: Start: %v, want ErrPrivilegedLogin", tt.name, err)
		}

		cfg.AllowPrivilegedLogin = true
		if got := body(t, open(t, cfg), lists, anon); got != `[{"id":2,"title":"Alice public"}]` {
			t.Errorf("%s: allowed: %s", tt.name, got)
		}

		mend := names.Replace(tt.mend)
		if !strings.HasPrefix(mend, "drop") {
			mend = "alter role " + quoted + " " + mend
		}
		db.Exec(t, mend)
		if _, err := b.Do(t.Context(), call(lists, anon)); !errors.Is(err, direct.ErrPrivilegedLogin) {
			t.Errorf("%s: %v before it is looked at again, want ErrPrivilegedLogin", tt.name, err)
		}
		direct.LoginDue(b)
		if got := body(t, b, lists, anon); got != `[{"id":2,"title":"Alice public"}]` {
			t.Errorf("%s: once mended: %s", tt.name, got)
		}
	}
}

func spec(q query.Query) *query.Spec {
	s := q.Spec()
	return &s
}

// An app's own pool is looked at too, and ReloadSchema looks again.
func TestPrivilegedLoginOfAppsPool(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, noting)
	pool, err := pgxpool.New(t.Context(), db.SuperDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	b := open(t, direct.Config{Pool: pool})
	for range 2 {
		if _, err := b.Do(t.Context(), call(query.From("noting"), anon)); !errors.Is(err, direct.ErrPrivilegedLogin) {
			t.Errorf("error %v, want ErrPrivilegedLogin", err)
		}
		b.ReloadSchema()
	}
	if taken(t, db) {
		t.Error("the statement was run")
	}
}

// A login that becomes privileged is found out when it is looked at again.
func TestLoginIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	login, quoted := newRole(t, db, "_login", "noinherit login password 'secret'")
	role, r := newRole(t, db, "_role", "nologin")
	db.Exec(t, "grant anon, "+r+" to "+quoted+"; grant usage on schema public to "+r+";"+seen+"grant select on public.seen to "+r)
	b := open(t, direct.Config{DSN: as(t, db.DirectDSN, login, "secret")})
	timeouts := func() string {
		return body(t, b, query.From("seen").Columns("timeout"), auth.Identity{Role: role})
	}
	if got := timeouts(); got != `[{"timeout":"0"}]` {
		t.Errorf("at first: %s", got)
	}
	db.Exec(t, "alter role "+r+" set statement_timeout = '7s'")
	if got := timeouts(); got != `[{"timeout":"0"}]` {
		t.Errorf("before it is looked at again: %s", got)
	}
	direct.LoginDue(b)
	for range 2 {
		if got := timeouts(); got != `[{"timeout":"7s"}]` {
			t.Errorf("afterwards: %s", got)
		}
	}
	db.Exec(t, "alter role "+r+" reset statement_timeout")
	b.ReloadSchema()
	if got := timeouts(); got != `[{"timeout":"0"}]` {
		t.Errorf("after ReloadSchema: %s", got)
	}
	db.Exec(t, "alter role "+quoted+" bypassrls")
	direct.LoginDue(b)
	if _, err := b.Do(t.Context(), call(lists, anon)); !errors.Is(err, direct.ErrPrivilegedLogin) {
		t.Errorf("error %v, want ErrPrivilegedLogin", err)
	}
}

// The role's own settings are those that PostgREST applies, from the first call on.
func TestRoleSettings(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, `create schema other; create table other.there (id int); insert into other.there values (1);
		create function public.settings() returns jsonb stable language sql as $$ select jsonb_build_object(
			'timeout', current_setting('statement_timeout'), 'zone', current_setting('timezone'), 'path', current_setting('search_path'),
			'level', current_setting('transaction_isolation'), 'jit', current_setting('jit'), 'log', current_setting('log_min_messages'),
			'custom', current_setting('app.custom', true), 'ro', current_setting('transaction_read_only')) $$;
		create function public.quick() returns jsonb stable language sql set statement_timeout = '1s' as $$ select public.settings() $$;
		create function public.strict() returns jsonb stable language sql set default_transaction_isolation = 'repeatable read' as $$ select public.settings() $$;
		create view public.now as select public.settings() s;`)
	login, quoted := newRole(t, db, "_login", "noinherit login password 'secret'")
	role, r := newRole(t, db, "_role", "nologin")
	plain, p := newRole(t, db, "_plain", "nologin")
	nested, n := newRole(t, db, "_nested", "nologin")
	db.Exec(t, "grant "+r+","+p+" to "+quoted+"; grant "+n+" to "+r+"; grant usage on schema public, other to "+r+","+p+","+n+
		"; grant select on public.now to "+r+","+p+","+n+`;
		alter role `+r+` set statement_timeout = '9s'; alter role `+r+` set TimeZone = 'Asia/Seoul'; alter role `+r+` set jit = off;
		alter role `+r+` set search_path = other, public; alter role `+r+` set default_transaction_isolation = 'Serializable';
		alter role `+r+` set app.custom = 'x'; alter role `+r+` set log_min_messages = error;
		alter role `+r+` in database `+db.Name+` set statement_timeout = '1min';
		alter role `+n+` set statement_timeout = '4s';
		alter role `+quoted+` set statement_timeout = '20s'; alter role `+quoted+` set jit = on; alter role `+quoted+` set TimeZone = 'UTC'`)
	dsn := as(t, db.DirectDSN, login, "secret")
	b := open(t, direct.Config{DSN: dsn})
	dsnLimit := open(t, direct.Config{DSN: dsn + "&statement_timeout=15000"})
	short, cancel := context.WithTimeout(t.Context(), 6*time.Second)
	defer cancel()
	long, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	own := map[string]string{
		"timeout": "9s", "zone": "Asia/Seoul", "path": "other, public", "level": "serializable", "jit": "off", "log": "warning", "ro": "on",
	}
	with := func(m map[string]string, pairs ...string) map[string]string {
		out := map[string]string{}
		for k, v := range m {
			out[k] = v
		}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i]] = pairs[i+1]
		}
		return out
	}
	other := with(own, "timeout", "20s", "zone", "UTC", "path", `"public", "public"`, "level", "read committed", "jit", "on")
	view := query.From("now")
	zoned := view.Spec()
	zoned.TimeZone = "Europe/Berlin"
	inZone := query.FromSpec(zoned)
	for _, tt := range []struct {
		name string
		b    *direct.Backend
		ctx  context.Context
		q    query.Query
		role string
		want map[string]string
	}{
		{"its own", b, t.Context(), view, role, own},
		{"none", b, t.Context(), view, plain, other},
		{"a deadline that is sooner", b, short, view, role, with(own, "timeout", "")},
		{"a deadline that is later", b, long, view, role, own},
		{"the function's timeout", b, t.Context(), query.Call("quick", nil), role, with(own, "timeout", "1s")},
		{"the function's level", b, t.Context(), query.Call("strict", nil), role, with(own, "level", "repeatable read")},
		{"the function's level, another role", b, t.Context(), query.Call("strict", nil), plain, with(other, "level", "repeatable read")},
		{"time zone of the query", b, t.Context(), inZone, role, with(own, "zone", "Europe/Berlin")},
		{"of the DSN, and its own", dsnLimit, t.Context(), view, role, own},
		{"of the DSN", dsnLimit, t.Context(), view, plain, with(other, "timeout", "15s")},
	} {
		for _, when := range []string{"known", "unknown", "known again"} {
			if when == "unknown" {
				tt.b.ReloadSchema()
			}
			res, err := tt.b.Do(tt.ctx, call(tt.q, auth.Identity{Role: tt.role}))
			if err != nil {
				t.Errorf("%s, %s: %v", tt.name, when, err)
				continue
			}
			got := settingsIn(t, res.Body)
			if tt.want["timeout"] == "" {
				if d, err := time.ParseDuration(got["timeout"]); err != nil || d <= 0 || d > 6*time.Second {
					t.Errorf("%s, %s: timeout %s, want one of 6 s at most", tt.name, when, got["timeout"])
				}
				got["timeout"] = ""
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", tt.name, when, diff)
			}
		}
	}
	// PostgREST looks at the roles that the login is a member of itself.
	res, err := b.Do(t.Context(), call(view, auth.Identity{Role: nested}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(other, settingsIn(t, res.Body)); diff != "" {
		t.Errorf("a role behind another (-want +got):\n%s", diff)
	}
}

// settingsIn reads what the view now and the functions around it return.
func settingsIn(t *testing.T, body []byte) map[string]string {
	t.Helper()
	var rows []struct{ S map[string]*string }
	if json.Unmarshal(body, &rows) != nil || len(rows) != 1 {
		rows = make([]struct{ S map[string]*string }, 1)
		if err := json.Unmarshal(body, &rows[0].S); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
	}
	found := map[string]string{}
	for name, value := range rows[0].S {
		if value != nil && *value != "" {
			found[name] = *value
		}
	}
	return found
}
