package compile_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	q "github.com/twinpath/twinpath/dbaccess/query"
)

// What PostgREST refuses before it asks the database, in its words.
func TestSQLRefusesEmbeds(t *testing.T) {
	t.Parallel()
	cat := fixture(t)
	companies := q.From("companies")
	prices := q.Rel("prices", q.Col("close"))
	for name, tc := range map[string]struct {
		query      q.Query
		aggregates bool
		want       compile.Failure
		status     int
	}{
		"order by what is not embedded": {query: companies.OrderBy(q.Asc("name").Of("sectors")), status: 400,
			want: compile.Failure{Code: "PGRST108", Message: "'sectors' is not an embedded resource in this request", Hint: "Verify that 'sectors' is included in the 'select' query parameter."}},
		"order by the table's name in place of the alias": {query: companies.Select(q.Rel("sectors", q.Col("name")).As("s")).OrderBy(q.Asc("name").Of("sectors")), status: 400,
			want: compile.Failure{Code: "PGRST108", Message: "'sectors' is not an embedded resource in this request", Hint: "Verify that 'sectors' is included in the 'select' query parameter."}},
		"order by several": {query: companies.Select(prices.As("p")).OrderBy(q.Asc("close").Of("p")), status: 400,
			want: compile.Failure{Code: "PGRST118", Message: "A related order on 'p' is not possible", Details: "'companies' and 'p' do not form a many-to-one or one-to-one relationship"}},
		"order by several, inside": {query: q.From("sectors").Select(q.Rel("companies", prices).Sort(q.Asc("close").Of("prices"))), status: 400,
			want: compile.Failure{Code: "PGRST118", Message: "A related order on 'prices' is not possible", Details: "'companies' and 'prices' do not form a many-to-one or one-to-one relationship"}},
		"aggregate": {query: q.From("prices").Select(aggregate(q.Col("close"), "sum", "")), status: 400,
			want: compile.Failure{Code: "PGRST123", Message: "Use of aggregate functions is not allowed"}},
		"aggregate, inside": {query: companies.Select(q.Rel("prices", q.Field{Aggregate: "count"})), status: 400,
			want: compile.Failure{Code: "PGRST123", Message: "Use of aggregate functions is not allowed"}},
		"aggregate of arrays": {query: companies.Select(q.Rel("prices", q.Field{Aggregate: "count"}).Spreading()), aggregates: true, status: 400,
			want: compile.Failure{Code: "PGRST127", Message: "Feature not implemented", Details: "Aggregates are not implemented for one-to-many or many-to-many spreads."}},
		"aggregate of arrays, from inside": {query: q.From("sectors").Select(q.Rel("companies", q.Rel("sectors", q.Field{Aggregate: "count"}).Spreading()).Spreading()), aggregates: true, status: 400,
			want: compile.Failure{Code: "PGRST127", Message: "Feature not implemented", Details: "Aggregates are not implemented for one-to-many or many-to-many spreads."}},
		"one name twice": {query: companies.Select(prices, prices), status: 400,
			want: compile.Failure{Code: "42712", Message: `table name "companies_prices_1" specified more than once`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tc.query.Spec()
			_, err := compile.SQL(&s, compile.SQLOptions{Schema: "public", Catalog: cat, Aggregates: tc.aggregates})
			got, ok := errors.AsType[*compile.RefusedError](err)
			if !ok {
				t.Fatalf("error %v, want a RefusedError", err)
			}
			if diff := cmp.Diff(compile.RefusedError{Status: tc.status, Failure: tc.want}, *got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, name := range []string{"sectors", "companies", "prices"} {
				if strings.Contains(err.Error(), name) {
					t.Errorf("the error quotes the query: %v", err)
				}
			}
		})
	}
}

// What the schema does not have is the catalog's to refuse, in PostgREST's order.
func TestSQLPassesOnTheCatalogsRefusal(t *testing.T) {
	t.Parallel()
	cat := fixture(t)
	for name, tc := range map[string]struct {
		query q.Query
		code  string
	}{
		"no table":                   {q.From("nopes").Select(q.Rel("sectors")), catalog.CodeNoTable},
		"no schema":                  {q.From("companies").InSchema("nope"), catalog.CodeSchemaNotExposed},
		"no relationship":            {q.From("insiders").Select(q.Rel("sectors")).OrderBy(q.Asc("x").Of("y")), catalog.CodeNoRelationship},
		"no relationship, inside":    {q.From("sectors").Select(q.Rel("companies", q.Rel("insiders"))), catalog.CodeNoRelationship},
		"ambiguous":                  {q.From("insider_transactions").Select(q.Col("id"), q.Rel("insiders", q.Star{})), catalog.CodeAmbiguousRelationship},
		"the first in the list":      {q.From("insider_transactions").Select(q.Rel("insiders"), q.Rel("sectors")), catalog.CodeAmbiguousRelationship},
		"a table of another schema":  {q.From("companies").Select(q.Rel("notes")), catalog.CodeNoRelationship},
		"another schema's own table": {q.From("notes").InSchema("private_api").Select(q.Rel("companies")), catalog.CodeNoRelationship},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tc.query.Spec()
			_, err := compile.SQL(&s, compile.SQLOptions{Schema: "public", Catalog: cat})
			if got, ok := errors.AsType[*catalog.Error](err); !ok || got.Code != tc.code {
				t.Errorf("error %v, want %s", err, tc.code)
			}
		})
	}
}

// Without a catalog a read is refused exactly when NeedsCatalog says so.
func TestReadsNeedCatalog(t *testing.T) {
	t.Parallel()
	table := q.From("t")
	for name, tc := range map[string]struct {
		query q.Query
		needs bool
	}{
		"columns":            {table.Columns("a").Where(q.Or(q.Eq("b", 1), q.Not(q.In("c", 1)))).OrderBy(q.Desc("a")), false},
		"embed":              {table.Select(q.Rel("r")), true},
		"path":               {table.Select(q.Col(q.JSON("j", "k"))), true},
		"path in a filter":   {table.Where(q.Or(q.Eq("a", 1), q.Not(q.In(q.JSON("j", "k"), 1)))), true},
		"path in a test":     {table.Where(q.IsNull(q.JSON("j", "k"))), true},
		"path in an order":   {table.OrderBy(q.Asc(q.JSON("j", 0))), true},
		"search":             {table.Where(q.Not(search("a", q.OpTS, "x", ""))), true},
		"aggregate":          {table.Select(q.Col("a"), q.Field{Aggregate: "count"}), true},
		"aggregate of stars": {table.Select(q.Star{}, q.Field{Aggregate: "count"}), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tc.query.Spec()
			if got := compile.NeedsCatalog(&s); got != tc.needs {
				t.Errorf("NeedsCatalog is %v", got)
			}
			_, err := compile.SQL(&s, compile.SQLOptions{Schema: "public", Aggregates: true})
			if errors.Is(err, compile.ErrNeedsCatalog) != tc.needs || err != nil && !tc.needs {
				t.Errorf("SQL without a catalog: error %v", err)
			}
		})
	}
}

// Embeds that one of the two sides has no form for.
func TestUnsupportedEmbeds(t *testing.T) {
	t.Parallel()
	companies := q.From("companies")
	deep := q.Rel("companies", q.Star{})
	for range compile.MaxEmbedDepth {
		deep = q.Rel("companies", deep)
	}
	search := func(op q.Operator, config string) q.Query {
		return companies.Where(q.Compare{Column: q.Path{Column: "name"}, Op: op, Value: "x", Config: config})
	}
	field := func(f q.Field) q.Query { return companies.Select(f) }
	for name, tc := range map[string]struct {
		query q.Query
		node  string
		rest  bool // only PostgREST lacks a form
	}{
		"no relation":              {query: companies.Select(q.Embed{}), node: "embed"},
		"zero byte":                {query: companies.Select(q.Rel("a\x00b")), node: "embed"},
		"zero byte in a hint":      {query: companies.Select(q.Rel("sectors").By("a\x00b")), node: "embed's hint"},
		"zero byte in an alias":    {query: companies.Select(q.Rel("sectors").As("a\x00b")), node: "alias"},
		"count":                    {query: companies.Select(q.Rel("count")), node: "embed"},
		"alias of a spread":        {query: companies.Select(q.Rel("sectors", q.Star{}).As("s").Spreading()), node: "embed"},
		"negative limit":           {query: companies.Select(q.Embed{Relation: "sectors", HasLimit: true, Limit: -1}), node: "limit"},
		"negative offset":          {query: companies.Select(q.Embed{Relation: "sectors", Offset: -1}), node: "offset"},
		"too many":                 {query: companies.Select(slices.Repeat([]q.Item{q.Rel("sectors")}, compile.MaxEmbeds+1)...), node: "embed"},
		"too deep":                 {query: companies.Select(deep), node: "embed"},
		"no such aggregate":        {query: field(q.Field{Path: q.Path{Column: "name"}, Aggregate: "string_agg"}), node: "aggregate"},
		"sum of rows":              {query: field(q.Field{Aggregate: "sum"}), node: "aggregate"},
		"aggregate's cast alone":   {query: field(q.Field{Path: q.Path{Column: "name"}, AggregateCast: "text"}), node: "cast"},
		"aggregate's cast":         {query: field(q.Field{Path: q.Path{Column: "name"}, Aggregate: "max", AggregateCast: "text) from t; --"}), node: "cast"},
		"configuration with a dot": {query: search(q.OpTS, "public.english"), node: "text search configuration"},
		"configuration of blanks":  {query: search(q.OpTS, " "), node: "text search configuration"},
		"configuration of eq":      {query: search(q.OpEq, "english"), node: "operator eq"},
		"filters on not":           {query: companies.Select(q.Rel("sectors").As("not").Filter(q.Eq("id", 1))), node: "embed", rest: true},
		"filters on two":           {query: companies.Select(q.Rel("sectors"), q.Rel("prices").As("sectors").Filter(q.Eq("close", 1))), node: "embed", rest: true},
		"order by an index":        {query: companies.Select(q.Rel("sectors", q.Star{})).OrderBy(q.Asc(q.JSON("name", 0)).Of("sectors")), node: "order", rest: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tc.query.Spec()
			_, err := compile.REST(&s)
			errs := map[string]error{"REST": err}
			if !tc.rest {
				_, errs["SQL"] = compile.SQL(&s, compile.SQLOptions{Schema: "public", Catalog: fixture(t), Aggregates: true})
			}
			for side, err := range errs {
				if got, ok := errors.AsType[*q.UnsupportedError](err); !ok || got.Node != tc.node {
					t.Errorf("%s: error %v, want an UnsupportedError about %q", side, err, tc.node)
				}
			}
		})
	}
}
