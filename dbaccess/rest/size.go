package rest

import "github.com/twinpath/twinpath/dbaccess/query"

const (
	nodeBytes = 64 // the most that operators, parentheses and modifiers of one node take
	byteBytes = 6  // the most that one byte of a name or value becomes
)

// mostBytes is no less than the length of the query's request but for the base URL.
// It costs less than the request, and most queries are far from any limit.
func mostBytes(s *query.Spec) int {
	n := nodeBytes + byteBytes*len(s.From) + itemsBytes(s.Select, 0) + exprsBytes(s.Where) + ordersBytes(s.OrderBy)
	if w := s.Write; w != nil {
		n += namesBytes(w.Columns) + namesBytes(w.ConflictOn)
	}
	if c := s.Call; c != nil {
		n += namesBytes(c.Columns) + 2*byteBytes*len(c.Args)
		for _, a := range c.TextArgs {
			n += nodeBytes + byteBytes*(len(a.Name)+len(a.Value))
		}
	}
	return n
}

func namesBytes(names []string) int {
	n := nodeBytes
	for _, name := range names {
		n += nodeBytes + byteBytes*len(name)
	}
	return n
}

func pathBytes(p *query.Path) int {
	n := nodeBytes + byteBytes*len(p.Column)
	for i := range p.Steps {
		n += nodeBytes + byteBytes*len(p.Steps[i].Key)
	}
	return n
}

// itemsBytes is for a select list; way is the length of the way to it.
func itemsBytes(items []query.Item, way int) int {
	n := 0
	for _, it := range items {
		n += nodeBytes
		switch it := it.(type) {
		case query.Field:
			n += pathBytes(&it.Path) + byteBytes*(len(it.Alias)+len(it.Cast)+len(it.Aggregate)+len(it.AggregateCast))
		case query.Embed:
			names := byteBytes * (len(it.Relation) + len(it.Hint) + len(it.Alias))
			// Conditions, order, limit and offset are parameters, each of which begins
			// with the way to the embed.
			inner := way + nodeBytes + names
			n += names + 4*inner + itemsBytes(it.Select, inner) + exprsBytes(it.Where) + ordersBytes(it.OrderBy)
		}
	}
	return n
}

func ordersBytes(keys []query.Order) int {
	n := 0
	for i := range keys {
		n += pathBytes(&keys[i].Path) + byteBytes*len(keys[i].Relation)
	}
	return n
}

func exprsBytes(exprs []query.Expr) int {
	n := 0
	for _, e := range exprs {
		n += nodeBytes + exprBytes(e)
	}
	return n
}

func exprBytes(e query.Expr) int {
	switch e := e.(type) {
	case query.Compare:
		return pathBytes(&e.Column) + byteBytes*(len(e.Value)+len(e.Config))
	case query.InList:
		n := pathBytes(&e.Column)
		for _, v := range e.Values {
			n += encodedBytes(v)
		}
		return n
	case query.Is:
		return pathBytes(&e.Column)
	case query.Negation:
		return nodeBytes + exprBytes(e.Expr)
	case query.Logic:
		return exprsBytes(e.Exprs)
	}
	return nodeBytes
}
