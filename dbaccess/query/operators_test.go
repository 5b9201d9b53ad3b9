package query_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/query"
)

func TestOperators(t *testing.T) {
	t.Parallel()
	c := func(op query.Operator, value string) query.Compare {
		return query.Compare{Column: query.Path{Column: "c"}, Op: op, Value: value}
	}
	with := func(e query.Compare, change func(*query.Compare)) query.Compare {
		change(&e)
		return e
	}
	tests := []struct {
		name string
		got  query.Expr
		want query.Compare
	}{
		{"match", query.Matches("c", "^a*"), c(query.OpMatch, "^a*")},
		{"imatch", query.IMatches("c", "x"), c(query.OpIMatch, "x")},
		{"isdistinct", query.IsDistinctFrom("c", 1), c(query.OpIsDistinct, "1")},
		{"cs, array", query.Contains("c", []string{"a,b", `"`}), c(query.OpContains, `{"a,b","\""}`)},
		{"cs, jsonb", query.Contains("c", map[string]any{"a": 1}), c(query.OpContains, `{"a":1}`)},
		{"cd", query.ContainedBy("c", []int{1, 2}), c(query.OpContained, `{"1","2"}`)},
		{"ov", query.Overlaps("c", "[1,2)"), c(query.OpOverlaps, "[1,2)")},
		{"sl", query.StrictlyLeft("c", "[1,2)"), c(query.OpLeft, "[1,2)")},
		{"sr", query.StrictlyRight("c", "[1,2)"), c(query.OpRight, "[1,2)")},
		{"nxr", query.NotRightOf("c", "[1,2)"), c(query.OpNotRight, "[1,2)")},
		{"nxl", query.NotLeftOf("c", "[1,2)"), c(query.OpNotLeft, "[1,2)")},
		{"adj", query.Adjacent("c", "[1,2)"), c(query.OpAdjacent, "[1,2)")},
		{"fts", query.TSQuery("c", "fat & rat"), c(query.OpTS, "fat & rat")},
		{"plfts", query.PlainTSQuery("c", "fat", "english"), with(c(query.OpPlainTS, "fat"), func(c *query.Compare) { c.Config = "english" })},
		{"phfts", query.PhraseTSQuery("c", "fat"), c(query.OpPhraseTS, "fat")},
		{"wfts", query.WebTSQuery("c", `"fat rat"`), c(query.OpWebTS, `"fat rat"`)},
		{"any", query.AnyOf("c", query.OpLike, []string{"a%", "b"}), with(c(query.OpLike, `{"a%","b"}`), func(c *query.Compare) { c.Quantifier = query.Any })},
		{"all", query.AllOf("c", query.OpGt, []int{1}), with(c(query.OpGt, `{"1"}`), func(c *query.Compare) { c.Quantifier = query.All })},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(query.Expr(tt.want), tt.got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for name, e := range map[string]query.Expr{
		"any of an operator without it": query.AnyOf("c", query.OpNeq, []int{1}),
		"any of no slice":               query.AnyOf("c", query.OpEq, 1),
		"any of nothing":                query.AnyOf("c", query.OpEq, []int(nil)),
		"two configurations":            query.TSQuery("c", "x", "a", "b"),
		"contains nil":                  query.Contains("c", nil),
	} {
		if query.From("t").Where(e).Err() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
