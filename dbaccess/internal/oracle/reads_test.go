package oracle_test

import (
	"fmt"
	"slices"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// question is a query, who asks it, and whether its rows have an order.
type question struct {
	spec    query.Spec
	caller  string
	ordered bool
}

var callerNames = []string{"anon", "alice", "alice", "bob", "service"}

// question is any query.
func (r *random) question() question {
	q := question{caller: one(r, callerNames)}
	switch n := r.IntN(20); {
	case n < 14:
		r.read(&q)
	case n < 18:
		r.write(&q)
	default:
		r.call(&q)
	}
	switch {
	case r.chance(100):
		q.spec.Schema = one(r, []string{"public", "private_api", "auth", `no "such"`})
	case r.chance(40):
		q.spec.TimeZone = one(r, []string{"Asia/Seoul", "UTC", "America/New_York"})
	}
	return q
}

func (r *random) read(q *question) {
	t := r.table(q.caller)
	s := &q.spec
	*s = query.Spec{From: t.Name, Count: query.Count(r.IntN(4) * r.IntN(2)), Single: r.chance(30), Head: r.chance(16)}
	if r.chance(150) {
		s.From = one(r, []string{"compani", "nope", `Odd "Table`, "odd table", "has space"})
	}
	s.Select = r.items(t, 0)
	r.read0(q, t)
}

// table is one that the caller may mostly read.
func (r *random) table(caller string) *table {
	for {
		t := one(r, r.world.tables)
		if t.Name != "secrets" || caller == "service" || r.chance(8) {
			return t
		}
	}
}

// read0 gives conditions, an order and a window to a query of a table's rows.
func (r *random) read0(q *question, t *table) {
	s := &q.spec
	s.Where = r.conditions(t, s.Select, 2)
	if s.HasLimit = r.chance(2); s.HasLimit {
		s.Limit = r.Int64N(6)
	}
	if r.chance(3) {
		s.Offset = r.Int64N(4)
		if r.chance(10) {
			s.Offset = 500
		}
	}
	window := s.HasLimit || s.Offset > 0
	if window || !r.chance(3) {
		s.OrderBy, q.ordered = r.order(t, s.Select), true
	}
}

// items is a select list.
func (r *random) items(t *table, depth int) []query.Item {
	var items []query.Item
	for range r.IntN(4) {
		items = append(items, r.field(t))
	}
	if r.chance(4) {
		items = append(items, query.Star{})
	}
	if depth < 3 && !r.chance(3) {
		for range r.IntN(3) {
			if e, ok := r.embed(t, depth+1); ok && (!takes(items, &e) || r.chance(40)) {
				items = append(items, e)
			}
		}
	}
	return items
}

// takes says whether an embed would take its name or table from another.
func takes(items []query.Item, e *query.Embed) bool {
	return slices.ContainsFunc(items, func(it query.Item) bool {
		o, ok := it.(query.Embed)
		return ok && (o.Name() == e.Name() || o.Relation == e.Name() || o.Name() == e.Relation || o.Relation == e.Relation && (e.Spread || o.Spread))
	})
}

var casts = []string{"text", "text", "text", "int8", "numeric", "float8", "jsonb", "date", "nope"}

func (r *random) field(t *table) query.Field {
	c := one(r, t.columns)
	f := query.Field{Path: r.path(c)}
	if r.chance(1000) {
		f.Path.Column = one(r, []string{"nope", "Name", `a"b`, "id "})
	}
	if r.chance(5) {
		f.Cast = "text"
		if r.chance(40) || c.kind == kindNumber && r.chance(3) {
			f.Cast = one(r, casts)
		}
	}
	if r.chance(4) {
		f.Alias = one(r, []string{"a", "b b", `q"uote`, "한글", "select", "*x", "id", "name", "$a", "x.y", "x::y"})
	}
	if r.chance(3000) {
		f.Aggregate = "sum"
	}
	return f
}

// path is a column, or a way into its JSON.
func (r *random) path(c *column) query.Path {
	p := query.Path{Column: c.Name}
	odds := 60 // of a path into what holds no JSON
	if len(c.paths) > 0 {
		odds = 2
	}
	if !r.chance(odds) {
		return p
	}
	way := []any{one(r, []any{"a", "x y", 0, -1, `q"`})}
	if len(c.paths) > 0 && !r.chance(6) {
		way = one(r, c.paths)
	}
	for i, s := range way {
		step := query.Step{Text: i == len(way)-1 && r.chance(2)}
		switch s := s.(type) {
		case int:
			step.Index, step.IsIndex = s, true
		case string:
			step.Key = s
		}
		p.Steps = append(p.Steps, step)
	}
	return p
}

// embed takes one of a table's relationships by one of its names.
func (r *random) embed(t *table, depth int) (query.Embed, bool) {
	rels := r.world.catalog.Relationships(t.Schema, t.Name)
	if len(rels) == 0 {
		return query.Embed{}, false
	}
	rel := one(r, rels)
	type names struct{ relation, hint string }
	ways := []names{{rel.Target.Name, ""}, {rel.Target.Name, rel.Constraint}}
	if rel.Junction != nil {
		ways = append(ways, names{rel.Target.Name, rel.Junction.Table.Name})
	}
	for _, j := range rel.Columns {
		ways = append(ways, names{j.From, ""}, names{rel.Target.Name, j.To}, names{rel.Target.Name, j.From})
	}
	way := one(r, ways)
	found, err := r.world.catalog.Relationship(t.Schema, t.Name, way.relation, way.hint)
	if err != nil {
		if !r.chance(60) {
			return query.Embed{}, false
		}
		found = rel // an ambiguity, or a hint that leads nowhere
	}
	target := r.world.byName[found.Target.Name]
	e := query.Embed{Relation: way.relation, Hint: way.hint, Inner: r.chance(4), Spread: r.chance(10), Select: r.items(target, depth)}
	if !e.Spread && !r.chance(4) {
		e.Alias = fmt.Sprintf("%s%d", one(r, []string{"e", "rel ", `r"`, "관계"}), r.IntN(1000))
	}
	if r.chance(2) {
		e.Where = r.conditions(target, e.Select, 2)
	}
	e.OrderBy = r.order(target, e.Select)
	if e.HasLimit = r.chance(4); e.HasLimit {
		e.Limit = r.Int64N(4)
	}
	if r.chance(8) {
		e.Offset = r.Int64N(3)
	}
	return e, true
}

// order ends in the primary key, and so leaves no choice.
func (r *random) order(t *table, items []query.Item) []query.Order {
	var keys []query.Order
	for range r.IntN(3) {
		keys = append(keys, query.Order{Path: r.path(one(r, t.columns)), Desc: r.chance(2), Nulls: query.Nulls(r.IntN(3))})
	}
	for _, it := range items {
		if e, ok := it.(query.Embed); ok && r.chance(3) {
			if rel, err := r.world.catalog.Relationship(t.Schema, t.Name, e.Relation, e.Hint); err == nil && (rel.ToOne() || r.chance(40)) {
				target := r.world.byName[rel.Target.Name]
				keys = append(keys, query.Order{Relation: e.Name(), Path: query.Path{Column: one(r, target.columns).Name}, Desc: r.chance(2)})
			}
		}
	}
	keys = slices.DeleteFunc(keys, func(o query.Order) bool { return o.Relation == "" && !r.sortable(t, &o.Path) })
	for _, name := range r.key(t) {
		keys = append(keys, query.Asc(name))
	}
	return keys
}

// sortable says whether there is an order of the values; it lets through one in ten
// that have none.
func (r *random) sortable(t *table, p *query.Path) bool {
	c, ok := t.Column(p.Column)
	if !ok || len(p.Steps) > 0 {
		return true
	}
	return c.Class != catalog.ClassJSON && c.Type != "xml" && c.Type != "point" || r.chance(60)
}

// key is the primary key, or columns that are one.
func (r *random) key(t *table) []string {
	if len(t.PrimaryKey) > 0 {
		return t.PrimaryKey
	}
	return []string{t.columns[0].Name} // company_summary's ticker
}
