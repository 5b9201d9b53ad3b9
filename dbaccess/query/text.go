package query

import (
	"database/sql/driver"
	"encoding"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Text returns the text form of a filter value, which is what both access paths
// send; Postgres gives it the column's type.
//
//	string kinds                 as they are
//	integers, floats, bool       digits; NaN, Infinity, -Infinity; true, false
//	time.Time                    RFC 3339 in UTC, years beyond 9999 and BC included;
//	                             a date or timestamp column takes its UTC wall clock
//	time.Duration                an interval in microseconds
//	[]byte                       bytea's \x form
//	[16]byte kinds               a UUID, unless they have a text form of their own
//	json.RawMessage              as it is
//	driver.Valuer                the text form of its value
//	encoding.TextMarshaler       what it says
//	slices, arrays               an array literal, elements by these rules, nil as NULL
//	maps, structs                JSON
//	pointers                     what they point to
//
// nil, a nil pointer and a Valuer whose value is NULL have no text form, nor
// have texts that Postgres could not store: those with a zero byte or invalid
// UTF-8. The error says so without the value.
func Text(v any) (string, error) {
	s, err := text(v, 0)
	if err != nil {
		return "", err
	}
	if strings.IndexByte(s, 0) >= 0 {
		return "", errors.New("text with a zero byte, which Postgres does not store")
	}
	if !utf8.ValidString(s) {
		return "", errors.New("text that is not valid UTF-8")
	}
	return s, nil
}

const maxValuerDepth = 8

func text(v any, depth int) (string, error) {
	if depth > maxValuerDepth {
		return "", fmt.Errorf("%T nests too deeply", v)
	}
	switch v := v.(type) {
	case nil:
		return "", errNil
	case string:
		return v, nil
	case time.Time:
		return timeText(v), nil
	case time.Duration:
		return strconv.FormatInt(v.Microseconds(), 10) + " microseconds", nil
	case json.RawMessage:
		return string(v), nil
	case []byte:
		if v == nil {
			return "", errNil
		}
		return `\x` + hex.EncodeToString(v), nil
	}
	rv := reflect.ValueOf(v)
	if rv.Kind() == reflect.Pointer && rv.IsNil() {
		return "", errNil
	}
	switch m := v.(type) {
	case driver.Valuer:
		dv, err := m.Value()
		if err != nil {
			return "", fmt.Errorf("%T has no value", v) // the cause may quote it
		}
		return text(dv, depth+1)
	case encoding.TextMarshaler:
		b, err := m.MarshalText()
		if err != nil {
			return "", fmt.Errorf("%T has no text form", v)
		}
		return string(b), nil
	}
	return kindText(rv, depth)
}

func kindText(rv reflect.Value, depth int) (string, error) {
	switch rv.Kind() {
	case reflect.String:
		return rv.String(), nil
	case reflect.Bool:
		return strconv.FormatBool(rv.Bool()), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(rv.Int(), 10), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return strconv.FormatUint(rv.Uint(), 10), nil
	case reflect.Float32:
		return floatText(rv.Float(), 32), nil
	case reflect.Float64:
		return floatText(rv.Float(), 64), nil
	case reflect.Pointer:
		return text(rv.Elem().Interface(), depth+1)
	case reflect.Slice, reflect.Array:
		if rv.Kind() == reflect.Slice && rv.IsNil() {
			return "", errNil
		}
		if rv.Type().Elem().Kind() == reflect.Uint8 {
			return bytesText(rv), nil
		}
		return arrayText(rv, depth)
	case reflect.Map, reflect.Struct:
		b, err := json.Marshal(rv.Interface())
		if err != nil {
			return "", fmt.Errorf("%s can't be written as JSON", rv.Type())
		}
		return string(b), nil
	}
	return "", fmt.Errorf("a value of type %s has no text form", rv.Type())
}

func bytesText(rv reflect.Value) string {
	b := make([]byte, rv.Len())
	reflect.Copy(reflect.ValueOf(b), rv)
	h := hex.EncodeToString(b)
	if rv.Kind() == reflect.Array && rv.Len() == 16 {
		return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
	}
	return `\x` + h
}

// arrayText writes a Postgres array literal. Every element that is not an array
// itself is quoted, so none can be taken for NULL or for structure.
// See https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO.
func arrayText(rv reflect.Value, depth int) (string, error) {
	var b strings.Builder
	b.WriteByte('{')
	for i := range rv.Len() {
		if i > 0 {
			b.WriteByte(',')
		}
		e := rv.Index(i)
		t, err := text(e.Interface(), depth+1)
		switch {
		case errors.Is(err, errNil):
			b.WriteString("NULL")
		case err != nil:
			return "", fmt.Errorf("element %d: %w", i, err)
		case isArray(e):
			b.WriteString(t)
		default:
			b.WriteByte('"')
			for j := range len(t) {
				if t[j] == '"' || t[j] == '\\' {
					b.WriteByte('\\')
				}
				b.WriteByte(t[j])
			}
			b.WriteByte('"')
		}
	}
	b.WriteByte('}')
	return b.String(), nil
}

// isArray says whether text wrote e as an array literal.
func isArray(e reflect.Value) bool {
	for {
		switch e.Interface().(type) {
		case driver.Valuer, encoding.TextMarshaler, json.RawMessage:
			return false
		}
		if e.Kind() != reflect.Interface && e.Kind() != reflect.Pointer {
			break
		}
		e = e.Elem()
	}
	k := e.Kind()
	return (k == reflect.Slice || k == reflect.Array) && e.Type().Elem().Kind() != reflect.Uint8
}

func floatText(f float64, bits int) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return strconv.FormatFloat(f, 'g', -1, bits)
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
