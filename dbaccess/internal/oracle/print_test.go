package oracle_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// printed is a query as whoever looks into a failure wants it: as Go, as a request
// and as SQL.
func printed(s *query.Spec, c *catalog.Catalog, maxRows int64) string {
	var b strings.Builder
	b.WriteString(expression(s))
	if req, err := compile.REST(s); err != nil {
		fmt.Fprintf(&b, "\n\n%v", err)
	} else {
		fmt.Fprintf(&b, "\n\n%s /%s?%s\nAccept: %s", req.Method, req.Path, req.RawQuery, req.Accept)
		for _, h := range [][2]string{{"Prefer", req.Prefer}, {req.ProfileHeader(), req.Profile}, {"Content-Type", req.ContentType}} {
			if h[1] != "" {
				fmt.Fprintf(&b, "\n%s: %s", h[0], h[1])
			}
		}
		if len(req.Body) > 0 {
			fmt.Fprintf(&b, "\n\n%s", req.Body)
		}
	}
	p, err := compile.SQL(s, compile.SQLOptions{Schema: "public", Catalog: c, MaxRows: maxRows})
	if err != nil {
		fmt.Fprintf(&b, "\n\n%v", err)
		return b.String()
	}
	fmt.Fprintf(&b, "\n\n%s", p.Main.SQL)
	for i, a := range p.Main.Args {
		fmt.Fprintf(&b, "\n  $%d = %q", i+1, a)
	}
	return b.String()
}

// expression is Go that builds the query. What builders have no word for is in a
// comment behind it.
func expression(s *query.Spec) string {
	var b strings.Builder
	switch s.Op {
	case query.OpSelect:
		fmt.Fprintf(&b, "query.From(%q)", s.From)
	case query.OpInsert:
		fmt.Fprintf(&b, "query.Insert(%q, json.RawMessage(%s))", s.From, literal(string(s.Write.Payload)))
	case query.OpUpdate:
		fmt.Fprintf(&b, "query.Update(%q, json.RawMessage(%s))", s.From, literal(string(s.Write.Payload)))
	case query.OpDelete:
		fmt.Fprintf(&b, "query.Delete(%q)", s.From)
	case query.OpCall:
		fmt.Fprintf(&b, "query.Call(%q, json.RawMessage(%s))", s.From, literal(string(s.Call.Args)))
	}
	if s.Schema != "" {
		fmt.Fprintf(&b, ".InSchema(%q)", s.Schema)
	}
	list(&b, ".Select", s.Select, item)
	list(&b, ".Where", s.Where, condition)
	list(&b, ".OrderBy", s.OrderBy, order)
	if s.HasLimit {
		fmt.Fprintf(&b, ".Limit(%d)", s.Limit)
	}
	if s.Offset > 0 {
		fmt.Fprintf(&b, ".Offset(%d)", s.Offset)
	}
	var rest []string
	note := func(on bool, format string, args ...any) {
		if on {
			rest = append(rest, fmt.Sprintf(format, args...))
		}
	}
	note(s.Count != 0, "count %d", s.Count)
	note(s.Single, "single")
	note(s.Head, "head")
	note(s.TimeZone != "", "time zone %q", s.TimeZone)
	if w := s.Write; w != nil {
		switch w.Conflict {
		case query.ConflictMerge:
			b.WriteString(".Merge(" + quoted(w.ConflictOn) + ")")
		case query.ConflictIgnore:
			b.WriteString(".Ignore(" + quoted(w.ConflictOn) + ")")
		}
		if w.MaxAffected > 0 {
			fmt.Fprintf(&b, ".MaxAffected(%d)", w.MaxAffected)
		}
		note(len(w.Columns) > 0, "columns %q", w.Columns)
		note(w.MissingDefault, "missing=default")
		note(w.Return, "returning")
	}
	if c := s.Call; c != nil {
		if c.ReadOnly {
			b.WriteString(".ReadOnly()")
		}
		note(c.TextArgs != nil, "text arguments %q", c.TextArgs)
		note(c.MaxAffected > 0, "max affected %d", c.MaxAffected)
	}
	if len(rest) > 0 {
		b.WriteString(" // " + strings.Join(rest, ", "))
	}
	return b.String()
}

// literal is a string in backquotes where that reads better.
func literal(s string) string {
	if strings.ContainsAny(s, "`\n\r") {
		return fmt.Sprintf("%q", s)
	}
	return "`" + s + "`"
}

func quoted(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(out, ", ")
}

// list writes a call with an argument for each element, if there is one.
func list[T any](b *strings.Builder, call string, of []T, write func(T) string) {
	if len(of) == 0 {
		return
	}
	b.WriteString(call + "(")
	for i, x := range of {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(write(x))
	}
	b.WriteString(")")
}

func item(it query.Item) string {
	var b strings.Builder
	switch it := it.(type) {
	case query.Star:
		return "query.Star{}"
	case query.Field:
		if it.Aggregate != "" {
			return fmt.Sprintf("%#v", it)
		}
		b.WriteString("query.Col(" + path(it.Path) + ")")
		if it.Alias != "" {
			fmt.Fprintf(&b, ".As(%q)", it.Alias)
		}
		if it.Cast != "" {
			fmt.Fprintf(&b, ".To(%q)", it.Cast)
		}
	case query.Embed:
		fmt.Fprintf(&b, "query.Rel(%q", it.Relation)
		for _, inner := range it.Select {
			b.WriteString(", " + item(inner))
		}
		b.WriteString(")")
		if it.Hint != "" {
			fmt.Fprintf(&b, ".By(%q)", it.Hint)
		}
		if it.Alias != "" {
			fmt.Fprintf(&b, ".As(%q)", it.Alias)
		}
		if it.Inner {
			b.WriteString(".InnerJoin()")
		}
		if it.Spread {
			b.WriteString(".Spreading()")
		}
		list(&b, ".Filter", it.Where, condition)
		list(&b, ".Sort", it.OrderBy, order)
		if it.HasLimit {
			fmt.Fprintf(&b, ".Top(%d)", it.Limit)
		}
		if it.Offset > 0 {
			fmt.Fprintf(&b, ".Skip(%d)", it.Offset)
		}
	}
	return b.String()
}

func path(p query.Path) string {
	if len(p.Steps) == 0 {
		return fmt.Sprintf("%q", p.Column)
	}
	name := "JSON"
	if p.Steps[len(p.Steps)-1].Text {
		name = "JSONText"
	}
	out := fmt.Sprintf("query.%s(%q", name, p.Column)
	for _, s := range p.Steps {
		if s.IsIndex {
			out += fmt.Sprintf(", %d", s.Index)
		} else {
			out += fmt.Sprintf(", %q", s.Key)
		}
	}
	return out + ")"
}

func order(o query.Order) string {
	out := "query.Asc("
	if o.Desc {
		out = "query.Desc("
	}
	out += path(o.Path) + ")"
	if o.Relation != "" {
		out += fmt.Sprintf(".Of(%q)", o.Relation)
	}
	return out + [...]string{"", ".NullsFirst()", ".NullsLast()"}[o.Nulls]
}

// builders are the names of the functions for operators.
func builders() map[query.Operator]string {
	return map[query.Operator]string{
		query.OpEq: "Eq", query.OpNeq: "Neq", query.OpGt: "Gt", query.OpGte: "Gte", query.OpLt: "Lt", query.OpLte: "Lte",
		query.OpLike: "Like", query.OpILike: "ILike", query.OpMatch: "Matches", query.OpIMatch: "IMatches", query.OpIsDistinct: "IsDistinctFrom",
		query.OpContains: "Contains", query.OpContained: "ContainedBy", query.OpOverlaps: "Overlaps", query.OpLeft: "StrictlyLeft",
		query.OpRight: "StrictlyRight", query.OpNotRight: "NotRightOf", query.OpNotLeft: "NotLeftOf", query.OpAdjacent: "Adjacent",
		query.OpTS: "TSQuery", query.OpPlainTS: "PlainTSQuery", query.OpPhraseTS: "PhraseTSQuery", query.OpWebTS: "WebTSQuery",
	}
}

func condition(e query.Expr) string {
	var b strings.Builder
	switch e := e.(type) {
	case query.Compare:
		if e.Quantifier != query.One {
			// The builder wants a slice.
			return fmt.Sprintf("query.Compare{Column: %s, Op: %q, Quantifier: %d, Value: %q}", path(e.Column), e.Op, e.Quantifier, e.Value)
		}
		fmt.Fprintf(&b, "query.%s(%s, %q", builders()[e.Op], path(e.Column), e.Value)
		if e.Config != "" {
			fmt.Fprintf(&b, ", %q", e.Config)
		}
		b.WriteString(")")
	case query.InList:
		b.WriteString("query.In(" + path(e.Column))
		if len(e.Values) > 0 {
			b.WriteString(", " + quoted(e.Values))
		}
		b.WriteString(")")
	case query.Is:
		switch e.State {
		case query.NotNull:
			return fmt.Sprintf("%#v", e)
		default:
			name := map[query.State]string{query.Null: "IsNull", query.True: "IsTrue", query.False: "IsFalse", query.Unknown: "IsUnknown"}[e.State]
			return "query." + name + "(" + path(e.Column) + ")"
		}
	case query.Negation:
		return "query.Not(" + condition(e.Expr) + ")"
	case query.Logic:
		list(&b, "query."+[...]string{"And", "Or"}[e.Connective], e.Exprs, condition)
	default:
		return "query.AllRows()"
	}
	return b.String()
}

func TestExpression(t *testing.T) {
	t.Parallel()
	for want, q := range map[string]query.Query{
		`query.From("t").Select(query.Col("a").As("b").To("text"), query.Star{}).Where(query.Or(query.Eq("a", "1"), query.Not(query.In("b", "x\"", ""))), query.IsNull("c")).OrderBy(query.Desc("a").NullsLast()).Limit(3).Offset(1)`: query.From("t").Select(query.Col("a").As("b").To("text"), query.Star{}).
			Where(query.Or(query.Eq("a", 1), query.Not(query.In("b", `x"`, ""))), query.IsNull("c")).OrderBy(query.Desc("a").NullsLast()).Limit(3).Offset(1),
		`query.From("t").Select(query.Rel("r", query.Col(query.JSONText("j", "k", 0)), query.Rel("s")).By("h").As("x").InnerJoin().Filter(query.TSQuery("d", "cat", "english")).Sort(query.Asc("n").Of("s")).Top(2).Skip(1))`: query.From("t").Select(
			query.Rel("r", query.Col(query.JSONText("j", "k", 0)), query.Rel("s")).By("h").As("x").InnerJoin().
				Filter(query.TSQuery("d", "cat", "english")).Sort(query.Asc("n").Of("s")).Top(2).Skip(1)),
		"query.Insert(\"t\", json.RawMessage(`{\"a\":1}`)).Merge(\"a\")":                                             query.Insert("t", []byte(nil)).Merge("a"),
		"query.Update(\"t\", json.RawMessage(`{\"a\":1}`)).Where(query.AllRows()).MaxAffected(2) // columns [\"a\"]": query.Update("t", map[string]int{"a": 1}).Where(query.AllRows()).MaxAffected(2),
		"query.Call(\"f\", json.RawMessage(`{}`)).InSchema(\"s\").ReadOnly()":                                        query.Call("f", nil).InSchema("s").ReadOnly(),
	} {
		s := q.Spec()
		if s.Op == query.OpInsert {
			s.Write.Payload = []byte(`{"a":1}`)
		}
		if diff := cmp.Diff(want, expression(&s)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
