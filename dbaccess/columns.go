package dbaccess

import (
	"fmt"
	"strings"

	"github.com/twinpath/twinpath/dbaccess/internal/decode"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// prepare starts a call whose rows are decoded into T: where q has no select
// list it becomes T's columns, and where it has one it must cover them.
func prepare[T any](db *DB, verb string, q query.Query) (*call, *decode.Plan, error) {
	c, err := db.newCall(verb, q)
	if err != nil {
		return nil, nil, err
	}
	plan, err := decode.PlanFor[T](&db.plans)
	if err != nil {
		return nil, nil, c.fail("", err)
	}
	if err := c.selectFor(plan); err != nil {
		return nil, nil, c.fail("", err)
	}
	return c, plan, nil
}

func (c *call) selectFor(plan *decode.Plan) error {
	columns := plan.Columns()
	if len(c.spec.Select) == 0 {
		c.spec.Select = c.db.items(plan)
		return nil
	}
	names := make(map[string]bool, len(c.spec.Select))
	for _, it := range c.spec.Select {
		switch it := it.(type) {
		case query.Star:
			return nil // the decoder finds what is missing
		case query.Field:
			names[it.Name()] = true
		case query.Embed:
			if it.Spread {
				return nil
			}
			names[it.Name()] = true
		}
	}
	var missing []string
	for _, col := range columns {
		if !names[col.Name] {
			missing = append(missing, col.Name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the select list lacks columns of the struct: %s: select them, or leave them out of the struct", strings.Join(missing, ", "))
	}
	return nil
}

// items returns the select list that reads a plan's columns, made at the first
// call.
func (db *DB) items(plan *decode.Plan) []query.Item {
	if made, ok := db.selects.Load(plan); ok {
		return made.([]query.Item)
	}
	made, _ := db.selects.LoadOrStore(plan, items(plan.Columns()))
	return made.([]query.Item)
}

// items makes the select list that reads columns.
func items(columns []decode.Column) []query.Item {
	list := make([]query.Item, len(columns))
	for i, col := range columns {
		if col.Embed == nil {
			list[i] = query.Col(col.Name)
			continue
		}
		e := query.Embed{Relation: col.Embed.Relation, Hint: col.Embed.Hint, Inner: col.Embed.Inner, Select: []query.Item{query.Star{}}}
		if col.Name != e.Relation {
			e.Alias = col.Name
		}
		if col.Nested != nil && len(col.Nested.Columns()) > 0 {
			e.Select = items(col.Nested.Columns())
		}
		list[i] = e
	}
	return list
}
