package compile_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	q "github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

func connect(tb testing.TB, dsn string) *pgconn.PgConn {
	tb.Helper()
	conn, err := pgconn.Connect(tb.Context(), dsn)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return conn
}

// run executes a statement as the direct path does: text parameters of unknown
// type.
func run(tb testing.TB, conn *pgconn.PgConn, s compile.Statement) [][]byte {
	tb.Helper()
	args := make([][]byte, len(s.Args))
	for i, a := range s.Args {
		args[i] = []byte(a)
	}
	r := conn.ExecParams(tb.Context(), s.SQL, args, nil, nil, nil).Read()
	if r.Err != nil {
		tb.Fatalf("%s: %v", s.SQL, r.Err)
	}
	if len(r.Rows) != 1 {
		tb.Fatalf("%s: %d rows, want 1", s.SQL, len(r.Rows))
	}
	return r.Rows[0]
}

// asAnon logs in as the direct path does and takes on the role of an anonymous
// caller, who may read the fixture's tables and nothing else.
func asAnon(tb testing.TB, db *pgtest.Database) *pgconn.PgConn {
	conn := connect(tb, db.DirectDSN)
	run(tb, conn, compile.Statement{SQL: "select set_config('role', 'anon', false)"})
	return conn
}

// Every golden statement is one statement that the server understands, whatever
// it then says of tables that don't exist.
func TestServerParsesGoldens(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.Golden(t).SuperDSN)
	for _, c := range goldenCases() {
		s := c.spec()
		o := c.options(t)
		o.Clock, o.MaxRows = true, 100
		p, err := compile.SQL(&s, o)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		checkSyntax(t, conn, p.Main)
		if p.Plan != nil {
			checkSyntax(t, conn, *p.Plan)
		}
	}
}

// checkSyntax lets the server parse a statement. Only syntax errors count; the
// extended protocol makes one of several statements in a text.
func checkSyntax(tb testing.TB, conn *pgconn.PgConn, s compile.Statement) {
	tb.Helper()
	_, err := conn.Prepare(tb.Context(), "", s.SQL, nil)
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	if ok && pgErr.Code == "42601" || err != nil && !ok {
		tb.Errorf("%s: %v", s.SQL, err)
	}
}

func TestServerAnswers(t *testing.T) {
	t.Parallel()
	cat, conn := fixture(t), asAnon(t, pgtest.Golden(t))
	insiders := q.From("insiders").Columns("id")
	three := insiders.OrderBy(q.Asc("id")).Limit(3)
	for name, tc := range map[string]struct {
		query             q.Query
		change            func(*q.Spec)
		maxRows           int64
		body, rows, total string
	}{
		"rows":        {query: three, body: "[{\"id\":1}, \n {\"id\":2}, \n {\"id\":3}]", rows: "3"},
		"no rows":     {query: insiders.Where(q.Eq("id", -1)), body: "[]", rows: "0"},
		"no columns":  {query: q.From("sectors").Where(q.Eq("id", 1)), body: `[{"id":1,"name":"Sector 1"}]`, rows: "1"},
		"total":       {query: three.Offset(1), change: func(s *q.Spec) { s.Count = q.CountExact }, body: "[{\"id\":2}, \n {\"id\":3}, \n {\"id\":4}]", rows: "3", total: "12"},
		"all counted": {query: insiders.Where(q.Lt("id", 2)), change: func(s *q.Spec) { s.Count = q.CountExact }, body: `[{"id":1}]`, rows: "1", total: "1"},
		"row limit": {query: insiders.OrderBy(q.Asc("id")), maxRows: 2, change: func(s *q.Spec) { s.Count = q.CountExact },
			body: "[{\"id\":1}, \n {\"id\":2}]", rows: "2", total: "12"},
		"estimate stops counting": {query: insiders.OrderBy(q.Asc("id")), maxRows: 2, change: func(s *q.Spec) { s.Count = q.CountEstimated },
			body: "[{\"id\":1}, \n {\"id\":2}]", rows: "2", total: "3"},
		"single":         {query: insiders.Where(q.Eq("id", 1)), change: func(s *q.Spec) { s.Single = true }, body: `{"id":1}`, rows: "1"},
		"single of many": {query: three, change: func(s *q.Spec) { s.Single = true }, body: `{"id":1}`, rows: "3"},
		"single of none": {query: insiders.Where(q.Eq("id", -1)), change: func(s *q.Spec) { s.Single = true }, body: "null", rows: "0"},
		"head":           {query: three, change: func(s *q.Spec) { s.Head = true }, rows: "3"},
		"head counted":   {query: insiders, change: func(s *q.Spec) { s.Head, s.Count = true, q.CountExact }, rows: "12", total: "12"},
		"row level security": {query: q.From("watchlists").Columns("id"), change: func(s *q.Spec) { s.Count = q.CountExact },
			body: `[{"id":2}]`, rows: "1", total: "1"},
		"row level security, window": {query: q.From("watchlists").Columns("id").Limit(5), change: func(s *q.Spec) { s.Count = q.CountExact },
			body: `[{"id":2}]`, rows: "1", total: "1"},
		"odd names": {query: q.From("Odd Table").Columns(`quote"col`).Where(q.Eq("space col", "A,B"), q.In(`comma,col`, "(paren)", "x")),
			body: `[{"quote\"col":"say \"hi\""}]`, rows: "1"},
		"json": {query: q.From("insiders").Select(q.Col(q.JSONText("contact", "address", "city")), q.Col(q.JSON("contact", "phones", -1))).
			Where(q.Eq(q.JSON("contact", "phones", 0), 3)).OrderBy(q.Desc(q.JSON("contact", "address", "zip"))),
			body: `[{"city":"City 0","phones":6}]`, rows: "1"},
		"in-list of the empty string": {query: insiders.Where(q.In("title", "")), body: "[]", rows: "0"},
		"casts":                       {query: q.From("insiders").Select(q.Col("id").To("TEXT"), q.Col("born_on").To("timestamp without time zone")).Where(q.Eq("id", 1)), body: `[{"id":"1","born_on":"1960-07-30T00:00:00"}]`, rows: "1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := tc.query.Spec()
			if tc.change != nil {
				tc.change(&s)
			}
			p, err := compile.SQL(&s, compile.SQLOptions{Schema: "public", Clock: true, MaxRows: tc.maxRows, Catalog: cat})
			if err != nil {
				t.Fatal(err)
			}
			row := run(t, conn, p.Main)
			if len(row) != 4 {
				t.Fatalf("%d columns, want 4", len(row))
			}
			got := []string{string(row[0]), string(row[1]), string(row[2])}
			if diff := cmp.Diff([]string{tc.body, tc.rows, tc.total}, got); diff != "" {
				t.Errorf("%s\nbody, rows, total (-want +got):\n%s", p.Main.SQL, diff)
			}
			if tc.total == "" && row[2] != nil {
				t.Error("the total is not NULL, though nobody counted")
			}
			seconds, err := strconv.ParseFloat(string(row[3]), 64)
			if now := float64(time.Now().UnixMicro()) / 1e6; err != nil || seconds < now-600 || seconds > now+600 {
				t.Errorf("clock %q is not the time", row[3])
			}
		})
	}
}

// The clock is read when the rows are in, so that what the query takes shows.
func TestServerClockIsLast(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, `
		create function public.slow() returns int language sql volatile as $$ select 1 from pg_sleep(0.2) $$;
		create view public.slow_view as select public.slow() as n;
		grant select on public.slow_view to anon;`)
	conn := asAnon(t, db)
	s := q.From("slow_view").Limit(1).Spec()
	s.Count = q.CountExact
	p, err := compile.SQL(&s, compile.SQLOptions{Schema: "public", Clock: true})
	if err != nil {
		t.Fatal(err)
	}
	start := run(t, conn, compile.Statement{SQL: "select extract(epoch from clock_timestamp())::float8"})
	end := run(t, conn, p.Main)
	from, err1 := strconv.ParseFloat(string(start[0]), 64)
	to, err2 := strconv.ParseFloat(string(end[3]), 64)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if to-from < 0.2 {
		t.Errorf("the clock was read %.3f s after the start of a statement of 0.2 s", to-from)
	}
}

func TestServerPlan(t *testing.T) {
	t.Parallel()
	conn := asAnon(t, pgtest.Golden(t))
	s := q.From("insiders").Columns("id").Where(q.Gt("id", 0), q.IsNotNull(q.JSON("contact", "email"))).Limit(2).Spec()
	s.Count = q.CountPlanned
	p, err := compile.SQL(&s, compile.SQLOptions{Schema: "public", Catalog: fixture(t)})
	if err != nil {
		t.Fatal(err)
	}
	if row := run(t, conn, p.Main); row[2] != nil {
		t.Errorf("the total is %s, want NULL", row[2])
	}
	var plan []struct {
		Plan struct {
			Rows *int64 `json:"Plan Rows"`
		}
	}
	if err := json.Unmarshal(run(t, conn, *p.Plan)[0], &plan); err != nil {
		t.Fatal(err)
	}
	if len(plan) != 1 || plan[0].Plan.Rows == nil || *plan[0].Plan.Rows != 12 {
		t.Errorf("got plan %+v, want 12 rows", plan)
	}
}

// A function in the caller's search path does not take an aggregate's place.
func TestServerIgnoresSearchPath(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, `
		create schema trap;
		create function trap.json_agg(anyelement) returns json language sql as $$ select '"trapped"'::json $$;
		create function trap.clock_timestamp() returns timestamptz language sql as $$ select 'epoch'::timestamptz $$;
		grant usage on schema trap to anon;`)
	conn := asAnon(t, db)
	run(t, conn, compile.Statement{SQL: "select set_config('search_path', 'trap, pg_catalog, public', false)"})
	s := q.From("sectors").Columns("id").Where(q.Eq("id", 1)).Spec()
	p, err := compile.SQL(&s, compile.SQLOptions{Schema: "public", Clock: true})
	if err != nil {
		t.Fatal(err)
	}
	row := run(t, conn, p.Main)
	if string(row[0]) != `[{"id":1}]` || strings.HasPrefix(string(row[3]), "0") {
		t.Errorf("got %q", row)
	}
}
