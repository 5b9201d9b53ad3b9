package parse_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/twinpath/twinpath/dbaccess/internal/parse"
	q "github.com/twinpath/twinpath/dbaccess/query"
)

// embedData compares embeds by what they say. What else they carry is the
// builder's.
var embedData = cmpopts.IgnoreUnexported(q.Embed{})

func aggregate(f q.Field, name, cast string) q.Field {
	f.Aggregate, f.AggregateCast = name, cast
	return f
}

func search(column string, op q.Operator, value, config string) q.Expr {
	return q.Compare{Column: q.Path{Column: column}, Op: op, Value: value, Config: config}
}

// Embeds, aggregates and text searches, and what PostgREST takes them for.
func TestEmbeds(t *testing.T) {
	t.Parallel()
	type spec = q.Spec
	selects := func(items ...q.Item) spec { return spec{Select: items} }
	where := func(e ...q.Expr) spec { return spec{Where: e} }
	c := q.Col("c")
	b := q.Rel("b", c)
	for _, tc := range []struct {
		query string
		want  spec
	}{
		{"select=a,b(c)", selects(q.Col("a"), b)},
		{"select=b(c),a", selects(b, q.Col("a"))},
		{"select=b(*)", selects(q.Rel("b", q.Star{}))},
		{"select=b()", selects(q.Rel("b"))},
		{"select=*,b()", selects(q.Star{}, q.Rel("b"))},
		{"select=x:b(c)", selects(b.As("x"))},
		{`select="x y":"b,b"("c)")`, selects(q.Rel("b,b", q.Col("c)")).As("x y"))},
		{"select=b!fk(c)", selects(b.By("fk"))},
		{"select=b!inner(c)", selects(b.InnerJoin())},
		{"select=b!left(c)", selects(b)},
		{"select=b!fk!inner(c)", selects(b.By("fk").InnerJoin())},
		{"select=b!inner!fk(c)", selects(b.By("fk").InnerJoin())},
		{"select=b!fk!other(c)", selects(b.By("fk"))},
		{"select=b!left!inner(c)", selects(b)},
		{`select=b!"inner fk"(c)`, selects(b.By("inner fk"))},
		{"select=...b(c)", selects(b.Spreading())},
		{"select=...b!fk!inner(c)", selects(b.By("fk").InnerJoin().Spreading())},
		{"select= a , b(c) , d", selects(q.Col("a"), b, q.Col("d"))},
		{"select=a, b( c , d(e)),f", selects(q.Col("a"), q.Rel("b", c, q.Rel("d", q.Col("e"))), q.Col("f"))},
		{"select=a,b(c,d(e),...f(*))", selects(q.Col("a"), q.Rel("b", c, q.Rel("d", q.Col("e")), q.Rel("f", q.Star{}).Spreading()))},
		{"select=b(c)and more", selects(b)},
		{"select=b(m->0)", selects(q.Rel("b", q.Col(q.JSON("m", "0"))))}, // a key, where nothing follows
		{"select=b(m->0,c)", selects(q.Rel("b", q.Col(q.JSON("m", 0)), c))},

		// Aggregates.
		{"select=a.sum()", selects(aggregate(q.Col("a"), "sum", ""))},
		{"select=x:a::int.max()::text", selects(aggregate(q.Col("a").As("x").To("int"), "max", "text"))},
		{"select=count(),n:count()::int", selects(q.Field{Aggregate: "count"}, aggregate(q.Field{Alias: "n"}, "count", "int"))},
		{"select=a->b.avg(),c.min(),d.count()", selects(aggregate(q.Col(q.JSON("a", "b")), "avg", ""), aggregate(c, "min", ""), aggregate(q.Col("d"), "count", ""))},
		{"select=b(c.sum(),count())", selects(q.Rel("b", aggregate(c, "sum", ""), q.Field{Aggregate: "count"}))},

		// What is asked of an embed, wherever it stands in the query string.
		{"b.d=eq.1&select=b(c)", selects(b.Filter(eq("d", "1")))},
		{"select=b(c)&b.d=eq.1&b.or=(e.eq.2,f.eq.3)&b.e=is.null", selects(b.Filter(eq("d", "1"), q.IsNull("e"), q.Or(eq("e", "2"), eq("f", "3"))))},
		{"select=b(c)&b.and=(d.eq.1,e.eq.2)", selects(b.Filter(eq("d", "1"), eq("e", "2")))},
		{"select=b(c)&b.not.and=(d.eq.1)", selects(b.Filter(q.Not(q.And(eq("d", "1")))))},
		{"select=b(c)&not.b.or=(d.eq.1)", selects(b.Filter(q.Not(q.Or(eq("d", "1")))))},
		{"select=b(c)&b.d->e=eq.1", selects(b.Filter(q.Eq(q.JSON("d", "e"), 1)))},
		{"select=b(c)&b.order=d.desc&b.order=e", selects(b.Sort(q.Desc("d")))},
		{"select=b(c)&b.limit=3&b.offset=2&b.limit=5", selects(b.Top(5).Skip(2))},
		{"select=b(c)&b.limit=0", selects(b.Top(0))},
		{"select=b(c)&b.limit=x", selects(b)},
		{"select=b(c)&b.limit=x&b.offset=1", selects(b.Top(0).Skip(1))},
		{"select=b(c)&b.offset=4", selects(b.Skip(4))},
		{"select=x:b(c)&x.d=eq.1", selects(b.As("x").Filter(eq("d", "1")))},
		{"select=x:b(c)&b.d=eq.1", selects(b.As("x").Filter(eq("d", "1")))}, // the table's own name
		{"select=b(c,d(e))&b.d.f=eq.1&b.d.limit=2", selects(q.Rel("b", c, q.Rel("d", q.Col("e")).Filter(eq("f", "1")).Top(2)))},
		{"select=...b(c)&b.d=eq.1", selects(b.Spreading().Filter(eq("d", "1")))},
		{"select=b(c)&b=not.is.null", spec{Select: []q.Item{b}, Where: []q.Expr{q.IsNotNull("b")}}},
		{"select=b(c)&or=(b.is.null,a.eq.1)", spec{Select: []q.Item{b}, Where: []q.Expr{q.Or(q.IsNull("b"), eq("a", "1"))}}},
		{"select=b(c)&order=b(c).desc.nullslast,a", spec{Select: []q.Item{b}, OrderBy: []q.Order{q.Desc("c").Of("b").NullsLast(), q.Asc("a")}}},
		{"order=b(m->k)", spec{OrderBy: []q.Order{q.Asc(q.JSON("m", "k")).Of("b")}}},

		// Every parameter puts its embed in front, those of a kind from the last to the
		// first, filters after sort keys.
		{"select=a(c),b(c)&b.d=eq.1", selects(b.Filter(eq("d", "1")), q.Rel("a", c))},
		{"select=x,a(c),b(c),d(c)&d.order=c&b.order=c", selects(q.Col("x"), q.Rel("d", c).Sort(q.Asc("c")), b.Sort(q.Asc("c")), q.Rel("a", c))},
		{"select=a(c),b(c)&a.order=c&b.or=(c.eq.1)", selects(b.Filter(q.Or(eq("c", "1"))), q.Rel("a", c).Sort(q.Asc("c")))},
		{"select=a(c),b(c)&a.c=eq.1&b.order=c", selects(b.Sort(q.Asc("c")), q.Rel("a", c).Filter(eq("c", "1")))},
		{"select=a(c),b(d(e))&b.d.limit=1", selects(q.Rel("b", q.Rel("d", q.Col("e")).Top(1)), q.Rel("a", c))},

		// Text searches.
		{"a=fts.cat", where(search("a", q.OpTS, "cat", ""))},
		{"a=not.plfts(english).fat cats", where(q.Not(search("a", q.OpPlainTS, "fat cats", "english")))},
		{"a=phfts( my cfg$1 ).x", where(search("a", q.OpPhraseTS, "x", "my cfg$1"))},
		{`or=(a.wfts(english)."""x",b.fts.y)`, where(q.Or(search("a", q.OpWebTS, `"""x"`, "english"), search("b", q.OpTS, "y", "")))},

		{"select=", spec{}},
	} {
		t.Run(tc.query, func(t *testing.T) {
			t.Parallel()
			p, err := parse.Request("GET", "t", tc.query, http.Header{}, nil)
			if err != nil {
				t.Fatalf("%+v", *err.(*parse.Error))
			}
			tc.want.From = "t"
			if diff := cmp.Diff(tc.want, p.Spec, embedData); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEmbedsRefused(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]parse.Error{
		"select=b(c":               {Status: 400, Code: "PGRST100"},
		"select=b(c,":              {Status: 400, Code: "PGRST100"},
		"select=b(d(e) )":          {Status: 400, Code: "PGRST100"},
		"select=b( )":              {Status: 400, Code: "PGRST100"},
		"select=b(c) ":             {Status: 400, Code: "PGRST100"},
		"select=b->d(c)":           {Status: 400, Code: "PGRST100"},
		"select=b!(c)":             {Status: 400, Code: "PGRST100"},
		"select=b!leftover(c)":     {Status: 400, Code: "PGRST100"}, // left, and then nothing that can follow
		"select=x:...b(c)":         {Status: 400, Code: "PGRST100"},
		"select=a.sum":             {Status: 400, Code: "PGRST100"},
		"select=a.median()":        {Status: 400, Code: "PGRST100"},
		"select=count(a)":          {Status: 400, Code: "PGRST100"},
		"select=a.sum()::int foo":  {Status: 400, Code: "42601"},
		"order=b(c,d)":             {Status: 400, Code: "PGRST100"},
		"order=b(c).down":          {Status: 400, Code: "PGRST100"},
		"a=fts().x":                {Status: 400, Code: "PGRST100"},
		"a=fts(x-y).x":             {Status: 400, Code: "PGRST100"},
		"a=fts( ).x":               {Status: 400, Code: "42602"},
		"select=b(c)&x.d=eq.1":     {Status: 400, Code: "PGRST108", Message: "'x' is not an embedded resource in this request", Hint: "Verify that 'x' is included in the 'select' query parameter."},
		"select=b(c)&b.d.e=eq.1":   {Status: 400, Code: "PGRST108", Message: "'d' is not an embedded resource in this request", Hint: "Verify that 'd' is included in the 'select' query parameter."},
		"x.a=eq.1&y.a=eq.1":        {Status: 400, Code: "PGRST108", Message: "'y' is not an embedded resource in this request", Hint: "Verify that 'y' is included in the 'select' query parameter."},
		"x.or=(a.eq.1)&y.order=a":  {Status: 400, Code: "PGRST108", Message: "'y' is not an embedded resource in this request", Hint: "Verify that 'y' is included in the 'select' query parameter."},
		"x.a=eq.1&limit=-1":        {Status: 416, Code: "PGRST103"},
		"select=b(c)&b.limit=-1":   {Status: 400, Code: "2201W", Message: "LIMIT must not be negative"},
		"select=b(c)&b.offset=-1":  {Status: 400, Code: "2201X", Message: "OFFSET must not be negative"},
		"select=b(c)&b.limit=9e99": {}, // no number, so none
		"select=" + strings.Repeat("a(),", 499) + "a()": {},
		"select=" + strings.Repeat("a(),", 500) + "a()": {Status: 501},
		"select=" + embedsOf(32):                        {},
		"select=" + embedsOf(33):                        {Status: 501},
		"select=" + embedsOf(99999):                     {Status: 501},
	} {
		name := query[:min(len(query), 40)]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parse.Request("GET", "t", query, http.Header{}, nil)
			if want.Status == 0 {
				if err != nil {
					t.Errorf("error %v", err)
				}
				return
			}
			got, ok := err.(*parse.Error)
			if !ok {
				t.Fatalf("error %v, want status %d", err, want.Status)
			}
			if got.Status != want.Status || got.Code != want.Code || !strings.Contains(got.Message, want.Message) || got.Hint != want.Hint {
				t.Errorf("got %+v, want %+v", *got, want)
			}
		})
	}
}

// embedsOf is a select list of embeds in embeds.
func embedsOf(levels int) string {
	return strings.Repeat("a(", levels) + "b" + strings.Repeat(")", levels)
}

// The windows of a write's embeds are ignored, their other parameters are not.
func TestEmbedsOfWrites(t *testing.T) {
	t.Parallel()
	p, err := parse.Request("PATCH", "t", "select=b(c)&b.limit=1&b.order=c&x.limit=1&a=eq.1", http.Header{"Prefer": {"return=representation"}}, []byte(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []q.Item{q.Rel("b", q.Col("c")).Sort(q.Asc("c"))}
	if diff := cmp.Diff(want, p.Spec.Select, embedData); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
