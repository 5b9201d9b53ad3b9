package dbaccess

import (
	"fmt"

	"github.com/twinpath/twinpath/dbaccess/internal/decode"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// bound is the row limit of a call: of the list itself, and of the lists of
// related rows in it.
type bound struct {
	rows   int // 0: none of its own to check
	embeds []decode.Bound
}

// bound gives the call's query the row limit, unless it has a lower one.
func (c *call) bound() bound {
	b := c.boundEmbeds()
	limit := int64(c.db.cfg.MaxRows)
	if limit < 0 || c.spec.Op.Writes() || c.spec.HasLimit && c.spec.Limit <= limit {
		return b
	}
	c.spec.Limit, c.spec.HasLimit = limit, true
	b.rows = int(limit)
	return b
}

// boundEmbeds does so for related rows alone.
func (c *call) boundEmbeds() bound {
	limit := c.db.cfg.MaxRows
	if limit < 0 {
		return bound{}
	}
	var b bound
	c.spec.Select, b.embeds = boundItems(c.spec.Select, limit)
	return b
}

func boundItems(items []query.Item, limit int) ([]query.Item, []decode.Bound) {
	var out []query.Item // a copy: the list may be shared
	var bounds []decode.Bound
	for i, it := range items {
		e, ok := it.(query.Embed)
		if !ok {
			continue
		}
		if out == nil {
			out = append([]query.Item(nil), items...)
		}
		b := decode.Bound{Name: e.Name()}
		if !e.HasLimit || e.Limit > int64(limit) {
			e.Limit, e.HasLimit = int64(limit), true
			b.Max = limit
		}
		e.Select, b.Nested = boundItems(e.Select, limit)
		if e.Spread { // its rows' fields are the row's own
			bounds = append(bounds, b.Nested...)
		} else {
			bounds = append(bounds, b)
		}
		out[i] = e
	}
	if out == nil {
		return items, nil
	}
	return out, bounds
}

// check fails with ErrTruncated when a list has reached its limit.
func (b *bound) check(rows int, body []byte) error {
	if b.rows > 0 && rows >= b.rows {
		return ErrTruncated
	}
	if len(b.embeds) == 0 {
		return nil
	}
	name, err := decode.Reached(body, b.embeds)
	if err != nil {
		return err
	}
	if name != "" {
		return fmt.Errorf("related rows %q: %w", name, ErrTruncated)
	}
	return nil
}

// whole fails with ErrTruncated when a read that was counted has fewer rows than its
// window must have: the server's own limit is lower than Config.MaxRows.
func (c *call) whole(rows int, total int64) error {
	s := &c.spec
	if s.Op != query.OpSelect || s.Count != query.CountExact || total < 0 {
		return nil
	}
	want := total - s.Offset
	if s.HasLimit {
		want = min(want, s.Limit)
	}
	if int64(rows) < want {
		return ErrTruncated
	}
	return nil
}
