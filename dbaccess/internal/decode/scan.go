package decode

import (
	"strconv"
	"unicode/utf8"
)

// maxDepth is how deep arrays and objects may nest, the outermost array included: the limit of encoding/json and of
// jsontext, and beyond what Postgres can parse with its default stack.
const maxDepth = 10000

// kind is what a JSON value starts as.
type kind uint8

const (
	invalid kind = iota // nothing that starts a value, or the end of the body
	null
	boolean
	number
	text
	array
	object
)

func (k kind) String() string {
	switch k {
	case null:
		return "null"
	case boolean:
		return "boolean"
	case number:
		return "number"
	case text:
		return "string"
	case array:
		return "array"
	case object:
		return "object"
	}
	return "invalid"
}

// scanner walks a body once, front to back, and accepts exactly RFC 8259. It works on a string so that the texts it
// finds can be handed out as parts of it. The body has been checked for valid UTF-8 before.
type scanner struct {
	src   string
	pos   int
	depth int
}

// span is a part of the body: a number, or the inside of a string.
type span struct {
	start, end int
	escaped    bool // a string that holds a backslash
}

func (s *scanner) fail(why string) error {
	if s.pos >= len(s.src) {
		why = "it ends too early"
	}
	return &SyntaxError{Offset: int64(s.pos), Why: why}
}

// validUTF8 reports the first byte that is not UTF-8. One pass over the body is cheaper than a look at every string.
func validUTF8(src string) error {
	if utf8.ValidString(src) {
		return nil
	}
	for i, r := range src {
		if r != utf8.RuneError {
			continue
		}
		if _, size := utf8.DecodeRuneInString(src[i:]); size == 1 {
			return &SyntaxError{Offset: int64(i), Why: "invalid UTF-8"}
		}
	}
	return nil
}

func (s *scanner) space() {
	for s.pos < len(s.src) {
		switch s.src[s.pos] {
		case ' ', '\n', '\r', '\t':
			s.pos++
		default:
			return
		}
	}
}

// kind skips white space and tells what comes next.
func (s *scanner) kind() kind {
	for ; s.pos < len(s.src); s.pos++ {
		switch s.src[s.pos] {
		case ' ', '\n', '\r', '\t':
			continue
		case '"':
			return text
		case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			return number
		case '{':
			return object
		case '[':
			return array
		case 't', 'f':
			return boolean
		case 'n':
			return null
		}
		return invalid
	}
	return invalid
}

// word reads true, false or null.
func (s *scanner) word(w string) error {
	if len(s.src)-s.pos < len(w) || s.src[s.pos:s.pos+len(w)] != w {
		return s.fail("neither true, false nor null")
	}
	s.pos += len(w)
	return nil
}

func (s *scanner) boolean() (bool, error) {
	if s.src[s.pos] == 't' {
		return true, s.word("true")
	}
	return false, s.word("false")
}

// text reads a string, the scanner standing on its first quote.
func (s *scanner) text() (span, error) {
	sp := span{start: s.pos + 1}
	for i := sp.start; i < len(s.src); i++ {
		switch c := s.src[i]; {
		case c == '"':
			sp.end = i
			s.pos = i + 1
			return sp, nil
		case c == '\\':
			sp.escaped = true
			n := s.escape(i + 1)
			if n == 0 {
				s.pos = i
				return sp, s.fail("a bad escape in a string")
			}
			i += n
		case c < ' ':
			s.pos = i
			return sp, s.fail("a control character in a string")
		}
	}
	s.pos = len(s.src)
	return sp, s.fail("")
}

// escape gives the length of the escape sequence after a backslash, 0 when there is none.
func (s *scanner) escape(i int) int {
	if i >= len(s.src) {
		return 0
	}
	switch s.src[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 1
	case 'u':
		if len(s.src)-i < 5 {
			return 0
		}
		for _, c := range []byte(s.src[i+1 : i+5]) {
			if !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
				return 0
			}
		}
		return 5
	}
	return 0
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// digits reads one digit or more.
func (s *scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.src) && isDigit(s.src[s.pos]) {
		s.pos++
	}
	return s.pos > start
}

// number reads a number and tells whether it is written as an integer: no fraction, no exponent.
func (s *scanner) number() (sp span, integer bool, err error) {
	sp.start, integer = s.pos, true
	if s.src[s.pos] == '-' {
		s.pos++
	}
	if s.pos < len(s.src) && s.src[s.pos] == '0' {
		s.pos++
	} else if !s.digits() {
		return sp, false, s.fail("a number without digits")
	}
	if s.pos < len(s.src) && s.src[s.pos] == '.' {
		integer = false
		s.pos++
		if !s.digits() {
			return sp, false, s.fail("a number without digits after its point")
		}
	}
	if s.pos < len(s.src) && s.src[s.pos]|0x20 == 'e' {
		integer = false
		s.pos++
		if s.pos < len(s.src) && (s.src[s.pos] == '+' || s.src[s.pos] == '-') {
			s.pos++
		}
		if !s.digits() {
			return sp, false, s.fail("a number without digits in its exponent")
		}
	}
	sp.end = s.pos
	return sp, integer, nil
}

// open enters the array or object the scanner stands on.
func (s *scanner) open() error {
	if s.depth++; s.depth > maxDepth {
		return s.fail("nested deeper than " + strconv.Itoa(maxDepth))
	}
	s.pos++
	return nil
}

// more tells whether the array or object that ends with end has another item, and moves to it. It leaves the array or
// object when there is none.
func (s *scanner) more(first bool, end byte) (bool, error) {
	s.space()
	if s.pos >= len(s.src) {
		return false, s.fail("")
	}
	switch c := s.src[s.pos]; {
	case c == end:
		s.pos++
		s.depth--
		return false, nil
	case first:
		return true, nil
	case c != ',':
		return false, s.fail("neither a comma nor the end of an array or object")
	}
	s.pos++
	s.space()
	if s.pos < len(s.src) && s.src[s.pos] == end {
		return false, s.fail("a comma before the end of an array or object")
	}
	return true, nil
}

// name reads the name of a member, up to but not with its colon.
func (s *scanner) name() (span, error) {
	if s.kind() != text {
		return span{}, s.fail("a member without a name")
	}
	return s.text()
}

func (s *scanner) colon() error {
	if s.pos < len(s.src) && s.src[s.pos] == ':' { // as Postgres writes it
		s.pos++
		return nil
	}
	s.space()
	if s.pos >= len(s.src) || s.src[s.pos] != ':' {
		return s.fail("a member without a colon")
	}
	s.pos++
	return nil
}

// skip reads one value, whatever it is.
func (s *scanner) skip() error {
	var err error
	switch s.kind() {
	case null:
		return s.word("null")
	case boolean:
		_, err = s.boolean()
	case number:
		_, _, err = s.number()
	case text:
		_, err = s.text()
	case array:
		err = s.items(']', s.skip)
	case object:
		err = s.items('}', s.skipMember)
	default:
		err = s.fail("no value")
	}
	return err
}

func (s *scanner) skipMember() error {
	if _, err := s.name(); err != nil {
		return err
	}
	if err := s.colon(); err != nil {
		return err
	}
	return s.skip()
}

// items calls item for every item of the array or object that ends with end.
func (s *scanner) items(end byte, item func() error) error {
	if err := s.open(); err != nil {
		return err
	}
	for first := true; ; first = false {
		ok, err := s.more(first, end)
		if !ok || err != nil {
			return err
		}
		if err := item(); err != nil {
			return err
		}
	}
}

// end checks that only white space is left.
func (s *scanner) end() error {
	s.space()
	if s.pos < len(s.src) {
		return s.fail("something follows the value")
	}
	return nil
}
