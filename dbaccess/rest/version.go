package rest

import (
	"strconv"
	"strings"
)

// version is a release of PostgREST. The zero value is unknown.
type version struct{ major, minor int }

// firstTimed is the release since which Server-Timing can be believed.
// Source: https://github.com/PostgREST/postgrest/pull/4522
var firstTimed = version{14, 2}

// timed says whether the release tells its time, and correctly.
func (v version) timed() bool {
	return v.major > firstTimed.major || v.major == firstTimed.major && v.minor >= firstTimed.minor
}

// parseVersion reads "14.2", "v14.2.1" or "14.2 (abcdef)". Anything else is
// unknown.
func parseVersion(s string) version {
	s, _, _ = strings.Cut(strings.TrimPrefix(s, "v"), " ")
	major, rest, _ := strings.Cut(s, ".")
	minor, _, _ := strings.Cut(rest, ".")
	v, ok := version{}, false
	if v.major, ok = digits(major); !ok {
		return version{}
	}
	if v.minor, ok = digits(minor); !ok && rest != "" {
		return version{}
	}
	return v
}

// serverVersion reads the version out of a Server header. Any server but
// PostgREST is unknown: gateways put their own name there.
func serverVersion(header string) version {
	const name = "postgrest/"
	if len(header) < len(name) || !strings.EqualFold(header[:len(name)], name) {
		return version{}
	}
	return parseVersion(header[len(name):])
}

func digits(s string) (int, bool) {
	if s == "" || len(s) > 4 || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}
