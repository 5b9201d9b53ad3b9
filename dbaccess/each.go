package dbaccess

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/twinpath/twinpath/dbaccess/internal/decode"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// Each yields every row of q, however many there are, in bounded memory: it
// reads page by page, each page one call of at most Config.MaxRows rows (1000
// where that is off) that starts after the last row of the page before it.
//
// unique names columns that together tell every row from every other, such as
// the primary key; they follow q's own order as its last sort keys. Without
// them, or with an offset or an order by anything but plain columns, Each
// yields an *query.UnsupportedError. A limit bounds the rows in all.
//
// The pages are not one snapshot: a row that is added, removed or moved in the
// order meanwhile may be seen or not, but no row that stays put is seen twice or
// missed. After an error there are no further rows.
func Each[T any](ctx context.Context, db *DB, q query.Query, unique ...string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		c, plan, err := prepare[T](db, "Each", q)
		if err != nil {
			yield(zero, err)
			return
		}
		p := &pager{call: c}
		if err := p.init(unique); err != nil {
			yield(zero, c.fail("", err))
			return
		}
		for p.next() {
			var rows []T
			_, err := p.page().run(ctx, func(r *Result) (err error) {
				var last []byte
				if rows, last, err = decode.RowsAndLast[T](plan, r.Body, db.decoding()); err != nil {
					return err
				}
				if err := p.bound.check(len(rows), r.Body); err != nil {
					return err
				}
				return p.read(len(rows), last)
			})
			if err != nil {
				yield(zero, err)
				return
			}
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}

// pager walks through a query's rows by keyset.
type pager struct {
	call  *call
	where []query.Expr // the query's own
	size  int64
	left  int64 // rows still wanted; -1 means all
	after []cursor
	bound bound // of related rows
	done  bool
}

// cursor is a sort key and its value in the last row read.
type cursor struct {
	order query.Order
	value string
	null  bool
}

const defaultPage = 1000

func (p *pager) init(unique []string) error {
	s := &p.call.spec
	switch {
	case s.Op != query.OpSelect:
		return &query.UnsupportedError{Node: "Each of " + s.Op.String(), Reason: "use All"}
	case len(unique) == 0:
		return &query.UnsupportedError{Node: "Each without a unique order", Reason: "name the columns that together are unique, such as the primary key"}
	case s.Offset > 0:
		return &query.UnsupportedError{Node: "Each with an offset", Reason: "leave the offset out, or use Page"}
	}
	order := slices.Clone(s.OrderBy)
	for _, u := range unique {
		if !slices.ContainsFunc(order, func(o query.Order) bool { return o.Path.Column == u }) {
			order = append(order, query.Asc(u))
		}
	}
	for _, o := range order {
		if len(o.Path.Steps) > 0 || o.Relation != "" {
			return &query.UnsupportedError{Node: "Each ordered by a path or a related column", Reason: "order by plain columns"}
		}
		if !selects(s.Select, o.Path.Column) {
			s.Select = append(slices.Clip(s.Select), query.Col(o.Path.Column))
		}
		p.after = append(p.after, cursor{order: o})
	}
	s.OrderBy = order
	p.bound = p.call.boundEmbeds()
	p.where, p.left = s.Where, -1
	if s.HasLimit {
		p.left = s.Limit
	}
	if p.size = int64(p.call.db.cfg.MaxRows); p.size < 1 {
		p.size = defaultPage
	}
	return nil
}

// selects says whether the column is read under its own name.
func selects(items []query.Item, column string) bool {
	return len(items) == 0 || slices.ContainsFunc(items, func(it query.Item) bool {
		switch it := it.(type) {
		case query.Star:
			return true
		case query.Field:
			return it.Name() == column && it.Path.Column == column && len(it.Path.Steps) == 0 && it.Cast == ""
		}
		return false
	})
}

// next says whether there is another page to ask for.
func (p *pager) next() bool { return !p.done && p.left != 0 }

// page is the call for the next page.
func (p *pager) page() *call {
	c := *p.call
	c.start = c.db.cfg.now()
	c.spec.Limit, c.spec.HasLimit = p.size, true
	if p.left >= 0 {
		c.spec.Limit = min(p.size, p.left)
	}
	return &c
}

// read takes note of a page of n rows, the last of which is given as JSON.
func (p *pager) read(n int, last []byte) error {
	if p.left >= 0 {
		p.left -= int64(n)
	}
	if n == 0 {
		// A page that is merely short may have been cut by the server's own limit.
		p.done = true
		return nil
	}
	var row map[string]json.RawMessage
	if err := json.Unmarshal(last, &row); err != nil {
		return errors.New("the last row of a page is not a JSON object")
	}
	for i := range p.after {
		if err := p.after[i].set(row); err != nil {
			return err
		}
	}
	after := keyset(p.after)
	if after == nil {
		p.done = true
		return nil
	}
	p.call.spec.Where = append(slices.Clip(p.where), after)
	return nil
}

func (c *cursor) set(row map[string]json.RawMessage) error {
	column := c.order.Path.Column
	v, ok := row[column]
	if !ok {
		return fmt.Errorf("a page lacks the sort key %q", column)
	}
	c.value, c.null = string(v), string(v) == "null"
	switch v[0] {
	case '"':
		return json.Unmarshal(v, &c.value)
	case '{', '[':
		return &query.UnsupportedError{Node: "Each ordered by the JSON or array column " + column, Reason: "order by plain columns"}
	}
	return nil
}

// keyset is the condition for a row to come after the one at the cursors, nil
// when none does.
func keyset(at []cursor) query.Expr {
	var either []query.Expr
	for i := range at {
		after := at[i].beyond()
		if after == nil {
			continue
		}
		all := make([]query.Expr, 0, i+1)
		for _, c := range at[:i] {
			all = append(all, c.same())
		}
		either = append(either, query.And(append(all, after)...))
	}
	if len(either) == 0 {
		return nil
	}
	return query.Or(either...)
}

func (c cursor) same() query.Expr {
	if c.null {
		return query.Is{Column: c.order.Path, State: query.Null}
	}
	return query.Compare{Column: c.order.Path, Op: query.OpEq, Value: c.value}
}

// beyond is the condition for the key alone to come later in the order, nil when
// nothing does.
func (c cursor) beyond() query.Expr {
	nullsLast := c.order.Nulls == query.NullsLast || c.order.Nulls == query.NullsDefault && !c.order.Desc
	if c.null {
		if nullsLast {
			return nil
		}
		return query.Is{Column: c.order.Path, State: query.NotNull}
	}
	op := query.OpGt
	if c.order.Desc {
		op = query.OpLt
	}
	var e query.Expr = query.Compare{Column: c.order.Path, Op: op, Value: c.value}
	if nullsLast {
		e = query.Or(e, query.Is{Column: c.order.Path, State: query.Null})
	}
	return e
}
