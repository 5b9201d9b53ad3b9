package oracle_test

import (
	"slices"
	"strings"

	"github.com/twinpath/twinpath/dbaccess/query"
)

func (r *random) conditions(t *table, items []query.Item, most int) []query.Expr {
	var exprs []query.Expr
	for range r.IntN(most + 1) {
		exprs = append(exprs, r.condition(t, items, 0))
	}
	return exprs
}

// condition is any expression that makes sense for a table, and now and then one
// that makes none.
func (r *random) condition(t *table, items []query.Item, depth int) query.Expr {
	var e query.Expr
	switch n := r.IntN(12); {
	case n < 2 && depth < 3:
		l := query.Logic{Connective: query.Connective(r.IntN(2))}
		for range 1 + r.IntN(3) {
			l.Exprs = append(l.Exprs, r.condition(t, items, depth+1))
		}
		e = l
	case n == 2:
		c := one(r, t.columns)
		l := query.InList{Column: r.path(c)}
		if n := len(l.Column.Steps); n > 0 {
			c = r.inside(c, l.Column.Steps[n-1].Text)
		}
		for range r.IntN(5) {
			l.Values = append(l.Values, r.value(c))
		}
		e = l
	case n == 3:
		e = query.Is{Column: r.path(one(r, t.columns)), State: query.State(r.IntN(2))}
	case n == 4:
		e = r.ofEmbed(items)
	}
	if e == nil {
		e = r.comparison(one(r, t.columns))
	}
	for r.chance(5) {
		e = query.Negation{Expr: e}
	}
	return e
}

// ofEmbed asks whether there is a related row, nil where the list has no embed.
func (r *random) ofEmbed(items []query.Item) query.Expr {
	for _, it := range items {
		if e, ok := it.(query.Embed); ok && r.chance(2) {
			return query.Is{Column: query.Path{Column: e.Name()}, State: query.State(r.IntN(2))}
		}
	}
	return nil
}

var (
	equality   = []query.Operator{query.OpEq, query.OpEq, query.OpNeq, query.OpIsDistinct}
	comparison = append([]query.Operator{query.OpGt, query.OpGte, query.OpLt, query.OpLte}, equality...)
	patterns   = []query.Operator{query.OpLike, query.OpILike, query.OpMatch, query.OpIMatch}
	searches   = []query.Operator{query.OpTS, query.OpPlainTS, query.OpPhraseTS, query.OpWebTS}
	ranges     = []query.Operator{
		query.OpContains, query.OpContained, query.OpOverlaps, query.OpLeft, query.OpRight, query.OpNotRight, query.OpNotLeft, query.OpAdjacent,
	}
	sets         = []query.Operator{query.OpContains, query.OpContained, query.OpOverlaps}
	allOperators = append(append(append(append([]query.Operator{}, comparison...), patterns...), searches...), ranges...)
)

// operators are those that a kind of column goes with.
func operators(k kind) [][]query.Operator {
	switch k {
	case kindText:
		return [][]query.Operator{comparison, patterns, patterns, searches}
	case kindArray:
		return [][]query.Operator{comparison, sets, sets}
	case kindRange:
		return [][]query.Operator{comparison, ranges, ranges}
	case kindJSONB:
		return [][]query.Operator{comparison, sets[:2], searches}
	case kindJSON:
		return [][]query.Operator{searches}
	case kindSearch:
		return [][]query.Operator{searches}
	}
	return [][]query.Operator{comparison}
}

// inside is what a path into a column's JSON leads to.
func (r *random) inside(c *column, text bool) *column {
	if !text {
		texts := c.leaves
		if len(texts) == 0 {
			texts = oddValues[kindJSONB][:len(oddValues[kindJSONB])-1] // the last one is broken
		}
		return &column{Column: c.Column, kind: kindJSONB, texts: texts}
	}
	leaves := &column{Column: c.Column, kind: kindText, texts: slices.Clone(c.leaves)}
	for i, l := range leaves.texts {
		leaves.texts[i] = strings.Trim(l, `"`)
	}
	return leaves
}

func quantifiable(op query.Operator) bool {
	switch op {
	case query.OpEq, query.OpGt, query.OpGte, query.OpLt, query.OpLte, query.OpLike, query.OpILike, query.OpMatch, query.OpIMatch:
		return true
	}
	return false
}

func (r *random) comparison(c *column) query.Expr {
	if c.kind == kindBool && r.chance(2) {
		return query.Is{Column: query.Path{Column: c.Name}, State: query.State(r.IntN(5))}
	}
	e := query.Compare{Column: r.path(c), Op: one(r, one(r, operators(c.kind)))}
	if n := len(e.Column.Steps); n > 0 {
		c = r.inside(c, e.Column.Steps[n-1].Text)
		e.Op = one(r, one(r, operators(c.kind)))
	}
	if r.chance(150) {
		e.Op = one(r, allOperators)
	}
	switch {
	case quantifiable(e.Op) && r.chance(5):
		e.Quantifier, e.Value = query.Quantifier(1+r.IntN(2)), r.array(c)
		if r.chance(40) {
			e.Value = r.value(c)
		}
	case e.Op == query.OpLike || e.Op == query.OpILike:
		e.Value = r.pattern(c)
	case e.Op == query.OpMatch || e.Op == query.OpIMatch:
		e.Value = one(r, []string{"^T0", "o.p", `\d+$`, "(a|b)", `\(mostly\)`, "", "C.*1", one(r, oddTexts)})
	case r.searching(e.Op):
		e.Value, e.Config = one(r, oddValues[kindSearch]), one(r, []string{"", "", "english", "simple", "simple", "english", one(r, []string{"", "", "", "", "", "Nope"})})
		if r.chance(4) {
			e.Value = one(r, oddTexts)
		}
	default:
		e.Value = r.value(c)
	}
	return e
}

func (r *random) searching(op query.Operator) bool {
	return op == query.OpTS || op == query.OpPlainTS || op == query.OpPhraseTS || op == query.OpWebTS
}

// pattern is part of a value that is there, with wildcards.
func (r *random) pattern(c *column) string {
	v := []rune(r.value(c))
	if len(v) > 2 {
		v = v[r.IntN(2) : len(v)-r.IntN(2)]
	}
	return one(r, []string{"", "%", "*"}) + string(v) + one(r, []string{"", "%", "*", "_"})
}
