package query

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// arrayText writes a Postgres array literal. Every element that is not an array
// itself is quoted, so none can be taken for NULL or for structure.
// See https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO.
func arrayText(v reflect.Value, depth int) (string, error) {
	var b strings.Builder
	b.WriteByte('{')
	for i := range v.Len() {
		if i > 0 {
			b.WriteByte(',')
		}
		t, array, err := text(v.Index(i), depth+1)
		switch {
		case errors.Is(err, errNil):
			b.WriteString("NULL")
		case err != nil:
			return "", fmt.Errorf("element %d: %w", i, err)
		case array:
			b.WriteString(t)
		default:
			writeQuoted(&b, t)
		}
	}
	b.WriteByte('}')
	return b.String(), nil
}

func writeQuoted(b *strings.Builder, s string) {
	b.WriteByte('"')
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	b.WriteByte('"')
}

// isRange recognizes pgtype.Range, whose fields tell the bounds, without
// importing it.
func isRange(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || t.NumField() != 5 {
		return false
	}
	for i, name := range []string{"Lower", "Upper", "LowerType", "UpperType", "Valid"} {
		if t.Field(i).Name != name {
			return false
		}
	}
	return t.Field(2).Type.Kind() == reflect.Uint8 && t.Field(3).Type.Kind() == reflect.Uint8 && t.Field(4).Type.Kind() == reflect.Bool
}

// isMultirange recognizes pgtype.Multirange, and not a slice of ranges, which is
// an array of them.
func isMultirange(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && isRange(t.Elem()) &&
		strings.HasPrefix(t.Name(), "Multirange[") && strings.HasSuffix(t.PkgPath(), "/pgtype")
}

// The kinds of bounds of pgtype.BoundType.
const (
	boundInclusive = 'i'
	boundExclusive = 'e'
	boundNone      = 'U'
	boundEmpty     = 'E'
)

var (
	errNullBound = errors.New("is NULL: leave it unbounded instead")
	errNullRange = errors.New("is NULL, which a multirange does not hold")
)

// rangeText writes a range literal. Bounds are quoted, so none can be taken for
// a missing one or for structure.
// See https://www.postgresql.org/docs/current/rangetypes.html#RANGETYPES-IO.
func rangeText(v reflect.Value, depth int) (string, error) {
	if !v.Field(4).Bool() {
		return "", errNil
	}
	lower, upper := v.Field(2).Uint(), v.Field(3).Uint()
	if lower == boundEmpty && upper == boundEmpty {
		return "empty", nil
	}
	var b strings.Builder
	if lower == boundInclusive {
		b.WriteByte('[')
	} else {
		b.WriteByte('(')
	}
	if err := writeBound(&b, lower, v.Field(0), depth); err != nil {
		return "", fmt.Errorf("lower bound: %w", err)
	}
	b.WriteByte(',')
	if err := writeBound(&b, upper, v.Field(1), depth); err != nil {
		return "", fmt.Errorf("upper bound: %w", err)
	}
	if upper == boundInclusive {
		b.WriteByte(']')
	} else {
		b.WriteByte(')')
	}
	return b.String(), nil
}

func writeBound(b *strings.Builder, kind uint64, v reflect.Value, depth int) error {
	switch kind {
	case boundNone:
		return nil
	case boundInclusive, boundExclusive:
	default:
		return errors.New("is neither inclusive, exclusive, unbounded nor empty")
	}
	t, _, err := text(v, depth+1)
	switch {
	case errors.Is(err, errNil):
		return errNullBound
	case err != nil:
		return err
	}
	writeQuoted(b, t)
	return nil
}

func multirangeText(v reflect.Value, depth int) (string, error) {
	var b strings.Builder
	b.WriteByte('{')
	for i := range v.Len() {
		if i > 0 {
			b.WriteByte(',')
		}
		t, err := rangeText(v.Index(i), depth+1)
		if err == errNil {
			err = errNullRange
		}
		if err != nil {
			return "", fmt.Errorf("range %d: %w", i, err)
		}
		b.WriteString(t)
	}
	b.WriteByte('}')
	return b.String(), nil
}

// floatText writes a number without an exponent where encoding/json does, so that
// an integer column takes 1e6 as it takes 1e5.
func floatText(f float64, bits int) string {
	switch abs := math.Abs(f); {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	case abs != 0 && (abs < 1e-6 || abs >= 1e21):
		return strconv.FormatFloat(f, 'e', -1, bits)
	}
	return strconv.FormatFloat(f, 'f', -1, bits)
}

func isNumber(s string) bool {
	return s != "" && (s[0] == '-' || '0' <= s[0] && s[0] <= '9') && json.Valid([]byte(s))
}

// timeText writes t as Postgres reads it: the year zero of Go's calendar is 1 BC.
func timeText(t time.Time) string {
	t = t.UTC()
	y := t.Year()
	if y > 0 && y <= 9999 {
		return t.Format("2006-01-02T15:04:05.999999999Z07:00")
	}
	era := ""
	if y <= 0 {
		y, era = 1-y, " BC"
	}
	return fmt.Sprintf("%04d-%s%s", y, t.Format("01-02T15:04:05.999999999Z07:00"), era)
}

// durationText writes d as Postgres writes an interval without days, which a time
// column takes as well.
func durationText(d time.Duration) string {
	sign, rest := "", uint64(d)
	if d < 0 {
		sign, rest = "-", -rest
	}
	nanos := rest % uint64(time.Second)
	rest /= uint64(time.Second)
	s := fmt.Sprintf("%s%02d:%02d:%02d", sign, rest/3600, rest/60%60, rest%60)
	if nanos != 0 {
		s += strings.TrimRight(fmt.Sprintf(".%09d", nanos), "0")
	}
	return s
}
