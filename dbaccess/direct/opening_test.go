package direct_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
	"github.com/twinpath/twinpath/internal/wireproxy"
)

// checking is a pre-request function that does what the header x-do tells it.
const checking = `create schema hooks; grant usage on schema hooks to anon, authenticated;
	create function hooks."check"() returns void language plpgsql as $$
	declare h json := current_setting('request.headers')::json;
	begin
		case coalesce(h->>'x-do', '')
			when '' then null;
			when 'raise' then raise exception 'no' using errcode = 'P0001', detail = 'd', hint = 'h';
			when 'pt' then raise exception 'slow down' using errcode = 'PT429';
			when 'pgrst' then raise sqlstate 'PGRST' using message = '{"code":"X1","message":"m","details":"d","hint":"h"}', detail = '{"status":402,"headers":{}}';
			when 'status' then perform set_config('response.status', '418', true);
			when 'created' then perform set_config('response.status', '201', true);
			when 'bad status' then perform set_config('response.status', 'teapot', true);
			when 'bad headers' then perform set_config('response.headers', '{}', true);
			when 'headers' then perform set_config('response.headers', '[{"X-Seen":"yes"}]', true);
			when 'role' then perform set_config('role', 'anon', true);
			when 'login' then perform set_config('role', 'none', true);
			when 'write' then create temporary table nope ();
		end case;
	end $$;`

func TestPreRequest(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, checking)
	b := open(t, direct.Config{DSN: db.PoolerDSN, PreRequest: "hooks.check"})
	const rows = `[{"id":1,"title":"Alice private"},{"id":2,"title":"Alice public"}]`
	for _, tt := range []struct {
		do, code string
		status   int
		kind     error
		body     string
	}{
		{do: "", status: 200, body: rows},
		{do: "created", status: 201, body: rows},
		{do: "headers", status: 200, body: rows},
		{do: "role", status: 200, body: `[{"id":2,"title":"Alice public"}]`},
		{do: "raise", code: "P0001", status: 400},
		{do: "pt", code: "PT429", status: 429},
		{do: "pgrst", code: "X1", status: 402},
		{do: "status", status: 418},
		{do: "bad status", code: "PGRST112", status: 500},
		{do: "bad headers", code: "PGRST111", status: 500},
		{do: "login", status: 403, kind: dbaccess.ErrPermission},
		{do: "write", code: "25006", status: 405},
		{do: "unknown", code: "20000", status: 400},
	} {
		c := call(lists, alice)
		c.Headers = http.Header{"X-Do": {tt.do}}
		res, err := b.Do(t.Context(), c)
		if tt.body != "" {
			if err != nil || res.Status != tt.status || compact(t, res.Body) != tt.body {
				t.Errorf("%s: status %d, %s, error %v; want %d, %s", tt.do, res.Status, res.Body, err, tt.status, tt.body)
			}
			continue
		}
		e, ok := err.(*dbaccess.Error)
		if !ok || e.Code != tt.code || e.HTTPStatus != tt.status || tt.kind != nil && !errors.Is(err, tt.kind) || len(res.Body) > 0 {
			t.Errorf("%s: %v, code %s; want code %q with status %d", tt.do, err, e.Code, tt.code, tt.status)
		}
	}
	// What is missing, or may not be called, is answered as PostgREST answers it.
	for name, want := range map[string]int{"hooks.missing": 404, "nowhere.check": 400, "auth.denied": 401} {
		db.Exec(t, `create or replace function auth.denied() returns void language sql as ''; revoke all on function auth.denied() from public`)
		_, err := open(t, direct.Config{DSN: db.PoolerDSN, PreRequest: name}).Do(t.Context(), call(lists, anon))
		if e, ok := err.(*dbaccess.Error); !ok || e.HTTPStatus != want || !strings.Contains(e.Advice, "PreRequest") {
			t.Errorf("%s: error %v, want status %d and advice about PreRequest", name, err, want)
		}
	}
	for _, name := range []string{".f", "s.", "a\x00b"} {
		if _, err := direct.New(direct.Config{DSN: db.PoolerDSN, PreRequest: name}); err == nil || !strings.Contains(err.Error(), "PreRequest") {
			t.Errorf("%q: error %v, want one about PreRequest", name, err)
		}
	}
}

// Policies see the headers that are forwarded and the cookies.
func TestForwardedHeaders(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, seen)
	n := newNeighbour(t, db)
	b := open(t, direct.Config{DSN: n.dsn, MaxConns: 1})
	c := call(query.From("seen").Columns("headers", "cookies"), anon)
	c.Headers = http.Header{"X-Tenant": {"a", `b"`}, "Cookie": {"sid=1; theme=dark"}, "X-Request-Id": {"7"}}
	for _, want := range []string{
		`[{"headers":"{\"x-request-id\":\"7\",\"x-tenant\":\"b\\\"\"}","cookies":"{\"sid\":\"1\",\"theme\":\"dark\"}"}]`,
		`[{"headers":"{}","cookies":"{}"}]`, // on the same server connection
	} {
		res, err := b.Do(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, compact(t, res.Body)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		c.Headers = nil
	}
	if got := n.look(t); got != cleanNeighbour {
		t.Errorf("left behind: %s", got)
	}
}

// The first call of all brings the check of the login and takes the role's settings
// along, and all else is on: headers, cookies, a pre-request function, a deadline.
func TestOneRoundTripOfTheFirstCall(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, checking+seen)
	login, quoted := newRole(t, db, "_login", "noinherit login password 'secret'")
	role, r := newRole(t, db, "_role", "nologin")
	serial, s := newRole(t, db, "_serializable", "nologin")
	for _, r := range []string{r, s} {
		db.Exec(t, "grant "+r+" to "+quoted+"; grant usage on schema public, hooks to "+r+"; grant select on public.seen to "+r+
			"; alter role "+r+" set statement_timeout = '9s'; alter role "+r+" set work_mem = '5MB'")
	}
	db.Exec(t, "alter role "+s+" set default_transaction_isolation = serializable")
	proxy, err := wireproxy.Start(wireproxy.Config{Target: db.Addr})
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close(t.Context())
	pool, err := pgxpool.New(t.Context(), as(t, pgtest.At(t, db.DirectDSN, proxy.Addr()), login, "secret"))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	for _, tt := range []struct {
		role  string
		trips []uint64 // of the first call and the next
	}{
		{role, []uint64{1, 1}},
		// Its level must be known before the transaction begins: once.
		{serial, []uint64{2, 1}},
	} {
		b := open(t, direct.Config{Pool: pool, PreRequest: "hooks.check"})
		for i, want := range tt.trips {
			if err := pool.Ping(t.Context()); err != nil { // a connection is there
				t.Fatal(err)
			}
			if err := proxy.Idle(t.Context()); err != nil {
				t.Fatal(err)
			}
			proxy.Reset()
			c := call(query.From("seen").Columns("usr", "headers", "cookies", "timeout", "ro"), auth.Identity{Role: tt.role, Claims: alice.Claims})
			c.Headers = http.Header{"X-Tenant": {"acme"}, "Cookie": {"sid=1"}}
			res, err := b.Do(ctx, c)
			if err != nil {
				t.Fatal(err)
			}
			want9 := `[{"usr":"` + tt.role + `","headers":"{\"x-tenant\":\"acme\"}","cookies":"{\"sid\":\"1\"}","timeout":"9s","ro":"on"}]`
			if diff := cmp.Diff(want9, compact(t, res.Body)); diff != "" {
				t.Errorf("%s, call %d (-want +got):\n%s", tt.role, i, diff)
			}
			if s := proxy.Stats(); uint64(s.RoundTrips) != want || s.Accepted != 0 {
				t.Errorf("%s, call %d: %d round trips on %d new connections, want %d on none", tt.role, i, s.RoundTrips, s.Accepted, want)
			}
		}
	}
}
