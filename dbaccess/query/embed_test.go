package query_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	q "github.com/twinpath/twinpath/dbaccess/query"
)

// embedData compares embeds by what they say.
var embedData = cmpopts.IgnoreUnexported(q.Embed{})

func TestEmbed(t *testing.T) {
	t.Parallel()
	got := q.Rel("prices", q.Col("day"), q.Col("close")).As("last").By("prices_ticker_fkey").InnerJoin().
		Filter(q.Gt("close", 1)).Filter(q.Lt("close", 9)).Sort(q.Desc("day")).Sort(q.Asc("close")).Top(2).Skip(1)
	compare := func(op q.Operator, value string) q.Expr {
		return q.Compare{Column: q.Path{Column: "close"}, Op: op, Value: value}
	}
	want := q.Embed{
		Relation: "prices", Alias: "last", Hint: "prices_ticker_fkey", Inner: true,
		Select:  []q.Item{q.Field{Path: q.Path{Column: "day"}}, q.Field{Path: q.Path{Column: "close"}}},
		Where:   []q.Expr{compare(q.OpGt, "1"), compare(q.OpLt, "9")},
		OrderBy: []q.Order{{Path: q.Path{Column: "day"}, Desc: true}, {Path: q.Path{Column: "close"}}},
		Limit:   2, HasLimit: true, Offset: 1,
	}
	if diff := cmp.Diff(want, got, embedData); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if name := got.Name(); name != "last" {
		t.Errorf("named %q, want the alias", name)
	}
	if e := q.Rel("sectors", q.Star{}).Spreading(); !e.Spread || e.Name() != "sectors" {
		t.Errorf("got %+v", e)
	}
	if e := q.Rel("prices").Top(0); !e.HasLimit || e.Limit != 0 {
		t.Errorf("Top(0) is %+v, want a limit of zero", e)
	}
	if o := q.Asc("name").Of("sectors").NullsLast(); o.Relation != "sectors" || o.Nulls != q.NullsLast {
		t.Errorf("got %+v", o)
	}
}

// An embed may be the base of several others.
func TestEmbedIsImmutable(t *testing.T) {
	t.Parallel()
	items := []q.Item{q.Col("a")}
	base := q.Rel("r", items...).Filter(q.Eq("a", 1)).Sort(q.Asc("a"))
	items[0] = q.Col("z")
	one := base.Filter(q.Eq("b", 1)).Sort(q.Asc("b")).As("one").By("x").InnerJoin().Top(1).Skip(1)
	two := base.Filter(q.Eq("c", 1)).Sort(q.Asc("c")).Spreading()
	want := q.Rel("r", q.Col("a")).Filter(q.Eq("a", 1)).Sort(q.Asc("a"))
	if diff := cmp.Diff(want, base, embedData); diff != "" {
		t.Errorf("the base has changed (-want +got):\n%s", diff)
	}
	for i, e := range []q.Embed{one, two} {
		column := string(rune('b' + i))
		if diff := cmp.Diff([]q.Expr{q.Eq("a", 1), q.Eq(column, 1)}, e.Where); diff != "" {
			t.Errorf("filters (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]q.Order{q.Asc("a"), q.Asc(column)}, e.OrderBy); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	}
}

// What is wrong with an embed is found by the query that it gets into, however deep
// it stands.
func TestEmbedErr(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		embed q.Embed
		want  string
	}{
		"no relation":        {q.Embed{}, "without a relation"},
		"nil filter":         {q.Rel("r").Filter(nil), "nil expression"},
		"bad filter":         {q.Rel("r").Filter(q.Eq("a", nil)), "query.IsNull"},
		"column of a sort":   {q.Rel("r").Sort(q.Asc("")), "column without a name"},
		"negative top":       {q.Rel("r").Top(-1), "Top must not be negative"},
		"negative skip":      {q.Rel("r").Skip(-1), "Skip must not be negative"},
		"nil item":           {q.Rel("r", nil), "nil item"},
		"field":              {q.Rel("r", q.Col("")), "column without a name"},
		"step":               {q.Rel("r", q.Col(q.JSON("a", 1.5))), "float64"},
		"sum of no column":   {q.Rel("r", q.Field{Aggregate: "sum"}), "column without a name"},
		"one inside":         {q.Rel("r", q.Rel("s").Top(-1)), "Top must not be negative"},
		"one without a name": {q.Rel("r", q.Rel("")), "without a relation"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := q.From("t").Select(tc.embed).Err()
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
	good := q.From("t").Select(q.Rel("r", q.Star{}, q.Field{Aggregate: "count"}, q.Rel("s")).Filter(q.IsNull("s")).Top(0))
	if err := good.Err(); err != nil {
		t.Errorf("error %v, want none", err)
	}
}
