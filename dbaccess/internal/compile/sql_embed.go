package compile

import (
	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
)

// within writes something of another level.
func (w *sqlWriter) within(lv *level, write func(*level) error) error {
	at, name := w.at, w.name
	w.at, w.name = lv, lv.name
	err := write(lv)
	w.at, w.name = at, name
	return err
}

// column writes a column of a table, alias or CTE.
func (w *sqlWriter) column(of, name string) {
	w.buf = quoteIdent(w.buf, of)
	w.str(".")
	w.buf = quoteIdent(w.buf, name)
}

// joins writes the joins of the level's embeds. Each is a subquery of its own, so
// that it can be filtered, sorted and cut for every row.
func (w *sqlWriter) joins(lv *level) error {
	for _, c := range lv.embeds {
		if c.embed.Inner {
			w.str(" inner join lateral (")
		} else {
			w.str(" left join lateral (")
		}
		if c.toMany() {
			if err := w.array(c); err != nil {
				return err
			}
			w.str(" from (")
		}
		if err := w.within(c, w.embedRows); err != nil {
			return err
		}
		if c.toMany() {
			w.str(") ")
			w.buf = quoteIdent(w.buf, c.joined)
		}
		w.str(") ")
		w.buf = quoteIdent(w.buf, c.joined)
		if c.toMany() && c.embed.Inner {
			w.str(" on ")
			w.column(c.joined, c.joined)
			w.str(" is not null")
		} else {
			w.str(" on true")
		}
	}
	return nil
}

// array writes the select list that makes one row of an embed's rows. The way
// through jsonb is PostgREST's, and shows: in the order of keys, in numbers.
func (w *sqlWriter) array(c *level) error {
	w.str("select pg_catalog.json_agg(")
	w.buf = quoteIdent(w.buf, c.joined)
	w.str(".*)::jsonb as ")
	w.buf = quoteIdent(w.buf, c.joined)
	if !c.embed.Spread {
		return nil
	}
	for _, col := range c.spreadColumns() {
		w.str(", coalesce(pg_catalog.json_agg(")
		w.column(c.joined, col.name)
		for i := range c.order {
			if i == 0 {
				w.str(" order by ")
			} else {
				w.str(", ")
			}
			w.column(c.joined, c.sortColumn(i))
			if err := w.direction(&c.order[i]); err != nil {
				return err
			}
		}
		w.str("),'[]')::jsonb as ")
		w.buf = quoteIdent(w.buf, col.name)
	}
	return nil
}

// embedRows writes the query of an embed's rows for one row of its parent.
func (w *sqlWriter) embedRows(c *level) error {
	w.str("select ")
	if err := w.items(); err != nil {
		return err
	}
	w.embedFrom(c)
	if err := w.joins(c); err != nil {
		return err
	}
	if err := w.where(); err != nil {
		return err
	}
	w.groupBy(c)
	if !c.spreadsMany() { // whose arrays are sorted themselves
		if err := w.orderBy(c); err != nil {
			return err
		}
	}
	w.window(c.window)
	return nil
}

// embedFrom writes what an embed's rows are read from.
func (w *sqlWriter) embedFrom(c *level) {
	w.str(" from ")
	if f := c.rel.Function; f != nil {
		w.relation(*f)
		w.str("((")
		w.buf = quoteIdent(w.buf, c.parent.name)
		w.str(".*)::")
		w.relation(c.rel.Origin)
		w.str(") ")
		w.buf = quoteIdent(w.buf, c.name)
		return
	}
	w.aliased(c.relation, c.name)
	if j := c.rel.Junction; j != nil {
		w.str(", ")
		w.aliased(j.Table, c.junction)
	}
}

func (w *sqlWriter) relation(id catalog.Ident) {
	w.buf = quoteIdent(w.buf, id.Schema)
	w.str(".")
	w.buf = quoteIdent(w.buf, id.Name)
}

func (w *sqlWriter) aliased(id catalog.Ident, alias string) {
	w.relation(id)
	if alias != id.Name {
		w.str(" ")
		w.buf = quoteIdent(w.buf, alias)
	}
}

// tie writes what ties an embed's rows to the parent's.
func (w *sqlWriter) tie(c *level, and func()) {
	equal := func(a, aColumn, b, bColumn string) {
		and()
		w.column(a, aColumn)
		w.str(" = ")
		w.column(b, bColumn)
	}
	if j := c.rel.Junction; j != nil {
		for _, t := range j.Target {
			equal(c.junction, t.To, c.name, t.From)
		}
		for _, o := range j.Origin {
			equal(c.junction, o.To, c.parent.name, o.From)
		}
	}
	for _, j := range c.rel.Columns {
		equal(c.name, j.To, c.parent.name, j.From)
	}
}

// exists writes, in place of the inner joins that a count can do without, that
// there are rows to join.
func (w *sqlWriter) exists(lv *level, and func()) error {
	for _, c := range lv.embeds {
		if !c.embed.Inner {
			continue
		}
		and()
		if err := w.existsOne(c); err != nil {
			return err
		}
	}
	return nil
}

func (w *sqlWriter) existsOne(c *level) error {
	w.str("exists(select 1")
	err := w.within(c, func(c *level) error {
		w.embedFrom(c)
		return w.where()
	})
	w.str(")")
	return err
}

// embedState writes whether there is a related row, or that there is none.
func (w *sqlWriter) embedState(c *level, is bool) error {
	switch {
	case w.counting:
		if !is {
			w.str("not ")
		}
		return w.existsOne(c)
	case c.toMany():
		w.column(c.joined, c.joined)
	default:
		w.buf = quoteIdent(w.buf, c.joined)
		w.str(".*")
	}
	// Unlike IS NULL, this tells a row of nothing but NULLs from no row.
	if is {
		w.str(" is distinct from null")
	} else {
		w.str(" is not distinct from null")
	}
	return nil
}
