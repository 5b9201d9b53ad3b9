package compile_test

import (
	"encoding/json"

	q "github.com/twinpath/twinpath/dbaccess/query"
)

func returning(s *q.Spec) { s.Write.Return = true }

func writeCases() []goldenCase {
	type company struct {
		Ticker string  `db:"ticker"`
		Name   string  `db:"name"`
		Cap    *string `db:"market_cap"`
	}
	type item struct {
		List     int    `db:"watchlist_id"`
		Ticker   string `db:"ticker"`
		Position int    `db:"position,omitzero"`
	}
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	one := q.Insert("companies", company{Ticker: "X1", Name: "X one"})
	ragged := q.Insert("watchlist_items", []item{{1, "T05", 5}, {1, "T06", 0}})
	return []goldenCase{
		{name: "insert", fixture: true, reason: "a row; the number of rows needs no privilege to read", query: one},
		{name: "insert-rows", fixture: true, reason: "rows in one document, and back what the select list and the key need",
			query: q.Insert("companies", []company{{Ticker: "X1"}, {Ticker: "X2"}}).Columns("name").OrderBy(q.Desc("name")), change: returning},
		{name: "insert-raw", fixture: true, reason: "the columns are the members of the first row", change: returning,
			query: q.Insert("Odd Table", raw(`[{"Id":4,"quote\"col":"x"},{"quote\"col":"y","Id":5}]`))},
		{name: "insert-defaults", fixture: true, reason: "what a row lacks is the column's default", query: ragged, change: returning},
		{name: "insert-default", fixture: true, reason: "one row that lacks what has a default", query: q.Insert("watchlist_items", item{1, "T05", 0}),
			change: func(s *q.Spec) { s.Write.MissingDefault = true; s.Write.Columns = []string{"position", "ticker"} }},
		{name: "insert-nothing", fixture: true, reason: "a row of defaults", query: q.Insert("watchlists", raw(`{}`))},
		{name: "insert-nothings", fixture: true, reason: "as many rows of defaults as objects", query: q.Insert("watchlists", raw(`[{},{}]`))},
		{name: "insert-single", fixture: true, reason: "the statement fails unless it adds one row", query: one, change: func(s *q.Spec) { s.Single = true }},
		{name: "merge", fixture: true, reason: "by the primary key; added rows are counted", query: q.Insert("prices", raw(`{"ticker":"T01","day":"2026-03-01","close":1}`)).Merge()},
		{name: "merge-on", fixture: true, reason: "by other columns", query: q.Insert("watchlists", raw(`[{"title":"a"}]`)).Merge("owner", "title"), change: returning},
		{name: "merge-nothing", fixture: true, reason: "without columns there is nothing to update", query: q.Insert("watchlists", raw(`{}`)).Merge()},
		{name: "ignore", fixture: true, reason: "rows that are there stay", query: one.Ignore("ticker")},
		{name: "put", fixture: true, reason: "a PUT: the conditions are the key, and hold for the row sent",
			query: one.Merge().Where(q.Eq("ticker", "X1")), change: func(s *q.Spec) { returning(s); s.Write.Columns = nil }},
		{name: "update", fixture: true, reason: "the condition is that of the update", query: q.Update("companies", company{Ticker: "T01", Name: "N"}).Where(q.Eq("ticker", "T01"))},
		{name: "update-embed", fixture: true, reason: "an embed's columns come back too", change: returning,
			query: q.Update("companies", map[string]any{"name": nil}).Where(q.Eq("ticker", "T01")).Select(q.Col("name"), q.Rel("sectors", q.Col("name")))},
		{name: "update-nothing", fixture: true, reason: "nothing to set changes no row", query: q.Update("companies", raw(`{}`)).Where(q.Eq("ticker", "T01")), change: returning},
		{name: "update-all", fixture: true, reason: "AllRows is no condition to either side", query: q.Update("companies", raw(`{"name":"x"}`)).Where(q.AllRows()), change: func(s *q.Spec) { s.Count = q.CountExact }},
		{name: "update-defaults", fixture: true, reason: "a named column that is not there gets its default", query: q.Update("watchlist_items", raw(`{}`)).Where(q.Eq("ticker", "T01")),
			change: func(s *q.Spec) { s.Write.Columns = []string{"position"}; s.Write.MissingDefault = true }},
		{name: "delete", fixture: true, reason: "no more than so many rows", query: q.Delete("prices").Where(q.Lt("day", "2026-03-02")).MaxAffected(10)},
		{name: "delete-returning", fixture: true, reason: "the limit of a write is ignored, as PostgREST does", change: func(s *q.Spec) { returning(s); s.Write.Rollback = true; s.Count = q.CountExact },
			query: q.Delete("prices").Where(q.Lt("day", "2026-03-02")).Columns("close").Limit(1)},
	}
}

func callCases() []goldenCase {
	text := func(args ...q.TextArg) func(*q.Spec) {
		return func(s *q.Spec) { s.Call.Args, s.Call.TextArgs = nil, args }
	}
	return []goldenCase{
		{name: "call", fixture: true, reason: "arguments with the function's own types, a bare value back", query: q.Call("add_them", map[string]int{"a": 1, "b": 2})},
		{name: "call-none", fixture: true, reason: "no arguments; no value", query: q.Call("noop", nil)},
		{name: "call-read-only", fixture: true, reason: "arguments in text form", query: q.Call("add_them", map[string]int{"a": 1}).ReadOnly()},
		{name: "call-head", fixture: true, reason: "only the number of rows is wanted, but the function runs", query: q.Call("pick", map[string]int{"n": 3}).ReadOnly(),
			change: func(s *q.Spec) { s.Head = true; s.Count = q.CountExact }},
		{name: "call-form", fixture: true, reason: "arguments in text form, posted; the last of a name counts", query: q.Call("add_them", nil),
			change: text(q.TextArg{Name: "a", Value: "1"}, q.TextArg{Name: "a", Value: "2"})},
		{name: "call-set", fixture: true, reason: "rows are filtered, sorted and cut; what is filtered by comes along",
			query:  q.Call("top_traders", map[string]int{"min_shares": 800}).Columns("id").Where(q.Eq("kind", "buy")).OrderBy(q.Asc("id")).Limit(3),
			change: func(s *q.Spec) { s.Count = q.CountExact; s.Call.MaxAffected = 5 }},
		{name: "call-values", fixture: true, reason: "a list of bare values", query: q.Call("pick", map[string]int{"n": 3})},
		{name: "call-row", fixture: true, reason: "an object", query: q.Call("touch_profile", map[string]string{"new_handle": "x"}).Columns("handle"),
			change: func(s *q.Spec) { s.Call.Rollback = true }},
		{name: "call-table", fixture: true, reason: "columns of its own; one row as an object", query: q.Call("company_stats", map[string]string{"ticker": "T03"}),
			change: func(s *q.Spec) { s.Single = true }},
		{name: "call-array", fixture: true, reason: "of an array of objects the first counts", query: q.Call("add_them", nil),
			change: func(s *q.Spec) { s.Call.Args = []byte(`[{"a":1}]`) }},
		{name: "call-columns", fixture: true, reason: "only the arguments named", query: q.Call("add_them", nil), change: func(s *q.Spec) {
			s.Call.Args, s.Call.Columns = []byte(`{"a":1,"c":2}`), []string{"a"}
		}},
	}
}
