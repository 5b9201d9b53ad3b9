package parse

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"
)

// errSyntax says that the input is not what was looked for. Where and what is in
// the scanner. Every other error of a parsing method ends the parsing.
var errSyntax = errors.New("syntax")

// scanner reads one parameter's text. Its methods leave the position where it was
// or anywhere behind when they fail: who goes on after a failure resets it.
type scanner struct {
	in  string
	pos int

	hidden int // length of the front of in that the client did not send

	// The failure that came furthest, for the error message.
	far  int
	want string

	// late is the first thing found that is not a matter of grammar. It counts
	// only when the whole request is grammatical.
	late *Error
}

func (s *scanner) rest() string { return s.in[s.pos:] }

func (s *scanner) eof() bool { return s.pos == len(s.in) }

// fail records what was wanted here.
func (s *scanner) fail(want string) error {
	if s.pos >= s.far {
		s.far, s.want = s.pos, want
	}
	return errSyntax
}

// postpone keeps the first late error.
func (s *scanner) postpone(e *Error) {
	if s.late == nil {
		s.late = e
	}
}

// lit consumes a text if it is next.
func (s *scanner) lit(text string) bool {
	if !strings.HasPrefix(s.rest(), text) {
		return false
	}
	s.pos += len(text)
	return true
}

// ahead says whether a text is next.
func (s *scanner) ahead(text string) bool { return strings.HasPrefix(s.rest(), text) }

// blanks skips blanks and tabs.
func (s *scanner) blanks() {
	for !s.eof() && (s.in[s.pos] == ' ' || s.in[s.pos] == '\t') {
		s.pos++
	}
}

// symbol consumes a character and the blanks around it.
func (s *scanner) symbol(c string) error {
	start := s.pos
	s.blanks()
	if !s.lit(c) {
		err := s.fail(strconv.Quote(c))
		s.pos = start
		return err
	}
	s.blanks()
	return nil
}

// until consumes everything up to a character of the set.
func (s *scanner) until(set string) string {
	r := s.rest()
	i := strings.IndexAny(r, set)
	if i < 0 {
		i = len(r)
	}
	s.pos += i
	return r[:i]
}

// quoted consumes a quoted text, in which a backslash takes the next character
// literally.
func (s *scanner) quoted() (string, error) {
	if !s.lit(`"`) {
		return "", s.fail(`"\""`)
	}
	r := s.rest()
	if i := strings.IndexAny(r, `"\`); i >= 0 && r[i] == '"' {
		s.pos += i + 1
		return r[:i], nil
	}
	var b strings.Builder
	for {
		b.WriteString(s.until(`"\`))
		if s.eof() {
			return "", s.fail("end of the quoted text")
		}
		if s.lit(`"`) {
			return b.String(), nil
		}
		s.pos++ // the backslash
		_, n := utf8.DecodeRuneInString(s.rest())
		if n == 0 {
			return "", s.fail("a character after the backslash")
		}
		b.WriteString(s.rest()[:n])
		s.pos += n
	}
}

// quotedElement consumes a quoted text that is a whole element: what follows
// ends it. Otherwise nothing is consumed.
func (s *scanner) quotedElement() (string, bool) {
	if !s.ahead(`"`) {
		return "", false
	}
	start, far, want := s.pos, s.far, s.want
	if text, err := s.quoted(); err == nil && (s.eof() || s.ahead(",") || s.ahead(")")) {
		return text, true
	}
	s.pos, s.far, s.want = start, far, want
	return "", false
}

// refusal makes the answer to a syntax error in the named kind of parameter.
func (s *scanner) refusal(kind string) *Error {
	unexpected := "end of input"
	if s.far < len(s.in) {
		_, n := utf8.DecodeRuneInString(s.in[s.far:])
		unexpected = `"` + s.in[s.far:s.far+n] + `"`
	}
	return &Error{
		Status: http.StatusBadRequest,
		Code:   "PGRST100",
		Message: `"failed to parse ` + kind + " (" + s.in[s.hidden:] + `)" (line 1, column ` +
			strconv.Itoa(utf8.RuneCountInString(s.in[:s.far])+1) + ")",
		Details: "unexpected " + unexpected + " expecting " + s.want,
	}
}
