package compile

import (
	"strconv"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// SQL compiles a query to the statement that makes Postgres write the answer
// that PostgREST would have made it write.
//
// The statement touches what PostgREST's would and nothing else, so that the
// caller's role needs the privileges that it needs through PostgREST. Functions
// are named with their schema: what the search path has in store can't take their
// place.
//
// A write and a call run in a CTE, from which the rest of the statement reads.
//
// The error is [ErrNeedsCatalog], an *[query.UnsupportedError], or what PostgREST
// would refuse: a *[catalog.Error] where the schema lacks what the query names, a
// *[RefusedError] otherwise.
func SQL(s *query.Spec, opts SQLOptions) (Program, error) {
	if err := checkSpec(s); err != nil {
		return Program{}, err
	}
	w := sqlWriter{spec: s, schema: s.Schema, catalog: opts.Catalog, name: s.From}
	if w.schema == "" {
		w.schema = opts.Schema
	}
	if w.schema == "" {
		return Program{}, &query.UnsupportedError{Node: "schema", Reason: "neither the query nor SQLOptions names one"}
	}
	if err := checkText("schema", w.schema); err != nil {
		return Program{}, err
	}
	return w.program(opts)
}

// maxParams is what the protocol's 16 bits hold.
const maxParams = 1<<16 - 1

// sqlWriter writes one query's statements.
type sqlWriter struct {
	spec    *query.Spec
	schema  string
	catalog *catalog.Catalog // nil when there is none

	name   string            // what the columns of the rows read are named with
	source string            // the CTE that the rows are read from; "" for the table itself
	call   *catalog.Function // of a call

	buf  []byte
	args []string
}

func (w *sqlWriter) str(s string) { w.buf = append(w.buf, s...) }

// arg appends a parameter and its placeholder.
func (w *sqlWriter) arg(text string) {
	w.args = append(w.args, text)
	w.buf = append(w.buf, '$')
	w.buf = strconv.AppendInt(w.buf, int64(len(w.args)), 10)
}

func (w *sqlWriter) program(opts SQLOptions) (Program, error) {
	s := w.spec
	w.args = make([]string, 0, len(s.Where)+len(s.Select)/4+2)

	with, err := w.with()
	if err != nil {
		return Program{}, err
	}
	// The condition is written first: the count and the plan repeat it, with
	// the same parameters.
	w.buf = make([]byte, 0, 32+64*len(s.Where))
	if err := w.from(); err != nil {
		return Program{}, err
	}
	from, fromArgs := w.buf, len(w.args)

	window := window{limit: s.Limit, limited: s.HasLimit, offset: s.Offset}
	switch {
	case s.Op.Writes():
		window = allRows() // PostgREST has ignored the window of a write since version 13
	case opts.MaxRows > 0 && (!window.limited || window.limit > opts.MaxRows):
		window.limit, window.limited = opts.MaxRows, true
	}

	w.buf = make([]byte, 0, 192+len(with)+2*len(from)+32*len(s.Select)+32*len(s.OrderBy))
	w.buf = append(w.buf, with...)
	w.str("select ")
	w.body()
	w.str(", ")
	w.rows()
	w.str(", ")
	w.total(from, window, opts.MaxRows)
	if s.Op != query.OpSelect {
		w.outcome(opts.Guard)
	}
	if opts.Clock {
		// In the target list of the aggregate, so after the last row went into it.
		w.str(", extract(epoch from pg_catalog.clock_timestamp())::float8")
	}
	w.str(" from (select ")
	if s.Op.Writes() && !s.Write.Return {
		w.str("1")
		w.buf = append(w.buf, from...)
	} else {
		if err := w.items(); err != nil {
			return Program{}, err
		}
		w.buf = append(w.buf, from...)
		if err := w.order(); err != nil {
			return Program{}, err
		}
	}
	w.window(window)
	w.str(") _t")

	if len(w.args) > maxParams {
		return Program{}, &query.UnsupportedError{Node: "filter", Reason: "it has more than 65535 values: use In, which sends its values as one"}
	}
	p := Program{Main: Statement{SQL: string(w.buf), Args: w.args}, ReadOnly: s.Op == query.OpSelect}
	if w.call != nil {
		w.called(&p)
	}
	if s.Op == query.OpSelect && (s.Count == query.CountPlanned || s.Count == query.CountEstimated) {
		w.buf = append(w.buf[:0], "explain (format json) select 1"...)
		w.buf = append(w.buf, from...)
		p.Plan = &Statement{SQL: string(w.buf), Args: w.args[:fromArgs:fromArgs]}
	}
	return p, nil
}

// window is which of the matching rows are returned.
type window struct {
	limit   int64
	limited bool
	offset  int64
}

func (win window) all() bool { return !win.limited && win.offset == 0 }

func allRows() window { return window{} }

// body writes the answer's body.
func (w *sqlWriter) body() {
	switch s := w.spec; {
	case s.Op == query.OpCall:
		w.callBody()
	case s.Head, s.Op.Writes() && !s.Write.Return:
		w.str("''::text")
	case s.Single:
		w.str("coalesce(pg_catalog.json_agg(_t.*)->0,'null')::text")
	default:
		w.str("coalesce(pg_catalog.json_agg(_t.*),'[]')::text")
	}
}

// rows writes the number of rows in the answer. A function that returns one value
// has one for PostgREST, whatever a filter makes of it.
func (w *sqlWriter) rows() {
	if w.call != nil && !w.call.Returns.Set {
		w.str("1::int8")
		return
	}
	w.str("pg_catalog.count(*)")
}

// total writes the number of rows that match, whatever the window.
func (w *sqlWriter) total(from []byte, win window, maxRows int64) {
	switch {
	case w.spec.Count == query.CountNone, w.spec.Count == query.CountPlanned:
		w.str("null::int8")
	case win.all():
		w.rows()
	case w.spec.Count == query.CountEstimated && maxRows > 0:
		// One more than PostgREST's row limit is enough to know that the
		// estimate is wanted.
		w.str("(select pg_catalog.count(*) from (select 1")
		w.buf = append(w.buf, from...)
		w.str(" limit ")
		w.arg(strconv.FormatInt(maxRows+1, 10))
		w.str(") _c)")
	default:
		w.str("(select pg_catalog.count(*)")
		w.buf = append(w.buf, from...)
		w.str(")")
	}
}

// from writes what the rows are read from and the condition. That of a write has
// been met when its rows are read.
func (w *sqlWriter) from() error {
	w.str(" from ")
	if w.source == "" {
		w.table()
	} else {
		w.str(w.source)
		w.str(" ")
		w.buf = quoteIdent(w.buf, w.name)
	}
	if w.spec.Op.Writes() {
		return nil
	}
	return w.where()
}

// table writes the query's table.
func (w *sqlWriter) table() {
	w.buf = quoteIdent(w.buf, w.schema)
	w.str(".")
	w.buf = quoteIdent(w.buf, w.spec.From)
}

// where writes the condition, if there is one.
func (w *sqlWriter) where() error {
	word := " where "
	for _, e := range w.spec.Where {
		if _, ok := e.(query.Every); ok {
			continue
		}
		w.str(word)
		word = " and "
		if err := w.expr(e, 0); err != nil {
			return err
		}
	}
	return nil
}

func (w *sqlWriter) items() error {
	if len(w.spec.Select) == 0 {
		w.buf = quoteIdent(w.buf, w.name)
		w.str(".*")
		return nil
	}
	for i, it := range w.spec.Select {
		if i > 0 {
			w.str(", ")
		}
		switch it := it.(type) {
		case query.Star:
			w.buf = quoteIdent(w.buf, w.name)
			w.str(".*")
		case query.Field:
			if err := w.field(&it); err != nil {
				return err
			}
		default:
			return unsupportedNode("select item", it)
		}
	}
	return nil
}

func (w *sqlWriter) field(f *query.Field) (err error) {
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
	// A plain column has its own name, cast or not. A path has none.
	if f.Alias == "" && len(f.Path.Steps) == 0 {
		return nil
	}
	name := f.Name()
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

// path writes a column, named with its table as PostgREST names it, so that
// the server's errors read alike, and the way into the JSON that it holds.
func (w *sqlWriter) path(p *query.Path) error {
	if err := checkName("column", p.Column); err != nil {
		return err
	}
	w.buf = quoteIdent(w.buf, w.name)
	w.str(".")
	w.buf = quoteIdent(w.buf, p.Column)
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Text {
			w.str("->>")
		} else {
			w.str("->")
		}
		if s.IsIndex {
			w.arg(strconv.Itoa(s.Index))
			w.str("::int4")
			continue
		}
		if err := checkText("JSON path", s.Key); err != nil {
			return err
		}
		w.arg(s.Key)
	}
	return nil
}

func (w *sqlWriter) order() error {
	for i := range w.spec.OrderBy {
		o := &w.spec.OrderBy[i]
		if i == 0 {
			w.str(" order by ")
		} else {
			w.str(", ")
		}
		if err := w.path(&o.Path); err != nil {
			return err
		}
		if o.Desc {
			w.str(" desc")
		}
		switch o.Nulls {
		case query.NullsDefault:
		case query.NullsFirst:
			w.str(" nulls first")
		case query.NullsLast:
			w.str(" nulls last")
		default:
			return &query.UnsupportedError{Node: "order", Reason: "the place of NULLs is none of package query's"}
		}
	}
	return nil
}

func (w *sqlWriter) window(win window) {
	if win.limited {
		w.str(" limit ")
		w.arg(strconv.FormatInt(win.limit, 10))
	}
	if win.offset > 0 {
		w.str(" offset ")
		w.arg(strconv.FormatInt(win.offset, 10))
	}
}
