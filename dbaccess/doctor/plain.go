package doctor

import "strings"

// plain returns what a server or a string says if it is harmless to repeat, else a
// stand-in: short, printable, and without what a cut-up password or a forged line of
// the report would need.
func plain(s string) string { return plainUpTo(s, 64) }

// plainHost is plain for a host's name, which may be longer.
func plainHost(s string) string { return plainUpTo(s, 253) }

func plainUpTo(s string, most int) string {
	if s == "" || len(s) > most {
		return "(not shown)"
	}
	for _, c := range s {
		if c < ' ' || c == 0x7f || c > '~' || strings.ContainsRune("=?#@%&'\"\\<>`", c) {
			return "(not shown)"
		}
	}
	return s
}

// plainCode returns an SQLSTATE or a code of PostgREST's, "" if it is none.
func plainCode(s string) string {
	if len(s) < 5 || len(s) > 9 || strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != "" {
		return ""
	}
	return s
}

// plainVersion returns the version at the start of s, digits and dots, "" if there is
// none.
func plainVersion(s string) string {
	end := strings.IndexFunc(s, func(c rune) bool { return (c < '0' || c > '9') && c != '.' })
	if end >= 0 {
		s = s[:end]
	}
	if s = strings.Trim(s, "."); len(s) > 16 {
		return ""
	}
	return s
}

// older says whether version a comes before b. Both are digits and dots.
func older(a, b string) bool {
	for a != "" || b != "" {
		var x, y string
		x, a, _ = strings.Cut(a, ".")
		y, b, _ = strings.Cut(b, ".")
		x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
		if x != y {
			return len(x) < len(y) || len(x) == len(y) && x < y
		}
	}
	return false
}
