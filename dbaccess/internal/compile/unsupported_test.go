package compile_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	q "github.com/twinpath/twinpath/dbaccess/query"
)

// nest wraps an expression in n levels of or.
func nest(e q.Expr, n int) q.Expr {
	for range n {
		e = q.Or(e)
	}
	return e
}

// foreign is a node type that package query doesn't have. Embedding an
// expression gives it the unexported method.
type foreign struct{ q.Is }

type foreignItem struct{ q.Star }

func TestUnsupported(t *testing.T) {
	t.Parallel()
	t1 := q.From("t")
	cmp := func(op q.Operator, quantifier q.Quantifier) q.Expr {
		return q.Compare{Column: q.Path{Column: "c"}, Op: op, Quantifier: quantifier, Value: "{1}"}
	}
	where := func(e q.Expr) q.Spec { return q.Spec{From: "t", Where: []q.Expr{e}} }
	secret := "s3cret\x00"
	for name, tc := range map[string]struct {
		spec q.Spec
		node string
	}{
		"no table":              {q.Spec{}, "table"},
		"zero byte in table":    {q.Spec{From: secret}, "table"},
		"zero byte in schema":   {q.Spec{From: "t", Schema: secret}, "schema"},
		"zero byte in column":   {where(q.IsNull(secret)), "column"},
		"zero byte in value":    {where(q.Compare{Column: q.Path{Column: "c"}, Op: q.OpEq, Value: secret}), "value"},
		"zero byte in list":     {where(q.InList{Column: q.Path{Column: "c"}, Values: []string{"a", secret}}), "value"},
		"zero byte in key":      {where(q.IsNull(q.JSON("c", secret))), "JSON path"},
		"zero byte in alias":    {t1.Select(q.Col("a").As(secret)).Spec(), "alias"},
		"zero byte in order":    {t1.OrderBy(q.Asc(secret)).Spec(), "column"},
		"invalid UTF-8":         {where(q.IsNull("\xff")), "column"},
		"empty column":          {where(q.IsNull("")), "column"},
		"column named *":        {t1.Columns("*").Spec(), "column"},
		"negative limit":        {q.Spec{From: "t", HasLimit: true, Limit: -1}, "limit"},
		"negative offset":       {q.Spec{From: "t", Offset: -1}, "offset"},
		"unknown operation":     {q.Spec{From: "t", Op: 99}, "operation"},
		"unknown count":         {q.Spec{From: "t", Count: 99}, "count"},
		"unknown operator":      {where(cmp("eq.1,b", q.One)), "operator"},
		"unknown quantifier":    {where(cmp(q.OpEq, 99)), "quantifier"},
		"neq any":               {where(cmp(q.OpNeq, q.Any)), "operator neq"},
		"unknown state":         {where(q.Is{Column: q.Path{Column: "c"}, State: 99}), "is"},
		"unknown connective":    {where(q.Logic{Connective: 99, Exprs: []q.Expr{q.IsNull("c")}}), "filter"},
		"unknown nulls":         {q.Spec{From: "t", OrderBy: []q.Order{{Path: q.Path{Column: "c"}, Nulls: 99}}}, "order"},
		"empty logic":           {where(q.Or()), "filter"},
		"nil filter":            {where(nil), "filter <nil>"},
		"nil in a negation":     {where(q.Negation{}), "filter <nil>"},
		"nil item":              {q.Spec{From: "t", Select: []q.Item{nil}}, "select item <nil>"},
		"foreign filter":        {where(foreign{}), "filter compile_test.foreign"},
		"foreign item":          {q.Spec{From: "t", Select: []q.Item{foreignItem{}}}, "select item compile_test.foreignItem"},
		"deep filter":           {where(nest(q.IsNull("c"), compile.MaxDepth+1)), "filter"},
		"cast of two words":     {t1.Select(q.Col("c").To("int foo")).Spec(), "cast"},
		"cast with parentheses": {t1.Select(q.Col("c").To("numeric(10,2)")).Spec(), "cast"},
		"cast that breaks out":  {t1.Select(q.Col("c").To("text) from t; --")).Spec(), "cast"},
		"cast with quotes":      {t1.Select(q.Col("c").To(`"text"`)).Spec(), "cast"},
		"cast with dollars":     {t1.Select(q.Col("c").To("$$")).Spec(), "cast"},
		"cast with a comma":     {t1.Select(q.Col("c").To("text,secret")).Spec(), "cast"},
		"cast that is long":     {t1.Select(q.Col("c").To(strings.Repeat("a", 64))).Spec(), "cast"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, restErr := compile.REST(&tc.spec)
			_, sqlErr := compile.SQL(&tc.spec, compile.SQLOptions{Schema: "public"})
			for side, err := range map[string]error{"REST": restErr, "SQL": sqlErr} {
				unsupported, ok := errors.AsType[*q.UnsupportedError](err)
				if !ok {
					t.Errorf("%s: got error %v, want an UnsupportedError", side, err)
					continue
				}
				if unsupported.Node != tc.node {
					t.Errorf("%s: node %q, want %q", side, unsupported.Node, tc.node)
				}
				if strings.Contains(err.Error(), "s3cret") {
					t.Errorf("%s: the error tells a value: %v", side, err)
				}
			}
		})
	}
}

func TestDeepestFilter(t *testing.T) {
	t.Parallel()
	s := q.From("t").Where(nest(q.IsNull("c"), compile.MaxDepth)).Spec()
	if _, err := compile.REST(&s); err != nil {
		t.Errorf("REST: %v", err)
	}
	if _, err := compile.SQL(&s, compile.SQLOptions{Schema: "public"}); err != nil {
		t.Errorf("SQL: %v", err)
	}
}

func TestSQLNeedsSchema(t *testing.T) {
	t.Parallel()
	s := q.From("t").Spec()
	if _, err := compile.SQL(&s, compile.SQLOptions{}); err == nil {
		t.Error("no error without a schema")
	}
}

func TestMostComparisons(t *testing.T) {
	t.Parallel()
	many := func(n int) []q.Expr {
		exprs := make([]q.Expr, n)
		for i := range exprs {
			exprs[i] = q.Eq("c", i)
		}
		return exprs
	}
	embed := func(in ...q.Expr) q.Query {
		return q.From("t").Select(q.Col("c"), q.Embed{Relation: "u", Where: in, Select: []q.Item{q.Embed{Relation: "v", Where: many(1)}}})
	}
	const most = compile.MaxComparisons
	for name, tt := range map[string]struct {
		query   q.Query
		refused bool
	}{
		"one by one":                {q.From("t").Where(many(most)...), false},
		"one by one, one more":      {q.From("t").Where(many(most + 1)...), true},
		"or":                        {q.From("t").Where(q.Or(many(most)...)), false},
		"or, one more":              {q.From("t").Where(q.Or(many(most + 1)...)), true},
		"nested and not, one more":  {q.From("t").Where(q.Not(q.And(q.Or(many(most)...), q.Not(q.IsNull("d"))))), true},
		"more than the protocol":    {q.From("t").Where(q.Or(many(1 << 16)...)), true},
		"list":                      {q.From("t").Where(q.In("c", make([]int, most+1)...)), false},
		"embeds together":           {embed(many(most - 2)...).Where(many(1)...), false},
		"embeds together, one more": {embed(many(most - 1)...).Where(many(1)...), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tt.query.Spec()
			_, restErr := compile.REST(&s)
			_, sqlErr := compile.SQL(&s, compile.SQLOptions{Schema: "public"})
			for side, err := range map[string]error{"REST": restErr, "SQL": sqlErr} {
				if unsupported, ok := errors.AsType[*q.UnsupportedError](err); ok != tt.refused || ok && unsupported.Node != "filter" {
					t.Errorf("%s: error %v; refused must be %t", side, err, tt.refused)
				}
			}
		})
	}
}

// A path's result is named after its last key, which must therefore not be empty.
func TestSQLEmptyKey(t *testing.T) {
	t.Parallel()
	s := q.From("t").Select(q.Col(q.JSON("c", ""))).Spec()
	if _, err := compile.SQL(&s, compile.SQLOptions{Schema: "api", Catalog: oneTable(t)}); err == nil {
		t.Error("no error for an empty name in the result")
	}
	s = q.From("t").Select(q.Col(q.JSON("c", "")).As("x")).Spec()
	if _, err := compile.SQL(&s, compile.SQLOptions{Schema: "api", Catalog: oneTable(t)}); err != nil {
		t.Errorf("with an alias: %v", err)
	}
}

func TestRESTDotTable(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".", ".."} {
		s := q.From(name).Spec()
		if _, err := compile.REST(&s); err == nil {
			t.Errorf("no error for a table named %q, which would leave the base path", name)
		}
	}
}
