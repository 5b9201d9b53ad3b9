package compile

import (
	"bytes"
	"net/http"
	"slices"
	"unicode/utf8"

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

// payload returns a write's payload and the columns to take from it, sorted and
// each once.
func (w *sqlWriter) payload(t *catalog.Table) (payload []byte, columns []*catalog.Column, err error) {
	payload = w.spec.Write.Payload
	names := w.spec.Write.Columns
	if len(names) == 0 {
		if payload, names, err = Payload(payload); err != nil {
			return nil, nil, err
		}
	} else {
		if bytes.IndexByte(payload, 0) >= 0 || !utf8.Valid(payload) {
			return nil, nil, &query.UnsupportedError{Node: "payload", Reason: "it holds a zero byte or is not valid UTF-8"}
		}
		names = slices.Compact(slices.Sorted(slices.Values(names)))
	}
	columns = make([]*catalog.Column, len(names))
	for i, name := range names {
		c, ok := t.Column(name)
		if !ok {
			return nil, nil, t.UnknownColumn(name)
		}
		columns[i] = c
	}
	return payload, columns, nil
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

// columnList writes columns, each with a qualifier unless that is empty.
func (w *sqlWriter) columnList(columns []*catalog.Column, qualifier string) {
	for i, c := range columns {
		if i > 0 {
			w.str(", ")
		}
		if qualifier != "" {
			w.str(qualifier)
			w.str(".")
		}
		w.buf = quoteIdent(w.buf, c.Name)
	}
}

// bodyRows writes the payload's rows as a FROM clause. Postgres reads the JSON with
// the columns' own types, as it does for PostgREST.
func (w *sqlWriter) bodyRows(payload []byte, columns []*catalog.Column) {
	object := isObject(payload)
	if len(columns) == 0 {
		// Rows of defaults, one for an object, as many as elements for an array.
		if !object {
			w.str(" from pg_catalog.json_array_elements(")
			w.arg(string(payload))
			w.str("::json) " + bodyName)
		} else {
			w.str(" from (values (1)) " + bodyName)
		}
		return
	}
	if w.spec.Write.MissingDefault {
		w.bodyRowsWithDefaults(payload, object, columns)
		return
	}
	w.str(" from pg_catalog.json_to_record")
	if !object {
		w.str("set")
	}
	w.str("(")
	w.arg(string(payload))
	w.str("::json) as " + bodyName)
	w.typedColumns(columns)
}

// bodyRowsWithDefaults is bodyRows with the columns' defaults put under each
// object.
func (w *sqlWriter) bodyRowsWithDefaults(payload []byte, object bool, columns []*catalog.Column) {
	if object {
		w.str(" from pg_catalog.jsonb_to_record(")
		w.defaults(columns)
		w.str(" || ")
		w.arg(string(payload))
		w.str("::jsonb) as " + bodyName)
	} else {
		w.str(" from pg_catalog.jsonb_array_elements(")
		w.arg(string(payload))
		w.str("::jsonb) as pgrst_row(val), pg_catalog.jsonb_to_record(")
		w.defaults(columns)
		w.str(" || pgrst_row.val) as " + bodyName)
	}
	w.typedColumns(columns)
}

// defaults writes an object of the columns' defaults. They are the catalog's own
// expressions.
func (w *sqlWriter) defaults(columns []*catalog.Column) {
	w.str("pg_catalog.jsonb_build_object(")
	first := true
	for _, c := range columns {
		if c.Default == "" {
			continue
		}
		if !first {
			w.str(", ")
		}
		first = false
		w.buf = quoteLiteral(w.buf, c.Name)
		w.str(", ")
		w.str(c.Default)
	}
	w.str(")")
}

// typedColumns writes a column definition list.
func (w *sqlWriter) typedColumns(columns []*catalog.Column) {
	w.str("(")
	for i, c := range columns {
		if i > 0 {
			w.str(", ")
		}
		w.buf = quoteIdent(w.buf, c.Name)
		w.str(" ")
		w.str(c.Type)
	}
	w.str(")")
}

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

// outcome writes the columns that only writes and calls have.
func (w *sqlWriter) outcome(guard bool) {
	for _, setting := range [...]string{"response.status", "response.headers"} {
		w.str(", nullif(pg_catalog.current_setting('")
		w.str(setting)
		w.str("', true), '')")
	}
	w.str(", ")
	if guard {
		w.guard()
	} else {
		w.inserted()
	}
}

func (w *sqlWriter) inserted() {
	if w.spec.Op == query.OpInsert && w.spec.Write.Conflict == query.ConflictMerge {
		w.str(inserted)
		return
	}
	w.str("null::int8")
}

// isPut says whether an insert has conditions, which makes it PostgREST's PUT:
// one row, merged by its primary key, which the conditions give once more.
func isPut(s *query.Spec) bool { return s.Op == query.OpInsert && len(s.Where) > 0 }

// checkPut refuses conditions other than one eq for each column of the primary
// key.
func checkPut(s *query.Spec, t *catalog.Table) error {
	found := make([]string, 0, len(s.Where))
	for _, e := range s.Where {
		name, ok := putColumn(e)
		if !ok {
			return errPutFilters()
		}
		found = append(found, name)
	}
	slices.Sort(found)
	key := slices.Sorted(slices.Values(t.PrimaryKey))
	if !slices.Equal(slices.Compact(found), key) {
		return errPutFilters()
	}
	return nil
}

// putColumn is the column that a condition of a PUT compares with eq.
func putColumn(e query.Expr) (string, bool) {
	c, ok := e.(query.Compare)
	if !ok || c.Op != query.OpEq || c.Quantifier != query.One || len(c.Column.Steps) > 0 {
		return "", false
	}
	return c.Column.Column, true
}

func errPutFilters() error {
	return refuse(http.StatusMethodNotAllowed, codePutFilters,
		"Filters must include all and only primary key columns with 'eq' operators")
}

// quoteLiteral appends text as a SQL string constant. A backslash is one whatever
// standard_conforming_strings says.
func quoteLiteral(dst []byte, text string) []byte {
	dst = append(dst, "E'"...)
	for i := range len(text) {
		switch text[i] {
		case '\'', '\\':
			dst = append(dst, text[i])
		}
		dst = append(dst, text[i])
	}
	return append(dst, '\'')
}
