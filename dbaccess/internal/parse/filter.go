package parse

import (
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// condition consumes an operator and its value, which value reads.
func (s *scanner) condition(column query.Path, value func() string) (query.Expr, error) {
	negated := s.lit("not.")
	e, err := s.operation(column, value)
	if err != nil {
		return nil, err
	}
	if negated {
		e = query.Negation{Expr: e}
	}
	return e, nil
}

func (s *scanner) operation(column query.Path, value func() string) (query.Expr, error) {
	switch {
	case s.lit("in."):
		values, err := s.list()
		return query.InList{Column: column, Values: values}, err
	case s.lit("is."):
		state, err := s.state()
		return query.Is{Column: column, State: state}, err
	case s.lit("isdistinct."):
		return query.Compare{Column: column, Op: query.OpIsDistinct, Value: value()}, nil
	}
	if op, config, ok := s.textSearch(); ok {
		return query.Compare{Column: column, Op: op, Config: config, Value: value()}, nil
	}
	start := s.pos
	// The longer name first where one begins with another.
	for _, op := range [...]query.Operator{
		query.OpNeq, query.OpContains, query.OpContained, query.OpOverlaps, query.OpLeft, query.OpRight,
		query.OpNotRight, query.OpNotLeft, query.OpAdjacent,
	} {
		if s.lit(string(op) + ".") {
			return query.Compare{Column: column, Op: op, Value: value()}, nil
		}
	}
	for _, op := range [...]query.Operator{
		query.OpEq, query.OpGte, query.OpGt, query.OpLte, query.OpLt,
		query.OpLike, query.OpILike, query.OpMatch, query.OpIMatch,
	} {
		if !s.lit(string(op)) {
			continue
		}
		quantifier := query.One
		switch {
		case s.lit("(any)"):
			quantifier = query.Any
		case s.lit("(all)"):
			quantifier = query.All
		}
		if s.lit(".") {
			return query.Compare{Column: column, Op: op, Quantifier: quantifier, Value: value()}, nil
		}
		s.pos = start
	}
	return nil, s.fail("operator (eq, gt, ...)")
}

// textSearch consumes a full text search's operator, and its configuration if it
// has one. Otherwise nothing is consumed.
func (s *scanner) textSearch() (op query.Operator, config string, ok bool) {
	start, far, want := s.pos, s.far, s.want
	for _, op := range [...]query.Operator{query.OpTS, query.OpPlainTS, query.OpPhraseTS, query.OpWebTS} {
		if !s.lit(string(op)) {
			continue
		}
		if s.lit("(") {
			var err error
			if config, err = s.word(); err != nil || !s.lit(")") {
				break
			}
			if config == "" { // blanks
				s.postpone(&Error{Status: http.StatusBadRequest, Code: "42602", Message: "invalid name syntax"})
			}
		}
		if s.lit(".") {
			return op, config, true
		}
		break
	}
	s.pos, s.far, s.want = start, far, want
	return "", "", false
}

// state consumes what a column can be, in any case. What follows is left.
func (s *scanner) state() (query.State, error) {
	for _, st := range [...]struct {
		text  string
		state query.State
	}{
		{"null", query.Null}, {"not_null", query.NotNull}, {"true", query.True}, {"false", query.False}, {"unknown", query.Unknown},
	} {
		if r := s.rest(); len(r) >= len(st.text) && foldASCII(r[:len(st.text)]) == st.text {
			s.pos += len(st.text)
			return st.state, nil
		}
	}
	return 0, s.fail("isVal: (null, not_null, true, false, unknown)")
}

func foldASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf {
			return unicode.ToLower(r)
		}
		return r
	}, s)
}

// list consumes an in-list. The list of one empty text without quotes is the
// empty list; PostgREST takes the quoted one for the same, which the compilers
// know.
func (s *scanner) list() ([]string, error) {
	if err := s.symbol("("); err != nil {
		return nil, err
	}
	var values []string
	bare := false
	for {
		v, isQuoted := s.quotedElement()
		if !isQuoted {
			v = s.until(",)")
			bare = true
		}
		values = append(values, v)
		if !s.lit(",") {
			break
		}
	}
	if err := s.symbol(")"); err != nil {
		return nil, err
	}
	if bare && len(values) == 1 && values[0] == "" {
		return nil, nil
	}
	return values, nil
}

// topValue consumes the value of a filter that is a parameter of its own:
// everything, quotes included.
func (s *scanner) topValue() string {
	v := s.rest()
	s.pos = len(s.in)
	return v
}

// treeValue consumes a value in a logic tree: quoted, in braces, or up to the
// next comma or parenthesis.
func (s *scanner) treeValue() string {
	if v, ok := s.quotedElement(); ok {
		return v
	}
	if s.ahead("{") {
		r := s.rest()
		if i := strings.IndexAny(r[1:], "{}"); i >= 0 && r[1+i] == '}' {
			s.pos += i + 2
			return r[:i+2]
		}
	}
	return s.until(",)")
}

// tree consumes a logic tree: a filter, or and(…), or(…) and their negations,
// tried in this order, so that a column may be called and.
func (s *scanner) tree(depth int) (query.Expr, error) {
	start, late := s.pos, s.late
	e, err := s.treeFilter()
	if err == nil {
		return e, nil
	}
	s.pos, s.late = start, late

	negated := s.lit("not.")
	l := query.Logic{}
	switch {
	case s.lit("and"):
	case s.lit("or"):
		l.Connective = query.ConnectOr
	default:
		return nil, s.fail("a filter or a logic operator (and, or)")
	}
	if depth > compile.MaxDepth {
		return nil, unsupported("a logic tree of more than 64 levels")
	}
	if err := s.symbol("("); err != nil {
		return nil, err
	}
	for {
		e, err := s.tree(depth + 1)
		if err != nil {
			return nil, err
		}
		l.Exprs = append(l.Exprs, e)
		if s.symbol(",") != nil {
			break
		}
	}
	if err := s.symbol(")"); err != nil {
		return nil, err
	}
	if negated {
		return query.Negation{Expr: l}, nil
	}
	return l, nil
}

func (s *scanner) treeFilter() (query.Expr, error) {
	column, err := s.path()
	if err != nil {
		return nil, err
	}
	if !s.lit(".") {
		return nil, s.fail("delimiter (.)")
	}
	return s.condition(column, s.treeValue)
}
