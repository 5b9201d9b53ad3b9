package oracle_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/internal/golden/corpus"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// statement is a query beside SQL that somebody wrote without looking at what the
// compiler makes of it.
type statement struct {
	as    string // the caller; defaults to anon
	query query.Query
	sql   string // yields the rows, or with whole the answer itself
	whole bool
	verb  verb   // defaults to dbaccess.JSON
	code  string // of the error that query and SQL end in; the SQL may be "" where it is PostgREST's own
}

// verb runs a query; what it returns is compared as JSON.
type verb func(ctx context.Context, db *dbaccess.DB, q query.Query) (any, error)

func rawJSON(ctx context.Context, db *dbaccess.DB, q query.Query) (any, error) {
	return dbaccess.JSON(ctx, db, q)
}

func all[T any](ctx context.Context, db *dbaccess.DB, q query.Query) (any, error) {
	return dbaccess.All[T](ctx, db, q)
}

func only[T any](ctx context.Context, db *dbaccess.DB, q query.Query) (any, error) {
	return dbaccess.One[T](ctx, db, q)
}

func first[T any](ctx context.Context, db *dbaccess.DB, q query.Query) (any, error) {
	return dbaccess.First[T](ctx, db, q)
}

func page[T any](ctx context.Context, db *dbaccess.DB, q query.Query) (any, error) {
	rows, total, err := dbaccess.Page[T](ctx, db, q)
	return map[string]any{"rows": rows, "total": total}, err
}

func count(ctx context.Context, db *dbaccess.DB, q query.Query) (any, error) {
	return dbaccess.Count(ctx, db, q)
}

func exec(ctx context.Context, db *dbaccess.DB, q query.Query) (any, error) {
	return dbaccess.Exec(ctx, db, q)
}

// paths are the facades of a rig, one a path.
func (r *rig) paths(tb testing.TB) map[string]*dbaccess.DB {
	tb.Helper()
	dbs := map[string]*dbaccess.DB{}
	for name, cfg := range map[string]dbaccess.Config{"rest": {REST: r.rest}, "direct": {Direct: r.direct}} {
		db, err := dbaccess.New(cfg)
		if err != nil {
			tb.Fatal(err)
		}
		dbs[name] = db
	}
	return dbs
}

// run runs the SQL as the caller would, and returns the answer as JSON. Whatever
// it did is done only with commit.
func (s *statement) run(tb testing.TB, conn *pgconn.PgConn, id auth.Identity, commit bool) (answer string, code string) {
	tb.Helper()
	claims, err := id.ClaimsWithRole()
	if err != nil {
		tb.Fatal(err)
	}
	rows(tb, conn, "begin")
	rows(tb, conn, `set local role "`+id.Role+`"`)
	rows(tb, conn, "select set_config('request.jwt.claims', $1, true)", string(claims))
	sql := s.sql
	if !s.whole {
		sql = "with the_rows as (" + sql + ") select coalesce(json_agg(r), '[]')::text from the_rows r"
	}
	res := conn.ExecParams(tb.Context(), sql, nil, nil, nil, nil).Read()
	if commit && res.Err == nil {
		rows(tb, conn, "commit")
	} else {
		rows(tb, conn, "rollback")
	}
	if res.Err != nil {
		e, ok := errors.AsType[*pgconn.PgError](res.Err)
		if !ok || e.Code != s.code {
			tb.Fatalf("the SQL itself: %v\n%s", res.Err, sql)
		}
		return "", e.Code
	}
	if len(res.Rows) != 1 || len(res.Rows[0]) != 1 {
		tb.Fatalf("the SQL yields no single value: %s", sql)
	}
	return string(res.Rows[0][0]), ""
}

// ask runs the query and returns the answer as JSON, or the code of the error.
func (s *statement) ask(tb testing.TB, ctx context.Context, db *dbaccess.DB) (answer string, code string) {
	tb.Helper()
	do := s.verb
	if do == nil {
		do = rawJSON
	}
	v, err := do(ctx, db, s.query)
	if err != nil {
		e, ok := errors.AsType[*dbaccess.Error](err)
		if !ok || e.Code == "" {
			return "", err.Error()
		}
		return "", e.Code
	}
	b, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	if raw, ok := v.(json.RawMessage); ok {
		b = raw // json.Marshal would tidy it up
	}
	return string(b), ""
}

// same says how an answer differs from the SQL's.
func same(want, got string) string {
	if want == got {
		return ""
	}
	return corpus.Compare(&corpus.Case{Method: "GET", Status: 200, Response: want}, &corpus.Answer{Status: 200, Body: []byte(got)})
}

// Both paths answer what the SQL that people write for a query answers.
func TestHandWrittenReads(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	dbs := r.paths(t)
	conn := connect(t, r.db.DirectDSN)
	statements := reads()
	for name, s := range calls() {
		if _, twice := statements[name]; twice {
			t.Fatalf("two statements are named %s", name)
		}
		statements[name] = s
	}
	for name, s := range statements {
		t.Run(name, func(t *testing.T) {
			caller := s.caller()
			want, code := "", s.code
			if s.sql != "" {
				want, code = s.run(t, conn, r.callers[caller], false)
			}
			if code != s.code {
				t.Fatalf("the SQL succeeds, want error %s", s.code)
			}
			for path, db := range dbs {
				got, gotCode := s.ask(t, r.as(t.Context(), caller), db)
				if gotCode != code {
					t.Errorf("%s: error %q, want %q", path, gotCode, code)
				} else if d := same(want, got); d != "" {
					t.Errorf("%s: %s\nwant %s\ngot  %s", path, d, want, got)
				}
			}
		})
	}
	if n := len(statements) + len(writes()); n < 60 {
		t.Errorf("%d statements, want 60", n)
	}
}

func (s *statement) caller() string {
	if s.as == "" {
		return corpus.AnonRole
	}
	return s.as
}

// Both paths and the SQL leave the same behind, in databases that began alike, one
// write after the other.
func TestHandWrittenWrites(t *testing.T) {
	t.Parallel()
	byHand, viaREST, viaDirect := newRig(t, 0), newRig(t, 0), newRig(t, 0)
	conn := connect(t, byHand.db.DirectDSN)
	states := []struct {
		name string
		db   *dbaccess.DB
		rig  *rig
		conn *pgconn.PgConn
	}{
		{"rest", viaREST.paths(t)["rest"], viaREST, connect(t, viaREST.db.SuperDSN)},
		{"direct", viaDirect.paths(t)["direct"], viaDirect, connect(t, viaDirect.db.SuperDSN)},
	}
	super := connect(t, byHand.db.SuperDSN)
	for i, w := range writes() {
		t.Run(fmt.Sprintf("%d %s", i, w.name), func(t *testing.T) {
			s, caller := w.statement, w.caller()
			want, code := "", s.code
			if s.sql != "" {
				want, code = s.run(t, conn, byHand.callers[caller], true)
			}
			if code != s.code {
				t.Fatalf("the SQL succeeds, want error %s", s.code)
			}
			after := dump(t, super)
			for _, p := range states {
				got, gotCode := s.ask(t, p.rig.as(t.Context(), caller), p.db)
				if gotCode != code {
					t.Errorf("%s: error %q, want %q", p.name, gotCode, code)
				} else if d := same(want, got); d != "" {
					t.Errorf("%s: %s\nwant %s\ngot  %s", p.name, d, want, got)
				}
				if p.name == "rest" && os.Getenv(envPostgREST) != "" {
					continue // it writes to a database of its own, which must be fresh
				}
				for table, want := range after {
					if got := dump(t, p.conn)[table]; got != want {
						t.Errorf("%s: table %s is not what the SQL made of it:\nwant %s\ngot  %s", p.name, table, want, got)
					}
				}
			}
		})
	}
}

// dump is the content of every table, sequences included.
func dump(tb testing.TB, conn *pgconn.PgConn) map[string]string {
	tb.Helper()
	var parts []string
	for _, r := range rows(tb, conn, `select case relkind
			when 'r' then format('select %L, (select coalesce(string_agg(r::text, E''\n'' order by r::text), '''') from %s r)', c.oid::regclass, c.oid::regclass)
			else format('select %L, (select last_value::text from %s)', c.oid::regclass, c.oid::regclass) end
		from pg_class c where relkind in ('r', 'S') and relnamespace in ('public'::regnamespace, 'private_api'::regnamespace) order by 1`) {
		parts = append(parts, *r[0])
	}
	out := map[string]string{}
	for _, r := range rows(tb, conn, strings.Join(parts, " union all ")) {
		out[*r[0]] = *r[1]
	}
	return out
}
