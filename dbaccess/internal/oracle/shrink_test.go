package oracle_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/query"
)

// maxShrinks bounds the queries that are tried to make one smaller.
const maxShrinks = 2000

// shrink makes a query smaller as long as it still fails, one cut at a time.
func shrink(s query.Spec, fails func(*query.Spec) bool) query.Spec {
	for tried := 0; ; {
		smaller := false
		for _, c := range cuts(s) {
			if tried++; tried > maxShrinks {
				return s
			}
			if fails(&c) {
				s, smaller = c, true
				break
			}
		}
		if !smaller {
			return s
		}
	}
}

// cuts are the queries that lack one thing of a query's, the larger things first.
func cuts(s query.Spec) []query.Spec {
	var out []query.Spec
	add := func(change func(*query.Spec)) {
		c := s
		change(&c)
		out = append(out, c)
	}
	for _, v := range lists(s.Select, cutItem) {
		add(func(c *query.Spec) { c.Select = v })
	}
	for _, v := range lists(s.Where, cutExpr) {
		add(func(c *query.Spec) { c.Where = v })
	}
	for _, v := range lists(s.OrderBy, cutOrder) {
		add(func(c *query.Spec) { c.OrderBy = v })
	}
	drop := func(has bool, change func(*query.Spec)) {
		if has {
			add(change)
		}
	}
	drop(s.HasLimit, func(c *query.Spec) { c.HasLimit, c.Limit = false, 0 })
	drop(s.Offset > 0, func(c *query.Spec) { c.Offset = 0 })
	drop(s.Count != 0, func(c *query.Spec) { c.Count = 0 })
	drop(s.Count > query.CountExact, func(c *query.Spec) { c.Count = query.CountExact })
	drop(s.Single, func(c *query.Spec) { c.Single = false })
	drop(s.Head, func(c *query.Spec) { c.Head = false })
	drop(s.TimeZone != "", func(c *query.Spec) { c.TimeZone = "" })
	drop(s.Schema != "", func(c *query.Spec) { c.Schema = "" })
	if s.Write != nil {
		for _, w := range cutWrite(*s.Write) {
			add(func(c *query.Spec) { c.Write = &w })
		}
	}
	if s.Call != nil {
		for _, a := range cutCall(*s.Call) {
			add(func(c *query.Spec) { c.Call = &a })
		}
	}
	return out
}

// lists are the lists without one element, and those with one element cut.
func lists[T any](of []T, cut func(T) []T) [][]T {
	var out [][]T
	for i := range of {
		out = append(out, slices.Delete(slices.Clone(of), i, i+1))
	}
	for i, x := range of {
		for _, smaller := range cut(x) {
			v := slices.Clone(of)
			v[i] = smaller
			out = append(out, v)
		}
	}
	return out
}

func cutPath(p query.Path) []query.Path {
	if n := len(p.Steps); n > 0 {
		return []query.Path{{Column: p.Column}, {Column: p.Column, Steps: p.Steps[:n-1]}}
	}
	return nil
}

func cutItem(it query.Item) []query.Item {
	var out []query.Item
	switch it := it.(type) {
	case query.Field:
		for _, p := range cutPath(it.Path) {
			f := it
			f.Path = p
			out = append(out, f)
		}
		if it.Alias != "" {
			out = append(out, query.Field{Path: it.Path, Cast: it.Cast, Aggregate: it.Aggregate})
		}
		if it.Cast != "" {
			out = append(out, query.Field{Path: it.Path, Alias: it.Alias, Aggregate: it.Aggregate})
		}
	case query.Embed:
		add := func(change func(*query.Embed)) {
			e := it
			change(&e)
			out = append(out, e)
		}
		for _, v := range lists(it.Select, cutItem) {
			add(func(e *query.Embed) { e.Select = v })
		}
		for _, v := range lists(it.Where, cutExpr) {
			add(func(e *query.Embed) { e.Where = v })
		}
		for _, v := range lists(it.OrderBy, cutOrder) {
			add(func(e *query.Embed) { e.OrderBy = v })
		}
		for _, flag := range []struct {
			on     bool
			change func(*query.Embed)
		}{
			{it.Inner, func(e *query.Embed) { e.Inner = false }},
			{it.Spread, func(e *query.Embed) { e.Spread = false }},
			{it.HasLimit, func(e *query.Embed) { e.HasLimit, e.Limit = false, 0 }},
			{it.Offset > 0, func(e *query.Embed) { e.Offset = 0 }},
			{it.Alias != "", func(e *query.Embed) { e.Alias = "" }},
			{it.Hint != "", func(e *query.Embed) { e.Hint = "" }},
		} {
			if flag.on {
				add(flag.change)
			}
		}
	}
	return out
}

func cutOrder(o query.Order) []query.Order {
	var out []query.Order
	if o.Desc {
		out = append(out, query.Order{Relation: o.Relation, Path: o.Path, Nulls: o.Nulls})
	}
	if o.Nulls != 0 {
		out = append(out, query.Order{Relation: o.Relation, Path: o.Path, Desc: o.Desc})
	}
	for _, p := range cutPath(o.Path) {
		out = append(out, query.Order{Relation: o.Relation, Path: p, Desc: o.Desc, Nulls: o.Nulls})
	}
	return out
}

func cutExpr(e query.Expr) []query.Expr {
	var out []query.Expr
	switch e := e.(type) {
	case query.Negation:
		out = append(out, e.Expr)
		for _, x := range cutExpr(e.Expr) {
			out = append(out, query.Negation{Expr: x})
		}
	case query.Logic:
		out = append(out, e.Exprs...)
		for _, v := range lists(e.Exprs, cutExpr) {
			if len(v) > 0 {
				out = append(out, query.Logic{Connective: e.Connective, Exprs: v})
			}
		}
	case query.InList:
		for _, v := range lists(e.Values, cutText) {
			out = append(out, query.InList{Column: e.Column, Values: v})
		}
		for _, p := range cutPath(e.Column) {
			out = append(out, query.InList{Column: p, Values: e.Values})
		}
	case query.Compare:
		for _, v := range cutText(e.Value) {
			c := e
			c.Value = v
			out = append(out, c)
		}
		for _, p := range cutPath(e.Column) {
			c := e
			c.Column = p
			out = append(out, c)
		}
		if e.Config != "" {
			c := e
			c.Config = ""
			out = append(out, c)
		}
	case query.Is:
		for _, p := range cutPath(e.Column) {
			out = append(out, query.Is{Column: p, State: e.State})
		}
	}
	return out
}

// cutText are the halves of a text.
func cutText(s string) []string {
	r := []rune(s)
	switch n := len(r); n {
	case 0:
		return nil
	case 1:
		return []string{""}
	default:
		return []string{string(r[:n/2]), string(r[n/2:])}
	}
}

func cutWrite(w query.Write) []query.Write {
	var out []query.Write
	add := func(on bool, change func(*query.Write)) {
		if on {
			c := w
			change(&c)
			out = append(out, c)
		}
	}
	for _, p := range cutJSON(w.Payload) {
		add(true, func(c *query.Write) { c.Payload = p })
	}
	add(len(w.Columns) > 0, func(c *query.Write) { c.Columns = nil })
	for _, v := range lists(w.Columns, func(string) []string { return nil }) {
		add(len(v) > 0, func(c *query.Write) { c.Columns = v })
	}
	add(w.Conflict != 0, func(c *query.Write) { c.Conflict, c.ConflictOn = 0, nil })
	add(len(w.ConflictOn) > 0, func(c *query.Write) { c.ConflictOn = nil })
	add(w.MissingDefault, func(c *query.Write) { c.MissingDefault = false })
	add(w.Return, func(c *query.Write) { c.Return = false })
	add(w.MaxAffected > 0, func(c *query.Write) { c.MaxAffected = 0 })
	return out
}

func cutCall(c query.CallArgs) []query.CallArgs {
	var out []query.CallArgs
	for _, v := range lists(c.TextArgs, func(a query.TextArg) []query.TextArg {
		var out []query.TextArg
		for _, v := range cutText(a.Value) {
			out = append(out, query.TextArg{Name: a.Name, Value: v})
		}
		return out
	}) {
		s := c
		s.TextArgs = v
		out = append(out, s)
	}
	for _, p := range cutJSON(c.Args) {
		s := c
		s.Args = p
		out = append(out, s)
	}
	if c.ReadOnly && len(c.TextArgs) == 0 {
		s := c
		s.ReadOnly = false
		out = append(out, s)
	}
	if c.MaxAffected > 0 {
		s := c
		s.MaxAffected = 0
		out = append(out, s)
	}
	return out
}

// cutJSON takes a row out of an array, or a member out of all rows.
func cutJSON(payload []byte) [][]byte {
	var rows []json.RawMessage
	array := json.Unmarshal(payload, &rows) == nil
	if !array {
		rows = []json.RawMessage{payload}
	}
	objects := make([]map[string]json.RawMessage, len(rows))
	var names []string
	for i, r := range rows {
		if json.Unmarshal(r, &objects[i]) != nil {
			return nil
		}
		for k := range objects[i] {
			if !slices.Contains(names, k) {
				names = append(names, k)
			}
		}
	}
	slices.Sort(names)
	write := func(list []map[string]json.RawMessage) []byte {
		var v any = list
		if !array {
			v = list[0]
		}
		b, err := json.Marshal(v)
		if err != nil {
			return payload
		}
		return b
	}
	var out [][]byte
	for i := range objects {
		if array && len(objects) > 1 {
			out = append(out, write(slices.Delete(slices.Clone(objects), i, i+1)))
		}
	}
	for _, n := range names {
		less := make([]map[string]json.RawMessage, len(objects))
		for i, o := range objects {
			less[i] = map[string]json.RawMessage{}
			for k, v := range o {
				if k != n {
					less[i][k] = v
				}
			}
		}
		out = append(out, write(less))
	}
	return slices.DeleteFunc(out, func(b []byte) bool { return bytes.Equal(b, payload) })
}

func TestShrink(t *testing.T) {
	t.Parallel()
	big := query.From("t").Select(
		query.Star{}, query.Col("a").As("x"),
		query.Rel("r", query.Col("b"), query.Rel("s", query.Col("c")).Filter(query.And(query.Eq("d", "abcdefgh"), query.IsNull("e")))).InnerJoin().Top(3),
	).Where(query.Or(query.Not(query.Eq("f", "1")), query.In("g", "1", "two", "3"))).OrderBy(query.Desc("a")).Limit(4).Offset(2).Spec()

	// The culprit is deep inside of an embed.
	got := shrink(big, func(s *query.Spec) bool {
		found := false
		for _, it := range s.Select {
			if r, ok := it.(query.Embed); ok {
				for _, it := range r.Select {
					if e, ok := it.(query.Embed); ok {
						for _, w := range e.Where {
							c, ok := w.(query.Compare)
							found = found || ok && bytes.Contains([]byte(c.Value), []byte("c"))
						}
					}
				}
			}
		}
		return found
	})
	if diff := cmp.Diff(`query.From("t").Select(query.Rel("r", query.Rel("s").Filter(query.Eq("d", "c"))))`, expression(&got)); diff != "" {
		t.Errorf("culprit in an embed (-want +got):\n%s", diff)
	}
	// The culprit is one value of a list.
	got = shrink(big, func(s *query.Spec) bool { return bytes.Contains([]byte(expression(s)), []byte("w")) })
	if diff := cmp.Diff(`query.From("t").Where(query.In("g", "w"))`, expression(&got)); diff != "" {
		t.Errorf("culprit in a list (-want +got):\n%s", diff)
	}
	// The culprit is one member of one row.
	rows := query.Insert("t", json.RawMessage(`[{"a":1,"b":2},{"a":3,"b":4}]`)).Merge("a").Spec()
	got = shrink(rows, func(s *query.Spec) bool { return bytes.Contains(s.Write.Payload, []byte("3")) })
	if diff := cmp.Diff("query.Insert(\"t\", json.RawMessage(`[{\"a\":3}]`))", expression(&got)); diff != "" {
		t.Errorf("culprit in a payload (-want +got):\n%s", diff)
	}
}
