package compile_test

import q "github.com/twinpath/twinpath/dbaccess/query"

func search(column string, op q.Operator, value, config string) q.Expr {
	return q.Compare{Column: q.Path{Column: column}, Op: op, Value: value, Config: config}
}

func aggregate(f q.Field, name, cast string) q.Field {
	f.Aggregate, f.AggregateCast = name, cast
	return f
}

// embedCases are about what the catalog is needed for.
func embedCases() []goldenCase {
	companies, sectors := q.From("companies"), q.From("sectors")
	name := q.Col("name")
	count := func(c q.Count) func(*q.Spec) { return func(s *q.Spec) { s.Count = c } }
	cases := []goldenCase{
		{name: "embed-one", reason: "at most one related row is an object", query: companies.Select(q.Col("ticker"), q.Rel("sectors", name))},
		{name: "embed-many", reason: "several are an array; its rows have a condition, an order and a window of their own",
			query: sectors.Select(q.Rel("companies", q.Star{}).Filter(q.Gt("ticker", "T05"), q.Or(q.Eq("name", "x"), q.IsNull("parent_ticker"))).
				Sort(q.Desc("market_cap").NullsLast()).Top(2).Skip(1), name)},
		{name: "embed-junction", reason: "through the table between", query: q.From("indexes").Select(q.Rel("companies", q.Col("ticker")).By("index_members").As("members"))},
		{name: "embed-self", reason: "a table that refers to itself: up by the column, down by the table",
			query: companies.Select(q.Rel("parent_ticker", name).As("parent"), q.Rel("companies", q.Col("ticker")).By("parent_ticker").As("children"))},
		{name: "embed-hint", reason: "a hint tells relationships apart",
			query: q.From("insider_transactions").Select(q.Col("id"), q.Rel("insiders", q.Col("full_name")).By("insider_transactions_approver_fkey").As("approver"))},
		{name: "embed-inner", reason: "rows without related rows are left out; a count asks whether there are any",
			query: sectors.Select(q.Rel("companies", q.Rel("prices", q.Col("close")).InnerJoin().Filter(q.Gt("close", 100))).InnerJoin(), name).Limit(3), change: count(q.CountExact)},
		{name: "embed-count", reason: "embeds that only add columns are not counted", query: companies.Select(q.Rel("sectors", name)).Where(q.Eq("ticker", "T01")).Limit(1), change: count(q.CountPlanned)},
		{name: "embed-nested", reason: "embeds in embeds, each with what concerns it",
			query: sectors.Select(q.Col("id"), q.Rel("companies", q.Col("ticker"), q.Rel("prices", q.Col("close")).Filter(q.Gt("close", 108)).Sort(q.Asc("close"))).Filter(q.In("ticker", "T01", "T02")))},
		{name: "embed-null", reason: "whether there is a related row, in any logic; in a count without joins",
			query: companies.Select(q.Col("ticker"), q.Rel("sectors"), q.Rel("prices")).
				Where(q.Or(q.IsNull("sectors"), q.Is{Column: q.Path{Column: "prices"}, State: q.NotNull}), q.Not(q.IsNull("sectors"))).Offset(1), change: count(q.CountExact)},
		{name: "embed-empty", reason: "an embed without fields joins and filters, and shows nothing", query: companies.Select(q.Col("ticker"), q.Rel("sectors").InnerJoin())},
		{name: "embed-order", reason: "by a column of the related row", query: companies.Select(q.Col("ticker"), q.Rel("sectors", name).As("s")).OrderBy(q.Desc("name").Of("s"), q.Asc("ticker"))},
		{name: "embed-spread", reason: "the related row's columns are the row's own", query: companies.Select(q.Col("ticker"), q.Rel("sectors", name.As("sector")).Spreading())},
		{name: "embed-spread-many", reason: "several rows' columns become arrays, sorted one by one",
			query: sectors.Select(name, q.Rel("companies", q.Col("ticker"), name.As("company")).Spreading().Sort(q.Desc("market_cap").NullsLast()))},
		{name: "embed-names", reason: "names that need quotes; a hint that begins like a kind of join",
			query: q.From("watchlists").Select(q.Rel("profiles", q.Col("handle")).As(`the "owner"`).By("owner").Filter(q.Eq("handle", "alice"))).Where(q.IsNotNull(`the "owner"`))},
		{name: "embed-index", reason: "a path that ends in an index at the end of an embed needs a cast to end in it",
			query: q.From("insider_transactions").Select(q.Rel("insiders", q.Col("id"), q.Col(q.JSON("contact", "phones", 0))).By("insider_id"))},
		{name: "embed-moved", reason: "PostgREST puts embeds in front of which something is asked",
			query: companies.Select(q.Col("ticker"), q.Rel("sectors", name), q.Rel("prices", q.Col("close")).Top(1), q.Rel("companies", name).Filter(q.Eq("name", "x")))},
		{name: "text-search", reason: "a column becomes a tsvector, with the same configuration",
			query: companies.Where(search("description", q.OpTS, "fat & cat", ""), search("description", q.OpPlainTS, "fat cats", "english"),
				q.Not(search("name", q.OpPhraseTS, "a b", "simple")), search("name", q.OpWebTS, `"a b" -c`, "my cfg"))},
		{name: "text-search-vector", reason: "unless it is one", query: q.From("all_types").Columns("id").Where(search("c_tsvector", q.OpTS, "cat", "english"))},
		{name: "json-other", reason: "a path into what is no JSON goes through JSON",
			query: q.From("all_types").Select(q.Col(q.JSON("c_text_arr", 0)), q.Col(q.JSON("c_json", "b"))).Where(q.Eq(q.JSONText("c_int_arr", 0), 1)).OrderBy(q.Asc(q.JSON("c_jsonb", "b")))},
		{name: "aggregate", aggregates: true, reason: "fields without an aggregate are the groups",
			query: q.From("insider_transactions").Select(q.Col("kind"), aggregate(q.Col("shares").As("total"), "sum", "int8"), aggregate(q.Field{}, "count", ""), aggregate(q.Col(q.JSONText("meta", "n")).To("int4"), "max", ""))},
		{name: "aggregate-embed", aggregates: true, reason: "of related rows, in an embed; of the row's group, in a spread",
			query: companies.Select(q.Rel("prices", aggregate(q.Col("close"), "avg", "")), q.Rel("sectors", name, aggregate(q.Field{}, "count", "")).Spreading())},
	}
	for i := range cases {
		cases[i].fixture = true
	}
	return cases
}
