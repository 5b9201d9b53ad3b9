package compile

import (
	"strings"
	"unicode"

	"github.com/twinpath/twinpath/dbaccess/query"
)

// CheckCast reports whether a cast's type name is one that both sides can be
// given: a plain type name, one of the type names that SQL writes in several
// words, or one of these followed by "array". The error is an
// *[query.UnsupportedError].
func CheckCast(name string) error {
	_, err := appendType(nil, name)
	return err
}

// appendType appends a type name to a SQL statement. A single word that SQL has
// no syntax of its own for is folded and quoted, as the server would have done, so
// that it can be nothing but a name.
func appendType(dst []byte, name string) ([]byte, error) {
	element, isArray := strings.CutSuffix(name, " array")
	switch {
	case sqlTypes(element):
		dst = append(dst, element...)
	case plainType(element):
		dst = quoteIdent(dst, foldASCII(element))
	default:
		return dst, &query.UnsupportedError{
			Node:   "cast",
			Reason: "the type must be a plain type name, such as text, float8 or timestamp with time zone",
		}
	}
	if isArray {
		dst = append(dst, " array"...)
	}
	return dst, nil
}

// sqlTypes says whether name is a type that SQL's grammar knows by keywords,
// which quoting would turn into another type or none. See
// https://www.postgresql.org/docs/current/datatype.html.
func sqlTypes(name string) bool {
	if len(name) > maxTypeName {
		return false
	}
	switch strings.ToLower(name) {
	case "bigint", "int", "integer", "smallint", "real", "float", "double precision",
		"dec", "decimal", "numeric", "boolean", "bit", "bit varying",
		"char", "char varying", "character", "character varying", "varchar",
		"national char", "national char varying", "national character", "national character varying",
		"nchar", "nchar varying",
		"time", "time with time zone", "time without time zone",
		"timestamp", "timestamp with time zone", "timestamp without time zone",
		"interval", "interval year", "interval month", "interval day", "interval hour", "interval minute",
		"interval second", "interval year to month", "interval day to hour", "interval day to minute",
		"interval day to second", "interval hour to minute", "interval hour to second", "interval minute to second":
		return true
	}
	return false
}

const maxTypeName = 63 // bytes of a Postgres name

// plainType says whether name is one word that is a SQL identifier without
// quotes.
func plainType(name string) bool {
	if len(name) > maxTypeName {
		return false
	}
	for i, r := range name {
		switch {
		case unicode.IsLetter(r), r == '_':
		case '0' <= r && r <= '9', r == '$':
			if i == 0 {
				return false
			}
		default:
			return false
		}
	}
	return name != ""
}

// foldASCII lowers what Postgres lowers in a name without quotes.
func foldASCII(name string) string {
	for i := range len(name) {
		if 'A' <= name[i] && name[i] <= 'Z' {
			b := []byte(name)
			for ; i < len(b); i++ {
				if 'A' <= b[i] && b[i] <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return name
}
