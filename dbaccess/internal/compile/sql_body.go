package compile

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/query"
)

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
