package compile

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// HeadersSetting is what PostgREST sets request.headers to for a request with these
// headers: a JSON object, names in lower case, without the cookies. Of a header
// that is there several times the last value counts. Here the names are sorted;
// PostgREST has them in no particular order.
// Source: https://docs.postgrest.org/en/stable/references/transactions.html#request-headers-cookies-and-jwt-claims
func HeadersSetting(h http.Header) string {
	if len(h) == 0 {
		return noFields
	}
	fields := make([]HeaderField, 0, len(h))
	for name, values := range h {
		if name != "Cookie" && len(values) > 0 {
			fields = append(fields, HeaderField{strings.ToLower(name), strings.Trim(values[len(values)-1], " \t")})
		}
	}
	return fieldsSetting(fields)
}

// CookiesSetting is what PostgREST sets request.cookies to: a JSON object of the
// first Cookie header's pairs. A pair's name begins behind the spaces, its value
// is whatever follows the first "=", and of one name the last value counts, as in
// the Haskell package cookie.
func CookiesSetting(h http.Header) string {
	header := h["Cookie"]
	if len(header) == 0 {
		return noFields
	}
	var fields []HeaderField
	for rest := strings.Trim(header[0], " \t"); rest != ""; {
		var pair string
		pair, rest, _ = strings.Cut(rest, ";")
		name, value, _ := strings.Cut(pair, "=")
		fields = append(fields, HeaderField{strings.TrimLeft(name, " "), value})
	}
	slices.Reverse(fields) // so that the last of a name is the first
	return fieldsSetting(fields)
}

// noFields is the setting of a request without headers, or cookies.
const noFields = "{}"

// fieldsSetting writes fields as a JSON object, each name once.
func fieldsSetting(fields []HeaderField) string {
	slices.SortStableFunc(fields, func(a, b HeaderField) int { return strings.Compare(a.Name, b.Name) })
	size := len(noFields)
	for _, f := range fields {
		size += len(f.Name) + len(f.Value) + len(`"":"",`)
	}
	b := append(make([]byte, 0, size), '{')
	for i, f := range fields {
		if i > 0 && f.Name == fields[i-1].Name {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = appendJSON(b, f.Name)
		b = append(b, ':')
		b = appendJSON(b, f.Value)
	}
	return string(append(b, '}'))
}

// appendJSON appends a JSON string. What is not UTF-8 becomes U+FFFD.
func appendJSON(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < ' ':
			b = append(b, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		case r == utf8.RuneError:
			b = utf8.AppendRune(b, r)
		default:
			b = append(b, s[i:i+utf8.RuneLen(r)]...)
		}
	}
	return append(b, '"')
}
