package direct_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
	"github.com/twinpath/twinpath/internal/wireproxy"
)

// returning makes a write give its rows back.
func returning(q query.Query) query.Query {
	s := q.Spec()
	w := *s.Write
	w.Return = true
	s.Write = &w
	return query.FromSpec(s)
}

func single(q query.Query) query.Query {
	s := q.Spec()
	s.Single = true
	return query.FromSpec(s)
}

func counted(q query.Query) query.Query {
	s := q.Spec()
	s.Count = query.CountExact
	return query.FromSpec(s)
}

// undone makes a write or a call be rolled back when it is done.
func undone(q query.Query) query.Query {
	s := q.Spec()
	if s.Write != nil {
		w := *s.Write
		w.Rollback = true
		s.Write = &w
	}
	if s.Call != nil {
		c := *s.Call
		c.Rollback = true
		s.Call = &c
	}
	return query.FromSpec(s)
}

type fields = map[string]any

// shelf is a table that everybody may write to, and what its writes can bring
// about.
const shelf = `
create table shelf (id int primary key, title text not null default 'untitled');
insert into shelf values (1, 'one'), (2, 'two');
create table leaf (id int primary key, shelf int references shelf deferrable initially deferred);
grant all on shelf, leaf to anon, authenticated;
create function add_leaf(shelf int) returns void language sql as $$ insert into leaf values (1, add_leaf.shelf) $$;
create function answer(status text, headers text default null) returns int language sql as $$
  select set_config('response.status', status, true), set_config('response.headers', headers, true);
  select 42 $$;
create function here() returns table (method text, path text, ro text, level text, timeout text, zone text) stable language sql as $$
  select current_setting('request.method'), current_setting('request.path'), current_setting('transaction_read_only'),
    current_setting('transaction_isolation'), current_setting('statement_timeout'), current_setting('timezone') $$;
create function "hére"() returns setof text volatile language sql as $$ select here()::text $$;
create function slow_here() returns setof text stable language sql
  set statement_timeout to '7s' set default_transaction_isolation to 'repeatable read' as $$ select here()::text $$;
create function doze() returns void stable language sql set statement_timeout to '200ms' as $$ select pg_sleep(30) $$;
create function doze_on() returns void stable language sql set statement_timeout to '20s' as $$ select pg_sleep(30) $$;
create function nap() returns void volatile language sql as $$ select pg_sleep(30) $$;
create function nap_idly() returns void stable language sql as $$ select pg_sleep(30) $$;
create function write_anyway() returns int stable language plpgsql as $$ begin perform add_leaf(1); return 1; end $$;`

const titles = `select string_agg(title, ',' order by id) from shelf`

func TestWrites(t *testing.T) {
	t.Parallel()
	items := query.Insert("shelf", []fields{{"id": 3, "title": "three"}, {"id": 1, "title": "uno"}})
	for name, tt := range map[string]struct {
		q           query.Query
		status      int
		rows, total int64
		body        string
		kind        error
		code        string
		detail      string
		after       string // the titles then
	}{
		"insert": {
			q: query.Insert("shelf", fields{"id": 3, "title": "three"}), status: 201, total: -1, after: "one,two,three",
		},
		"insert, returning": {
			q: returning(query.Insert("shelf", fields{"id": 3, "title": "three"})).Columns("id"), status: 201, rows: 1, total: -1, body: `[{"id":3}]`, after: "one,two,three",
		},
		"insert of rows that differ": {
			q: query.Insert("shelf", []fields{{"id": 3}, {"id": 4, "title": "four"}}), status: 201, total: -1, after: "one,two,untitled,four",
		},
		"conflict": {
			q: items, status: 409, rows: -1, total: -1, kind: dbaccess.ErrConflict, code: "23505", after: "one,two",
		},
		"ignore": {
			q: returning(items.Ignore()).Columns("id"), status: 201, rows: 1, total: -1, body: `[{"id":3}]`, after: "one,two,three",
		},
		"merge":      {q: items.Merge("id"), status: 201, total: -1, after: "uno,two,three"},
		"merge none": {q: query.Insert("shelf", fields{"id": 1, "title": "uno"}).Merge(), status: 200, total: -1, after: "uno,two"},
		"update": {
			q:      counted(returning(query.Update("shelf", fields{"title": "x"}).Where(query.Eq("id", 2)))),
			status: 200, rows: 1, total: 1, body: `[{"id":2,"title":"x"}]`, after: "one,x",
		},
		"update one": {
			q: single(returning(query.Update("shelf", fields{"title": "x"}).Where(query.Eq("id", 2)))), status: 200, rows: 1, total: -1, body: `{"id":2,"title":"x"}`, after: "one,x",
		},
		"update one of two": {
			q:      single(returning(query.Update("shelf", fields{"title": "x"}).Where(query.AllRows()))),
			status: 406, rows: -1, total: -1, kind: dbaccess.ErrMultipleRows, code: "PGRST116", detail: "The result contains 2 rows", after: "one,two",
		},
		"update one of none": {
			q:      single(returning(query.Update("shelf", fields{"title": "x"}).Where(query.Eq("id", 7)))),
			status: 406, rows: -1, total: -1, kind: dbaccess.ErrNoRows, code: "PGRST116", detail: "The result contains 0 rows", after: "one,two",
		},
		"delete": {
			q: counted(query.Delete("shelf").Where(query.AllRows())), status: 204, total: 2, after: "",
		},
		"delete too many": {
			q:      query.Delete("shelf").Where(query.AllRows()).MaxAffected(1),
			status: 400, rows: -1, total: -1, kind: dbaccess.ErrInvalid, code: "PGRST124", detail: "The query affects 2 rows", after: "one,two",
		},
		"delete no more": {
			q: query.Delete("shelf").Where(query.Eq("id", 1)).MaxAffected(1), status: 204, total: -1, after: "two",
		},
		"rollback": {
			q: undone(query.Delete("shelf").Where(query.AllRows())), status: 204, total: -1, after: "one,two",
		},
		"unknown column": {
			q:      query.Insert("shelf", fields{"id": 3, "colour": "red"}),
			status: 400, rows: -1, total: -1, kind: dbaccess.ErrNotFound, code: "PGRST204", after: "one,two",
		},
		"unknown table": {
			q: query.Insert("shelves", fields{"id": 3}), status: 404, rows: -1, total: -1, kind: dbaccess.ErrNotFound, code: "PGRST205", after: "one,two",
		},
		"value of another type": {
			q: query.Insert("shelf", fields{"id": "x"}), status: 400, rows: -1, total: -1, kind: dbaccess.ErrInvalid, code: "22P02", after: "one,two",
		},
		"at the commit": {
			q: query.Insert("leaf", fields{"id": 1, "shelf": 7}), status: 409, rows: -1, total: -1, kind: dbaccess.ErrConflict, code: "23503",
			detail: `Key (shelf)=(7) is not present in table "shelf".`, after: "one,two",
		},
		"at the commit that a rollback stands for": {
			q: undone(query.Call("add_leaf", fields{"shelf": 7})), status: 409, rows: -1, total: -1, kind: dbaccess.ErrConflict, code: "23503",
			detail: `Key (shelf)=(7) is not present in table "shelf".`, after: "one,two",
		},
		"a call for nothing":   {q: query.Call("add_leaf", fields{"shelf": 1}), status: 204, total: -1, after: "one,two"},
		"a call for one value": {q: query.Call("add_them", fields{"a": 1}), status: 200, rows: 1, total: -1, body: "11", after: "one,two"},
		"a stable function that writes": {
			q: query.Call("write_anyway", nil), status: 405, rows: -1, total: -1, code: "25006", after: "one,two",
		},
		"a call that must not write": {
			q: query.Call("add_leaf", fields{"shelf": 1}).ReadOnly(), status: 405, rows: -1, total: -1, code: "25006", after: "one,two",
		},
		"a status that the function chose": {
			q: query.Call("answer", fields{"status": "202"}), status: 202, rows: 1, total: -1, body: "42", after: "one,two",
		},
		"an error's status that the function chose": {
			q: query.Call("answer", fields{"status": "403"}), status: 403, rows: 1, total: -1, kind: dbaccess.ErrPermission, after: "one,two",
		},
		"a status that is none": {
			q: query.Call("answer", fields{"status": "x"}), status: 500, rows: 0, total: -1, code: "PGRST112", after: "one,two",
		},
		"no such function": {
			q: query.Call("nope", nil), status: 404, rows: -1, total: -1, kind: dbaccess.ErrNotFound, code: "PGRST202", after: "one,two",
		},
		"an embed that means two": {
			q:      query.From("insider_transactions").Select(query.Rel("insiders")),
			status: 300, rows: -1, total: -1, kind: dbaccess.ErrInvalid, code: "PGRST201", after: "one,two",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := pgtest.Golden(t)
			db.Exec(t, shelf)
			b := open(t, direct.Config{DSN: db.PoolerDSN})
			res, err := b.Do(t.Context(), call(tt.q, anon))
			status := res.Status
			if tt.code != "" || tt.kind != nil {
				e, ok := err.(*dbaccess.Error)
				if !ok {
					t.Fatalf("error %v, want code %s", err, tt.code)
				}
				status = e.HTTPStatus
				if e.Code != tt.code || e.Kind != tt.kind || tt.detail != "" && e.Detail() != tt.detail {
					t.Errorf("code %s, kind %v, detail %q; want %s, %v, %q", e.Code, e.Kind, e.Detail(), tt.code, tt.kind, tt.detail)
				}
				if errors.Is(e, dbaccess.ErrUnknownOutcome) {
					t.Errorf("advice %q, of a write that is known to be undone", e.Advice)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			if status != tt.status || res.Rows != tt.rows || res.Total != tt.total || compact(t, res.Body) != tt.body {
				t.Errorf("status %d, %d rows of %d, body %s; want %d, %d of %d, %s", status, res.Rows, res.Total, res.Body, tt.status, tt.rows, tt.total, tt.body)
			}
			if got := scan(t, db, titles); got != tt.after {
				t.Errorf("on the shelf are %q, want %q", got, tt.after)
			}
		})
	}
}

// What a function finds itself running under, by how it is called.
func TestSettingsOfCalls(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, shelf)
	b := open(t, direct.Config{DSN: db.PoolerDSN})
	zone := scan(t, db, "select current_setting('timezone')")
	zoned := query.Call("here", nil).Spec()
	zoned.TimeZone = "Asia/Seoul"
	minute, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for name, tt := range map[string]struct {
		ctx  context.Context
		q    query.Query
		want string
	}{
		"stable":                       {t.Context(), query.Call("here", nil), `[{"method":"POST","path":"/rpc/here","ro":"on","level":"read committed","timeout":"0","zone":"Etc/UTC"}]`},
		"volatile":                     {t.Context(), query.Call("hére", nil), `["(POST,/rpc/h%C3%A9re,off,\"read committed\",0,Etc/UTC)"]`},
		"read only":                    {t.Context(), query.Call("hére", nil).ReadOnly(), `["(GET,/rpc/h%C3%A9re,on,\"read committed\",0,Etc/UTC)"]`},
		"time zone":                    {t.Context(), query.FromSpec(zoned), `[{"method":"POST","path":"/rpc/here","ro":"on","level":"read committed","timeout":"0","zone":"Asia/Seoul"}]`},
		"settings":                     {t.Context(), query.Call("slow_here", nil), `["(POST,/rpc/slow_here,on,\"repeatable read\",7s,Etc/UTC)"]`},
		"settings and a late deadline": {minute, query.Call("slow_here", nil), `["(POST,/rpc/slow_here,on,\"repeatable read\",7s,Etc/UTC)"]`},
	} {
		if got := body(t, withContext{b, tt.ctx}, tt.q, anon); got != strings.ReplaceAll(tt.want, "Etc/UTC", zone) {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// The timeout that a function sets holds for the call of it, as in PostgREST, unless
// the caller's deadline is sooner.
func TestTimeoutOfFunction(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, shelf)
	b := open(t, direct.Config{DSN: db.PoolerDSN})
	if _, err := b.Do(t.Context(), call(query.Call("here", nil), anon)); err != nil { // reads the schema
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		within time.Duration
		q      query.Query
	}{
		"the function's":              {0, query.Call("doze", nil)},
		"the function's, not ours":    {time.Minute, query.Call("doze", nil)},
		"the caller's, which is ours": {2 * time.Second, query.Call("doze_on", nil)},
	} {
		ctx, cancel := t.Context(), context.CancelFunc(func() {})
		if tt.within > 0 {
			ctx, cancel = context.WithTimeout(ctx, tt.within)
		}
		_, err := b.Do(ctx, call(tt.q, anon))
		cancel()
		// Where the deadline is the caller's own, the server's answer may come too late.
		ours := tt.within > 0 && tt.within < time.Minute
		if e, ok := errors.AsType[*dbaccess.Error](err); !ok || e.SQLState != "57014" && !ours || !errors.Is(err, dbaccess.ErrTimeout) {
			t.Errorf("%s: error %v, want the server's timeout", name, err)
		}
	}
}

// withContext gives calls a context of its own.
type withContext struct {
	dbaccess.Backend
	ctx context.Context
}

func (b withContext) Do(_ context.Context, c *dbaccess.Call) (*dbaccess.Result, error) {
	return b.Backend.Do(b.ctx, c)
}

// Row level security holds for writes as it does through PostgREST.
func TestWritesUnderRowSecurity(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	b := open(t, direct.Config{DSN: db.PoolerDSN})
	mine := func(owner string) query.Query {
		return undone(query.Insert("watchlists", fields{"owner": owner, "title": "New"}))
	}
	rename := undone(counted(query.Update("watchlists", fields{"title": "New"}).Where(query.In("id", 1, 2, 3))))
	for _, tt := range []struct {
		who   string
		id    auth.Identity
		q     query.Query
		total int64
		kind  error
	}{
		{"alice's own", alice, mine(aliceID), -1, nil},
		{"alice for bob", alice, mine(bobID), -1, dbaccess.ErrPermission},
		{"bob for alice", bob, mine(aliceID), -1, dbaccess.ErrPermission},
		{"anonymous", anon, mine(aliceID), -1, dbaccess.ErrUnauthorized},
		{"alice renames", alice, undone(counted(query.Update("watchlists", fields{"is_public": true}).Where(query.In("id", 1, 2, 3)))), 2, nil},
		{"bob renames", bob, rename, 1, nil},
		{"anonymous renames", anon, rename, -1, dbaccess.ErrUnauthorized},
		{"alice removes", alice, undone(counted(query.Delete("watchlists").Where(query.AllRows()))), 2, nil},
		{"bob removes", bob, undone(counted(query.Delete("watchlists").Where(query.AllRows()))), 1, nil},
	} {
		res, err := b.Do(t.Context(), call(tt.q, tt.id))
		if !errors.Is(err, tt.kind) || res.Total != tt.total {
			t.Errorf("%s: %d rows, error %v; want %d, %v", tt.who, res.Total, err, tt.total, tt.kind)
		}
	}
	if got, want := scan(t, db, `select count(*)::text from watchlists`), "3"; got != want {
		t.Errorf("%s lists are left, want %s", got, want)
	}
}

// A neighbour on the same server connection finds none of a write's settings,
// whatever became of it.
func TestNothingIsLeftBehindByWrites(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, shelf)
	n := newNeighbour(t, db)
	b := open(t, direct.Config{DSN: n.dsn, MaxConns: 1})
	zoned := query.From("shelf").Spec()
	zoned.TimeZone = "Asia/Seoul"
	for name, q := range map[string]query.Query{
		"insert":       query.Insert("shelf", fields{"id": 3}),
		"conflict":     query.Insert("shelf", fields{"id": 1}),
		"merge":        query.Insert("shelf", fields{"id": 1}).Merge(),
		"guard":        query.Delete("shelf").Where(query.AllRows()).MaxAffected(1),
		"rollback":     undone(query.Delete("shelf").Where(query.AllRows())),
		"commit fails": query.Insert("leaf", fields{"id": 1, "shelf": 7}),
		"call":         query.Call("slow_here", nil),
		"status":       query.Call("answer", fields{"status": "404"}),
		"time zone":    query.FromSpec(zoned),
		"embed":        query.From("leaf").Select(query.Rel("shelf")),
	} {
		_, _ = b.Do(t.Context(), call(q, anon))
		if got := n.look(t); got != cleanNeighbour {
			t.Errorf("after %s: %s, want %s", name, got, cleanNeighbour)
		}
	}
}

// A write whose connection breaks may have been done or not, and says so.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		q       query.Query
		unknown bool
		cut     func(p *wireproxy.Proxy, cancel context.CancelFunc)
		kind    error
	}{
		"write reset":     {query.Call("nap", nil), true, func(p *wireproxy.Proxy, _ context.CancelFunc) { p.ResetAll() }, dbaccess.ErrUnavailable},
		"write ended":     {query.Call("nap", nil), true, func(p *wireproxy.Proxy, _ context.CancelFunc) { p.DropAll() }, dbaccess.ErrUnavailable},
		"write cancelled": {query.Call("nap", nil), true, func(_ *wireproxy.Proxy, cancel context.CancelFunc) { cancel() }, context.Canceled},
		"read reset":      {query.Call("nap_idly", nil), false, func(p *wireproxy.Proxy, _ context.CancelFunc) { p.ResetAll() }, dbaccess.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := pgtest.Golden(t)
			db.Exec(t, shelf)
			proxy, err := wireproxy.Start(wireproxy.Config{Target: ownPooler(t)})
			if err != nil {
				t.Fatal(err)
			}
			defer proxy.Close(context.Background())
			b := open(t, direct.Config{DSN: pgtest.At(t, db.PoolerDSN, proxy.Addr())})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			failed := make(chan error, 1)
			go func() {
				_, err := b.Do(ctx, call(tt.q, anon))
				failed <- err
			}()
			awaitSleepers(t, db, 1)
			tt.cut(proxy, cancel)
			err = <-failed
			e, ok := err.(*dbaccess.Error)
			if !ok || !errors.Is(err, tt.kind) {
				t.Fatalf("error %v, want %v", err, tt.kind)
			}
			if got := errors.Is(e, dbaccess.ErrUnknownOutcome); got != tt.unknown {
				t.Errorf("advice %q, unknown %t, want %t: %v", e.Advice, got, tt.unknown, errors.Unwrap(err))
			}
		})
	}
}

func TestWritesInOneRoundTrip(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, shelf)
	proxy, err := wireproxy.Start(wireproxy.Config{Target: db.PoolerAddr, Delay: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close(t.Context())
	b := open(t, direct.Config{DSN: pgtest.At(t, db.PoolerDSN, proxy.Addr())})
	do := func(q query.Query, want error) func() error {
		return func() error {
			_, err := b.Do(t.Context(), call(q, anon))
			if !errors.Is(err, want) {
				return fmt.Errorf("error %v, want %v", err, want)
			}
			return nil
		}
	}
	change := query.Update("shelf", fields{"title": "x"}).Where(query.AllRows())
	for _, tt := range []struct {
		name  string
		do    func() error
		trips int64
		after string
	}{
		{"the first, which looks at the schema", do(query.From("companies").Select(query.Rel("sectors")), nil), 2, "one,two"},
		{"embed", do(query.From("companies").Select(query.Rel("sectors")), nil), 1, "one,two"},
		{"insert", do(query.Insert("shelf", fields{"id": 3, "title": "three"}), nil), 1, "one,two,three"},
		{"merge", do(query.Insert("shelf", fields{"id": 3, "title": "tres"}).Merge(), nil), 1, "one,two,tres"},
		{"update of too many", do(change.MaxAffected(2), dbaccess.ErrInvalid), 1, "one,two,tres"},
		{"update of one that are three", do(single(returning(change)), dbaccess.ErrMultipleRows), 1, "one,two,tres"},
		{"update", do(change.MaxAffected(3), nil), 1, "x,x,x"},
		{"delete of one", do(single(returning(query.Delete("shelf").Where(query.Eq("id", 3)))), nil), 1, "x,x"},
		{"rollback", do(undone(query.Delete("shelf").Where(query.AllRows())), nil), 1, "x,x"},
		{"refused at the commit", do(query.Insert("leaf", fields{"id": 1, "shelf": 7}), dbaccess.ErrConflict), 1, "x,x"},
		{"call", do(query.Call("add_leaf", fields{"shelf": 1}), nil), 1, "x,x"},
		{"call with settings", do(query.Call("slow_here", nil), nil), 1, "x,x"},
	} {
		if err := b.Start(t.Context()); err != nil { // connects
			t.Fatal(err)
		}
		if err := proxy.Idle(t.Context()); err != nil {
			t.Fatal(err)
		}
		proxy.Reset()
		if err := tt.do(); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if s := proxy.Stats(); s.RoundTrips != tt.trips || s.Accepted != 0 {
			t.Errorf("%s: %d round trips on %d new connections, want %d on none", tt.name, s.RoundTrips, s.Accepted, tt.trips)
		}
		if got := scan(t, db, titles); got != tt.after {
			t.Errorf("%s: on the shelf are %q, want %q", tt.name, got, tt.after)
		}
	}
}
