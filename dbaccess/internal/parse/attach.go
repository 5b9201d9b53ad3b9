package parse

import (
	"net/http"
	"slices"

	"github.com/twinpath/twinpath/dbaccess/query"
)

// tree is a select list while parameters are put into its embeds.
type tree struct {
	embed  query.Embed // but for its select list; the root has none
	items  []query.Item
	embeds []*tree // those among the items, in the order of the answer
}

func newTree(items []query.Item) *tree {
	t := &tree{items: items}
	for _, it := range items {
		if e, ok := it.(query.Embed); ok {
			c := newTree(e.Select)
			c.embed = e
			t.embeds = append(t.embeds, c)
		}
	}
	return t
}

// list returns the select list. Its embeds change places among each other alone.
func (t *tree) list() []query.Item {
	if len(t.embeds) == 0 {
		return t.items
	}
	items, n := slices.Clone(t.items), 0
	for i, it := range items {
		if _, ok := it.(query.Embed); ok {
			e := t.embeds[n].embed
			e.Select = t.embeds[n].list()
			items[i] = e
			n++
		}
	}
	return items
}

// find looks for the embed that a path of names leads to. A name is an embed's
// alias, or its table's own.
//
// Every embed on the way becomes the first of its level. That is what PostgREST's
// plan makes of it, and it shows in the order of the members in the answer.
func (t *tree) find(path []string) (*tree, *Error) {
	for _, name := range path {
		i := slices.IndexFunc(t.embeds, func(c *tree) bool {
			return c.embed.Relation == name || c.embed.Alias == name && name != ""
		})
		if i < 0 {
			return nil, &Error{
				Status:  http.StatusBadRequest,
				Code:    "PGRST108",
				Message: "'" + name + "' is not an embedded resource in this request",
				Hint:    "Verify that '" + name + "' is included in the 'select' query parameter.",
			}
		}
		c := t.embeds[i]
		copy(t.embeds[1:i+1], t.embeds[:i])
		t.embeds[0] = c
		t = c
	}
	return t, nil
}

// attachment is a parameter of an embed.
type attachment struct {
	path  []string
	apply func(e *query.Embed)
}

// attachments are the parameters of embeds by kind, in the order of the request.
type attachments struct {
	filters, orders, windows, trees []attachment
}

// attach puts parameters into the embeds of a select list. Which embed a name
// means, what is refused first and what comes first in the answer depend on the
// order: PostgREST goes by kind, and within a kind from the last to the first.
func (a *attachments) attach(items []query.Item) ([]query.Item, *Error) {
	kinds := [...][]attachment{a.filters, a.orders, a.windows, a.trees}
	if len(slices.Concat(kinds[:]...)) == 0 {
		return items, nil
	}
	root := newTree(items)
	for _, kind := range kinds {
		targets := make([]*tree, len(kind))
		for i, at := range slices.Backward(kind) {
			t, e := root.find(at.path)
			if e != nil {
				return nil, e
			}
			targets[i] = t
		}
		for i, t := range targets {
			kind[i].apply(&t.embed)
		}
	}
	return root.list(), nil
}
