package compile

import (
	"strings"
	"unicode/utf8"

	"github.com/twinpath/twinpath/dbaccess/query"
)

// quoteIdent appends a name as a SQL identifier, always quoted. The name has
// passed checkName.
func quoteIdent(dst []byte, name string) []byte {
	dst = append(dst, '"')
	for i := range len(name) {
		if name[i] == '"' {
			dst = append(dst, '"')
		}
		dst = append(dst, name[i])
	}
	return append(dst, '"')
}

// quoteValue appends text to a query string as one quoted PostgREST value, which
// holds every character, structure or not, and is percent-encoded in the same
// pass.
func quoteValue(dst []byte, text string) []byte {
	dst = append(dst, "%22"...)
	for i := range len(text) {
		switch c := text[i]; c {
		case '"':
			dst = append(dst, "%5C%22"...)
		case '\\':
			dst = append(dst, "%5C%5C"...)
		default:
			dst = escape(dst, c)
		}
	}
	return append(dst, "%22"...)
}

const upperHex = "0123456789ABCDEF"

// escape appends one byte to a query string. What is left as it is stands for
// itself in a query (RFC 3986, section 3.4) and is safe with form decoding,
// which reads + as a blank.
func escape(dst []byte, c byte) []byte {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return append(dst, c)
	}
	switch c {
	case '-', '_', '.', '~', '*', '(', ')', ',', ':':
		return append(dst, c)
	}
	return append(dst, '%', upperHex[c>>4], upperHex[c&15])
}

// quoteName appends a name to a query string, quoted unless it is plain.
func quoteName(dst []byte, name string) []byte {
	if plainName(name) {
		return append(dst, name...)
	}
	return quoteValue(dst, name)
}

// plainName says whether PostgREST reads the name as it is wherever a name can
// stand. The words of its filter grammar are left out so that nobody has to
// think about them.
func plainName(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', c == '_':
		case '0' <= c && c <= '9' && i > 0:
		default:
			return false
		}
	}
	switch name {
	case "", "and", "or", "not", "count":
		return false
	}
	return true
}

// checkName refuses names that one of the two sides has no way to say.
func checkName(node, name string) error {
	switch {
	case name == "":
		return &query.UnsupportedError{Node: node, Reason: "the name is empty"}
	case name == "*":
		return &query.UnsupportedError{Node: node, Reason: "PostgREST reads the name * as all columns, quoted or not"}
	}
	return checkText(node, name)
}

// checkText refuses text that Postgres does not store.
func checkText(node, text string) error {
	switch {
	case strings.IndexByte(text, 0) >= 0:
		return &query.UnsupportedError{Node: node, Reason: "it holds a zero byte, which Postgres does not store"}
	case !utf8.ValidString(text):
		return &query.UnsupportedError{Node: node, Reason: "it is not valid UTF-8"}
	}
	return nil
}
