package compile_test

import (
	"slices"

	q "github.com/twinpath/twinpath/dbaccess/query"
)

// goldenCase is a query whose two forms are kept in testdata/<name>.txt.
type goldenCase struct {
	name   string
	reason string // what the case is there to show
	query  q.Query
	change func(*q.Spec) // what no builder method says

	fixture    bool // it is about the golden fixture, whose catalog is known
	aggregates bool // are on
}

func with(op q.Operator, quantifier q.Quantifier, value string) q.Expr {
	return q.Compare{Column: q.Path{Column: "c"}, Op: op, Quantifier: quantifier, Value: value}
}

func is(s q.State) q.Expr { return q.Is{Column: q.Path{Column: "c"}, State: s} }

func goldenCases() []goldenCase {
	t := q.From("t")
	head := func(s *q.Spec) { s.Head = true }
	count := func(c q.Count) func(*q.Spec) { return func(s *q.Spec) { s.Count = c } }
	cases := slices.Concat(writeCases(), callCases(), embedCases())
	return append(cases, []goldenCase{
		{name: "table", reason: "a whole table", query: t},
		{name: "schema", reason: "another schema than the default one", query: t.InSchema("private_api")},
		{name: "odd-names", reason: "names that need quoting on both sides",
			query: q.From(`Odd "Table"/x`).Columns("Id", "space col", `quote"col`, "comma,col", "한글", "and", "_plain1").
				Where(q.Eq(`back\slash`, "x")).OrderBy(q.Asc("dot.col"))},
		{name: "odd-values", reason: "a value can't leave its quotes, and * stays what it is outside of patterns",
			query: t.Where(q.Eq("c", `say "hi", (\) & 100% * +`), q.Eq("c", ""), q.Eq("c", "  lead"), q.Eq("c", "null"))},
		{name: "select", reason: "alias, cast and JSON paths; a path is named after its last key",
			query: t.Select(q.Col("a"), q.Col("b").As("Other name"), q.Col("c").To("text"),
				q.Col(q.JSON("j", "k", 0)), q.Col(q.JSONText("j", "k", "odd key")).As("v"), q.Col(q.JSON("j", -1)), q.Star{})},
		{name: "cast", reason: "a cast is a type name and nothing else: SQL's own words stay, other names are quoted",
			query: t.Select(q.Col("a").To("timestamp with time zone"), q.Col("b").To("My_Type"), q.Col("c").To("int array"), q.Col("d").To("select"))},
		{name: "eq", reason: "=", query: t.Where(q.Eq("c", 5))},
		{name: "neq", reason: "<>", query: t.Where(q.Neq("c", 5))},
		{name: "gt", reason: ">, and a window on one column keeps both bounds", query: t.Where(q.Gt("c", 1), q.Lt("c", 9))},
		{name: "gte", reason: ">= and <=", query: t.Where(q.Gte("c", 1), q.Lte("c", 9))},
		{name: "like", reason: "PostgREST reads * as %, so SQL gets %", query: t.Where(q.Like("c", "a*b%"), q.ILike("c", `100\%*`))},
		{name: "match", reason: "regular expressions", query: t.Where(with(q.OpMatch, q.One, "^T(01|02)$"), with(q.OpIMatch, q.One, "^t"))},
		{name: "any-all", reason: "quantifiers take an array literal",
			query: t.Where(with(q.OpEq, q.Any, "{3,4}"), with(q.OpGt, q.All, "{3,9}"), with(q.OpLike, q.Any, `{"T*","%1"}`))},
		{name: "isdistinct", reason: "IS DISTINCT FROM a value, never NULL", query: t.Where(with(q.OpIsDistinct, q.One, "null"))},
		{name: "containment", reason: "arrays, JSON and ranges",
			query: t.Where(with(q.OpContains, q.One, `{"a b"}`), with(q.OpContained, q.One, `{"k":1}`), with(q.OpOverlaps, q.One, "[1,9)"))},
		{name: "ranges", reason: "the range operators",
			query: t.Where(with(q.OpLeft, q.One, "[7,9]"), with(q.OpRight, q.One, "[7,9]"), with(q.OpNotRight, q.One, "[7,9]"),
				with(q.OpNotLeft, q.One, "[7,9]"), with(q.OpAdjacent, q.One, "[7,9]"))},
		{name: "in", reason: "one parameter whatever the number of values", query: t.Where(q.In("c", "a", `b"\`, "c,d", "null", ""))},
		{name: "in-empty", reason: "no value, no row", query: t.Where(q.In[string, int]("c"))},
		{name: "in-empty-string", reason: "PostgREST takes a list of one empty string for the empty list", query: t.Where(q.In("c", ""))},
		{name: "is", reason: "states", query: t.Where(is(q.Null), is(q.NotNull), is(q.True), is(q.False), is(q.Unknown))},
		{name: "is-not-null", reason: "the form that every version of PostgREST knows", query: t.Where(q.IsNotNull("c"))},
		{name: "logic", reason: "and, or and not nest",
			query: t.Where(q.Or(q.And(q.Eq("a", 1), q.Gt("b", 2)), q.Not(q.Or(q.Eq("c", 3), q.IsNull("d")))), q.Not(q.In("e", 1, 2)))},
		{name: "double-negation", reason: "negations cancel out in pairs", query: t.Where(q.Not(q.Not(q.Eq("c", 1))), q.Not(q.Not(q.Not(q.IsNull("c")))))},
		{name: "json-filter", reason: "keys are parameters, indexes typed ones", query: t.Where(q.Eq(q.JSONText("j", "a", 0, "it's"), "x"))},
		{name: "order", reason: "direction and NULLs, paths included",
			query: t.OrderBy(q.Asc("a"), q.Desc("b"), q.Asc("c").NullsFirst(), q.Desc(q.JSON("j", "k")).NullsLast())},
		{name: "limit-offset", reason: "a window", query: t.Limit(10).Offset(20)},
		{name: "offset", reason: "a window without end", query: t.Offset(20)},
		{name: "limit-zero", reason: "PostgREST refuses an offset beside a limit of zero, which says nothing there", query: t.Limit(0).Offset(20)},
		{name: "count-exact", reason: "without a window the rows are the total", query: t.Where(q.Eq("c", 1)), change: count(q.CountExact)},
		{name: "count-exact-window", reason: "with a window the condition is repeated, with the same parameters",
			query: t.Columns("a").Where(q.Eq("c", 1)).Limit(2).Offset(3), change: count(q.CountExact)},
		{name: "count-planned", reason: "the planner's word, by a second statement", query: t.Where(q.Eq("c", 1)).Limit(2), change: count(q.CountPlanned)},
		{name: "count-estimated", reason: "counted and estimated", query: t.Where(q.Eq("c", 1)).Limit(2), change: count(q.CountEstimated)},
		{name: "single", reason: "one object; the caller checks the number of rows", query: t.Where(q.Eq("id", 1)), change: func(s *q.Spec) { s.Single = true }},
		{name: "head", reason: "rows are counted but not built, and the select list is still checked", query: t.Columns("a").Limit(3), change: head},
		{name: "head-count", reason: "only the total is wanted", query: t.Where(q.Eq("c", 1)), change: func(s *q.Spec) { head(s); s.Count = q.CountExact }},
	}...)
}
