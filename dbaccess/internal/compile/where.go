package compile

import (
	"strings"

	"github.com/twinpath/twinpath/dbaccess/query"
)

func (w *sqlWriter) expr(e query.Expr, depth int) error {
	e, negated := strip(e)
	if is, ok := e.(query.Is); ok {
		if c := w.ofEmbed(&is); c != nil {
			// As PostgREST does: the planner expects other numbers of a negation.
			return w.embedState(c, (is.State == query.Null) == negated)
		}
	}
	if negated {
		// NOT binds weaker than every operator that can follow.
		w.str("not ")
	}
	switch e := e.(type) {
	case query.Compare:
		return w.compare(&e)
	case query.InList:
		return w.in(&e)
	case query.Is:
		return w.is(&e)
	case query.Logic:
		return w.logic(&e, depth+1)
	}
	return unsupportedNode("filter", e)
}

func (w *sqlWriter) logic(e *query.Logic, depth int) error {
	if depth > MaxDepth {
		return errDepth()
	}
	if len(e.Exprs) == 0 {
		return &query.UnsupportedError{Node: "filter", Reason: "And and Or need at least one expression"}
	}
	var word string
	switch e.Connective {
	case query.ConnectAnd:
		word = " and "
	case query.ConnectOr:
		word = " or "
	default:
		return &query.UnsupportedError{Node: "filter", Reason: "the connective is none of package query's"}
	}
	w.str("(")
	for i, c := range e.Exprs {
		if i > 0 {
			w.str(word)
		}
		if err := w.expr(c, depth); err != nil {
			return err
		}
	}
	w.str(")")
	return nil
}

func (w *sqlWriter) compare(e *query.Compare) error {
	if err := checkCompare(e); err != nil {
		return err
	}
	if isTextSearch(e.Op) {
		return w.textSearch(e)
	}
	if err := w.path(&e.Column); err != nil {
		return err
	}
	w.str(sqlOperator(e.Op))
	value := e.Value
	if e.Op == query.OpLike || e.Op == query.OpILike {
		value = strings.ReplaceAll(value, "*", "%")
	}
	switch e.Quantifier {
	case query.Any:
		w.str("any(")
	case query.All:
		w.str("all(")
	}
	w.arg(value)
	if e.Quantifier != query.One {
		w.str(")")
	}
	return nil
}

// sqlOperator returns the operator between blanks. checkCompare has refused
// those that are not here.
func sqlOperator(op query.Operator) string {
	switch op {
	case query.OpEq:
		return " = "
	case query.OpNeq:
		return " <> "
	case query.OpGt:
		return " > "
	case query.OpGte:
		return " >= "
	case query.OpLt:
		return " < "
	case query.OpLte:
		return " <= "
	case query.OpLike:
		return " like "
	case query.OpILike:
		return " ilike "
	case query.OpMatch:
		return " ~ "
	case query.OpIMatch:
		return " ~* "
	case query.OpIsDistinct:
		return " is distinct from "
	case query.OpContains:
		return " @> "
	case query.OpContained:
		return " <@ "
	case query.OpOverlaps:
		return " && "
	case query.OpLeft:
		return " << "
	case query.OpRight:
		return " >> "
	case query.OpNotRight:
		return " &< "
	case query.OpNotLeft:
		return " &> "
	case query.OpAdjacent:
		return " -|- "
	}
	return ""
}

// in writes a comparison with an array, one parameter whatever the number of
// values. A list of one empty string is the empty list, as it is to PostgREST.
func (w *sqlWriter) in(e *query.InList) error {
	if err := w.path(&e.Column); err != nil {
		return err
	}
	w.str(" = any(")
	if len(e.Values) == 0 || len(e.Values) == 1 && e.Values[0] == "" {
		w.str("'{}')")
		return nil
	}
	size := 2
	for _, v := range e.Values {
		if err := checkText("value", v); err != nil {
			return err
		}
		size += len(v) + 3
	}
	var b strings.Builder
	b.Grow(size)
	for i, v := range e.Values {
		if i == 0 {
			b.WriteByte('{')
		} else {
			b.WriteByte(',')
		}
		quoteElement(&b, v)
	}
	b.WriteByte('}')
	w.arg(b.String())
	w.str(")")
	return nil
}

// quoteElement writes an element of an array literal, quoted, so that it is
// neither NULL nor structure. See
// https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO.
func quoteElement(b *strings.Builder, v string) {
	b.WriteByte('"')
	for {
		i := strings.IndexAny(v, `"\`)
		if i < 0 {
			break
		}
		b.WriteString(v[:i])
		b.WriteByte('\\')
		b.WriteByte(v[i])
		v = v[i+1:]
	}
	b.WriteString(v)
	b.WriteByte('"')
}

// ofEmbed is the embed that e asks about, nil where it asks about a column.
func (w *sqlWriter) ofEmbed(e *query.Is) *level {
	if len(e.Column.Steps) > 0 || e.State != query.Null && e.State != query.NotNull {
		return nil
	}
	return w.at.named(e.Column.Column)
}

func (w *sqlWriter) is(e *query.Is) error {
	if err := w.path(&e.Column); err != nil {
		return err
	}
	switch e.State {
	case query.Null:
		w.str(" is null")
	case query.NotNull:
		w.str(" is not null")
	case query.True:
		w.str(" is true")
	case query.False:
		w.str(" is false")
	case query.Unknown:
		w.str(" is unknown")
	default:
		return &query.UnsupportedError{Node: "is", Reason: "the state is none of package query's"}
	}
	return nil
}
