package query_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/query"
)

type ticker string

func TestSpec(t *testing.T) {
	t.Parallel()
	q := query.From("t").Named("n").InSchema("s").
		Columns("a", "b").Select(query.Col(query.JSON("j", "k", 0)).As("x").To("text"), query.Star{}).
		Where(query.Eq(ticker("c"), 1)).Where(query.Lt("d", 2), query.Not(query.In("e", "x", "y"))).
		OrderBy(query.Asc("a").NullsFirst(), query.Desc("b").NullsLast()).OrderBy(query.Asc("c")).
		Limit(3).Offset(4)
	want := query.Spec{
		Op: query.OpSelect, Name: "n", Schema: "s", From: "t",
		Select: []query.Item{
			query.Field{Path: query.Path{Column: "a"}}, query.Field{Path: query.Path{Column: "b"}},
			query.Field{
				Path:  query.Path{Column: "j", Steps: []query.Step{{Key: "k"}, {Index: 0, IsIndex: true}}},
				Alias: "x", Cast: "text",
			},
			query.Star{},
		},
		Where: []query.Expr{
			query.Compare{Column: query.Path{Column: "c"}, Op: query.OpEq, Value: "1"},
			query.Compare{Column: query.Path{Column: "d"}, Op: query.OpLt, Value: "2"},
			query.Negation{Expr: query.InList{Column: query.Path{Column: "e"}, Values: []string{"x", "y"}}},
		},
		OrderBy: []query.Order{
			{Path: query.Path{Column: "a"}, Nulls: query.NullsFirst},
			{Path: query.Path{Column: "b"}, Desc: true, Nulls: query.NullsLast},
			{Path: query.Path{Column: "c"}},
		},
		Limit: 3, HasLimit: true, Offset: 4,
	}
	if err := q.Err(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(want, q.Spec()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, query.FromSpec(want).Spec()); diff != "" {
		t.Errorf("FromSpec (-want +got):\n%s", diff)
	}
}

// Every builder stands for one node.
func TestFilters(t *testing.T) {
	t.Parallel()
	c := query.Path{Column: "c"}
	compare := func(op query.Operator, value string) query.Expr {
		return query.Compare{Column: c, Op: op, Value: value}
	}
	is := func(s query.State) query.Expr { return query.Is{Column: c, State: s} }
	for name, tc := range map[string]struct{ got, want query.Expr }{
		"Eq":           {query.Eq("c", 1), compare("eq", "1")},
		"Neq":          {query.Neq("c", "x"), compare("neq", "x")},
		"Gt":           {query.Gt("c", 1), compare("gt", "1")},
		"Gte":          {query.Gte("c", 1), compare("gte", "1")},
		"Lt":           {query.Lt("c", 1), compare("lt", "1")},
		"Lte":          {query.Lte("c", 1), compare("lte", "1")},
		"Like":         {query.Like("c", "a%"), compare("like", "a%")},
		"ILike":        {query.ILike("c", "a%"), compare("ilike", "a%")},
		"In":           {query.In("c", 1, 2), query.InList{Column: c, Values: []string{"1", "2"}}},
		"In, no value": {query.In[string, int]("c"), query.InList{Column: c, Values: []string{}}},
		"IsNull":       {query.IsNull("c"), is(query.Null)},
		"IsNotNull":    {query.IsNotNull("c"), query.Negation{Expr: is(query.Null)}},
		"IsTrue":       {query.IsTrue("c"), is(query.True)},
		"IsFalse":      {query.IsFalse("c"), is(query.False)},
		"IsUnknown":    {query.IsUnknown("c"), is(query.Unknown)},
		"And":          {query.And(is(query.Null)), query.Logic{Connective: query.ConnectAnd, Exprs: []query.Expr{is(query.Null)}}},
		"Or":           {query.Or(is(query.Null)), query.Logic{Connective: query.ConnectOr, Exprs: []query.Expr{is(query.Null)}}},
		"Not":          {query.Not(is(query.Null)), query.Negation{Expr: is(query.Null)}},
		"path": {query.Eq(query.JSONText("c", "k", -1), "x"), query.Compare{
			Column: query.Path{Column: "c", Steps: []query.Step{{Key: "k"}, {Index: -1, IsIndex: true, Text: true}}}, Op: query.OpEq, Value: "x",
		}},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Queries that grow out of one base do not write into each other's slices.
func TestImmutable(t *testing.T) {
	t.Parallel()
	base := query.From("t").Columns("a").Where(query.Eq("a", 0)).OrderBy(query.Asc("a"))
	for range 3 { // leave spare capacity behind the base's slices
		base = base.Columns("b").Where(query.Eq("b", 0)).OrderBy(query.Asc("b"))
	}
	before := base.Spec()
	var wg sync.WaitGroup
	got := make([]query.Query, 8)
	for i := range got {
		wg.Go(func() {
			name := fmt.Sprint("c", i)
			got[i] = base.Columns(name).Where(query.Eq(name, i), query.Eq(name, nil)).OrderBy(query.Asc(name)).Limit(i)
		})
	}
	wg.Wait()
	for i, q := range got {
		name := fmt.Sprint("c", i)
		s := q.Spec()
		if s.Select[4].(query.Field).Path.Column != name || s.Where[4].(query.Compare).Column.Column != name ||
			s.OrderBy[4].Path.Column != name || s.Limit != int64(i) {
			t.Errorf("query %d has another's parts: %+v", i, s)
		}
		if err := q.Err(); err == nil || !strings.Contains(err.Error(), `"`+name+`"`) {
			t.Errorf("query %d has another's error: %v", i, err)
		}
	}
	if diff := cmp.Diff(before, base.Spec()); diff != "" {
		t.Errorf("the base changed (-before +after):\n%s", diff)
	}
	if err := base.Err(); err != nil {
		t.Errorf("the base has an error: %v", err)
	}
}

func TestLogicCopies(t *testing.T) {
	t.Parallel()
	exprs := []query.Expr{query.IsNull("a"), query.IsNull("b")}
	or := query.Or(exprs...)
	exprs[0] = query.IsNull("changed")
	if diff := cmp.Diff(query.Or(query.IsNull("a"), query.IsNull("b")), or); diff != "" {
		t.Errorf("Or shares the caller's slice (-want +got):\n%s", diff)
	}
}

func TestErr(t *testing.T) {
	t.Parallel()
	q := query.From("t")
	for name, tc := range map[string]struct {
		query query.Query
		want  []string // parts of the error, one line each
	}{
		"zero":              {query.Query{}, []string{"no table"}},
		"no table":          {query.From(""), []string{"no table"}},
		"limit":             {q.Limit(-1), []string{"Limit must not be negative"}},
		"offset":            {q.Offset(-1), []string{"Offset must not be negative"}},
		"nil value":         {q.Where(query.Eq("c", nil)), []string{`eq on column "c": nil compares with nothing: use query.IsNull`}},
		"nil pointer":       {q.Where(query.Eq("c", (*int)(nil))), []string{"use query.IsNull"}},
		"nil in list":       {q.Where(query.In("c", any(1), nil)), []string{`value 1 of In on column "c"`}},
		"no text":           {q.Where(query.Eq("c", make(chan int))), []string{"chan int has no text form"}},
		"nil filter":        {q.Where(nil), []string{"a nil expression"}},
		"nil in logic":      {q.Where(query.Or(query.IsNull("a"), nil)), []string{"a nil expression"}},
		"nil in negation":   {q.Where(query.Not(nil)), []string{"a nil expression"}},
		"empty logic":       {q.Where(query.And()), []string{"And and Or need at least one expression"}},
		"empty column":      {q.Where(query.IsNull("")), []string{"a column without a name"}},
		"step":              {q.Where(query.Eq(query.JSON("j", 1.5), 1)), []string{`"j" has a step of type float64`}},
		"step in select":    {q.Select(query.Col(query.JSON("j", true))), []string{"type bool"}},
		"step in order":     {q.OrderBy(query.Asc(query.JSON("j", nil))), []string{"type <nil>"}},
		"text before end":   {q.OrderBy(query.Asc(query.Path{Column: "j", Steps: []query.Step{{Key: "a", Text: true}, {Key: "b"}}})), []string{"takes text before its last step"}},
		"all that is wrong": {q.Limit(-1).Where(query.Or(query.Eq("a", nil), query.In("b", "\x00"))), []string{"Limit", `column "a"`, "zero byte"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tc.query.Err()
			if err == nil {
				t.Fatal("no error")
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(tc.want) {
				t.Fatalf("got %q, want %d errors", lines, len(tc.want))
			}
			for i, want := range tc.want {
				if !strings.Contains(lines[i], want) {
					t.Errorf("got %q, want it to contain %q", lines[i], want)
				}
			}
		})
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	many := query.From("t")
	for i := range 20 {
		many = many.Where(query.Eq(fmt.Sprint("c", i), "s3cret"))
	}
	for want, q := range map[string]query.Query{
		"select t":                        query.From("t").Columns("a").Limit(1),
		"select t by a":                   query.From("t").Where(query.Gte("a", "s3cret"), query.Lt("a", "s3cret")),
		"select t by a,b,c":               query.From("t").Where(query.Or(query.IsNull("a"), query.Not(query.In("b", "s3cret"))), query.Eq(query.JSON("c", "k"), 1)),
		"select t by c0,c1,c2,c3,c4,c5,…": many,
	} {
		s := q.Spec()
		if got := s.Summary(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// No verb of package fmt prints a value.
func TestFormatHidesValues(t *testing.T) {
	t.Parallel()
	q := query.From("t").Where(query.Eq("a", "s3cret"))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		if got := fmt.Sprintf(verb, q); got != "select t by a" {
			t.Errorf("%s prints %q", verb, got)
		}
	}
}

func TestFieldName(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]query.Field{
		"a": query.Col("a"),
		"x": query.Col("a").As("x"),
		"k": query.Col(query.JSON("a", "j", "k", 0)),
		"b": query.Col(query.JSON("b", 0)),
	} {
		if got := f.Name(); got != want {
			t.Errorf("%+v: got %q, want %q", f, got, want)
		}
	}
}

func TestOpString(t *testing.T) {
	t.Parallel()
	if got := query.OpSelect.String() + " " + query.Op(99).String(); got != "select unknown" {
		t.Errorf("got %q", got)
	}
}

func TestUnsupportedError(t *testing.T) {
	t.Parallel()
	err := &query.UnsupportedError{Node: "cast", Reason: "use another"}
	if got, want := err.Error(), "query: unsupported: cast: use another"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
