package parse

import (
	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// embed consumes the name of an embedded table, with alias and hints, up to the
// parenthesis that opens its own select list. Otherwise nothing is consumed.
func (s *scanner) embed() (e query.Embed, ok bool) {
	start, late, far, want := s.pos, s.late, s.far, s.want
	s.blanks()
	if e.Spread = s.lit("..."); !e.Spread {
		e.Alias = s.alias()
	}
	name, err := s.name()
	// A count is an aggregate, whatever it is called with.
	if err == nil && (e.Spread || name != "count") && s.hints(&e) && s.ahead("(") {
		e.Relation = name
		return e, true
	}
	s.pos, s.late, s.far, s.want = start, late, far, want
	return query.Embed{}, false
}

// hints consumes up to two hints of an embedded table: one that tells
// relationships apart, and one that says how it is joined. Of two of a kind the
// first counts.
func (s *scanner) hints(e *query.Embed) bool {
	joined := false
	for range 2 {
		if !s.lit("!") {
			return true
		}
		inner := s.ahead("inner")
		if s.lit("left") || s.lit("inner") {
			if !joined {
				e.Inner, joined = inner, true
			}
			continue
		}
		hint, err := s.name()
		if err != nil {
			return false
		}
		if e.Hint == "" {
			e.Hint = hint
		}
	}
	return true
}

// embedItems consumes an embedded table's own select list.
func (s *scanner) embedItems(e query.Embed, depth int) (query.Item, error) {
	if depth > compile.MaxEmbedDepth {
		return nil, unsupported("embedding of more than 32 levels")
	}
	s.pos++ // the parenthesis
	var err error
	if e.Select, err = s.items(depth + 1); err != nil {
		return nil, err
	}
	if !s.lit(")") {
		return nil, s.fail(`")"`)
	}
	if e.Relation == "*" || e.Relation == "count" {
		s.postpone(unsupported("embedding of a table named " + e.Relation))
	}
	return e, nil
}
