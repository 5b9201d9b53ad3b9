package parse

import (
	"net/http"

	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// items consumes a select list. What follows a complete list is left, and a text
// that no list begins with is the empty list.
func (s *scanner) items(depth int) ([]query.Item, error) {
	var items []query.Item
	embeds := 0
	for {
		start := s.pos
		it, err := s.item(depth)
		if err != nil {
			if len(items) == 0 && s.pos == start {
				return nil, nil
			}
			return nil, err
		}
		items = append(items, it)
		if _, ok := it.(query.Embed); ok {
			if embeds++; embeds > compile.MaxEmbeds {
				return nil, unsupported("a select list of more than 500 embeds")
			}
		}
		end := s.pos
		s.blanks()
		if !s.lit(",") {
			if s.pos != end { // only a field takes the blanks after it along
				return nil, s.fail(`","`)
			}
			return items, nil
		}
		s.blanks()
	}
}

// item consumes one entry. When what is next can't begin one, nothing is
// consumed.
func (s *scanner) item(depth int) (query.Item, error) {
	if e, ok := s.embed(); ok {
		return s.embedItems(e, depth)
	}
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
		f.Aggregate = "count"
		return s.aggregateEnd(f)
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
		if f.Cast, err = s.cast(); err != nil {
			return nil, err
		}
	}
	if f.Aggregate = s.aggregate(); f.Aggregate != "" {
		return s.aggregateEnd(f)
	}
	if !s.itemEnd() {
		return nil, s.fail(`"->", "::", "," or end of input`)
	}
	return f, nil
}

// cast consumes the type of a cast.
func (s *scanner) cast() (string, error) {
	name, err := s.word()
	if err == nil && compile.CheckCast(name) != nil {
		s.postpone(&Error{Status: http.StatusBadRequest, Code: "42601", Message: "syntax error in the type of a cast"})
	}
	return name, err
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

// aggregate consumes a call of an aggregate function on a field, and returns the
// function's name.
func (s *scanner) aggregate() string {
	for _, f := range [...]string{"sum", "avg", "count", "max", "min"} {
		if s.lit("." + f + "()") {
			return f
		}
	}
	return ""
}

// aggregateEnd consumes the cast of an aggregate's result.
func (s *scanner) aggregateEnd(f query.Field) (query.Item, error) {
	var err error
	if s.lit("::") {
		if f.AggregateCast, err = s.cast(); err != nil {
			return nil, err
		}
	}
	if !s.itemEnd() {
		return nil, s.fail(`"::", "," or end of input`)
	}
	return f, nil
}
