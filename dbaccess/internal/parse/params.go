package parse

import (
	"net/http"
	"strings"

	"github.com/twinpath/twinpath/dbaccess/query"
)

// params collects what the query string says.
type params struct {
	spec *query.Spec

	limit, offset       string // the last ones
	hasLimit, hasOffset bool

	// late is the first refusal that is not a matter of grammar.
	late *Error
}

// parse reads a query string. Of repeated select and order parameters the first
// counts, of limit and offset the last, and filters add up.
func (ps *params) parse(rawQuery string) *Error {
	all, e := pairs(rawQuery)
	if e != nil {
		return e
	}
	selected, ordered := false, false
	for _, p := range all {
		if p.key == "select" {
			if !selected && p.hasValue {
				if e := ps.selects(p.value); e != nil {
					return e
				}
			}
			selected = true
			continue
		}
		if !p.hasValue {
			continue
		}
		last := p.key[strings.LastIndexByte(p.key, '.')+1:]
		switch {
		case p.key == "columns", p.key == "on_conflict":
			e = ps.names(p)
		case last == "limit" || last == "offset":
			e = ps.bound(p, last)
		case last == "order":
			e = ps.order(p, &ordered)
		case last == "and" || last == "or":
			e = ps.tree(p)
		default:
			e = ps.filter(p)
		}
		if e != nil {
			return e
		}
	}
	return nil
}

// run lets a scanner read a text and passes on what it found.
func (ps *params) run(kind, text string, read func(*scanner) error) *Error {
	s := &scanner{in: text}
	err := read(s)
	if ps.late == nil {
		ps.late = s.late
	}
	switch e := err.(type) {
	case nil:
		return nil
	case *Error:
		return e
	}
	return s.refusal(kind)
}

func (ps *params) selects(text string) *Error {
	return ps.run("select parameter", text, func(s *scanner) (err error) {
		ps.spec.Select, err = s.items()
		if len(ps.spec.Select) == 1 {
			if _, all := ps.spec.Select[0].(query.Star); all {
				ps.spec.Select = nil
			}
		}
		return err
	})
}

// names reads a list of names that means nothing for a read.
func (ps *params) names(p pair) *Error {
	return ps.run(p.key+" parameter", p.value, func(s *scanner) error {
		for {
			if _, err := s.name(); err != nil {
				return err
			}
			if s.symbol(",") != nil {
				return nil
			}
		}
	})
}

// bound notes a limit or an offset.
func (ps *params) bound(p pair, last string) *Error {
	switch p.key {
	case "limit":
		ps.limit, ps.hasLimit = p.value, true
		return nil
	case "offset":
		ps.offset, ps.hasOffset = p.value, true
		return nil
	}
	return ps.run("tree path", strings.TrimSuffix(p.key, last)+"limit", func(s *scanner) error {
		embeds, _, err := s.treePath()
		ps.embedded(s, embeds)
		return err
	})
}

func (ps *params) order(p pair, ordered *bool) *Error {
	var embeds []string
	e := ps.run("tree path", p.key, func(s *scanner) (err error) {
		embeds, _, err = s.treePath()
		ps.embedded(s, embeds)
		return err
	})
	if e != nil {
		return e
	}
	return ps.run("order", p.value, func(s *scanner) error {
		keys, err := s.orders()
		if err == nil && !*ordered && len(embeds) == 0 {
			ps.spec.OrderBy, *ordered = keys, true
		}
		return err
	})
}

func (ps *params) filter(p pair) *Error {
	var embeds []string
	var column query.Path
	e := ps.run("tree path", p.key, func(s *scanner) (err error) {
		embeds, column, err = s.treePath()
		ps.embedded(s, embeds)
		return err
	})
	if e != nil {
		return e
	}
	return ps.run("filter", p.value, func(s *scanner) error {
		c, err := s.condition(column, s.topValue)
		if err == nil && len(embeds) == 0 {
			ps.spec.Where = append(ps.spec.Where, c)
		}
		return err
	})
}

func (ps *params) tree(p pair) *Error {
	var path []string
	e := ps.run("logic path", p.key, func(s *scanner) error {
		for {
			n, err := s.name()
			if err != nil {
				return err
			}
			path = append(path, n)
			if !s.lit(".") {
				return nil
			}
		}
	})
	if e != nil {
		return e
	}
	op := path[len(path)-1]
	var embeds []string
	negated := op == "not"
	for _, n := range path[:len(path)-1] {
		if n == "not" {
			negated = true
		} else {
			embeds = append(embeds, n)
		}
	}
	depth := 1
	if negated {
		op = "not." + op
	} else if op == "and" {
		depth = 0 // its parts become the query's own
	}
	return ps.run("logic tree", op+p.value, func(s *scanner) error {
		s.hidden = len(op)
		ps.embedded(s, embeds)
		t, err := s.tree(depth)
		if err != nil || len(embeds) > 0 {
			return err
		}
		if l, ok := t.(query.Logic); ok && l.Connective == query.ConnectAnd {
			ps.spec.Where = append(ps.spec.Where, l.Exprs...)
		} else {
			ps.spec.Where = append(ps.spec.Where, t)
		}
		return nil
	})
}

// embedded refuses a parameter that is about an embedded table. No request that
// gets here has one: embedding has been refused, or there is none.
func (ps *params) embedded(s *scanner, embeds []string) {
	if len(embeds) == 0 {
		return
	}
	s.postpone(&Error{
		Status:  http.StatusBadRequest,
		Code:    "PGRST108",
		Message: "'" + embeds[0] + "' is not an embedded resource in this request",
		Hint:    "Verify that '" + embeds[0] + "' is included in the 'select' query parameter.",
	})
}
