package compile

import (
	"slices"
	"strconv"
	"strings"

	"github.com/twinpath/twinpath/dbaccess/query"
)

// items writes a select list.
func (w *restWriter) items(items []query.Item, depth int) error {
	if err := checkEmbeds(items); err != nil {
		return err
	}
	for i, it := range items {
		if i > 0 {
			w.str(",")
		}
		var err error
		switch it := it.(type) {
		case query.Star:
			w.str("*")
		case query.Field:
			err = w.field(&it, depth > 0 && i == len(items)-1)
		case query.Embed:
			err = w.embed(&it, depth+1)
		default:
			err = unsupportedNode("select item", it)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// field writes a column, a path into one or an aggregate. The end of an embed's list
// is special: there PostgREST takes the index of an array for the key of an object.
func (w *restWriter) field(f *query.Field, closing bool) error {
	if err := checkField(f); err != nil {
		return err
	}
	if f.Alias != "" {
		if err := checkText("alias", f.Alias); err != nil {
			return err
		}
		w.buf = quoteName(w.buf, f.Alias)
		w.str(":")
	}
	cast := f.Cast
	if f.Path.Column != "" {
		if err := w.path(&f.Path); err != nil {
			return err
		}
		if n := len(f.Path.Steps); closing && n > 0 && f.Path.Steps[n-1].IsIndex && cast == "" && f.Aggregate == "" {
			// A cast to what it is anyway once the embed has become jsonb.
			if cast = "jsonb"; f.Path.Steps[n-1].Text {
				cast = "text"
			}
		}
		if err := w.cast(cast); err != nil {
			return err
		}
	}
	if f.Aggregate == "" {
		return nil
	}
	if f.Path.Column != "" {
		w.str(".")
	}
	w.str(f.Aggregate)
	w.str("()")
	return w.cast(f.AggregateCast)
}

func (w *restWriter) cast(name string) error {
	if name == "" {
		return nil
	}
	if err := CheckCast(name); err != nil {
		return err
	}
	w.str("::")
	for i := range len(name) {
		w.buf = escape(w.buf, name[i])
	}
	return nil
}

func (w *restWriter) embed(e *query.Embed, depth int) error {
	if err := checkEmbed(e, depth); err != nil {
		return err
	}
	switch {
	case e.Spread:
		w.str("...")
	case e.Alias != "":
		w.buf = quoteName(w.buf, e.Alias)
		w.str(":")
	}
	w.buf = quoteName(w.buf, e.Relation)
	if e.Hint != "" {
		w.str("!")
		// Only quotes tell a hint that begins like a kind of join from one.
		if strings.HasPrefix(e.Hint, "left") || strings.HasPrefix(e.Hint, "inner") {
			w.buf = quoteValue(w.buf, e.Hint)
		} else {
			w.buf = quoteName(w.buf, e.Hint)
		}
	}
	if e.Inner {
		w.str("!inner")
	}
	w.str("(")
	if err := w.items(e.Select, depth); err != nil {
		return err
	}
	w.str(")")
	return nil
}

// embedParams writes the parameters of the query's embeds, each named with the path
// to its embed.
func (w *restWriter) embedParams(s *query.Spec) error {
	return eachEmbedOf(s.Select, nil, func(e *query.Embed, path embedPath) error {
		if err := w.embedFilters(e, path); err != nil {
			return err
		}
		if len(e.OrderBy) > 0 {
			if err := w.embedParam(path, "order"); err != nil {
				return err
			}
			if err := w.orders(e.OrderBy); err != nil {
				return err
			}
		}
		if s.Op.Writes() {
			return nil // PostgREST has ignored the windows of a write since version 13
		}
		if e.HasLimit {
			if err := w.embedParam(path, "limit"); err != nil {
				return err
			}
			w.buf = strconv.AppendInt(w.buf, e.Limit, 10)
		}
		if e.Offset > 0 {
			if err := w.embedParam(path, "offset"); err != nil {
				return err
			}
			w.buf = strconv.AppendInt(w.buf, e.Offset, 10)
		}
		return nil
	})
}

// embedFilters writes an embed's conditions.
func (w *restWriter) embedFilters(e *query.Embed, path embedPath) error {
	exprs := embedConditions(e)
	if len(exprs) == 0 {
		return nil
	}
	if err := w.embedParam(path, "and"); err != nil {
		return err
	}
	w.selected = e.Select
	return w.list(exprs, 0)
}

// embedConditions are those that say anything.
func embedConditions(e *query.Embed) []query.Expr {
	every := func(x query.Expr) bool { _, ok := x.(query.Every); return ok }
	if !slices.ContainsFunc(e.Where, every) {
		return e.Where
	}
	return slices.DeleteFunc(slices.Clone(e.Where), every)
}

// embedPath leads to an embed.
type embedPath []embedStep

type embedStep struct {
	name      string
	ambiguous bool // PostgREST could take the name for another embed's
}

// check refuses a path that a parameter of that kind can't be named with.
func (p embedPath) check(kind string) error {
	for _, step := range p {
		switch {
		case step.ambiguous:
			return &query.UnsupportedError{Node: "embed", Reason: "its name is that of another embed or of another's table: give it an alias of its own"}
		case step.name == "not" && kind == "and":
			return &query.UnsupportedError{Node: "embed", Reason: "PostgREST reads the name not as a negation in the conditions of an embed: give it an alias"}
		}
	}
	return nil
}

// checkEmbedNames refuses embeds whose conditions, order or window no request has a
// name for. SQL would have one, but a query means the same on both paths, or
// nothing on either.
func checkEmbedNames(s *query.Spec) error {
	return eachEmbedOf(s.Select, nil, func(e *query.Embed, path embedPath) error {
		var err error
		if len(embedConditions(e)) > 0 {
			err = path.check("and")
		}
		if err == nil && (len(e.OrderBy) > 0 || !s.Op.Writes() && (e.HasLimit || e.Offset > 0)) {
			err = path.check("order")
		}
		return err
	})
}

// embedParam starts a parameter of an embed.
func (w *restWriter) embedParam(path embedPath, kind string) error {
	if len(w.buf) > 0 {
		w.str("&")
	}
	if err := path.check(kind); err != nil {
		return err
	}
	for _, step := range path {
		w.buf = quoteName(w.buf, step.name)
		w.str(".")
	}
	w.str(kind)
	w.str("=")
	return nil
}

// eachEmbedOf calls do for every embed in a select list, and for those in them, with
// the path to it.
func eachEmbedOf(items []query.Item, path embedPath, do func(*query.Embed, embedPath) error) error {
	for i, it := range items {
		if _, ok := it.(query.Embed); !ok {
			continue // without a copy on the heap
		}
		e := it.(query.Embed)
		step := embedStep{name: e.Name()}
		for j, other := range items {
			if o, ok := other.(query.Embed); ok && i != j && (o.Relation == step.name || o.Alias == step.name) {
				step.ambiguous = true
			}
		}
		to := append(path[:len(path):len(path)], step)
		if err := do(&e, to); err != nil {
			return err
		}
		if err := eachEmbedOf(e.Select, to, do); err != nil {
			return err
		}
	}
	return nil
}

// relatedOrder writes a sort key that is an embed's column.
func (w *restWriter) relatedOrder(o *query.Order) error {
	if err := checkText("order", o.Relation); err != nil {
		return err
	}
	if n := len(o.Path.Steps); n > 0 && o.Path.Steps[n-1].IsIndex {
		return &query.UnsupportedError{Node: "order", Reason: "PostgREST takes the index of an array for the key of an object in a sort key of an embed"}
	}
	w.buf = quoteName(w.buf, o.Relation)
	w.str("(")
	if err := w.path(&o.Path); err != nil {
		return err
	}
	w.str(")")
	return nil
}

// selects says whether the current level's select list has an embed of that name.
func (w *restWriter) selects(name string) bool {
	return slices.ContainsFunc(w.selected, func(it query.Item) bool {
		e, ok := it.(query.Embed)
		return ok && e.Name() == name
	})
}
