package compile_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	q "github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// callFunctions are functions of every shape.
const callFunctions = `
	create type public.pair as (a int, b text);
	create function public.joined(sep text, variadic xs text[]) returns text immutable language sql as $$ select array_to_string(xs, sep) $$;
	create function public.whole(json) returns text immutable language sql as $$ select 'json ' || $1::text $$;
	create function public.whole(text) returns text immutable language sql as $$ select 'text ' || $1 $$;
	create function public.whole(bytea) returns text immutable language sql as $$ select 'bytea ' || encode($1, 'hex') $$;
	create function public.whole(a int) returns text immutable language sql as $$ select 'a ' || a $$;
	create function public.whole_b(jsonb) returns jsonb immutable language sql as $$ select $1 $$;
	create function public.over(a int) returns text immutable language sql as $$ select 'a' $$;
	create function public.over(a int, b int) returns text immutable language sql as $$ select 'ab' $$;
	create function public.over(c text default 'x') returns text immutable language sql as $$ select 'c' || c $$;
	create function public.twins(a int) returns int language sql as $$ select a $$;
	create function public.twins(a text) returns int language sql as $$ select 1 $$;
	create function public.one_pair() returns public.pair stable language sql as $$ select 1, 'x' $$;
	create function public.no_pair() returns public.pair stable language sql as $$ select null::public.pair $$;
	create function public.pairs() returns setof public.pair stable language sql as $$ values (1, 'x'), (2, 'y'), (3, 'z') $$;
	create function public.outs(out a int, out b text) language sql as $$ select 1, 'x' $$;
	create function public.made() returns void language plpgsql as $$ begin insert into public.made_log values (1); end $$;
	create table public.made_log (n int);
	create function public.strict_one() returns int stable language plpgsql as $$ begin raise 'was run'; end $$;
	create function public.nothing() returns int immutable language sql as $$ select null::int $$;
	create function public.slow() returns int immutable language sql set statement_timeout = '5s' set search_path = public as $$ select 1 $$;
	create function public.answered() returns text language plpgsql as $$ begin
		perform set_config('response.status', '418', true), set_config('response.headers', '[{"X-Tea": "pot"}]', true); return 'x'; end $$;
	create function public."Odd ""f"""("a""b" int, "select" text default '') returns text immutable language sql as $$ select concat("a""b", "select") $$;
	create function public.docs(d jsonb, j json default null, xs int[] default null) returns text immutable language sql as $$ select concat_ws(' ', d::text, j::text, xs::text) $$;`

func TestServerCalls(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, callFunctions)
	opts := compile.SQLOptions{Catalog: loadCatalog(t, db), Guard: true, MaxRows: 100}
	conn := connect(t, db.SuperDSN)
	args := func(args ...string) func(*q.Spec) {
		return func(s *q.Spec) {
			s.Call.Args = nil
			for i := 0; i < len(args); i += 2 {
				s.Call.TextArgs = append(s.Call.TextArgs, q.TextArg{Name: args[i], Value: args[i+1]})
			}
		}
	}
	whole := func(kind, body string) func(*q.Spec) {
		return func(s *q.Spec) { s.Call = &q.CallArgs{Whole: true, Type: kind, Args: []byte(body)} }
	}
	single := func(s *q.Spec) { s.Single = true }
	head := func(s *q.Spec) { s.Head, s.Call.ReadOnly = true, true }
	for name, tc := range map[string]struct {
		query  q.Query
		change func(*q.Spec)
		want   string // body and rows, or an error's code
	}{
		"variadic, JSON":        {q.Call("joined", map[string]any{"sep": "-", "xs": []string{"a", `b"`}}), nil, `"a-b\"" 1`},
		"variadic, text":        {q.Call("joined", nil), args("sep", "-", "xs", "a", "xs", `b"\`, "xs", ""), `"a-b\"\\-" 1`},
		"variadic, one":         {q.Call("joined", nil), args("xs", "{a,b}", "sep", "-"), `"{a,b}" 1`},
		"whole JSON":            {q.Call("whole", nil), whole("", `[1, "x"]`), `"json [1, \"x\"]" 1`},
		"whole JSON, a scalar":  {q.Call("whole_b", nil), whole("json", `"x"`), `"x" 1`},
		"whole text":            {q.Call("whole", nil), whole("text", `{"a": 1}`), `"text {\"a\": 1}" 1`},
		"whole bytes":           {q.Call("whole", nil), whole("bytea", "\x00\xff\\x"), `"bytea 00ff5c78" 1`},
		"whole xml":             {q.Call("whole", nil), whole("xml", `<a/>`), "PGRST202"},
		"by name first":         {q.Call("whole", map[string]int{"a": 1}), nil, `"a 1" 1`},
		"else as a whole":       {q.Call("whole", map[string]int{"x": 1}), nil, `"json {\"x\":1}" 1`},
		"overload":              {q.Call("over", map[string]int{"a": 1}), nil, `"a" 1`},
		"overload, two":         {q.Call("over", map[string]int{"a": 1, "b": 2}), nil, `"ab" 1`},
		"overload, defaults":    {q.Call("over", nil), nil, `"cx" 1`},
		"overload, none":        {q.Call("over", map[string]int{"z": 1}), nil, "PGRST202"},
		"overload, both":        {q.Call("twins", map[string]int{"a": 1}), nil, "PGRST203"},
		"wrong value":           {q.Call("over", map[string]string{"a": "x"}), nil, "22P02"},
		"row":                   {q.Call("one_pair", nil), nil, `{"a":1,"b":"x"} 1`},
		"row in part":           {q.Call("one_pair", nil).Columns("b"), nil, `{"b":"x"} 1`},
		"row, none":             {q.Call("no_pair", nil), nil, `{"a":null,"b":null} 1`},
		"row, filtered out":     {q.Call("one_pair", nil).Where(q.Eq("a", 2)), nil, `null 1`},
		"row, single":           {q.Call("one_pair", nil), single, `{"a":1,"b":"x"} 1`},
		"rows":                  {q.Call("pairs", nil).Columns("b").Where(q.Gt("a", 1)).OrderBy(q.Desc("b")), nil, `[{"b":"z"}, {"b":"y"}] 2`},
		"rows, one":             {q.Call("pairs", nil).Where(q.Eq("a", 1)), single, `{"a":1,"b":"x"} 1`},
		"rows, head":            {q.Call("pairs", nil).Limit(2), head, " 2"},
		"rows, unknown column":  {q.Call("pairs", nil).Columns("x"), nil, "42703"},
		"outs":                  {q.Call("outs", nil), nil, `{"a":1,"b":"x"} 1`},
		"values":                {q.Call("pick", map[string]int{"n": 2}), nil, `[1, 2] 2`},
		"values, filtered":      {q.Call("pick", map[string]int{"n": 9}).Where(q.Gt("pgrst_scalar", 7)), nil, `[8, 9] 2`},
		"values, one, quirk":    {q.Call("pick", map[string]int{"n": 1}), single, `{"pgrst_scalar":1} 1`},
		"values, bounded":       {q.Call("pick", map[string]int{"n": 500}).OrderBy(q.Desc("pgrst_scalar")).Limit(1), nil, `[500] 1`},
		"null":                  {q.Call("nothing", nil), nil, `null 1`},
		"void":                  {q.Call("made", nil), nil, ` 1`},
		"head runs it":          {q.Call("strict_one", nil), head, "P0001"},
		"odd names":             {q.Call(`Odd "f"`, map[string]any{`a"b`: 1, "select": "x"}), nil, `"1x" 1`},
		"odd names, text":       {q.Call(`Odd "f"`, map[string]any{`a"b`: 1, "select": "x"}).ReadOnly(), nil, `"1x" 1`},
		"JSON and arrays":       {q.Call("docs", map[string]any{"d": map[string]int{"a": 1}, "j": []int{1}, "xs": []int{1, 2}}), nil, `"{\"a\": 1} [1] {1,2}" 1`},
		"JSON, read-only":       {q.Call("docs", map[string]any{"d": map[string]int{"a": 1}, "j": []int{1}}).ReadOnly(), nil, `"{\"a\": 1} [1]" 1`},
		"array, read-only":      {q.Call("docs", nil), args("d", "{}", "xs", "{1,2}"), `"{} {1,2}" 1`},
		"array of objects":      {q.Call("over", nil), func(s *q.Spec) { s.Call.Args = []byte(`[{"a":1},{"a":2}]`) }, `"a" 1`},
		"empty body":            {q.Call("over", nil), func(s *q.Spec) { s.Call.Args = nil }, `"cx" 1`},
		"no object":             {q.Call("over", nil), func(s *q.Spec) { s.Call.Args = []byte(`5`) }, `"cx" 1`},
		"rows that differ":      {q.Call("over", nil), func(s *q.Spec) { s.Call.Args = []byte(`[{"a":1},{"b":1}]`) }, "PGRST102"},
		"no JSON":               {q.Call("over", nil), func(s *q.Spec) { s.Call.Args = []byte(`{"a"`) }, "PGRST102"},
		"limit on one":          {q.Call("over", nil), func(s *q.Spec) { s.Call.MaxAffected = 1 }, "PGRST128"},
		"limit on rows":         {q.Call("pairs", nil), func(s *q.Spec) { s.Call.MaxAffected = 3 }, `[{"a":1,"b":"x"}, {"a":2,"b":"y"}, {"a":3,"b":"z"}] 3`},
		"no such function":      {q.Call("nope", nil), nil, "PGRST202"},
		"rows with an embed":    {q.Call("top_traders", map[string]int{"min_shares": 999}).Select(q.Col("id"), q.Rel("companies", q.Col("name"))), nil, `[{"id":27,"companies":{"name": "Company 13"}}] 1`},
		"filter by a JSON path": {q.Call("top_traders", map[string]int{"min_shares": 999}).Columns("id").Where(q.Eq(q.JSONText("meta", "form"), "4/A")), nil, `[{"id":27}] 1`},
	} {
		t.Run(name, func(t *testing.T) {
			begin(t, conn)
			row, err := do(t, conn, tc.query, tc.change, opts)
			if got := callResult(row, err); got != tc.want {
				t.Errorf("got %s, want %s (%v)", got, tc.want, err)
			}
		})
	}
}

// callResult is the body and the number of rows, or an error's code.
func callResult(row []string, err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	if e, ok := errors.AsType[*catalog.Error](err); ok {
		return e.Code
	}
	if e, ok := errors.AsType[*compile.RefusedError](err); ok {
		return e.Failure.Code
	}
	if err != nil {
		return err.Error()
	}
	return strings.ReplaceAll(row[0], "\n ", "") + " " + row[1]
}

// What a call's transaction has to be is known before it runs.
func TestCallTransaction(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, callFunctions)
	c := loadCatalog(t, db)
	for name, tc := range map[string]struct {
		query    q.Query
		readOnly bool
		void     bool
		settings []catalog.Setting
	}{
		"volatile":  {query: q.Call("made", nil), void: true},
		"asked for": {query: q.Call("made", nil).ReadOnly(), readOnly: true, void: true},
		"stable":    {query: q.Call("pairs", nil), readOnly: true},
		"immutable": {query: q.Call("slow", nil), readOnly: true, settings: []catalog.Setting{{Name: "statement_timeout", Value: "5s"}}},
		"read":      {query: q.From("insiders"), readOnly: true},
		"insert":    {query: q.Insert("sectors", raw(`{"id":9}`))},
		"update":    {query: q.Update("sectors", raw(`{"id":9}`)).Where(q.Eq("id", 1))},
		"delete":    {query: q.Delete("sectors").Where(q.Eq("id", 1))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tc.query.Spec()
			p, err := compile.SQL(&s, compile.SQLOptions{Schema: "public", Catalog: c})
			if err != nil {
				t.Fatal(err)
			}
			if p.ReadOnly != tc.readOnly || p.Void != tc.void {
				t.Errorf("read-only %v, void %v; want %v, %v", p.ReadOnly, p.Void, tc.readOnly, tc.void)
			}
			if diff := cmp.Diff(tc.settings, p.Settings); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
			if got := compile.ReadOnly(&s, c); got != tc.readOnly {
				t.Errorf("ReadOnly = %v, want %v", got, tc.readOnly)
			}
		})
	}
	call := q.Call("pairs", nil).Spec()
	unknown := q.Call("nope", nil).Spec()
	if compile.ReadOnly(&call, nil) || compile.ReadOnly(&unknown, c) {
		t.Error("a function that nobody knows is read-only")
	}
}

// What the function sets for the answer comes back with its value.
func TestServerAnswerSettings(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, callFunctions)
	conn := connect(t, db.SuperDSN)
	row, err := do(t, conn, q.Call("answered", nil), nil, compile.SQLOptions{Catalog: loadCatalog(t, db)})
	if err != nil {
		t.Fatal(err)
	}
	code, fields, failure := compile.Override(row[compile.ColumnStatus], row[compile.ColumnHeaders])
	if failure != nil || code != 418 {
		t.Errorf("status %d, failure %+v", code, failure)
	}
	if diff := cmp.Diff([]compile.HeaderField{{Name: "X-Tea", Value: "pot"}}, fields); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}
