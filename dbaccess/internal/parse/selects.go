package parse

import (
	"net/http"

	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// items consumes a select list. What follows a complete list is ignored, and a
// text that no list begins with is the empty list.
func (s *scanner) items() ([]query.Item, error) {
	var items []query.Item
	for {
		start := s.pos
		it, err := s.item()
		if err != nil {
			if len(items) == 0 && s.pos == start {
				s.postpone(unsupported("an empty select list"))
				return nil, nil
			}
			return nil, err
		}
		items = append(items, it)
		if s.symbol(",") != nil {
			return items, nil
		}
	}
}

// item consumes one entry. When what is next can't begin one, nothing is
// consumed.
func (s *scanner) item() (query.Item, error) {
	start := s.pos
	if s.embedded() {
		s.pos = len(s.in) // its own list is not read
		s.postpone(unsupported("embedding of related tables"))
		return query.Star{}, nil
	}
	s.pos = start
	s.blanks()
	if s.lit("*") {
		if s.itemEnd() {
			return query.Star{}, nil
		}
		s.pos--
	}
	var f query.Field
	f.Alias = s.alias()
	if s.lit("count()") {
		if err := s.aggregateEnd(); err == nil {
			s.postpone(errAggregate())
			return query.Star{}, nil
		}
		return nil, s.fail("end of the item")
	}
	s.blanks()
	name, err := s.name()
	if err != nil {
		return nil, err
	}
	if name == "*" { // quoted
		if f.Alias == "" && s.itemEnd() {
			return query.Star{}, nil
		}
		s.postpone(unsupported("a column named * or a row as a whole"))
	}
	if f.Path.Steps, err = s.steps(); err != nil {
		return nil, err
	}
	f.Path.Column = name
	s.checkName(f.Name())
	s.blanks()
	if s.lit("::") {
		if f.Cast, err = s.word(); err != nil {
			return nil, err
		}
		if compile.CheckCast(f.Cast) != nil {
			s.postpone(&Error{Status: http.StatusBadRequest, Code: "42601", Message: "syntax error in the type of a cast"})
		}
	}
	if s.aggregate() {
		if err := s.aggregateEnd(); err != nil {
			return nil, err
		}
		s.postpone(errAggregate())
		return f, nil
	}
	if !s.itemEnd() {
		return nil, s.fail(`"->", "::", "," or end of input`)
	}
	return f, nil
}

// alias consumes a name and the colon after it, if both are there.
func (s *scanner) alias() string {
	start, late, far, want := s.pos, s.late, s.far, s.want
	if name, err := s.name(); err == nil && s.ahead(":") && !s.ahead("::") {
		s.pos++
		return name
	}
	s.pos, s.late, s.far, s.want = start, late, far, want
	return ""
}

// itemEnd says whether what is next may follow an item.
func (s *scanner) itemEnd() bool { return s.eof() || s.ahead(",") || s.ahead(")") }

// embedded consumes the name of an embedded table, with alias and hints, up to
// the parenthesis that opens its own select list.
func (s *scanner) embedded() bool {
	late, far, want := s.late, s.far, s.want
	defer func() { s.late, s.far, s.want = late, far, want }()
	s.blanks()
	if s.lit("...") {
		_, err := s.name()
		return err == nil && s.hints() && s.ahead("(")
	}
	s.alias()
	name, err := s.name()
	return err == nil && name != "count" && s.hints() && s.ahead("(")
}

// hints consumes up to two hints of an embedded table.
func (s *scanner) hints() bool {
	for range 2 {
		if !s.lit("!") {
			return true
		}
		if s.lit("left") || s.lit("inner") {
			continue
		}
		if _, err := s.name(); err != nil {
			return false
		}
	}
	return true
}

// aggregate consumes a call of an aggregate function on a field.
func (s *scanner) aggregate() bool {
	for _, f := range [...]string{".sum()", ".avg()", ".count()", ".max()", ".min()"} {
		if s.lit(f) {
			return true
		}
	}
	return false
}

// aggregateEnd consumes the cast of an aggregate's result.
func (s *scanner) aggregateEnd() error {
	if s.lit("::") {
		if _, err := s.word(); err != nil {
			return err
		}
	}
	if !s.itemEnd() {
		return s.fail(`"::", "," or end of input`)
	}
	return nil
}

// errAggregate is PostgREST's answer in its default configuration.
func errAggregate() *Error {
	return &Error{Status: http.StatusBadRequest, Code: "PGRST123", Message: "Use of aggregate functions is not allowed"}
}
