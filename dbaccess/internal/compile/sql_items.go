package compile

import (
	"strconv"

	"github.com/twinpath/twinpath/dbaccess/query"
)

// items writes the select list of the current level: its fields, then its embeds,
// which is PostgREST's order.
func (w *sqlWriter) items() error {
	lv, n := w.at, 0
	entry := func(group bool) {
		if n > 0 {
			w.str(", ")
		}
		n++
		if group && lv.grouped {
			lv.groups = append(lv.groups, n)
		}
	}
	lv.groups = lv.groups[:0]
	for _, it := range lv.items {
		switch it := it.(type) {
		case query.Star:
			if !lv.expands() {
				entry(true)
				w.star()
				continue
			}
			if lv.table == nil {
				continue
			}
			for i := range lv.table.Columns {
				entry(true)
				w.column(w.name, lv.table.Columns[i].Name)
			}
		case query.Field:
			entry(it.Aggregate == "")
			if err := w.field(&it); err != nil {
				return err
			}
		case query.Embed:
		default:
			return unsupportedNode("select item", it)
		}
	}
	if n == 0 && len(lv.embeds) == 0 {
		w.star()
		return nil
	}
	for _, c := range lv.embeds {
		w.embedItem(c, entry)
	}
	if lv.spreadsMany() {
		return w.sortItems(lv, entry)
	}
	return nil
}

func (w *sqlWriter) star() {
	w.buf = quoteIdent(w.buf, w.name)
	w.str(".*")
}

// embedItem writes what an embed adds to the select list of its parent, the
// current level.
func (w *sqlWriter) embedItem(c *level, entry func(group bool)) {
	switch {
	case c.embed.Spread:
		for _, col := range c.spreadColumns() {
			aggregate := col.aggregate != "" && !w.at.spreadsOne()
			entry(!aggregate)
			if !aggregate {
				w.spreadColumn(c, col.name)
				continue
			}
			end := w.aggregate(col.aggregate, col.cast)
			w.spreadColumn(c, col.name)
			w.str(end)
			w.str(" as ")
			w.buf = quoteIdent(w.buf, col.name)
		}
		return
	case c.empty():
		return
	case c.toMany():
		entry(true)
		w.str("coalesce(")
		w.column(c.joined, c.joined)
		w.str(",'[]')")
	default:
		entry(true)
		w.str("pg_catalog.row_to_json(")
		w.buf = quoteIdent(w.buf, c.joined)
		w.str(".*)::jsonb")
	}
	w.str(" as ")
	w.buf = quoteIdent(w.buf, c.embed.Name())
}

func (w *sqlWriter) spreadColumn(c *level, name string) {
	if name == "*" {
		w.buf = quoteIdent(w.buf, c.joined)
		w.str(".*")
		return
	}
	w.column(c.joined, name)
}

// spreadColumn is a column that a spread adds to its parent.
type spreadColumn struct {
	name            string // "*" for all
	aggregate, cast string // of a spread of one row: to be worked out by the parent
}

func (lv *level) spreadColumns() []spreadColumn {
	var cols []spreadColumn
	for _, it := range lv.items {
		switch it := it.(type) {
		case query.Star:
			switch {
			case !lv.expands():
				cols = append(cols, spreadColumn{name: "*"})
			case lv.table != nil:
				for i := range lv.table.Columns {
					cols = append(cols, spreadColumn{name: lv.table.Columns[i].Name})
				}
			}
		case query.Field:
			cols = append(cols, spreadColumn{name: fieldName(&it), aggregate: it.Aggregate, cast: it.AggregateCast})
		}
	}
	for _, c := range lv.embeds {
		if c.embed.Spread {
			cols = append(cols, c.spreadColumns()...)
		} else {
			cols = append(cols, spreadColumn{name: c.embed.Name()})
		}
	}
	return cols
}

// fieldName is a field's name in the result, an aggregate's too.
func fieldName(f *query.Field) string {
	if f.Alias == "" && f.Aggregate != "" {
		return f.Aggregate
	}
	return f.Name()
}

// sortItems writes the columns that the arrays of a spread are sorted by, which
// have to be in the select list of its rows.
func (w *sqlWriter) sortItems(lv *level, entry func(group bool)) error {
	for i := range lv.order {
		entry(true)
		if err := w.sortKey(&lv.order[i]); err != nil {
			return err
		}
		w.str(" as ")
		w.buf = quoteIdent(w.buf, lv.sortColumn(i))
	}
	return nil
}

// sortColumn names the column that an array is sorted by.
func (lv *level) sortColumn(i int) string {
	return pick(lv.joined + "_" + lv.order[i].Path.Column + "_" + strconv.Itoa(i+1))
}

// field writes a column, a path into one, or an aggregate of either.
func (w *sqlWriter) field(f *query.Field) (err error) {
	if err := checkField(f); err != nil {
		return err
	}
	end := ""
	hoisted := f.Aggregate != "" && w.at.spreadsOne()
	if f.Aggregate != "" && !hoisted {
		end = w.aggregate(f.Aggregate, f.AggregateCast)
	}
	if f.Path.Column == "" {
		// Only a count has no column. Where the parent counts, a one stands for the
		// row, which is missing where the row is.
		if hoisted {
			w.str("1")
		} else {
			w.str("*")
		}
	} else {
		if f.Cast != "" {
			w.str("cast(")
		}
		if err := w.path(&f.Path); err != nil {
			return err
		}
		if f.Cast != "" {
			w.str(" as ")
			if w.buf, err = appendType(w.buf, f.Cast); err != nil {
				return err
			}
			w.str(")")
		}
	}
	w.str(end)
	// A plain column has its own name, cast or not, and so has an aggregate. A path
	// has none.
	if f.Alias == "" && !hoisted && (len(f.Path.Steps) == 0 || f.Aggregate != "") {
		return nil
	}
	name := fieldName(f)
	if name == "" {
		return &query.UnsupportedError{Node: "alias", Reason: "the path's last key is empty: give the field an alias"}
	}
	if err := checkText("alias", name); err != nil {
		return err
	}
	w.str(" as ")
	w.buf = quoteIdent(w.buf, name)
	return nil
}

// aggregate writes the front of an aggregate and returns its end. The cast has
// passed CheckCast.
func (w *sqlWriter) aggregate(name, cast string) (end string) {
	if cast != "" {
		w.str("cast(")
		t, _ := appendType(nil, cast)
		end = " as " + string(t) + ")"
	}
	w.str("pg_catalog.")
	w.str(name)
	w.str("(")
	return ")" + end
}

// checkField refuses aggregates that don't exist.
func checkField(f *query.Field) error {
	switch f.Aggregate {
	case "":
		if f.AggregateCast != "" {
			return &query.UnsupportedError{Node: "cast", Reason: "it is of an aggregate, and the field has none"}
		}
		return nil
	case "sum", "avg", "count", "max", "min":
	default:
		return &query.UnsupportedError{Node: "aggregate", Reason: "it is none of sum, avg, count, max and min"}
	}
	if f.Path.Column == "" && (f.Aggregate != "count" || f.Cast != "" || len(f.Path.Steps) > 0) {
		return &query.UnsupportedError{Node: "aggregate", Reason: "only a count can do without a column"}
	}
	if f.AggregateCast != "" {
		return CheckCast(f.AggregateCast)
	}
	return nil
}

// groupBy writes the groups of a level with aggregates, by their places in the
// select list.
func (w *sqlWriter) groupBy(lv *level) {
	for i, place := range lv.groups {
		if i == 0 {
			w.str(" group by ")
		} else {
			w.str(", ")
		}
		w.buf = strconv.AppendInt(w.buf, int64(place), 10)
	}
}
