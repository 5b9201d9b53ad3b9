package compile

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// level is one level of what a query reads: its own rows, or those of an embed.
type level struct {
	name     string         // what its columns are named with
	relation catalog.Ident  // what its rows are of
	table    *catalog.Table // the relation's columns; nil when they are not known

	items  []query.Item
	where  []query.Expr
	order  []query.Order
	window window
	embeds []*level // in the order of the items

	grouped bool  // it has aggregates
	groups  []int // the places in its select list that are not aggregates

	// The rest is of embeds alone.
	embed    *query.Embed
	rel      *catalog.Relationship
	parent   *level
	joined   string // what its rows are joined to the parent's as
	junction string // what the table between is named with; "" without one
	depth    int
}

// named finds an embed of the level by its name in the result.
func (lv *level) named(name string) *level {
	for _, c := range lv.embeds {
		if c.embed.Name() == name {
			return c
		}
	}
	return nil
}

// toMany says whether the embed's rows become an array.
func (lv *level) toMany() bool { return lv.rel != nil && !lv.rel.ToOne() }

// spreads says whether the level's columns become columns of its parent, and as
// what: one value each, or arrays.
func (lv *level) spreadsOne() bool  { return lv.embed != nil && lv.embed.Spread && !lv.toMany() }
func (lv *level) spreadsMany() bool { return lv.embed != nil && lv.embed.Spread && lv.toMany() }

// empty says whether the embed has nothing to show, nor have those within it. It
// then takes part in joins and filters alone.
func (lv *level) empty() bool {
	return len(lv.items) == len(lv.embeds) && !slices.ContainsFunc(lv.embeds, func(c *level) bool { return !c.empty() })
}

// expands says whether all columns have to be written one by one: as the groups of
// an aggregate, or because each becomes an array.
func (lv *level) expands() bool {
	for l := lv; l != nil; l = l.parent {
		if l.grouped || l.spreadsMany() {
			return true
		}
	}
	return false
}

// maxName is how many bytes of a name Postgres keeps.
const maxName = 63

// pick makes a name that is none of those taken, and short enough for Postgres to
// keep it whole.
func pick(base string, taken ...string) string {
	suffix := ""
	for n := 1; ; n++ {
		cut := min(len(base), maxName-len(suffix))
		for cut > 0 && cut < len(base) && !utf8.RuneStart(base[cut]) {
			cut--
		}
		if name := base[:cut] + suffix; !slices.Contains(taken, name) {
			return name
		}
		suffix = "_" + strconv.Itoa(n)
	}
}

// MaxEmbedDepth is how deeply embeds may nest. Deeper ones are refused on both
// sides.
const MaxEmbedDepth = 32

// MaxEmbeds is how many embeds a level may have. More are refused on both sides.
const MaxEmbeds = 500

// readPlan finds out what is read: rows of the relation and what their embeds mean.
// It refuses what PostgREST refuses before it asks the database, in its order.
func (w *sqlWriter) readPlan(relation catalog.Ident) error {
	s := w.spec
	w.root = level{
		name: w.name, relation: relation, items: s.Select, order: s.OrderBy,
		window: w.bounded(window{limit: s.Limit, limited: s.HasLimit, offset: s.Offset}),
	}
	if w.catalog != nil {
		known := false
		if w.root.table, known = w.catalog.Table(relation.Schema, relation.Name); !known && s.Op != query.OpCall {
			if err := w.catalog.Exposes(relation.Schema); err != nil {
				return err
			}
			return w.catalog.UnknownTable(relation.Schema, relation.Name)
		}
	}
	// A write's condition is that of the write alone, which has no embeds yet, and
	// has been met when its rows are read.
	if s.Op.Writes() {
		w.at = &level{name: w.name, relation: relation, table: w.root.table, where: s.Where}
	} else {
		w.root.where = s.Where
	}
	if err := w.findEmbeds(&w.root, 1); err != nil {
		return err
	}
	if err := checkRelatedOrder(&w.root); err != nil {
		return err
	}
	if err := w.findAggregates(&w.root); err != nil {
		return err
	}
	if err := checkSpreads(&w.root); err != nil {
		return err
	}
	return checkNames(&w.root)
}

// bounded is the window that is read. PostgREST has ignored those of a write since
// version 13, its embeds' too.
func (w *sqlWriter) bounded(win window) window {
	if w.spec.Op.Writes() {
		return window{}
	}
	if w.maxRows > 0 && (!win.limited || win.limit > w.maxRows) {
		win.limit, win.limited = w.maxRows, true
	}
	return win
}

// findEmbeds resolves the relationships of a level's embeds, and of theirs.
func (w *sqlWriter) findEmbeds(lv *level, depth int) error {
	if err := checkEmbeds(lv.items); err != nil {
		return err
	}
	for _, it := range lv.items {
		if _, ok := it.(query.Embed); !ok {
			continue // without a copy on the heap
		}
		e := it.(query.Embed)
		if err := checkEmbed(&e, depth); err != nil {
			return err
		}
		if w.catalog == nil {
			return ErrNeedsCatalog
		}
		rel, err := w.catalog.Relationship(w.schema, lv.relation.Name, e.Relation, e.Hint)
		if err != nil {
			return err
		}
		if w.spec.Op.Writes() {
			e.Limit, e.HasLimit, e.Offset = 0, false, 0
		}
		c := &level{
			relation: rel.Target, items: e.Select, where: e.Where, order: e.OrderBy,
			embed: &e, rel: rel, parent: lv, depth: depth,
		}
		c.window = window{limit: e.Limit, limited: e.HasLimit, offset: e.Offset}
		if c.toMany() { // a bound on one row would only keep the planner from joining
			c.window = w.bounded(c.window)
		}
		c.table, _ = w.catalog.Table(rel.Target.Schema, rel.Target.Name)
		w.nameEmbed(c)
		lv.embeds = append(lv.embeds, c)
		if err := w.findEmbeds(c, depth+1); err != nil {
			return err
		}
	}
	w.arrange(lv.embeds)
	return nil
}

// arrange puts embeds into the order in which PostgREST answers them to the request
// that REST makes of the query: every parameter of an embed moves it to the front
// of its level, those that filter last.
func (w *sqlWriter) arrange(embeds []*level) {
	if !w.arranged {
		slices.SortStableFunc(embeds, func(a, b *level) int { return cmp.Compare(b.moved(), a.moved()) })
	}
}

// moved says by which kind of parameter the embed has been moved last: 3 for
// filters, 2 for a window, 1 for an order, 0 for none.
func (lv *level) moved() int {
	moved := 0
	switch {
	case len(lv.where) > 0:
		moved = 3
	case lv.embed.HasLimit || lv.embed.Offset > 0:
		moved = 2
	case len(lv.order) > 0:
		moved = 1
	}
	for _, c := range lv.embeds {
		moved = max(moved, c.moved())
	}
	return moved
}

// nameEmbed gives an embed the names that PostgREST gives it, which show in the
// server's errors, unless they would clash with a name that is used beside them.
func (w *sqlWriter) nameEmbed(c *level) {
	lv, suffix := c.parent, "_"+strconv.Itoa(c.depth)
	c.name = pick(c.relation.Name+suffix, lv.name)
	if j := c.rel.Junction; j != nil {
		c.name = pick(c.relation.Name, lv.name)
		c.junction = pick(j.Table.Name, lv.name, c.name)
	}
	taken := []string{lv.name, lv.junction}
	if lv.parent != nil {
		taken = append(taken, lv.parent.name)
	}
	for _, sibling := range lv.embeds {
		taken = append(taken, sibling.joined)
	}
	c.joined = pick(lv.relation.Name+"_"+c.embed.Name()+suffix, taken...)
}

// checkRelatedOrder refuses sort keys of embeds that are not there, or have
// several rows.
func checkRelatedOrder(lv *level) error {
	for i := range lv.order {
		relation := lv.order[i].Relation
		if relation == "" {
			continue
		}
		c := lv.named(relation)
		switch {
		case c == nil:
			return &RefusedError{Status: http.StatusBadRequest, Failure: Failure{
				Code:    codeNotEmbedded,
				Message: "'" + relation + "' is not an embedded resource in this request",
				Hint:    "Verify that '" + relation + "' is included in the 'select' query parameter.",
			}}
		case c.toMany():
			return &RefusedError{Status: http.StatusBadRequest, Failure: Failure{
				Code:    codeRelatedOrder,
				Message: "A related order on '" + relation + "' is not possible",
				Details: "'" + lv.relation.Name + "' and '" + relation + "' do not form a many-to-one or one-to-one relationship",
			}}
		}
	}
	return eachEmbed(lv, checkRelatedOrder)
}

// findAggregates notes which levels have aggregates. Those of a spread of one row
// are worked out where its columns end up.
func (w *sqlWriter) findAggregates(lv *level) error {
	for _, it := range lv.items {
		f, ok := it.(query.Field)
		if !ok || f.Aggregate == "" {
			continue
		}
		if w.catalog == nil {
			return ErrNeedsCatalog
		}
		if !w.aggregates {
			return refuse(http.StatusBadRequest, codeAggregates, "Use of aggregate functions is not allowed")
		}
		at := lv
		for at.spreadsOne() {
			at = at.parent
		}
		at.grouped = true
	}
	return eachEmbed(lv, w.findAggregates)
}

// checkSpreads refuses aggregates whose values would then become arrays.
func checkSpreads(lv *level) error {
	if lv.spreadsMany() && lv.grouped {
		return &RefusedError{Status: http.StatusBadRequest, Failure: Failure{
			Code:    codeNotImplemented,
			Message: "Feature not implemented",
			Details: "Aggregates are not implemented for one-to-many or many-to-many spreads.",
		}}
	}
	return eachEmbed(lv, checkSpreads)
}

// checkNames refuses two embeds of the same name, which PostgREST leaves to the
// server to refuse.
func checkNames(lv *level) error {
	for i, c := range lv.embeds {
		if lv.named(c.embed.Name()) != lv.embeds[i] {
			name := lv.relation.Name + "_" + c.embed.Name() + "_" + strconv.Itoa(c.depth)
			return refuse(http.StatusBadRequest, codeDuplicateAlias, `table name "`+name+`" specified more than once`)
		}
	}
	return eachEmbed(lv, checkNames)
}

func eachEmbed(lv *level, do func(*level) error) error {
	for _, c := range lv.embeds {
		if err := do(c); err != nil {
			return err
		}
	}
	return nil
}

// checkEmbeds refuses select lists with more embeds than anybody reads.
func checkEmbeds(items []query.Item) error {
	n := 0
	for _, it := range items {
		if _, ok := it.(query.Embed); ok {
			n++
		}
	}
	if n > MaxEmbeds {
		return &query.UnsupportedError{Node: "embed", Reason: "a select list has more than 500 embeds"}
	}
	return nil
}

// checkEmbed refuses embeds that one of the two sides has no way to say.
func checkEmbed(e *query.Embed, depth int) error {
	if err := checkName("embed", e.Relation); err != nil {
		return err
	}
	if err := checkText("embed's hint", e.Hint); err != nil {
		return err
	}
	if err := checkText("alias", e.Alias); err != nil {
		return err
	}
	switch {
	case depth > MaxEmbedDepth:
		return &query.UnsupportedError{Node: "embed", Reason: "embeds nest deeper than 32 levels"}
	case e.Relation == "count":
		return &query.UnsupportedError{Node: "embed", Reason: "PostgREST reads count(…) as an aggregate: embed by the foreign key's name"}
	case e.Spread && e.Alias != "":
		return &query.UnsupportedError{Node: "embed", Reason: "the fields of a spread are the row's own: it has no name to change"}
	case e.HasLimit && e.Limit < 0:
		return &query.UnsupportedError{Node: "limit", Reason: "it must not be negative"}
	case e.Offset < 0:
		return &query.UnsupportedError{Node: "offset", Reason: "it must not be negative"}
	}
	return nil
}
