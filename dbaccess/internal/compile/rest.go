package compile

import (
	"net/url"
	"strconv"

	"github.com/twinpath/twinpath/dbaccess/query"
)

// The media types that PostgREST tells a list from a single row by.
const (
	AcceptArray  = "application/json"
	AcceptObject = "application/vnd.pgrst.object+json"
)

// REST compiles a query to a PostgREST request. All filters go into one
// and=(…) tree, where one quoting rule serves every value. Every value is
// quoted, and every name that is not plain.
//
// The error is an *[query.UnsupportedError] that names the part that PostgREST
// has no form for, or a *[RefusedError].
func REST(s *query.Spec) (Request, error) {
	s = conditions(s)
	if err := checkSpec(s); err != nil {
		return Request{}, err
	}
	if s.From == "." || s.From == ".." {
		return Request{}, &query.UnsupportedError{Node: "table", Reason: "a name of dots alone is lost on the way through HTTP"}
	}
	r := Request{Method: "GET", Path: url.PathEscape(s.From), Accept: AcceptArray, Profile: s.Schema}
	if s.Head {
		r.Method = "HEAD"
	}
	if s.Single {
		r.Accept = AcceptObject
	}
	if s.Op != query.OpSelect {
		send := r.write
		if s.Op == query.OpCall {
			send = r.call
		}
		if err := send(s); err != nil {
			return Request{}, err
		}
		return r, nil
	}
	p := preferences{}
	p.count(s.Count)
	p.timeZone(s.TimeZone)
	r.Prefer = p.String()
	w := restWriter{buf: make([]byte, 0, 32+24*len(s.Select)+64*len(s.Where)+24*len(s.OrderBy))}
	if err := w.query(s); err != nil {
		return Request{}, err
	}
	r.RawQuery = string(w.buf)
	return r, nil
}

// restWriter writes a query string, percent-encoded as it goes.
type restWriter struct {
	buf      []byte
	selected []query.Item // of the level whose filters are being written
}

func (w *restWriter) str(s string) { w.buf = append(w.buf, s...) }

// param starts a parameter.
func (w *restWriter) param(name string) {
	if len(w.buf) > 0 {
		w.str("&")
	}
	w.str(name)
	w.str("=")
}

func (w *restWriter) query(s *query.Spec) error {
	if len(s.Select) > 0 {
		w.param("select")
		if err := w.items(s.Select, 0); err != nil {
			return err
		}
	}
	if len(s.Where) > 0 {
		w.param("and")
		w.selected = s.Select
		if err := w.list(s.Where, 0); err != nil {
			return err
		}
	}
	if len(s.OrderBy) > 0 {
		w.param("order")
		if err := w.orders(s.OrderBy); err != nil {
			return err
		}
	}
	if s.HasLimit {
		w.param("limit")
		w.buf = strconv.AppendInt(w.buf, s.Limit, 10)
	}
	// PostgREST takes no offset beside a limit of zero (it answers 416). Without
	// rows the offset says nothing.
	if s.Offset > 0 && (!s.HasLimit || s.Limit > 0) {
		w.param("offset")
		w.buf = strconv.AppendInt(w.buf, s.Offset, 10)
	}
	return w.embedParams(s)
}

func (w *restWriter) path(p *query.Path) error {
	if err := checkName("column", p.Column); err != nil {
		return err
	}
	w.buf = quoteName(w.buf, p.Column)
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Text {
			w.str("-%3E%3E")
		} else {
			w.str("-%3E")
		}
		if s.IsIndex {
			w.buf = strconv.AppendInt(w.buf, int64(s.Index), 10)
			continue
		}
		if err := checkText("JSON path", s.Key); err != nil {
			return err
		}
		w.buf = quoteName(w.buf, s.Key)
	}
	return nil
}

func (w *restWriter) orders(keys []query.Order) error {
	for i := range keys {
		if i > 0 {
			w.str(",")
		}
		if err := w.order(&keys[i]); err != nil {
			return err
		}
	}
	return nil
}

func (w *restWriter) order(o *query.Order) error {
	write := w.relatedOrder
	if o.Relation == "" {
		write = func(o *query.Order) error { return w.path(&o.Path) }
	}
	if err := write(o); err != nil {
		return err
	}
	if o.Desc {
		w.str(".desc")
	} else {
		w.str(".asc")
	}
	switch o.Nulls {
	case query.NullsDefault:
	case query.NullsFirst:
		w.str(".nullsfirst")
	case query.NullsLast:
		w.str(".nullslast")
	default:
		return &query.UnsupportedError{Node: "order", Reason: "the place of NULLs is none of package query's"}
	}
	return nil
}

// list writes expressions in parentheses.
func (w *restWriter) list(exprs []query.Expr, depth int) error {
	w.str("(")
	for i, e := range exprs {
		if i > 0 {
			w.str(",")
		}
		if err := w.expr(e, depth); err != nil {
			return err
		}
	}
	w.str(")")
	return nil
}

func (w *restWriter) expr(e query.Expr, depth int) error {
	e, negated := strip(e)
	switch e := e.(type) {
	case query.Compare:
		return w.compare(&e, negated)
	case query.InList:
		return w.in(&e, negated)
	case query.Is:
		return w.is(&e, negated)
	case query.Logic:
		return w.logic(&e, negated, depth+1)
	}
	return unsupportedNode("filter", e)
}

func (w *restWriter) logic(e *query.Logic, negated bool, depth int) error {
	if depth > MaxDepth {
		return errDepth()
	}
	if len(e.Exprs) == 0 {
		return &query.UnsupportedError{Node: "filter", Reason: "And and Or need at least one expression"}
	}
	if negated {
		w.str("not.")
	}
	switch e.Connective {
	case query.ConnectAnd:
		w.str("and")
	case query.ConnectOr:
		w.str("or")
	default:
		return &query.UnsupportedError{Node: "filter", Reason: "the connective is none of package query's"}
	}
	return w.list(e.Exprs, depth)
}

// column writes what a comparison starts with.
func (w *restWriter) column(p *query.Path, negated bool) error {
	if err := w.path(p); err != nil {
		return err
	}
	if negated {
		w.str(".not.")
	} else {
		w.str(".")
	}
	return nil
}

func (w *restWriter) compare(e *query.Compare, negated bool) error {
	if err := checkCompare(e); err != nil {
		return err
	}
	if err := w.column(&e.Column, negated); err != nil {
		return err
	}
	w.str(string(e.Op))
	switch e.Quantifier {
	case query.Any:
		w.str("(any)")
	case query.All:
		w.str("(all)")
	}
	if e.Config != "" {
		w.str("(")
		for i := range len(e.Config) {
			w.buf = escape(w.buf, e.Config[i])
		}
		w.str(")")
	}
	w.str(".")
	w.buf = quoteValue(w.buf, e.Value)
	return nil
}

func (w *restWriter) in(e *query.InList, negated bool) error {
	if err := w.column(&e.Column, negated); err != nil {
		return err
	}
	w.str("in.(")
	for i, v := range e.Values {
		if err := checkText("value", v); err != nil {
			return err
		}
		if i > 0 {
			w.str(",")
		}
		w.buf = quoteValue(w.buf, v)
	}
	w.str(")")
	return nil
}

func (w *restWriter) is(e *query.Is, negated bool) error {
	if e.State == query.NotNull && len(e.Column.Steps) == 0 && w.selects(e.Column.Column) {
		// The one form that PostgREST has for embeds.
		e, negated = &query.Is{Column: e.Column}, !negated
	}
	if err := w.column(&e.Column, negated); err != nil {
		return err
	}
	switch e.State {
	case query.Null:
		w.str("is.null")
	case query.NotNull:
		w.str("is.not_null")
	case query.True:
		w.str("is.true")
	case query.False:
		w.str("is.false")
	case query.Unknown:
		w.str("is.unknown")
	default:
		return &query.UnsupportedError{Node: "is", Reason: "the state is none of package query's"}
	}
	return nil
}
