package authmatrix_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// leastCells is how many cells the matrix has at least. Who takes something out of
// it on purpose lowers it.
const leastCells = 1300

// question is something to do with a table or a function.
type question struct {
	object, op string
	query      query.Query
	only       string // the caller that it is for; "" is all
	// restart is SQL that sets back the sequences that the question draws from: what
	// is drawn is not given back with the rest. "" where there are none.
	restart string
	statement
}

// outcome is what came of it.
type outcome struct {
	answer   string // as JSON
	affected int64
	code     string // of an error
	status   int
	kind     error
}

func (o outcome) String() string {
	switch {
	case o.code != "":
		return fmt.Sprintf("%s %d %v", o.code, o.status, o.kind)
	case o.answer != "":
		if len(o.answer) > 120 {
			return fmt.Sprintf("%d bytes %s…", len(o.answer), o.answer[:120])
		}
		return o.answer
	}
	return fmt.Sprintf("%d rows", o.affected)
}

// Whoever asks, whatever of: both paths answer and do what SQL that a person wrote
// does under the caller's role and claims. Nothing stays.
func TestAuthorizationMatrix(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	super := connect(t, database.SuperDSN)
	conn := connect(t, database.DirectDSN)
	if got := must(t, conn, "select rolsuper or rolbypassrls or rolinherit from pg_roles where rolname = session_user")[0][0]; got != "f" {
		t.Fatal("the login by hand has rights of its own")
	}
	before := dump(t, super)
	who := callers(t)
	// Few connections, so that each gets to serve one caller right after another.
	viaREST := newREST(t, database, undo)
	dsn := pgtest.Pooler(t).DSN(pgtest.LoginRole, pgtest.LoginPassword, database.Name)
	viaDirect := newDirect(t, direct.Config{DSN: dsn, MaxConns: 2}, undo)

	cells, allowed, refused := 0, map[string]int{}, map[string]int{}
	var mismatches []string
	for _, q := range questions(t, super, who) {
		for i := range who {
			c := &who[i]
			if q.only != "" && q.only != c.name {
				continue
			}
			cells++
			q.restarted(t, super)
			want := byHand(t, conn, c, &q.statement)
			if want.code == "" {
				allowed[c.name]++
			} else {
				refused[c.name]++
			}
			ctx := auth.With(t.Context(), c.Identity)
			for path, db := range map[string]*dbaccess.DB{"rest": viaREST, "direct": viaDirect} {
				q.restarted(t, super)
				if got := q.ask(t, ctx, db); got != want {
					mismatches = append(mismatches, fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s", q.object, q.op, c.name, path, want, got))
				}
			}
		}
	}
	if len(mismatches) > 0 {
		slices.Sort(mismatches)
		var b strings.Builder
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "object\toperation\tcaller\tpath\tby hand\tgot")
		for _, m := range mismatches {
			fmt.Fprintln(w, m)
		}
		_ = w.Flush()
		t.Errorf("%d of %d answers are not what the SQL by hand answers:\n%s", len(mismatches), 2*cells, b.String())
	}
	for table, rows := range dump(t, super) {
		if rows != before[table] {
			t.Errorf("table %s is not as it was", table)
		}
	}
	t.Logf("%d cells, allowed %v, refused %v", cells, allowed, refused)
	if cells < leastCells {
		t.Errorf("the matrix has %d cells, want %d at least", cells, leastCells)
	}
	for i := range who {
		if n := who[i].name; allowed[n] == 0 || refused[n] == 0 {
			t.Errorf("%s: %d allowed and %d refused, so that half of it proves nothing", n, allowed[n], refused[n])
		}
	}
}

// questions are what can be done with everything there is.
func questions(t *testing.T, super *pgconn.PgConn, who []caller) []question {
	t.Helper()
	sql, args := catalog.SQL(schemas())
	known, err := catalog.Parse([]byte(must(t, super, sql, args...)[0][0]))
	if err != nil {
		t.Fatal(err)
	}
	var all []question
	tables, functions := 0, 0
	for table := range known.Tables {
		tables++
		all = append(all, reads(t, super, table, who)...)
		all = append(all, writes(t, super, table)...)
	}
	for f := range known.Functions {
		functions++
		all = append(all, call(t, f))
	}
	want := must(t, super, `select
		(select count(*) from pg_class where relkind in ('r', 'v', 'm', 'p', 'f') and relnamespace in ('public'::regnamespace, 'private_api'::regnamespace)),
		(select count(*) from pg_proc where prokind = 'f' and prorettype <> 'trigger'::regtype and pronamespace in ('public'::regnamespace, 'private_api'::regnamespace))`)
	if got := fmt.Sprint(tables, " ", functions); got != want[0][0]+" "+want[0][1] {
		t.Fatalf("the matrix has %s tables and functions, the database %s", got, want[0])
	}
	return all
}

func reads(t *testing.T, super *pgconn.PgConn, table *catalog.Table, who []caller) []question {
	t.Helper()
	s := statement{readOnly: true, method: "GET", path: requestPath("/", table.Name), schema: table.Schema}
	ask := func(op, from, only string, q query.Query) question {
		s := s
		s.sql = "select coalesce(json_agg(r), '[]')::text from (" + from + ") r"
		return question{object: table.Schema + "." + table.Name, op: op, query: q.InSchema(table.Schema), only: only, statement: s}
	}
	all := []question{ask("select", "select * from "+ident(table), "", query.From(table.Name))}
	for i := range who {
		// Of a table that the caller may read in part, that part.
		columns := granted(t.Context(), t, super, table, who[i].Role)
		if len(columns) == 0 {
			continue
		}
		quoted := make([]string, len(columns))
		for j, c := range columns {
			quoted[j] = name(c)
		}
		all = append(all, ask("select some", "select "+strings.Join(quoted, ", ")+" from "+ident(table), who[i].name, query.From(table.Name).Columns(columns...)))
	}
	return all
}

func writes(t *testing.T, super *pgconn.PgConn, table *catalog.Table) []question {
	t.Helper()
	s := statement{path: requestPath("/", table.Name), schema: table.Schema}
	restart := ""
	for _, c := range table.Columns {
		if c.Identity == "always" {
			restart = fmt.Sprintf("select setval(pg_get_serial_sequence('%s', '%s'), 1000)", ident(table), c.Name)
		}
	}
	var all []question
	// Each once for the number of rows, which needs no right to read, and once for
	// the rows themselves.
	both := func(op, method, sql string, args []string, q query.Query) {
		s := s
		s.method, s.args = method, args
		s.sql, s.counts = sql, true
		all = append(all, question{object: table.Schema + "." + table.Name, op: op, query: q.InSchema(table.Schema), restart: restart, statement: s})
		s.sql, s.counts = returning(sql), false
		all = append(all, question{object: table.Schema + "." + table.Name, op: op + " returning", query: q.InSchema(table.Schema), restart: restart, statement: s})
	}
	for i, last := range []bool{false, true} {
		r := newRow(t, super, table, last)
		sql, args := insertSQL(table, r)
		both(fmt.Sprintf("insert %d", i+1), "POST", sql, args, query.Insert(table.Name, r.payload()))
	}
	for _, r := range changes(t, super, table) {
		sql, args := updateSQL(table, r)
		both("update "+r[0].name, "PATCH", sql, args, query.Update(table.Name, r.payload()).Where(query.AllRows()))
	}
	both("delete", "DELETE", "delete from "+ident(table), nil, query.Delete(table.Name).Where(query.AllRows()))
	return all
}

func call(t *testing.T, f *catalog.Function) question {
	t.Helper()
	r := arguments(t, f)
	sql, args := callSQL(f, r)
	return question{
		object: f.Schema + "." + f.Name, op: "call", query: query.Call(f.Name, r.payload()).InSchema(f.Schema),
		statement: statement{sql: sql, args: args, readOnly: f.ReadOnly(), method: "POST", path: requestPath("/rpc/", f.Name), schema: f.Schema},
	}
}

func (q *question) restarted(t *testing.T, super *pgconn.PgConn) {
	t.Helper()
	if q.restart != "" {
		must(t, super, q.restart)
	}
}

// ask puts the question to a path.
func (q *question) ask(t *testing.T, ctx context.Context, db *dbaccess.DB) outcome {
	t.Helper()
	var o outcome
	var err error
	if q.counts {
		o.affected, err = dbaccess.Exec(ctx, db, q.query)
	} else {
		var body json.RawMessage
		body, err = dbaccess.JSON(ctx, db, q.query)
		if err == nil {
			o.answer = canonical(t, cmp.Or(string(body), "null"))
		}
	}
	if err == nil {
		return o
	}
	e, ok := errors.AsType[*dbaccess.Error](err)
	if !ok || e.Code == "" {
		return outcome{code: err.Error()}
	}
	return outcome{code: e.Code, status: e.HTTPStatus, kind: e.Kind}
}

// canonical is a JSON value in one form: no blanks, members and, of an array at the
// top, elements in an order of their own. Numbers keep their text.
func canonical(tb testing.TB, s string) string {
	tb.Helper()
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		tb.Fatalf("%q is no JSON: %v", s, err)
	}
	elements, isArray := v.([]any)
	if !isArray {
		elements = []any{v}
	}
	texts := make([][]byte, len(elements))
	for i, e := range elements {
		b, err := json.Marshal(e)
		if err != nil {
			tb.Fatal(err)
		}
		texts[i] = b
	}
	if !isArray {
		return string(texts[0])
	}
	slices.SortFunc(texts, bytes.Compare)
	return "[" + string(bytes.Join(texts, []byte(","))) + "]"
}

// dump is the content of every table.
func dump(tb testing.TB, super *pgconn.PgConn) map[string]string {
	tb.Helper()
	content := map[string]string{}
	for _, r := range must(tb, super, `select oid::regclass::text from pg_class
		where relkind = 'r' and relnamespace in ('public'::regnamespace, 'private_api'::regnamespace)`) {
		content[r[0]] = must(tb, super, "select coalesce(string_agg(r::text, E'\n' order by r::text), '') from "+r[0]+" r")[0][0]
	}
	if len(content) < 10 {
		tb.Fatalf("the database has only %v", slices.Collect(maps.Keys(content)))
	}
	return content
}
