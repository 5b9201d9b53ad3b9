package compile

import (
	"slices"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// returning writes which columns of the changed rows are needed. Without any,
// their number is, for which no privilege is.
func (w *sqlWriter) returning(t *catalog.Table) error {
	w.str(" returning ")
	return w.returned(t, true)
}

func (w *sqlWriter) returned(t *catalog.Table, withSchema bool) error {
	if !w.spec.Write.Return {
		w.str("1")
		return nil
	}
	all, names, err := w.needed(t.Ident(), t.PrimaryKey)
	if err != nil {
		return err
	}
	if all {
		names = []string{"*"}
	}
	for i, name := range names {
		if i > 0 {
			w.str(", ")
		}
		if withSchema {
			w.table()
		} else {
			w.buf = quoteIdent(w.buf, w.spec.From)
		}
		w.str(".")
		if all {
			w.str("*")
			continue
		}
		w.buf = quoteIdent(w.buf, name)
	}
	return nil
}

// needed lists the columns of the rows written or returned that the select list
// needs, sorted, beside those given; or says that it needs them all. They are
// exactly PostgREST's: each takes a privilege, and a sort key that is not
// selected is not there.
func (w *sqlWriter) needed(origin catalog.Ident, names []string) (all bool, _ []string, err error) {
	if len(w.spec.Select) == 0 {
		return true, nil, nil
	}
	names = slices.Clone(names)
	for _, it := range w.spec.Select {
		switch it := it.(type) {
		case query.Star:
			return true, nil, nil
		case query.Field:
			if it.Path.Column == "" { // count()
				return true, nil, nil
			}
			names = append(names, it.Path.Column)
		case query.Embed:
			columns, computed, err := w.joined(origin, &it)
			if err != nil || computed {
				return computed, nil, err
			}
			names = append(names, columns...)
		}
	}
	for _, name := range names {
		if err := checkName("column", name); err != nil {
			return false, nil, err
		}
	}
	slices.Sort(names)
	return false, slices.Compact(names), nil
}

// joined lists the columns of origin by which an embed finds its rows. A computed
// relationship takes the whole row.
func (w *sqlWriter) joined(origin catalog.Ident, e *query.Embed) (columns []string, computed bool, err error) {
	if w.catalog == nil {
		return nil, false, ErrNeedsCatalog
	}
	r, err := w.catalog.Relationship(origin.Schema, origin.Name, e.Relation, e.Hint)
	if err != nil || r.Function != nil {
		return nil, err == nil, err
	}
	joins := r.Columns
	if r.Junction != nil {
		joins = r.Junction.Origin
	}
	for _, j := range joins {
		columns = append(columns, j.From)
	}
	return columns, false, nil
}
