package parse

import (
	"net/http"
	"strings"
	"unicode/utf8"
)

// pair is a parameter as PostgREST's HTTP library reads it.
type pair struct {
	key, value string
	hasValue   bool // an = was there
}

// pairs splits and decodes a query string. Semicolons separate as ampersands do.
func pairs(rawQuery string) ([]pair, *Error) {
	rawQuery = strings.TrimPrefix(rawQuery, "?")
	var ps []pair
	for rawQuery != "" {
		part := rawQuery
		if i := strings.IndexAny(rawQuery, "&;"); i >= 0 {
			part, rawQuery = rawQuery[:i], rawQuery[i+1:]
		} else {
			rawQuery = ""
		}
		k, v, hasValue := strings.Cut(part, "=")
		p := pair{key: unescape(k, true), value: unescape(v, true), hasValue: hasValue}
		for _, s := range [...]string{p.key, p.value} {
			if e := clean(s); e != nil {
				return nil, e
			}
		}
		ps = append(ps, p)
	}
	return ps, nil
}

// unescape decodes percent encoding. What is no valid encoding stands for
// itself.
func unescape(s string, plus bool) string {
	if !strings.ContainsAny(s, "%+") {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '+' && plus:
			b = append(b, ' ')
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			b = append(b, fromHex(s[i+1])<<4|fromHex(s[i+2]))
			i += 2
		default:
			b = append(b, c)
		}
	}
	return string(b)
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func fromHex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	}
	return c - 'a' + 10
}

// clean refuses text that the server could not read.
func clean(s string) *Error {
	switch {
	case strings.IndexByte(s, 0) >= 0:
		return &Error{Status: http.StatusBadRequest, Code: "22021", Message: `invalid byte sequence for encoding "UTF8": 0x00`}
	case !utf8.ValidString(s):
		return &Error{Status: http.StatusBadRequest, Code: "22021", Message: `invalid byte sequence for encoding "UTF8"`}
	}
	return nil
}
