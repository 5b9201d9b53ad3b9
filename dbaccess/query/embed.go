package query

import (
	"errors"
	"fmt"
	"slices"
)

// Embed selects related rows as a JSON value inside of each row: an object
// where there is at most one, an array where there may be several. It is both
// data and builder; every method returns a changed copy.
type Embed struct {
	Relation string // the related table or view, or the foreign key column that leads to it
	Hint     string // constraint, column or junction table that tells relationships apart; "" for none
	Alias    string // name in the result; defaults to Relation
	Inner    bool   // leave out rows that have no related row
	Spread   bool   // put the related row's fields into the row itself

	Select   []Item // none means no fields, which is of use with Inner or in filters
	Where    []Expr // narrows the related rows
	OrderBy  []Order
	Limit    int64 // meaningful when HasLimit is set
	HasLimit bool
	Offset   int64

	errs []error
}

func (Embed) item() {}

// Rel embeds the rows of a related table with the items given.
func Rel(relation string, items ...Item) Embed {
	e := Embed{Relation: relation, Select: slices.Clone(items)}
	return e.note(checkItems(items))
}

// Name is the embedded value's name in the result.
func (e Embed) Name() string {
	if e.Alias != "" {
		return e.Alias
	}
	return e.Relation
}

// As names the embedded value in the result.
func (e Embed) As(alias string) Embed {
	e.Alias = alias
	return e
}

// By tells relationships between the same two tables apart: by the name of the
// constraint, of the foreign key column or of the junction table.
func (e Embed) By(hint string) Embed {
	e.Hint = hint
	return e
}

// InnerJoin leaves out rows without a related row that meets the embed's
// conditions.
func (e Embed) InnerJoin() Embed {
	e.Inner = true
	return e
}

// Spreading puts the related row's fields into the row itself.
func (e Embed) Spreading() Embed {
	e.Spread = true
	return e
}

// Filter narrows the related rows. It leaves out no row of the query itself
// unless [Embed.InnerJoin] is asked for.
func (e Embed) Filter(exprs ...Expr) Embed {
	for _, x := range exprs {
		e = e.note(check(x))
	}
	e.Where = append(slices.Clip(e.Where), exprs...)
	return e
}

// Sort adds sort keys of the related rows.
func (e Embed) Sort(keys ...Order) Embed {
	for _, k := range keys {
		e = e.note(k.Path.check())
	}
	e.OrderBy = append(slices.Clip(e.OrderBy), keys...)
	return e
}

// Top bounds the number of related rows for each row.
func (e Embed) Top(n int) Embed {
	if n < 0 {
		return e.note(fmt.Errorf("query: Top %w", errNegative))
	}
	e.Limit, e.HasLimit = int64(n), true
	return e
}

// Skip skips related rows of each row.
func (e Embed) Skip(n int) Embed {
	if n < 0 {
		return e.note(fmt.Errorf("query: Skip %w", errNegative))
	}
	e.Offset = int64(n)
	return e
}

func (e Embed) note(err error) Embed {
	if err != nil {
		e.errs = append(slices.Clip(e.errs), err)
	}
	return e
}

// checkItems reports what keeps a select list from being compiled.
func checkItems(items []Item) error {
	var errs []error
	for _, it := range items {
		switch it := it.(type) {
		case nil:
			errs = append(errs, errors.New("query: a nil item in a select list"))
		case Field:
			if it.Aggregate != "count" || it.Path.Column != "" {
				errs = append(errs, it.Path.check())
			}
		case Embed:
			if it.Relation == "" {
				errs = append(errs, errors.New("query: an embed without a relation"))
			}
			errs = append(errs, it.errs...)
		}
	}
	return errors.Join(errs...)
}
