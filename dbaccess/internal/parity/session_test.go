package parity_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/postgresttest"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/dbaccess/rest"
	"github.com/twinpath/twinpath/internal/localpg"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// sessions has a view of a call's settings, rows that a tenant's header and the
// caller's id decide about, and a pre-request function.
const sessions = `
create view public.session as select current_user::text as role, current_setting('search_path') as path,
	auth.uid() as uid, auth.jwt()->>'role' as claimed, current_setting('request.method') as method, current_setting('request.path') as url,
	current_setting('request.headers')::json->>'x-tenant' as tenant, current_setting('request.headers')::json->>'x-both' as both,
	current_setting('request.headers')::json->>'cookie' as cookie, current_setting('request.cookies')::json as cookies,
	current_setting('statement_timeout') as timeout, current_setting('work_mem') as memory, current_setting('timezone') as zone,
	current_setting('transaction_isolation') as level, current_setting('transaction_read_only') as ro, current_setting('app.custom', true) as custom;
create table public.deeds (id int primary key, owner uuid not null, tenant text not null);
insert into public.deeds select n, case when n % 2 = 0 then '` + aliceID + `' else '` + bobID + `' end::uuid, case when n < 5 then 'acme' else 'globex' end
	from generate_series(1, 8) n;
alter table public.deeds enable row level security;
create policy own on public.deeds using (owner = auth.uid() and tenant = current_setting('request.headers', true)::json->>'x-tenant');
create policy agent on public.deeds for select to anon using (current_setting('request.cookies', true)::json->>'agent' = id::text);
create function public.doze(seconds float8) returns int language sql as $$ select 1 from pg_sleep(seconds) $$;
create view public.brewing as select 1 as id, set_config('response.status', '418', true) is null as cold;
grant select on public.brewing to anon, authenticated;
create schema hooks;
create function hooks.before() returns void language plpgsql as $$
declare h json := current_setting('request.headers')::json;
begin
	case coalesce(h->>'x-do', '')
		when '' then null;
		when 'raise' then raise exception 'no' using detail = 'd', hint = 'h';
		when 'pt' then raise exception 'slow down' using errcode = 'PT429', hint = 'later';
		when 'pgrst' then raise sqlstate 'PGRST' using message = '{"code":"X1","message":"m","details":"d","hint":"h"}', detail = '{"status":402,"headers":{}}';
		when 'permission' then raise insufficient_privilege;
		when 'bad status' then perform set_config('response.status', 'teapot', true);
		when 'bad headers' then perform set_config('response.headers', '{}', true);
		when 'teapot' then perform set_config('response.status', '418', true);
		when 'created' then perform set_config('response.status', '201', true);
		when 'nothing' then perform set_config('response.status', '204', true);
		when 'other role' then perform set_config('role', 'anon', true);
		when 'write' then insert into public.deeds values (99, auth.uid(), h->>'x-tenant');
	end case;
end $$;
grant usage on schema hooks to anon, authenticated;
grant select, insert, update, delete on public.deeds to anon, authenticated;
grant select on public.session to anon, authenticated;`

// sessionSides are both paths with all that a session has, on one connection each to
// a pooler that has one to the server.
func sessionSides(t *testing.T, script string) []*side {
	t.Helper()
	signer, err := jwt.NewHS256(jwt.Config{Secret: []byte(secret), Lifetime: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	var both []*side
	for _, path := range []dbaccess.Path{dbaccess.REST, dbaccess.Direct} {
		database := fixture(t, sessions+script)
		cfg := dbaccess.Config{ForwardHeaders: []string{"X-Tenant", "X-Both", "X-Do", "Cookie"}}
		if path == dbaccess.REST {
			srv, err := postgresttest.NewServer(postgresttest.Config{
				DSN: database.DirectDSN, JWTSecret: secret, PreRequest: "hooks.before", ExtraSearchPath: []string{"auth"}, MaxConns: 1,
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := srv.Close(); err != nil {
					t.Errorf("close the stand-in: %v", err)
				}
			})
			if cfg.REST, err = rest.New(rest.Config{URL: srv.URL, Signer: signer}); err != nil {
				t.Fatal(err)
			}
		} else {
			pooler := pgtest.NewPooler(t, localpg.PoolerConfig{PoolSize: 1})
			dsn := pooler.DSN(pgtest.LoginRole, pgtest.LoginPassword, database.Name)
			cfg.Direct, err = direct.New(direct.Config{DSN: dsn, PreRequest: "hooks.before", SearchPath: []string{"auth"}, MaxConns: 2})
			if err != nil {
				t.Fatal(err)
			}
		}
		both = append(both, &side{path, facade(t, cfg), database})
	}
	return both
}

// ownRole makes a role for the test, on the server of all databases.
func ownRole(t *testing.T, settings ...string) string {
	t.Helper()
	db := pgtest.Golden(t) // whose login role it is
	name := pgx.Identifier{db.Name + "_role"}.Sanitize()
	script := "create role " + name + " nologin; grant " + name + " to " + pgtest.LoginRole + "; grant authenticated to " + name + ";"
	for _, s := range settings {
		script += "alter role " + name + " set " + s + ";"
	}
	db.Exec(t, script)
	t.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), db.SuperDSN)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close(context.Background())
		if _, err := conn.Exec(context.Background(), "drop role "+name); err != nil {
			t.Error(err)
		}
	})
	return db.Name + "_role"
}

func asking(t *testing.T, id auth.Identity, h http.Header) context.Context {
	t.Helper()
	return dbaccess.WithRequestHeaders(auth.With(t.Context(), id), h)
}

// answerOf is what a query comes to.
type answerOf struct {
	Body string
	Fail *failure
}

func (s *side) answer(t *testing.T, id auth.Identity, h http.Header, q query.Query) answerOf {
	t.Helper()
	var a answerOf
	body, err := dbaccess.JSON(asking(t, id, h), s.db, q)
	if a.Fail = failureOf(t, err); err != nil || len(body) == 0 {
		return a
	}
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	plain, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	a.Body = string(plain)
	return a
}

// Settings and policies are the same on both paths, whoever the server connection
// has served before.
func TestSessions(t *testing.T) {
	t.Parallel()
	name := ownRole(t, "statement_timeout = '7s'", "work_mem = '9MB'", "TimeZone = 'Asia/Seoul'",
		"default_transaction_isolation = 'repeatable read'", "app.custom = 'x'", "log_min_messages = error")
	special := auth.Identity{Role: name, Claims: json.RawMessage(`{"sub":"` + aliceID + `"}`)}
	both := sessionSides(t, "")
	acme := http.Header{"X-Tenant": {"acme"}, "Cookie": {"agent=3; agent=5; b"}, "X-Both": {"first", "second"}, "X-Other": {"not forwarded"}}
	globex := http.Header{"X-Tenant": {`glo"bex\`}, "Cookie": {`agent="5"; =nameless; x=a=b`}}
	deeds := query.From("deeds").Columns("id", "tenant").OrderBy(query.Asc("id"))
	session := query.From("session")
	type step struct {
		name string
		id   auth.Identity
		h    http.Header
		q    query.Query
		part string // of the answer
	}
	steps := []step{
		{"alice", alice, acme, session, `"tenant":"acme"`},
		{"bob", bob, globex, session, `"tenant":"glo\"bex\\"`},
		{"anonymous", anon, nil, session, `"claimed":"anon"`},
		{"anonymous, with cookies", anon, acme, session, `"agent":"5"`},
		{"a role with settings", special, acme, session, `"timeout":"7s"`},
		{"after it", alice, nil, session, `"timeout":"0"`},
		{"its level", special, nil, session, `"level":"repeatable read"`},
		{"alice's", alice, acme, deeds, `[{"id":2,"tenant":"acme"},{"id":4,"tenant":"acme"}]`},
		{"bob's", bob, acme, deeds, `[{"id":1,"tenant":"acme"},{"id":3,"tenant":"acme"}]`},
		{"alice's elsewhere", alice, http.Header{"X-Tenant": {"globex"}}, deeds, `[{"id":6,"tenant":"globex"},{"id":8,"tenant":"globex"}]`},
		{"without a tenant", alice, nil, deeds, `[]`},
		{"by cookie", anon, acme, deeds, `[{"id":5,"tenant":"globex"}]`},
		{"an error", alice, acme, query.From("secrets"), ""},
		{"after an error", bob, nil, deeds, `[]`},
		{"written", alice, acme, query.Insert("deeds", fields{"id": 10, "owner": aliceID, "tenant": "acme"}).Columns("id"), `[{"id":10}]`},
		{"written elsewhere", alice, acme, query.Insert("deeds", fields{"id": 11, "owner": aliceID, "tenant": "globex"}), ""},
	}
	for round := range 2 {
		for _, s := range steps {
			if round > 0 && strings.HasPrefix(s.name, "written") {
				continue
			}
			var answers [2]answerOf
			for i, side := range both {
				answers[i] = side.answer(t, s.id, s.h, s.q)
			}
			if round == 1 && s.name == "alice's" {
				s.part = `{"id":10,"tenant":"acme"}`
			}
			if !strings.Contains(answers[0].Body, s.part) || (s.part == "") != (answers[0].Fail != nil) {
				t.Errorf("%s, round %d: over REST %s, error %+v; want %s", s.name, round, answers[0].Body, answers[0].Fail, s.part)
			}
			if diff := cmp.Diff(answers[0], answers[1]); diff != "" {
				t.Errorf("%s, round %d (-rest +direct):\n%s", s.name, round, diff)
			}
		}
	}
}

// The role's own limit ends a statement on both paths, whatever the client's is.
// It is field case O8.
func TestFieldCaseO08(t *testing.T) {
	t.Parallel()
	slow := auth.Identity{Role: ownRole(t, "statement_timeout = '200ms'")}
	for _, side := range sessionSides(t, "") {
		for range 2 {
			a := side.answer(t, slow, nil, query.Call("doze", fields{"seconds": 20}))
			want := &failure{
				Code: "57014", SQLState: "57014", Status: 500, Is: []string{"ErrTimeout", "context.DeadlineExceeded"},
				Message: "canceling statement due to statement timeout",
			}
			if diff := cmp.Diff(want, a.Fail); diff != "" {
				t.Errorf("%v (-want +got):\n%s", side.path, diff)
			}
		}
		if a := side.answer(t, alice, nil, query.Call("doze", fields{"seconds": 0.4})); a.Fail != nil || a.Body != "1" {
			t.Errorf("%v: another role got %s, error %+v", side.path, a.Body, a.Fail)
		}
	}
}

// The pre-request function decides alike on both paths.
func TestPreRequest(t *testing.T) {
	t.Parallel()
	both := sessionSides(t, "")
	deeds := query.From("deeds").Columns("id").OrderBy(query.Asc("id"))
	for _, tt := range []struct {
		do     string
		q      query.Query
		id     auth.Identity
		status int // of the failure, 0 for none
	}{
		{"", deeds, alice, 0},
		{"raise", deeds, alice, 400},
		{"pt", deeds, alice, 429},
		{"pgrst", deeds, anon, 402},
		{"permission", deeds, alice, 403},
		{"permission", deeds, anon, 401},
		{"bad status", deeds, alice, 500},
		{"bad headers", deeds, alice, 500},
		{"teapot", deeds, alice, 418},
		{"created", deeds, alice, 0},
		{"nothing", query.Call("doze", fields{"seconds": 0}), alice, 0}, // an answer without a body, whatever there is to say
		{"other role", deeds, alice, 0},
		{"write", deeds, alice, 405},
		{"write", query.Delete("deeds").Where(query.Eq("id", 2)).Columns("id"), alice, 0},
		{"raise", query.Insert("deeds", fields{"id": 20, "owner": aliceID, "tenant": "acme"}), alice, 400},
		{"", query.From("brewing"), alice, 418}, // a read that chooses the status itself
		{"created", query.From("brewing"), alice, 418},
		{"no such thing", query.Call("doze", fields{"seconds": 0}), anon, 400},
	} {
		h := http.Header{"X-Do": {tt.do}, "X-Tenant": {"acme"}}
		var answers [2]answerOf
		for i, side := range both {
			answers[i] = side.answer(t, tt.id, h, tt.q)
		}
		if f := answers[0].Fail; (f != nil) != (tt.status != 0) || f != nil && f.Status != tt.status {
			t.Errorf("%s: over REST %s, error %+v; want status %d", tt.do, answers[0].Body, f, tt.status)
		}
		if diff := cmp.Diff(answers[0], answers[1]); diff != "" {
			t.Errorf("%s (-rest +direct):\n%s", tt.do, diff)
		}
	}
	// Rows without which a read is none.
	for _, q := range []query.Query{deeds, query.Update("deeds", fields{"tenant": "acme"}).Where(query.Eq("id", 2)).Columns("id")} {
		for _, side := range both {
			a := side.answer(t, alice, http.Header{"X-Do": {"nothing"}, "X-Tenant": {"acme"}}, q)
			if diff := cmp.Diff(answerOf{Fail: &failure{Is: []string{"ErrUnavailable"}}}, a); diff != "" {
				t.Errorf("%v over %s (-want +got):\n%s", q, side.path, diff)
			}
		}
	}
	if diff := cmp.Diff(both[0].table(t, "deeds", "id"), both[1].table(t, "deeds", "id")); diff != "" {
		t.Errorf("afterwards (-rest +direct):\n%s", diff)
	}
}
