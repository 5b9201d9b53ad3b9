package sqltext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

type kind uint8

const (
	end     kind = iota
	word         // an identifier or keyword, in lower case
	quoted       // a quoted identifier
	literal      // a value, whose text is never kept
	symbol       // any other character
)

type token struct {
	kind kind
	text string
}

// lexer takes SQL apart as Postgres does, as far as it matters for telling
// literals from names.
// Source: https://www.postgresql.org/docs/current/sql-syntax-lexical.html
type lexer struct {
	sql   string
	i     int
	end   int // where to stop reading
	depth int // of parentheses
	// unsure is set by what means different things under different settings: a
	// backslash in a plain string (standard_conforming_strings).
	unsure bool
}

// window is how much of a statement is read to name it.
const window = 16 << 10

// next returns the next token. A semicolon is the end.
func (l *lexer) next() token {
	l.skipBlanks()
	if l.i >= len(l.sql) || l.i >= l.end {
		return token{}
	}
	c := l.sql[l.i]
	switch {
	case c == ';':
		return token{}
	case c == '\'':
		l.string(false)
		return token{kind: literal}
	case c == '"':
		return l.quotedName()
	case c == '$':
		return l.dollar()
	case c >= '0' && c <= '9':
		for l.i < len(l.sql) && (isWord(rune(l.sql[l.i])) || l.sql[l.i] == '.') {
			l.i++
		}
		return token{kind: literal}
	}
	if r, _ := utf8.DecodeRuneInString(l.sql[l.i:]); isWord(r) {
		return l.word()
	}
	l.i++
	switch c {
	case '(':
		l.depth++
	case ')':
		l.depth--
	}
	return token{symbol, l.sql[l.i-1 : l.i]}
}

func (l *lexer) skipBlanks() {
	for l.i < len(l.sql) {
		switch rest := l.sql[l.i:]; {
		case strings.IndexByte(" \t\r\n\f\v", rest[0]) >= 0:
			l.i++
		case strings.HasPrefix(rest, "--"):
			n := strings.IndexAny(rest, "\r\n")
			if n < 0 {
				n = len(rest)
			}
			l.i += n
		case strings.HasPrefix(rest, "/*"):
			l.comment()
		default:
			return
		}
	}
}

// comment skips a comment with the comments in it.
func (l *lexer) comment() {
	depth := 0
	for l.i < len(l.sql) {
		switch rest := l.sql[l.i:]; {
		case strings.HasPrefix(rest, "/*"):
			depth++
			l.i += 2
		case strings.HasPrefix(rest, "*/"):
			depth--
			l.i += 2
			if depth == 0 {
				return
			}
		default:
			l.i++
		}
	}
}

// string skips a string literal, in which a doubled quote is a quote and, where
// escapes are on, a backslash takes the next character literally.
func (l *lexer) string(escapes bool) {
	for l.i++; l.i < len(l.sql); l.i++ {
		switch l.sql[l.i] {
		case '\\':
			if escapes {
				l.i++
			} else {
				l.unsure = true
			}
		case '\'':
			if l.i+1 >= len(l.sql) || l.sql[l.i+1] != '\'' {
				l.i++
				return
			}
			l.i++
		}
	}
}

func (l *lexer) quotedName() token {
	start := l.i + 1
	for l.i++; l.i < len(l.sql); l.i++ {
		if l.sql[l.i] != '"' {
			continue
		}
		if l.i+1 < len(l.sql) && l.sql[l.i+1] == '"' {
			l.i++
			continue
		}
		name := l.sql[start:l.i]
		l.i++
		return token{quoted, name}
	}
	return token{} // not closed
}

// dollar reads a parameter or skips a dollar-quoted string.
func (l *lexer) dollar() token {
	rest := l.sql[l.i:]
	n := strings.IndexByte(rest[1:], '$')
	if n < 0 || strings.ContainsFunc(rest[1:1+n], func(r rune) bool { return !isWord(r) }) || n > 0 && rest[1] >= '0' && rest[1] <= '9' {
		l.i++ // a parameter's sign; the number follows
		return token{kind: literal}
	}
	tag := rest[:n+2]
	if n := strings.Index(rest[len(tag):], tag); n >= 0 {
		l.i += len(tag) + n + len(tag)
	} else {
		l.i = len(l.sql)
	}
	return token{kind: literal}
}

func (l *lexer) word() token {
	start := l.i
	for l.i < len(l.sql) {
		r, n := utf8.DecodeRuneInString(l.sql[l.i:])
		if !isWord(r) && r != '$' {
			break
		}
		l.i += n
	}
	w := l.sql[start:l.i]
	if l.i < len(l.sql) && l.sql[l.i] == '\'' && len(w) == 1 {
		switch w[0] | 0x20 {
		case 'e':
			l.string(true)
			return token{kind: literal}
		case 'b', 'x', 'n':
			l.string(false)
			return token{kind: literal}
		}
	}
	return token{word, strings.ToLower(w)}
}

func isWord(r rune) bool {
	return r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}
