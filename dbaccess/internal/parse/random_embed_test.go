package parse_test

import (
	"cmp"
	"slices"

	"github.com/twinpath/twinpath/dbaccess/query"
)

var aggregates = []string{"sum", "avg", "count", "max", "min"}

func (r random) field() query.Field {
	f := query.Field{Path: r.path()}
	if r.IntN(2) == 0 {
		f.Alias = r.name()
	}
	if r.IntN(3) == 0 {
		f.Cast = casts[r.IntN(len(casts))]
	}
	if r.IntN(4) == 0 {
		f.Aggregate = aggregates[r.IntN(len(aggregates))]
		if f.Aggregate == "count" && r.IntN(2) == 0 {
			f.Path, f.Cast = query.Path{}, ""
		}
		if r.IntN(3) == 0 {
			f.AggregateCast = casts[r.IntN(len(casts))]
		}
	}
	return f
}

// items is a select list. A list of a Star alone is none.
func (r random) items(depth int) []query.Item {
	var items []query.Item
	for range r.IntN(4) {
		items = append(items, r.field())
	}
	if len(items) > 0 && r.IntN(3) == 0 {
		items = append(items, query.Star{})
	}
	if depth < 3 {
		for n := range r.IntN(3) {
			items = append(items, r.embed(depth+1, n))
		}
	}
	r.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	if depth > 0 && len(items) > 0 {
		// The compiler gives such a path a cast, without which it would lead elsewhere.
		if f, ok := items[len(items)-1].(query.Field); ok && f.Aggregate == "" && f.Cast == "" {
			if n := len(f.Path.Steps); n > 0 && f.Path.Steps[n-1].IsIndex {
				f.Cast = "jsonb"
				items[len(items)-1] = f
			}
		}
	}
	return items
}

// embed is an embed whose names are those of no other embed and of no column.
func (r random) embed(depth, n int) query.Embed {
	kind := string(rune('p' + n))
	e := query.Embed{Relation: kind + r.text(), Inner: r.IntN(3) == 0, Spread: r.IntN(4) == 0, Select: r.items(depth)}
	if r.IntN(3) == 0 {
		e.Hint = []string{"inner", "left", "leftover", r.name()}[r.IntN(4)]
	}
	if !e.Spread && r.IntN(3) == 0 {
		e.Alias = kind + kind + r.text()
	}
	for range r.IntN(3) {
		e.Where = append(e.Where, r.expr(3))
	}
	for range r.IntN(3) {
		e.OrderBy = append(e.OrderBy, r.order(e.Select))
	}
	if r.IntN(3) == 0 {
		e.Limit, e.HasLimit = r.Int64N(3), true
	}
	if r.IntN(3) == 0 {
		e.Offset = r.Int64N(3)
	}
	return e
}

// order is a sort key, sometimes one of an embed in the select list.
func (r random) order(items []query.Item) query.Order {
	o := query.Order{Path: r.path(), Desc: r.IntN(2) == 0, Nulls: query.Nulls(r.IntN(3))}
	for _, it := range items {
		e, ok := it.(query.Embed)
		if n := len(o.Path.Steps); ok && r.IntN(3) == 0 && (n == 0 || !o.Path.Steps[n-1].IsIndex) {
			o.Relation = e.Name()
		}
	}
	return o
}

// answered puts the embeds of a select list into the order in which PostgREST
// answers them to the compiler's request: filtered ones first, then those with a
// window, then sorted ones.
func answered(items []query.Item) []query.Item {
	var embeds []query.Embed
	for _, it := range items {
		if e, ok := it.(query.Embed); ok {
			e.Select = answered(e.Select)
			embeds = append(embeds, e)
		}
	}
	slices.SortStableFunc(embeds, func(a, b query.Embed) int { return cmp.Compare(rank(b), rank(a)) })
	items = slices.Clone(items)
	for i, it := range items {
		if _, ok := it.(query.Embed); ok {
			items[i], embeds = embeds[0], embeds[1:]
		}
	}
	return items
}

func rank(e query.Embed) int {
	n := 0
	switch {
	case len(e.Where) > 0:
		n = 3
	case e.HasLimit || e.Offset > 0:
		n = 2
	case len(e.OrderBy) > 0:
		n = 1
	}
	for _, it := range e.Select {
		if e, ok := it.(query.Embed); ok {
			n = max(n, rank(e))
		}
	}
	return n
}
