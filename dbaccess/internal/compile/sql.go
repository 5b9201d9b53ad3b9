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
	s = conditions(s)
	if err := checkSpec(s); err != nil {
		return Program{}, err
	}
	if !opts.Arranged {
		if err := checkEmbedNames(s); err != nil {
			return Program{}, err
		}
	}
	w := sqlWriter{spec: s, schema: s.Schema, catalog: opts.Catalog, aggregates: opts.Aggregates, arranged: opts.Arranged, name: s.From}
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

	root level  // what is read, of a write or a call too
	at   *level // the level that is being written

	maxRows    int64 // of the root and of embeds; 0 for no bound
	aggregates bool  // are allowed
	arranged   bool  // are the embeds
	counting   bool  // what is written is a count, which needs no joins

	buf  []byte
	args []string

	// Room for what an ordinary query takes.
	roomFrom [160]byte
	roomText [896]byte
	roomArgs [8]string
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
	w.args = w.roomArgs[:0]
	if n := len(s.Where) + len(s.Select)/4 + 2; n > len(w.roomArgs) {
		w.args = make([]string, 0, n)
	}

	if !s.Op.Writes() {
		w.maxRows = opts.MaxRows
	}
	if s.Op != query.OpCall {
		if err := w.readPlan(catalog.Ident{Schema: w.schema, Name: s.From}); err != nil {
			if bad := checkPayload(s); bad != nil {
				return Program{}, bad // PostgREST reads the body before it looks for the table
			}
			return Program{}, err
		}
	}
	with, err := w.with()
	if err != nil {
		return Program{}, err
	}
	if s.Op == query.OpCall {
		if err := w.readPlan(w.call.Resource()); err != nil {
			return Program{}, err
		}
	}
	w.at = &w.root
	// The condition is written first: the count and the plan repeat it, with
	// the same parameters.
	w.buf = room(w.roomFrom[:], 32+64*len(s.Where))
	w.from()
	condition := len(w.buf)
	if err := w.where(); err != nil {
		return Program{}, err
	}
	from, fromArgs := w.buf, len(w.args)

	w.buf = room(w.roomText[:], 192+len(with)+2*len(from)+32*len(s.Select)+32*len(s.OrderBy))
	w.buf = append(w.buf, with...)
	w.str("select ")
	// Names of one letter are no memory to pgx.
	w.body()
	w.str(" b, ")
	w.rows()
	w.str(" n, ")
	if err := w.total(from); err != nil {
		return Program{}, err
	}
	w.str(" t")
	var guard *Statement
	if s.Op != query.OpSelect && opts.Guard {
		guard = w.guardStatement()
	}
	if s.Op != query.OpSelect || opts.Outcome {
		w.outcome(guard != nil)
	}
	if opts.Clock {
		// In the target list of the aggregate, so after the last row went into it.
		w.str(", extract(epoch from pg_catalog.clock_timestamp())::float8 c")
	}
	w.str(" from (select ")
	if s.Op.Writes() && !s.Write.Return {
		w.str("1")
		w.buf = append(w.buf, from...)
	} else if err := w.rootRows(from[:condition], from[condition:]); err != nil {
		return Program{}, err
	}
	w.str(") _t")

	if len(w.args) > maxParams {
		return Program{}, &query.UnsupportedError{Node: "filter", Reason: "it has more than 65535 values: use In, which sends its values as one"}
	}
	p := Program{Main: Statement{SQL: string(w.buf), Args: w.args}, Guard: guard, ReadOnly: s.Op == query.OpSelect}
	if w.call != nil {
		w.called(&p)
	}
	if s.Op == query.OpSelect && (s.Count == query.CountPlanned || s.Count == query.CountEstimated) {
		if p.Plan, err = w.plan(from, w.args[:fromArgs:fromArgs]); err != nil {
			return Program{}, err
		}
	}
	return p, nil
}

// room is an empty buffer for about n bytes: there, or a new one.
func room(there []byte, n int) []byte {
	if n > len(there) {
		return make([]byte, 0, n)
	}
	return there[:0]
}

// rootRows writes the rest of the query of the rows, of whose FROM and WHERE
// clauses it is given the text.
func (w *sqlWriter) rootRows(from, where []byte) error {
	if err := w.items(); err != nil {
		return err
	}
	w.buf = append(w.buf, from...)
	if err := w.joins(&w.root); err != nil {
		return err
	}
	w.buf = append(w.buf, where...)
	w.groupBy(&w.root)
	if err := w.orderBy(&w.root); err != nil {
		return err
	}
	w.window(w.root.window)
	return nil
}

// plan makes the statement that asks the planner for the total. With embeds it has
// its own text, and so its own parameters.
func (w *sqlWriter) plan(from []byte, args []string) (*Statement, error) {
	if len(w.root.embeds) > 0 {
		args = nil
	}
	w.buf, w.args = append(w.buf[:0], "explain (format json) select 1"...), args
	if err := w.countFrom(from); err != nil {
		return nil, err
	}
	return &Statement{SQL: string(w.buf), Args: w.args}, nil
}

// window is which of the matching rows are returned.
type window struct {
	limit   int64
	limited bool
	offset  int64
}

func (win window) all() bool { return !win.limited && win.offset == 0 }

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
func (w *sqlWriter) total(from []byte) error {
	switch {
	case w.spec.Count == query.CountNone, w.spec.Count == query.CountPlanned:
		w.str("null::int8")
	case w.root.window.all():
		w.rows()
	case w.spec.Count == query.CountEstimated && w.maxRows > 0:
		// One more than PostgREST's row limit is enough to know that the
		// estimate is wanted.
		w.str("(select pg_catalog.count(*) from (select 1")
		if err := w.countFrom(from); err != nil {
			return err
		}
		w.str(" limit ")
		w.arg(strconv.FormatInt(w.maxRows+1, 10))
		w.str(") _c)")
	default:
		w.str("(select pg_catalog.count(*)")
		if err := w.countFrom(from); err != nil {
			return err
		}
		w.str(")")
	}
	return nil
}

// countFrom writes what is counted. With embeds it is not what is read: those that
// only add columns are left out.
func (w *sqlWriter) countFrom(from []byte) error {
	if len(w.root.embeds) == 0 {
		w.buf = append(w.buf, from...)
		return nil
	}
	w.counting = true
	w.from()
	err := w.where()
	w.counting = false
	return err
}

// from writes what the rows are read from.
func (w *sqlWriter) from() {
	w.str(" from ")
	if w.source == "" {
		w.table()
		return
	}
	w.str(w.source)
	w.str(" ")
	w.buf = quoteIdent(w.buf, w.name)
}

// table writes the query's table.
func (w *sqlWriter) table() {
	w.buf = quoteIdent(w.buf, w.schema)
	w.str(".")
	w.buf = quoteIdent(w.buf, w.spec.From)
}

// where writes the condition of the current level, if it has one.
func (w *sqlWriter) where() error {
	word := " where "
	and := func() { w.str(word); word = " and " }
	for _, e := range w.at.where {
		and()
		if err := w.expr(e, 0); err != nil {
			return err
		}
	}
	if w.at.embed != nil {
		w.tie(w.at, and)
	}
	if w.counting {
		return w.exists(w.at, and)
	}
	return nil
}

// path writes a column, named with its table as PostgREST names it, so that
// the server's errors read alike, and the way into the JSON that it holds.
func (w *sqlWriter) path(p *query.Path) error {
	if err := checkPath(p); err != nil {
		return err
	}
	if len(p.Steps) == 0 {
		w.column(w.name, p.Column)
		return nil
	}
	if w.catalog == nil {
		return ErrNeedsCatalog
	}
	// Every other type has a form in JSON too, into which the path then leads.
	c, known := w.at.column(p.Column)
	if known && (c.Type == "json" || c.Type == "jsonb") {
		w.column(w.name, p.Column)
	} else {
		w.str("pg_catalog.to_jsonb(")
		w.column(w.name, p.Column)
		w.str(")")
	}
	w.steps(p.Steps)
	return nil
}

// steps writes the way into JSON. Its keys have passed checkText.
func (w *sqlWriter) steps(steps []query.Step) {
	for i := range steps {
		s := &steps[i]
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
		w.arg(s.Key)
	}
}

func (w *sqlWriter) orderBy(lv *level) error {
	for i := range lv.order {
		if i == 0 {
			w.str(" order by ")
		} else {
			w.str(", ")
		}
		if err := w.sortKey(&lv.order[i]); err != nil {
			return err
		}
		if err := w.direction(&lv.order[i]); err != nil {
			return err
		}
	}
	return nil
}

// sortKey writes what is sorted by, for an embed's column one of those that the
// embed selects.
func (w *sqlWriter) sortKey(o *query.Order) error {
	if o.Relation == "" {
		return w.path(&o.Path)
	}
	if err := checkPath(&o.Path); err != nil {
		return err
	}
	w.column(w.at.named(o.Relation).joined, o.Path.Column)
	w.steps(o.Path.Steps)
	return nil
}

func (w *sqlWriter) direction(o *query.Order) error {
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
