package parse

import (
	"strings"

	"github.com/twinpath/twinpath/dbaccess/query"
)

// params collects what the query string says.
type params struct {
	spec *query.Spec

	limits map[string]*limits // by their names without the last word, "" for the query's own
	embeds attachments

	columns, onConflict []string // the first ones
	logic               bool     // the query itself has a logic tree

	call bool // what is no filter is an argument
	args []query.TextArg

	// late is the first refusal that is not a matter of grammar.
	late *Error
}

// parse reads a query string. Of repeated parameters that are lists the first
// counts, of limit and offset the last, and filters add up.
func (ps *params) parse(rawQuery string) *Error {
	all, e := pairs(rawQuery)
	if e != nil {
		return e
	}
	seen, ordered := map[string]bool{}, false
	for _, p := range all {
		if p.key == "select" || p.key == "columns" || p.key == "on_conflict" {
			if !seen[p.key] && p.hasValue {
				if e := ps.list(p); e != nil {
					return e
				}
			}
			seen[p.key] = true
			continue
		}
		if !p.hasValue {
			continue
		}
		last := p.key[strings.LastIndexByte(p.key, '.')+1:]
		switch {
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
	ps.finish()
	return nil
}

// run lets a scanner read a text and passes on what it found.
func (ps *params) run(kind, text string, read func(*scanner) error) *Error {
	s := &scanner{in: text}
	err := read(s)
	if s.late != nil {
		ps.postpone(s.late)
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
		ps.spec.Select, err = s.items(1)
		if err == nil && ps.spec.Select == nil && ps.spec.Op.Writes() { // it would return the key
			s.postpone(unsupported("an empty select list"))
		}
		if len(ps.spec.Select) == 1 {
			if _, all := ps.spec.Select[0].(query.Star); all {
				ps.spec.Select = nil
			}
		}
		return err
	})
}

// list reads a parameter that is a list.
func (ps *params) list(p pair) *Error {
	switch p.key {
	case "columns":
		return ps.names(p, &ps.columns)
	case "on_conflict":
		return ps.names(p, &ps.onConflict)
	}
	return ps.selects(p.value)
}

// names reads a list of names.
func (ps *params) names(p pair, into *[]string) *Error {
	return ps.run(p.key+" parameter", p.value, func(s *scanner) error {
		for {
			n, err := s.name()
			if err != nil {
				return err
			}
			*into = append(*into, n)
			if s.symbol(",") != nil {
				return nil
			}
		}
	})
}

// limits are a limit and an offset as they came, of repeated ones the last.
type limits struct {
	limit, offset       string
	hasLimit, hasOffset bool
	noted               bool // as an embed's
}

// bound notes a limit or an offset.
func (ps *params) bound(p pair, last string) *Error {
	of := strings.TrimSuffix(p.key, last)
	l := ps.limits[of]
	if l == nil {
		l = &limits{}
		if ps.limits == nil {
			ps.limits = map[string]*limits{}
		}
		ps.limits[of] = l
	}
	if last == "limit" {
		l.limit, l.hasLimit = p.value, true
	} else {
		l.offset, l.hasOffset = p.value, true
	}
	if of == "" {
		return nil
	}
	path, _, e := ps.path(of + "limit")
	if e != nil || l.noted {
		return e
	}
	l.noted = true
	ps.embeds.windows = append(ps.embeds.windows, attachment{path, func(e *query.Embed) { ps.embedWindow(e, l) }})
	return nil
}

// path reads a parameter's name.
func (ps *params) path(key string) (embeds []string, column query.Path, e *Error) {
	e = ps.run("tree path", key, func(s *scanner) (err error) {
		embeds, column, err = s.treePath()
		return err
	})
	return embeds, column, e
}

func (ps *params) order(p pair, ordered *bool) *Error {
	embeds, _, e := ps.path(p.key)
	if e != nil {
		return e
	}
	return ps.run("order", p.value, func(s *scanner) error {
		keys, err := s.orders()
		switch {
		case err != nil:
		case len(embeds) > 0:
			ps.embeds.orders = append(ps.embeds.orders, attachment{embeds, func(e *query.Embed) {
				if e.OrderBy == nil { // the first counts
					e.OrderBy = keys
				}
			}})
		case !*ordered:
			ps.spec.OrderBy, *ordered = keys, true
		}
		return err
	})
}

func (ps *params) filter(p pair) *Error {
	embeds, column, e := ps.path(p.key)
	if e != nil {
		return e
	}
	return ps.run("filter", p.value, func(s *scanner) error {
		c, err := s.condition(column, s.topValue)
		if err == errSyntax && ps.call && argument(p.value) {
			ps.args = append(ps.args, query.TextArg{Name: column.Column, Value: p.value})
			return nil
		}
		if err != nil {
			return err
		}
		if len(embeds) == 0 {
			ps.spec.Where = append(ps.spec.Where, c)
			return nil
		}
		ps.embeds.filters = append(ps.embeds.filters, attachment{embeds, func(e *query.Embed) { e.Where = append(e.Where, c) }})
		return nil
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
		depth = 0 // its parts become the level's own
	}
	return ps.run("logic tree", op+p.value, func(s *scanner) error {
		s.hidden = len(op)
		t, err := s.tree(depth)
		if err != nil {
			return err
		}
		exprs := []query.Expr{t}
		if l, ok := t.(query.Logic); ok && l.Connective == query.ConnectAnd {
			exprs = l.Exprs
		}
		if len(embeds) == 0 {
			ps.spec.Where, ps.logic = append(ps.spec.Where, exprs...), true
			return nil
		}
		ps.embeds.trees = append(ps.embeds.trees, attachment{embeds, func(e *query.Embed) { e.Where = append(e.Where, exprs...) }})
		return nil
	})
}

// finish puts the parameters of embeds into the select list. What it refuses, the
// planner refuses: a request whose grammar or range is wrong has been refused
// before.
func (ps *params) finish() {
	if ps.spec.Op.Writes() {
		ps.embeds.windows = nil // PostgREST has ignored the windows of a write since version 13
	}
	items, e := ps.embeds.attach(ps.spec.Select)
	if e != nil {
		ps.postpone(e)
		return
	}
	ps.spec.Select = items
}

func (ps *params) postpone(e *Error) {
	if ps.late == nil {
		ps.late = e
	}
}
