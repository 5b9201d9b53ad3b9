package compile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	q "github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// as makes a connection that has taken on a role for good.
func as(tb testing.TB, db *pgtest.Database, role string) *pgconn.PgConn {
	tb.Helper()
	conn := connect(tb, db.SuperDSN)
	run(tb, conn, compile.Statement{SQL: "select set_config('role', $1, false)", Args: []string{role}})
	return conn
}

// do compiles a query with the database's catalog and runs it. The columns are
// those of a Program, as text, NULL as "NULL".
func do(tb testing.TB, conn *pgconn.PgConn, query q.Query, change func(*q.Spec), opts compile.SQLOptions) ([]string, error) {
	tb.Helper()
	if err := query.Err(); err != nil {
		tb.Fatal(err)
	}
	s := changed(query, change)
	opts.Schema = "public"
	p, err := compile.SQL(&s, opts)
	if err != nil {
		return nil, err
	}
	batch := &pgconn.Batch{}
	enqueue(batch, &p)
	results, err := conn.ExecBatch(tb.Context(), batch).ReadAll()
	if err != nil {
		return nil, err
	}
	r := results[0]
	if len(r.Rows) != 1 {
		tb.Fatalf("%d rows, want 1", len(r.Rows))
	}
	row := make([]string, len(r.Rows[0]))
	for i, c := range r.Rows[0] {
		if row[i] = string(c); c == nil {
			row[i] = "NULL"
		}
	}
	return row, nil
}

// enqueue adds Main and the guard, if there is one, to a batch.
func enqueue(batch *pgconn.Batch, p *compile.Program) {
	args := make([][]byte, len(p.Main.Args))
	for i, a := range p.Main.Args {
		args[i] = []byte(a)
	}
	batch.ExecParams(p.Main.SQL, args, nil, nil, nil)
	if p.Guard != nil {
		batch.ExecParams(p.Guard.SQL, nil, nil, nil, nil)
	}
}

func raw(text string) json.RawMessage { return json.RawMessage(text) }

// writeTables are tables that show what a write does.
const writeTables = `
	create table public.accounts (id int primary key, owner text not null default 'nobody', balance int not null default 0 check (balance >= 0));
	insert into public.accounts values (1, 'a', 10), (2, 'b', 20), (3, 'c', 30);
	create table public.log (at timestamptz default now(), line text);
	create table public."Odd ""W""" ("a""b" int primary key, "c'\d" text default 'it''s \ "x"', "e f" text);
	grant insert, delete on public.accounts to authenticated;
	grant update (owner) on public.accounts to authenticated;
	grant select (id) on public.accounts to authenticated;
	grant insert on public.log to authenticated;`

func TestServerWrites(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, writeTables)
	opts := compile.SQLOptions{Catalog: loadCatalog(t, db), Guard: true}
	conn := connect(t, db.SuperDSN)
	returning := func(s *q.Spec) { s.Write.Return = true }
	for name, tc := range map[string]struct {
		query  q.Query
		change func(*q.Spec)
		want   string // body, rows, total, inserted
		then   string // of the table accounts
	}{
		"insert":         {q.Insert("accounts", raw(`{"id":4,"owner":"d"}`)), nil, " 1 NULL NULL", "1a10 2b20 3c30 4d0"},
		"insert rows":    {q.Insert("accounts", raw(`[{"id":4,"owner":"d"},{"owner":"e","id":5}]`)).Columns("owner"), returning, `[{"owner":"d"}, {"owner":"e"}] 2 NULL NULL`, "1a10 2b20 3c30 4d0 5e0"},
		"insert none":    {q.Insert("accounts", raw(`[]`)), returning, "[] 0 NULL NULL", "1a10 2b20 3c30"},
		"insert sorted":  {q.Insert("accounts", raw(`[{"id":4},{"id":5}]`)).Columns("id").OrderBy(q.Desc("id")), returning, `[{"id":5}, {"id":4}] 2 NULL NULL`, "1a10 2b20 3c30 4nobody0 5nobody0"},
		"insert counted": {q.Insert("accounts", raw(`[{"id":4},{"id":5}]`)), func(s *q.Spec) { s.Count = q.CountExact }, " 2 2 NULL", "1a10 2b20 3c30 4nobody0 5nobody0"},
		"defaults, rows": {q.Insert("accounts", []map[string]any{{"id": 4, "balance": 5}, {"id": 5, "owner": "e"}}), nil, " 2 NULL NULL", "1a10 2b20 3c30 4nobody5 5e0"},
		"defaults, one": {q.Insert("accounts", raw(`{"id":4,"balance":7}`)), func(s *q.Spec) {
			s.Write.MissingDefault, s.Write.Columns = true, []string{"id", "owner", "balance"}
		}, " 1 NULL NULL", "1a10 2b20 3c30 4nobody7"},
		"nothing":              {q.Insert("log", raw(`{}`)), nil, " 1 NULL NULL", "1a10 2b20 3c30"},
		"nothing, twice":       {q.Insert("log", raw(`[{},{}]`)), nil, " 2 NULL NULL", "1a10 2b20 3c30"},
		"merge":                {q.Insert("accounts", raw(`[{"id":3,"owner":"x"},{"id":4,"owner":"y"}]`)).Merge(), nil, " 2 NULL 1", "1a10 2b20 3x30 4y0"},
		"merge, none new":      {q.Insert("accounts", raw(`[{"id":3,"owner":"x"},{"id":1,"owner":"y"}]`)).Merge("id"), nil, " 2 NULL 0", "1y10 2b20 3x30"},
		"merge, all new":       {q.Insert("accounts", raw(`[{"id":7,"owner":"x"},{"id":8,"owner":"y"}]`)).Merge("id"), nil, " 2 NULL 2", "1a10 2b20 3c30 7x0 8y0"},
		"merge without a key":  {q.Insert("log", raw(`[{"line":"x"},{"line":"x"}]`)).Merge(), nil, " 2 NULL 2", "1a10 2b20 3c30"},
		"merge no columns":     {q.Insert("accounts", raw(`[]`)).Merge(), nil, " 0 NULL 0", "1a10 2b20 3c30"},
		"ignore":               {q.Insert("accounts", raw(`[{"id":3,"owner":"x"},{"id":4,"owner":"y"}]`)).Ignore().Columns("id"), returning, `[{"id":4}] 1 NULL NULL`, "1a10 2b20 3c30 4y0"},
		"put":                  {q.Insert("accounts", raw(`{"id":4,"owner":"y"}`)).Merge().Where(q.Eq("id", 4)), nil, " 1 NULL 1", "1a10 2b20 3c30 4y0"},
		"put over":             {q.Insert("accounts", raw(`{"id":1,"owner":"y"}`)).Merge().Where(q.Eq("id", 1)), nil, " 1 NULL 0", "1y10 2b20 3c30"},
		"update":               {q.Update("accounts", raw(`{"owner":"z"}`)).Where(q.Gt("id", 1)).MaxAffected(2), nil, " 2 NULL NULL", "1a10 2z20 3z30"},
		"update all":           {q.Update("accounts", raw(`{"owner":"z"}`)).Where(q.AllRows()).Columns("owner"), returning, `[{"owner":"z"}, {"owner":"z"}, {"owner":"z"}] 3 NULL NULL`, "1z10 2z20 3z30"},
		"update, array":        {q.Update("accounts", raw(`{}`)).Where(q.Eq("id", 1)), func(s *q.Spec) { s.Write.Payload = []byte(`[{"owner":"z"}]`) }, " 1 NULL NULL", "1z10 2b20 3c30"},
		"update nothing":       {q.Update("accounts", raw(`{}`)).Where(q.Eq("id", 1)).Columns("owner"), returning, "[] 0 NULL NULL", "1a10 2b20 3c30"},
		"update to default":    {q.Update("accounts", raw(`{}`)).Where(q.Eq("id", 1)), func(s *q.Spec) { s.Write.MissingDefault, s.Write.Columns = true, []string{"owner"} }, " 1 NULL NULL", "1nobody10 2b20 3c30"},
		"update what it tests": {q.Update("accounts", raw(`{"id":9}`)).Where(q.Eq("id", 1)).Columns("id"), returning, `[{"id":9}] 1 NULL NULL`, "2b20 3c30 9a10"},
		"update one":           {q.Update("accounts", raw(`{"owner":"z"}`)).Where(q.Eq("id", 2)).Columns("owner"), func(s *q.Spec) { returning(s); s.Single = true }, `{"owner":"z"} 1 NULL NULL`, "1a10 2z20 3c30"},
		"delete":               {q.Delete("accounts").Where(q.Lt("id", 3)), nil, " 2 NULL NULL", "3c30"},
		"delete, all, limited": {q.Delete("accounts").Where(q.AllRows()).Limit(1).Offset(1).Columns("id"), returning, `[{"id":1}, {"id":2}, {"id":3}] 3 NULL NULL`, ""},
		"odd names":            {q.Insert(`Odd "W"`, []map[string]any{{`a"b`: 1, "e f": "x"}, {`a"b`: 2, `c'\d`: "y"}}), returning, `[{"a\"b":1,"c'\\d":"it's \\ \"x\"","e f":"x"}, {"a\"b":2,"c'\\d":"y","e f":null}] 2 NULL NULL`, "1a10 2b20 3c30"},
	} {
		t.Run(name, func(t *testing.T) {
			begin(t, conn)
			row, err := do(t, conn, tc.query, tc.change, opts)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join([]string{strings.ReplaceAll(row[0], "\n ", ""), row[1], row[2], row[5]}, " ")
			if got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			if got := accounts(t, conn); got != tc.then {
				t.Errorf("then there is %q, want %q", got, tc.then)
			}
		})
	}
}

// begin starts a transaction that ends with the test and leaves nothing.
func begin(tb testing.TB, conn *pgconn.PgConn) {
	tb.Helper()
	exec := func(sql string) {
		tb.Helper()
		if _, err := conn.Exec(context.Background(), sql).ReadAll(); err != nil {
			tb.Error(err)
		}
	}
	exec("begin")
	tb.Cleanup(func() { exec("rollback") })
}

func accounts(tb testing.TB, conn *pgconn.PgConn) string {
	tb.Helper()
	return string(run(tb, conn, compile.Statement{SQL: "select coalesce(string_agg(concat(id, owner, balance), ' ' order by id), '') from public.accounts"})[0])
}

// Two merges of one transaction are counted each for itself.
func TestServerCountsInsertedAnew(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, writeTables)
	opts := compile.SQLOptions{Catalog: loadCatalog(t, db)}
	conn := connect(t, db.SuperDSN)
	begin(t, conn)
	for i, want := range []string{"2", "0", "1"} {
		query := q.Insert("accounts", raw([...]string{`[{"id":5},{"id":6}]`, `{"id":5}`, `[{"id":5},{"id":7}]`}[i])).Merge()
		row, err := do(t, conn, query, nil, opts)
		if err != nil {
			t.Fatal(err)
		}
		if row[5] != want {
			t.Errorf("merge %d: %s inserted, want %s", i, row[5], want)
		}
	}
}

// What a write doesn't want back it needs no privilege to read, and what it does
// it needs.
func TestServerWritePrivileges(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, writeTables)
	opts := compile.SQLOptions{Catalog: loadCatalog(t, db)}
	conn := as(t, db, "authenticated")
	returning := func(s *q.Spec) { s.Write.Return = true }
	for name, tc := range map[string]struct {
		query  q.Query
		change func(*q.Spec)
		denied bool
	}{
		"insert":               {q.Insert("accounts", raw(`{"id":4,"owner":"d"}`)), nil, false},
		"insert, single":       {q.Insert("accounts", raw(`{"id":5}`)), func(s *q.Spec) { s.Single = true }, false},
		"insert, counted":      {q.Insert("log", raw(`[{"line":"x"}]`)), func(s *q.Spec) { s.Count = q.CountExact }, false},
		"insert, back":         {q.Insert("accounts", raw(`{"id":6}`)), returning, true},
		"insert, back in part": {q.Insert("accounts", raw(`{"id":7}`)).Columns("id"), returning, false},
		"insert, too much":     {q.Insert("accounts", raw(`{"id":8}`)).Columns("id", "owner"), returning, true},
		"ignore":               {q.Insert("accounts", raw(`{"id":4}`)).Ignore(), nil, false},
		"update":               {q.Update("accounts", raw(`{"owner":"d"}`)).Where(q.Eq("id", 1)), nil, false},
		"update, other":        {q.Update("accounts", raw(`{"balance":1}`)).Where(q.Eq("id", 1)), nil, true},
		"update, by other":     {q.Update("accounts", raw(`{"owner":"d"}`)).Where(q.Eq("balance", 1)), nil, true},
		"delete all":           {q.Delete("log").Where(q.AllRows()), nil, true},
		"delete":               {q.Delete("accounts").Where(q.Eq("id", 3)), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			begin(t, conn)
			_, err := do(t, conn, tc.query, tc.change, opts)
			pgErr, _ := errors.AsType[*pgconn.PgError](err)
			switch {
			case tc.denied && (pgErr == nil || pgErr.Code != "42501"):
				t.Errorf("error %v, want 42501", err)
			case !tc.denied && err != nil:
				t.Error(err)
			}
		})
	}
}

// A guard that fails undoes what the statement did, with what came before it in
// the same round trip.
func TestServerGuards(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, writeTables+`
		create function public.spend(n int) returns setof int language sql as $$ update public.accounts set balance = balance - 1 where id <= n returning id $$;`)
	opts := compile.SQLOptions{Catalog: loadCatalog(t, db), Guard: true}
	conn := connect(t, db.SuperDSN)
	single := func(s *q.Spec) { s.Single = true }
	change := q.Update("accounts", raw(`{"owner":"z"}`))
	for name, tc := range map[string]struct {
		query   q.Query
		change  func(*q.Spec)
		status  int
		failure compile.Failure
	}{
		"none updated":  {change.Where(q.Eq("id", -1)), single, 406, compile.Failure{Code: "PGRST116", Message: "Cannot coerce the result to a single JSON object", Details: "The result contains 0 rows"}},
		"three updated": {change.Where(q.AllRows()), single, 406, compile.Failure{Code: "PGRST116", Message: "Cannot coerce the result to a single JSON object", Details: "The result contains 3 rows"}},
		"two inserted":  {q.Insert("accounts", raw(`[{"id":8},{"id":9}]`)).Merge(), single, 406, compile.Failure{Code: "PGRST116", Message: "Cannot coerce the result to a single JSON object", Details: "The result contains 2 rows"}},
		"none deleted":  {q.Delete("accounts").Where(q.Eq("id", -1)), single, 406, compile.Failure{Code: "PGRST116", Message: "Cannot coerce the result to a single JSON object", Details: "The result contains 0 rows"}},
		"too many":      {change.Where(q.Gt("id", 0)).MaxAffected(2), nil, 400, compile.Failure{Code: "PGRST124", Message: "Query result exceeds max-affected preference constraint", Details: "The query affects 3 rows"}},
		"single first":  {q.Delete("accounts").Where(q.Gt("id", 0)).MaxAffected(2), single, 406, compile.Failure{Code: "PGRST116", Message: "Cannot coerce the result to a single JSON object", Details: "The result contains 3 rows"}},
		"another key": {q.Insert("accounts", raw(`{"id":1,"owner":"z"}`)).Merge().Where(q.Eq("id", 2)), nil, 400,
			compile.Failure{Code: "PGRST115", Message: "Payload values do not match URL in primary key column(s)"}},
		"called, two rows": {q.Call("spend", map[string]int{"n": 2}), single, 406, compile.Failure{Code: "PGRST116", Message: "Cannot coerce the result to a single JSON object", Details: "The result contains 2 rows"}},
		"called, too many": {q.Call("spend", map[string]int{"n": 2}), func(s *q.Spec) { s.Call.MaxAffected = 1 }, 400, compile.Failure{Code: "PGRST124", Message: "Query result exceeds max-affected preference constraint", Details: "The query affects 2 rows"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := do(t, conn, tc.query, tc.change, opts)
			pgErr, ok := errors.AsType[*pgconn.PgError](err)
			if !ok {
				t.Fatalf("error %v, want a server's", err)
			}
			r, ok := compile.GuardFailure(pgErr.Code, pgErr.Message)
			if !ok {
				t.Fatalf("%v is none of a guard's", err)
			}
			if diff := cmp.Diff(compile.Reply{Status: tc.status, Failure: &tc.failure}, r); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := accounts(t, conn); got != "1a10 2b20 3c30" {
				t.Errorf("there is %s: the write was not undone", got)
			}
			// The same without a guard is left to the caller, with the same answer.
			s := changed(tc.query, tc.change)
			begin(t, conn)
			plain := opts
			plain.Guard = false
			row, err := do(t, conn, tc.query, tc.change, plain)
			if err != nil {
				t.Fatal(err)
			}
			rows, err := strconv.ParseInt(row[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(r, compile.Respond(&s, compile.Outcome{Rows: rows, Total: compile.NotCounted})); diff != "" {
				t.Errorf("Respond (-guard +respond):\n%s", diff)
			}
		})
	}
}

func TestGuardFailure(t *testing.T) {
	t.Parallel()
	for _, message := range []string{
		"", `invalid input syntax for type bigint: "x"`, `invalid input syntax for type bigint: "twinpath guard "`,
		`invalid input syntax for type bigint: "twinpath guard single"`, `invalid input syntax for type bigint: "twinpath guard single x"`,
		`invalid input syntax for type bigint: "twinpath guard single 1`, `invalid input syntax for type bigint: "twinpath guard single -1"`,
		`invalid input syntax for type bigint: "twinpath guard other 1"`, `twinpath guard single 1`, `"twinpath guard single 1" and more`,
	} {
		if r, ok := compile.GuardFailure("22P02", message); ok {
			t.Errorf("%q: %+v", message, r)
		}
	}
	const failure = `ungültige Eingabesyntax für Typ bigint: "twinpath guard single 2"`
	if _, ok := compile.GuardFailure("P0001", failure); ok {
		t.Error("an error with another SQLSTATE is taken for a guard's")
	}
	if r, ok := compile.GuardFailure("22P02", failure); !ok || r.Status != 406 {
		t.Errorf("in another language: %+v, %v", r, ok)
	}
}

// Ten thousand rows are one statement with one parameter.
func TestServerInsertsManyRows(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	conn := connect(t, db.SuperDSN)
	row, err := do(t, conn, manyPrices(10_000), nil, compile.SQLOptions{Catalog: loadCatalog(t, db)})
	if err != nil {
		t.Fatal(err)
	}
	if row[1] != "10000" {
		t.Errorf("%s rows inserted", row[1])
	}
}

type price struct {
	Ticker string `db:"ticker"`
	Day    string `db:"day"`
	Close  string `db:"close"`
	Volume int64  `db:"volume"`
}

// manyPrices inserts n rows that are not there.
func manyPrices(n int) q.Query {
	rows := make([]price, n)
	for i := range rows {
		rows[i] = price{"T01", fmt.Sprintf("%04d-%02d-%02d", 2100+i/336, 1+i/28%12, 1+i%28), "1.25", int64(i)}
	}
	return q.Insert("prices", rows)
}
