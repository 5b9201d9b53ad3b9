package compile

import (
	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// Names of the statement's own. They are PostgREST's, so that nothing is taken
// here that is free there.
const (
	sourceName = "pgrst_source" // the rows that were written or that a function returned
	bodyName   = "pgrst_body"   // the rows of the payload
	callName   = "pgrst_call"   // what a function returned
	scalarName = "pgrst_scalar" // the column of a function that returns no rows
)

// with writes the CTE in which the statement writes or calls, and makes it the
// source of the rows read. A read has none.
func (w *sqlWriter) with() ([]byte, error) {
	if w.spec.Op == query.OpSelect {
		return nil, nil
	}
	w.buf = make([]byte, 0, 512)
	w.str("with " + sourceName + " as (")
	var err error
	switch w.spec.Op {
	case query.OpInsert:
		err = w.insert()
	case query.OpUpdate:
		err = w.update()
	case query.OpDelete:
		err = w.delete()
	case query.OpCall:
		err = w.callFunction()
	}
	if err != nil {
		return nil, err
	}
	w.str(") ")
	w.source = sourceName
	return w.buf, nil
}

// target is the table to write to.
func (w *sqlWriter) target() (*catalog.Table, error) {
	if w.catalog == nil {
		return nil, ErrNeedsCatalog
	}
	t, ok := w.catalog.Table(w.schema, w.spec.From)
	if !ok {
		return nil, w.catalog.UnknownTable(w.schema, w.spec.From)
	}
	return t, nil
}

func (w *sqlWriter) insert() error {
	t, err := w.target()
	if err != nil {
		return err
	}
	wr := w.spec.Write
	put := isPut(w.spec)
	if put {
		if err := checkPut(w.spec, t); err != nil {
			return err
		}
	}
	payload, columns, err := w.payload(t)
	if err != nil {
		return err
	}
	w.str("insert into ")
	w.table()
	if len(columns) > 0 {
		w.str("(")
		w.columnList(columns, "")
		w.str(")")
	}
	w.str(" select")
	if len(columns) > 0 {
		w.str(" ")
	}
	w.columnList(columns, bodyName)
	w.bodyRows(payload, columns)

	word := " where "
	if put {
		w.name = bodyName
		if err := w.where(); err != nil {
			return err
		}
		w.name = w.spec.From
		word = " and "
	}
	if wr.Conflict == query.ConflictMerge {
		w.str(word)
		w.str(countInserted)
	}
	w.onConflict(t, columns)
	return w.returning(t)
}

// The number of rows that a merge adds is counted in a setting of the
// transaction: up for every row, down for every one that is there already.
// Postgres before version 18 has no other way to tell them apart that needs no
// privilege and works for views and partitioned tables.
const (
	insertedSetting = "'twinpath.inserted'"
	insertedSoFar   = "coalesce(nullif(pg_catalog.current_setting(" + insertedSetting + ", true), ''), '0')::int8"
	countInserted   = "pg_catalog.set_config(" + insertedSetting + ", (" + insertedSoFar + " + 1)::text, true) is not null"
	countUpdated    = "pg_catalog.set_config(" + insertedSetting + ", (" + insertedSoFar + " - 1)::text, true) is not null"

	// The setting is read and, for the transaction's next statement, emptied.
	inserted = "coalesce(nullif(pg_catalog.concat(pg_catalog.current_setting(" + insertedSetting + ", true), " +
		"pg_catalog.set_config(" + insertedSetting + ", '', true)), ''), '0')::int8"
)

// onConflict writes what to do about rows that are there. Without a primary key
// or columns to find them by, it is as if nothing had been asked for.
func (w *sqlWriter) onConflict(t *catalog.Table, columns []*catalog.Column) {
	wr := w.spec.Write
	if wr.Conflict == query.ConflictFail {
		return
	}
	on := wr.ConflictOn
	if len(on) == 0 {
		on = t.PrimaryKey
	}
	if len(on) == 0 {
		return
	}
	w.str(" on conflict (")
	for i, name := range on {
		if i > 0 {
			w.str(", ")
		}
		w.buf = quoteIdent(w.buf, name)
	}
	w.str(")")
	if wr.Conflict == query.ConflictIgnore || len(columns) == 0 {
		w.str(" do nothing")
		return
	}
	w.str(" do update set ")
	for i, c := range columns {
		if i > 0 {
			w.str(", ")
		}
		w.buf = quoteIdent(w.buf, c.Name)
		w.str(" = excluded.")
		w.buf = quoteIdent(w.buf, c.Name)
	}
	w.str(" where " + countUpdated)
}

func (w *sqlWriter) update() error {
	t, err := w.target()
	if err != nil {
		return err
	}
	payload, columns, err := w.payload(t)
	if err != nil {
		return err
	}
	if len(columns) == 0 {
		// Nothing to set: no row is changed, and the filters are not looked at.
		w.str("select ")
		if err := w.returned(t, false); err != nil {
			return err
		}
		w.str(" from ")
		w.table()
		w.str(" where false")
		return nil
	}
	w.str("update ")
	w.table()
	w.str(" set ")
	for i, c := range columns {
		if i > 0 {
			w.str(", ")
		}
		w.buf = quoteIdent(w.buf, c.Name)
		w.str(" = " + bodyName + ".")
		w.buf = quoteIdent(w.buf, c.Name)
	}
	w.bodyRows(payload, columns)
	if err := w.where(); err != nil {
		return err
	}
	return w.returning(t)
}

func (w *sqlWriter) delete() error {
	var t *catalog.Table
	if w.spec.Write.Return || w.catalog != nil {
		var err error
		if t, err = w.target(); err != nil {
			return err
		}
	}
	w.str("delete from ")
	w.table()
	if err := w.where(); err != nil {
		return err
	}
	return w.returning(t)
}

// outcome writes the columns that writes and calls have, and reads when asked for.
func (w *sqlWriter) outcome(guard bool) {
	for _, setting := range [...]struct{ name, column string }{{"response.status", "s"}, {"response.headers", "h"}} {
		w.str(", nullif(pg_catalog.current_setting('")
		w.str(setting.name)
		w.str("', true), '') ")
		w.str(setting.column)
	}
	w.str(", ")
	if guard {
		w.str("case when pg_catalog.set_config('" + guardRows + "', pg_catalog.count(*)::text, true) is not null then ")
	}
	w.inserted()
	if guard {
		w.str(" end")
	}
	w.str(" i")
}

func (w *sqlWriter) inserted() {
	if w.spec.Op == query.OpInsert && w.spec.Write.Conflict == query.ConflictMerge {
		w.str(inserted)
		return
	}
	w.str("null::int8")
}
