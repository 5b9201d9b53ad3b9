package compile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	q "github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// What the embeds, searches, paths and aggregates of made-up tables yield, worked
// out by hand.
func TestServerEmbeds(t *testing.T) {
	t.Parallel()
	db := pgtest.NewDatabase(t, "testdata/embeds.sql")
	cat, conn := loadCatalog(t, db), connect(t, db.SuperDSN)
	const long = "a23456789012345678901234567890123456789012345678901234567890123"
	people := q.From("people").OrderBy(q.Asc("id"))
	orders := q.From("orders").OrderBy(q.Asc("region"), q.Asc("no"))
	id, name := q.Col("id"), q.Col("name")
	lines := q.Rel("lines", id).Sort(q.Asc("id"))
	count := func(c q.Count) func(*q.Spec) { return func(s *q.Spec) { s.Count = c } }
	exact := count(q.CountExact)
	for caseName, tc := range map[string]struct {
		query       q.Query
		change      func(*q.Spec)
		maxRows     int64
		body, total string
	}{
		"one-to-one, from either side": {query: q.From("people").Select(id, q.Rel("bios", q.Col("bio"), q.Rel("people", name))).Where(q.Lt("id", 3)).OrderBy(q.Asc("id")),
			body: `[{"id":1,"bios":{"bio": "about Ann", "people": {"name": "Ann"}}}, {"id":2,"bios":null}]`},
		"composite key": {query: orders.Select(q.Col("no"), lines).Where(q.Eq("region", "eu")),
			body: `[{"no":1,"lines":[{"id": 10}, {"id": 11}]}, {"no":2,"lines":[{"id": 12}]}]`},
		"composite key, upwards": {query: q.From("lines").Select(id, q.Rel("orders", q.Col("note"))).Where(q.Gt("id", 12)).OrderBy(q.Asc("id")),
			body: `[{"id":13,"orders":{"note": null}}, {"id":14,"orders":null}]`},
		"junction": {query: people.Select(id, q.Rel("groups", name).Sort(q.Asc("name"))).Limit(3),
			body: `[{"id":1,"groups":[{"name": "g1"}, {"name": "g2"}]}, {"id":2,"groups":[{"name": "g1"}]}, {"id":3,"groups":[]}]`},
		"junction there and back": {query: q.From("groups").Select(id, q.Rel("people", id, q.Rel("groups", id).Sort(q.Asc("id"))).Sort(q.Asc("id"))).OrderBy(q.Asc("id")).Limit(1),
			body: `[{"id":1,"people":[{"id": 1, "groups": [{"id": 1}, {"id": 2}]}, {"id": 2, "groups": [{"id": 1}]}]}]`},
		"self, both ways": {query: people.Select(id, q.Rel("boss", name, q.Rel("boss", id)).As("boss"), q.Rel("people", id).By("boss").As("team").Sort(q.Desc("id"))).Where(q.In("id", 1, 4)),
			body: `[{"id":1,"team":[{"id": 3}, {"id": 2}],"boss":null}, {"id":4,"team":[],"boss":{"boss": {"id": 1}, "name": "Bob"}}]`},
		"view": {query: q.From("people_view").Select(q.Col("person"), q.Rel("orders", q.Col("no")).Sort(q.Asc("no"))).OrderBy(q.Asc("person")).Limit(2),
			body: `[{"person":1,"orders":[{"no": 1}, {"no": 2}]}, {"person":2,"orders":[{"no": 1}]}]`},
		"to a view": {query: q.From("bios").Select(q.Rel("people_view", name)).OrderBy(q.Asc("person")).Limit(1), body: `[{"people_view":{"name": "Ann"}}]`},
		"computed": {query: people.Select(id, q.Rel("rich_orders", q.Col("no"), lines), q.Rel("first_order", q.Col("note")).As("first")).Limit(2),
			body: `[{"id":1,"rich_orders":[{"no": 2, "lines": [{"id": 12}]}],"first":{"note": "x"}}, {"id":2,"rich_orders":[],"first":{"note": null}}]`},
		"computed, of an embed": {query: q.From("bios").Select(q.Rel("people", q.Rel("first_order", q.Col("note")))).OrderBy(q.Asc("person")).Limit(1),
			body: `[{"people":{"first_order": {"note": "x"}}}]`},

		"inner": {query: people.Select(id, q.Rel("orders", q.Col("no")).InnerJoin().Filter(q.Gt("no", 1))), body: `[{"id":1,"orders":[{"no": 2}]}]`},
		"inner, counted": {query: people.Select(id, q.Rel("orders").InnerJoin()).Limit(1), change: exact,
			body: `[{"id":1}]`, total: "2"},
		"inner of one, nested, counted": {query: q.From("lines").Select(id, q.Rel("orders", q.Rel("people", name).InnerJoin().Filter(q.Eq("name", "Bob"))).InnerJoin()).Limit(5), change: exact,
			body: `[{"id":13,"orders":{"people": {"name": "Bob"}}}]`, total: "1"},
		"null": {query: people.Select(id, q.Rel("bios")).Where(q.IsNull("bios")), body: `[{"id":2}, {"id":4}]`},
		"not null, though all there is is null": {query: people.Select(id, q.Rel("bios", q.Col("bio"))).Where(q.IsNotNull("bios")),
			body: `[{"id":1,"bios":{"bio": "about Ann"}}, {"id":3,"bios":{"bio": null}}]`},
		"null of several": {query: people.Select(id, q.Rel("orders", q.Col("no"))).Where(q.IsNull("orders")), body: `[{"id":3,"orders":[]}, {"id":4,"orders":[]}]`},
		"null in logic, counted": {query: people.Select(id, q.Rel("orders"), q.Rel("bios")).
			Where(q.Or(q.And(q.IsNull("orders"), q.IsNull("bios")), q.Eq("name", "Ann"))).Limit(1), change: exact,
			body: `[{"id":1}]`, total: "2"},
		"null, estimated": {query: people.Select(id, q.Rel("bios")).Where(q.IsNull("bios")), maxRows: 1, change: count(q.CountEstimated), body: `[{"id":2}]`, total: "2"},

		"row limit": {query: people.Select(id, q.Rel("orders", q.Col("no")).Sort(q.Asc("no"))), maxRows: 1, body: `[{"id":1,"orders":[{"no": 1}]}]`},
		"row limit beside limits": {query: people.Select(id, q.Rel("orders", q.Col("no")).Sort(q.Asc("no")).Top(5).Skip(1)).Limit(3), maxRows: 2,
			body: `[{"id":1,"orders":[{"no": 2}]}, {"id":2,"orders":[]}]`},
		"order by a related column": {query: q.From("lines").Select(id, q.Rel("orders", q.Col("note"), q.Col("region"))).OrderBy(q.Desc("note").Of("orders").NullsLast(), q.Desc("id")),
			body: `[{"id":12,"orders":{"note": "y", "region": "eu"}}, {"id":11,"orders":{"note": "x", "region": "eu"}}, {"id":10,"orders":{"note": "x", "region": "eu"}}, {"id":14,"orders":null}, {"id":13,"orders":{"note": null, "region": "us"}}]`},
		"order of an embed by its own": {query: q.From("groups").Select(id, q.Rel("people", name, q.Rel("bios", q.Col("bio"))).Sort(q.Asc("bio").Of("bios").NullsFirst())).Where(q.Eq("id", 1)),
			body: `[{"id":1,"people":[{"bios": null, "name": "Bob"}, {"bios": {"bio": "about Ann"}, "name": "Ann"}]}]`},

		"nothing but empty embeds": {query: people.Select(q.Rel("bios"), q.Rel("orders", q.Rel("lines"))).Limit(1), body: `[{}]`},
		"embeds of embeds alone":   {query: people.Select(q.Rel("orders", lines).Sort(q.Asc("no"))).Limit(1), body: `[{"orders":[{"lines": [{"id": 10}, {"id": 11}]}, {"lines": [{"id": 12}]}]}]`},
		"by way of jsonb": {query: q.From("bios").Select(q.Col("person"), q.Rel("people", q.Col("doc"))).Where(q.Eq("person", 1)),
			body: `[{"person":1,"people":{"doc": {"a": 2, "b": [10, 20]}}}]`},
		"not by way of jsonb": {query: people.Select(q.Col("doc")).Where(q.Eq("id", 1)), body: `[{"doc":{"b": 1.50,  "a": 2, "b": [10, 20]}}]`},

		"spread": {query: people.Select(id, q.Rel("boss", name.As("boss_name"), q.Rel("bios", q.Col("bio")).Spreading()).Spreading()).Where(q.In("id", 1, 2)),
			body: `[{"id":1,"boss_name":null,"bio":null}, {"id":2,"boss_name":"Ann","bio":"about Ann"}]`},
		"spread of everything": {query: q.From("lines").Select(id.As("line"), q.Rel("orders", q.Star{}).Spreading()).Where(q.Eq("id", 10)),
			body: `[{"line":10,"region":"eu","no":1,"person":1,"note":"x"}]`},
		"spread with an embed": {query: q.From("bios").Select(q.Rel("people", name, q.Rel("orders", q.Col("no")).Sort(q.Asc("no"))).Spreading()).Where(q.Eq("person", 1)),
			body: `[{"name":"Ann","orders":[{"no": 1}, {"no": 2}]}]`},
		"spread of several": {query: people.Select(id, q.Rel("orders", q.Col("no"), q.Col("note").As("notes")).Spreading().Sort(q.Desc("no"))).Where(q.Lt("id", 4)),
			body: `[{"id":1,"no":[2, 1],"notes":["y", "x"]}, {"id":2,"no":[1],"notes":[null]}, {"id":3,"no":[],"notes":[]}]`},
		"spread of several, with more inside": {query: people.Select(id, q.Rel("orders", q.Star{}, lines, q.Rel("people", name).Spreading()).Spreading().Sort(q.Asc("no"))).Where(q.Eq("id", 1)),
			body: `[{"id":1,"region":["eu", "eu"],"no":[1, 2],"person":[1, 1],"note":["x", "y"],"lines":[[{"id": 10}, {"id": 11}], [{"id": 12}]],"name":["Ann", "Ann"]}]`},
		"spread of several, inner": {query: people.Select(id, q.Rel("groups", name).Spreading().InnerJoin().Filter(q.Eq("name", "g2"))), body: `[{"id":1,"name":["g2"]}]`},
		"spread, sorted by a related column": {query: q.From("groups").Select(id, q.Rel("people", name, q.Rel("bios", q.Col("bio"))).Spreading().Sort(q.Asc("bio").Of("bios").NullsLast())).Where(q.Eq("id", 1)),
			body: `[{"id":1,"name":["Ann", "Bob"],"bios":[{"bio": "about Ann"}, null]}]`},

		"an alias that is taken": {query: q.From("people_1").Select(id, q.Rel("people", name)).OrderBy(q.Asc("id")), body: `[{"id":1,"people":{"name": "Bob"}}, {"id":2,"people":null}]`},
		"a long name": {query: q.From(long).Select(id, q.Rel("up", id), q.Rel(long, id).As("down").Sort(q.Asc("id"))).OrderBy(q.Asc("id")).Limit(2),
			body: `[{"id":1,"down":[{"id": 2}, {"id": 3}],"up":null}, {"id":2,"down":[],"up":{"id": 1}}]`},

		"path into a composite value": {query: people.Select(q.Col(q.JSONText("home", "zip")), q.Col(q.JSON("home", "street")).As("s")).Where(q.Eq(q.JSONText("home", "street"), "Main St")),
			body: `[{"zip":"1","s":"Main St"}]`},
		"path into an array":     {query: people.Select(q.Col(q.JSON("tags", -1))).Where(q.Eq(q.JSONText("tags", 0), "a")), body: `[{"tags":"b"}]`},
		"path into json":         {query: people.Select(q.Col(q.JSON("doc", "b", 1))).Where(q.Eq("id", 1)), body: `[{"b":20}]`},
		"path into an embed":     {query: q.From("bios").Select(q.Rel("people", q.Col(q.JSONText("home", "zip")), q.Col(q.JSON("props", "k", "l", 1)))).Where(q.Eq("person", 1)), body: `[{"people":{"l": 8, "zip": "1"}}]`},
		"path in an embed's own": {query: q.From("groups").Select(id, q.Rel("people", id).Filter(q.Eq(q.JSONText("home", "zip"), "1"))).Where(q.Eq("id", 1)), body: `[{"id":1,"people":[{"id": 1}]}]`},

		"search": {query: people.Select(id).Where(search("words", q.OpTS, "cat", "")), body: `[{"id":1}]`},
		"search with a configuration, of a vector": {query: people.Select(id).Where(search("words", q.OpPlainTS, "cats", "english")), body: `[{"id":1}]`},
		"search of text":         {query: people.Select(id).Where(search("name", q.OpTS, "ann | dan", "simple")), body: `[{"id":1}, {"id":4}]`},
		"search of a path":       {query: q.From("people").Select(id).Where(q.Compare{Column: q.JSONText("home", "street"), Op: q.OpWebTS, Value: "-main st", Config: "simple"}), body: `[{"id":3}]`},
		"search in an embed":     {query: q.From("groups").Select(id, q.Rel("people", id).Filter(search("words", q.OpTS, "dog", "simple"))).Where(q.Eq("id", 1)), body: `[{"id":1,"people":[{"id": 2}]}]`},
		"search of json columns": {query: people.Select(id).Where(search("props", q.OpTS, "nothing", "simple")), body: `[]`},

		"aggregates": {query: q.From("lines").Select(q.Col("region"), aggregate(q.Col("amount"), "sum", ""), aggregate(q.Col("amount").As("top"), "max", "text"), aggregate(q.Field{}, "count", "")).OrderBy(q.Asc("region")),
			body: `[{"region":"eu","sum":6.75,"top":"3","count":3}, {"region":"us","sum":9,"top":"5","count":2}]`},
		"aggregates alone": {query: q.From("lines").Select(aggregate(q.Col("no"), "count", ""), aggregate(q.Field{Alias: "all"}, "count", "int4"), aggregate(q.Col("amount"), "min", "")), body: `[{"count":4,"all":5,"min":1.50}]`},
		"aggregate of a path": {query: q.From("people").Select(aggregate(q.Col(q.JSONText("home", "zip")).To("int4"), "sum", ""), aggregate(q.Col(q.JSON("tags", 0)), "count", "").As("tagged")),
			body: `[{"sum":1,"tagged":2}]`},
		"groups by an alias and a path": {query: q.From("orders").Select(q.Col("region").As("no"), aggregate(q.Field{}, "count", "")).OrderBy(q.Desc("region")),
			body: `[{"no":"us","count":2}, {"no":"eu","count":2}]`},
		"groups by everything": {query: q.From("groups").Select(q.Star{}, aggregate(q.Field{}, "count", "")).Where(q.Eq("id", 1)), body: `[{"id":1,"name":"g1","count":1}]`},
		"aggregates in an embed": {query: people.Select(id, q.Rel("orders", q.Col("region"), aggregate(q.Field{}, "count", ""))).Where(q.Eq("id", 1)),
			body: `[{"id":1,"orders":[{"count": 2, "region": "eu"}]}]`},
		"aggregates beside an embed": {query: q.From("orders").Select(q.Col("region"), aggregate(q.Col("no"), "sum", ""), q.Rel("people", name)).Where(q.Eq("region", "eu")),
			body: `[{"region":"eu","sum":3,"people":{"name": "Ann"}}]`},
		"aggregates in a spread": {query: q.From("lines").Select(q.Col("region"), q.Rel("orders", aggregate(q.Col("no"), "sum", "int4"), aggregate(q.Field{}, "count", ""), q.Rel("people", aggregate(q.Col("id").As("who"), "max", "")).Spreading()).Spreading()).OrderBy(q.Asc("region")),
			body: `[{"region":"eu","sum":4,"count":3,"who":1}, {"region":"us","sum":1,"count":1,"who":2}]`},
	} {
		t.Run(caseName, func(t *testing.T) {
			if err := tc.query.Err(); err != nil {
				t.Fatal(err)
			}
			s := tc.query.Spec()
			if tc.change != nil {
				tc.change(&s)
			}
			p, err := compile.SQL(&s, compile.SQLOptions{Schema: "public", MaxRows: tc.maxRows, Catalog: cat, Aggregates: true})
			if err != nil {
				t.Fatal(err)
			}
			if p.Plan != nil {
				run(t, conn, *p.Plan)
			}
			row := run(t, conn, p.Main)
			got := []string{flat(string(row[compile.ColumnBody])), string(row[compile.ColumnTotal])}
			if diff := cmp.Diff([]string{tc.body, tc.total}, got); diff != "" {
				t.Errorf("%s\nbody, total (-want +got):\n%s", p.Main.SQL, diff)
			}
		})
	}
}

// flat takes out the line breaks that Postgres puts between rows.
func flat(body string) string { return strings.ReplaceAll(body, ", \n ", ", ") }
