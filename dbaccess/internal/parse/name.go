package parse

import (
	"net/http"
	"strconv"
	"strings"
	"unicode"

	"github.com/twinpath/twinpath/dbaccess/query"
)

// name consumes a name: quoted, or words of letters, digits, _, $ and blanks that
// are joined by dashes. Blanks around a word don't count.
func (s *scanner) name() (string, error) {
	if s.ahead(`"`) {
		n, err := s.quoted()
		if err == nil {
			s.checkName(n)
		}
		return n, err
	}
	n, err := s.dashed(s.word)
	if err == nil {
		s.checkName(n)
	}
	return n, err
}

// checkName postpones the refusal of names that are grammatical but can't be a
// column's.
func (s *scanner) checkName(n string) {
	if n == "" {
		s.postpone(&Error{Status: http.StatusBadRequest, Code: "42601", Message: `zero-length delimited identifier at or near """"`})
	}
}

// word consumes what may stand in a name without quotes.
func (s *scanner) word() (string, error) {
	r := s.rest()
	n := strings.IndexFunc(r, func(c rune) bool {
		return !(unicode.IsLetter(c) || '0' <= c && c <= '9' || c == '_' || c == ' ' || c == '$')
	})
	if n < 0 {
		n = len(r)
	}
	if n == 0 {
		return "", s.fail("a name: letters, digits, _, $, or a quoted text")
	}
	s.pos += n
	return strings.TrimSpace(r[:n]), nil
}

// keyWord consumes what may stand in a JSON key without quotes.
func (s *scanner) keyWord() (string, error) {
	w := s.until("(-:.,>)")
	if w == "" {
		return "", s.fail("a JSON key")
	}
	return strings.TrimSpace(w), nil
}

// dashed consumes words joined by dashes. The dash of an arrow is none.
func (s *scanner) dashed(word func() (string, error)) (string, error) {
	n, err := word()
	for err == nil && s.ahead("-") && !s.ahead("->") {
		s.pos++
		var w string
		if w, err = word(); err == nil {
			n += "-" + w
		}
	}
	return n, err
}

// steps consumes the arrows after a column.
func (s *scanner) steps() ([]query.Step, error) {
	var steps []query.Step
	for {
		var step query.Step
		switch {
		case s.lit("->>"):
			step.Text = true
		case s.lit("->"):
		default:
			return steps, nil
		}
		if digits, ok := s.index(); ok {
			n, err := strconv.Atoi(digits)
			if err != nil {
				s.postpone(outOfRange(digits, "integer"))
			}
			step.Index, step.IsIndex = n, true
		} else {
			key, err := s.key()
			if err != nil {
				return nil, err
			}
			step.Key = key
		}
		steps = append(steps, step)
	}
}

// index consumes an array index, if something that may follow one does.
func (s *scanner) index() (string, bool) {
	start := s.pos
	s.lit("-")
	digits := s.pos
	for !s.eof() && '0' <= s.in[s.pos] && s.in[s.pos] <= '9' {
		s.pos++
	}
	end := s.eof() || s.ahead("->") || s.ahead("::") || s.ahead(".") || s.ahead(",")
	if s.pos == digits || !end {
		s.pos = start
		return "", false
	}
	return s.in[start:s.pos], true
}

func (s *scanner) key() (string, error) {
	if s.ahead(`"`) {
		return s.quoted()
	}
	return s.dashed(s.keyWord)
}

// path consumes a column, the arrows after it, and the blanks around both.
func (s *scanner) path() (query.Path, error) {
	s.blanks()
	p, err := s.barePath()
	s.blanks()
	return p, err
}

func (s *scanner) barePath() (query.Path, error) {
	name, err := s.name()
	if err != nil {
		return query.Path{}, err
	}
	return s.pathOf(name)
}

// pathOf consumes the arrows after a column that has been read.
func (s *scanner) pathOf(name string) (query.Path, error) {
	if name == "*" {
		s.postpone(unsupported("a column named * or a row as a whole"))
	}
	steps, err := s.steps()
	return query.Path{Column: name, Steps: steps}, err
}

// treePath consumes a parameter's name: names of embedded tables, the column, and
// the arrows after it. What follows is ignored.
func (s *scanner) treePath() (embeds []string, p query.Path, err error) {
	for {
		name, err := s.name()
		if err != nil {
			return nil, query.Path{}, err
		}
		if !s.lit(".") {
			p, err := s.pathOf(name)
			return embeds, p, err
		}
		embeds = append(embeds, name)
	}
}
