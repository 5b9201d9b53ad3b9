package pgdsn

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// parseTimeout reads a duration as Postgres does: a number of milliseconds, or a
// number with a unit.
// Source: https://www.postgresql.org/docs/current/config-setting.html#CONFIG-SETTING-NAMES-VALUES
func parseTimeout(s string) (time.Duration, error) {
	errSyntax := errors.New("must be a number of milliseconds, or one with a unit: us, ms, s, min, h, d")
	s = strings.TrimSpace(s)
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz")
	unit := time.Millisecond
	switch s[len(digits):] {
	case "", "ms":
	case "us":
		unit = time.Microsecond
	case "s":
		unit = time.Second
	case "min":
		unit = time.Minute
	case "h":
		unit = time.Hour
	case "d":
		unit = 24 * time.Hour
	default:
		return 0, errSyntax
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if err != nil || n < 0 || math.IsNaN(n) || n*float64(unit) > float64(math.MaxInt32)*float64(time.Millisecond) {
		return 0, errSyntax
	}
	return time.Duration(n * float64(unit)).Round(time.Millisecond), nil
}

// parseSearchPath reads a list of schemas as Postgres does: unquoted names are
// folded to lower case, quoted ones are taken as they are.
func parseSearchPath(s string) ([]string, error) {
	errSyntax := errors.New("must be a list of schema names separated by commas, those that are not plain in double quotes")
	var names []string
	for rest := s; ; {
		var name string
		rest = strings.TrimLeft(rest, " \t\r\n\f\v")
		if strings.HasPrefix(rest, `"`) {
			end, ok := closingQuote(rest)
			if !ok {
				return nil, errSyntax
			}
			name, rest = strings.ReplaceAll(rest[1:end], `""`, `"`), rest[end+1:]
		} else {
			end := strings.IndexAny(rest, ",\" \t\r\n\f\v")
			if end < 0 {
				end = len(rest)
			}
			name, rest = strings.ToLower(rest[:end]), rest[end:]
		}
		switch {
		case name == "":
			return nil, errSyntax
		case name == "$user":
			return nil, errors.New(`must not hold "$user": it would be another schema for every caller's role`)
		}
		names = append(names, name)
		rest = strings.TrimLeft(rest, " \t\r\n\f\v")
		if rest == "" {
			return names, nil
		}
		if rest[0] != ',' {
			return nil, errSyntax
		}
		rest = rest[1:]
	}
}

// closingQuote returns where the quoted name at the start of s ends.
func closingQuote(s string) (int, bool) {
	for i := 1; i < len(s); i++ {
		if s[i] != '"' {
			continue
		}
		if i+1 < len(s) && s[i+1] == '"' {
			i++
			continue
		}
		return i, true
	}
	return 0, false
}

// option is one setting of the parameter "options".
type option struct{ name, value string }

// parseOptions reads the command line that the parameter "options" holds: words
// separated by spaces, a backslash before a literal space or backslash, each
// setting as -c name=value or --name=value.
// Source: https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNECT-OPTIONS
func parseOptions(s string) ([]option, bool) {
	var opts []option
	words := splitOptions(s)
	for i := 0; i < len(words); i++ {
		w := words[i]
		var setting string
		switch {
		case w == "-c":
			i++
			if i == len(words) {
				return nil, false
			}
			setting = words[i]
		case strings.HasPrefix(w, "--"):
			setting = w[2:]
		case strings.HasPrefix(w, "-c"):
			setting = w[2:]
		default:
			setting = w // Supavisor's reference=…
		}
		name, value, ok := strings.Cut(setting, "=")
		if !ok || name == "" {
			return nil, false
		}
		opts = append(opts, option{strings.ReplaceAll(name, "-", "_"), value})
	}
	return opts, true
}

func splitOptions(s string) []string {
	var words []string
	var w strings.Builder
	inWord := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case strings.IndexByte(" \t\r\n\f\v", c) >= 0:
			if inWord {
				words = append(words, w.String())
				w.Reset()
				inWord = false
			}
		case c == '\\' && i+1 < len(s):
			i++
			w.WriteByte(s[i])
			inWord = true
		default:
			w.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		words = append(words, w.String())
	}
	return words
}
