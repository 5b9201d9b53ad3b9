package query

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Text returns the text form of a filter value, which is what both access paths
// send; Postgres gives it the column's type. It is the text that [Values] puts
// into a JSON string, so a value means the same in a filter and in a write.
//
//	string kinds                 as they are
//	integers, floats, bool       digits; NaN, Infinity, -Infinity; true, false
//	json.Number                  as it is
//	time.Time                    RFC 3339 in UTC, years beyond 9999 and BC included;
//	                             a date or timestamp column takes its UTC wall clock
//	time.Duration                hours:minutes:seconds, for interval and time columns
//	[]byte                       bytea's \x form
//	[16]byte kinds               a UUID, unless they have a text form of their own
//	net.HardwareAddr             a macaddr
//	json.RawMessage              as it is
//	sql.Null[T], sql.NullX       what they hold
//	json.Marshaler               the text in the JSON string that it writes, else the
//	                             JSON; the JSON always where it is a kind of []byte
//	encoding.TextMarshaler       what it says
//	driver.Valuer                the text form of its value
//	pgtype.Range and Multirange  a range literal, bounds by these rules
//	other slices, arrays         an array literal, elements by these rules, nil as NULL
//	maps, other structs          JSON, as [Values] writes it inside a column
//	pointers                     what they point to
//
// The first line that fits the type is used. A Valuer whose value is NULL is
// NULL, whatever other methods it has. One whose []byte or string holds a JSON
// object or array has a JSON document for its value.
//
// nil, a nil pointer and NULL have no text form, nor have texts that Postgres
// could not store: those with a zero byte or invalid UTF-8. The error says so
// without the value.
func Text(v any) (string, error) {
	s, _, err := text(reflect.ValueOf(v), 0)
	if err != nil {
		return "", err
	}
	return s, storable(s)
}

var (
	errZeroByte = errors.New("text with a zero byte, which Postgres does not store")
	errUTF8     = errors.New("text that is not valid UTF-8")
	errTooDeep  = errors.New("a value that nests too deeply")
)

func storable(s string) error {
	switch {
	case strings.IndexByte(s, 0) >= 0:
		return errZeroByte
	case !utf8.ValidString(s):
		return errUTF8
	}
	return nil
}

// Types that are known by name. They come before any method or kind.
var (
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
	rawType      = reflect.TypeFor[json.RawMessage]()
	numberType   = reflect.TypeFor[json.Number]()
	byteType     = reflect.TypeFor[byte]()
	hardwareType = reflect.TypeFor[net.HardwareAddr]()
)

// maxTextDepth has room for six dimensions, the most that Postgres has, of
// pointers in interfaces.
const maxTextDepth = 24

// text gives the text form of v, and whether it is an array literal.
func text(v reflect.Value, depth int) (s string, array bool, err error) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return "", false, errNil
		}
		if depth++; depth > maxTextDepth {
			return "", false, errTooDeep
		}
		v = v.Elem()
	}
	switch {
	case !v.IsValid():
		return "", false, errNil
	case depth > maxTextDepth:
		return "", false, errTooDeep
	}
	if s, ok, err := namedText(v); ok {
		return s, false, err
	}
	if v.Type() == rawType {
		raw := v.Bytes()
		switch {
		case len(raw) == 0:
			return "", false, errNil
		case !json.Valid(raw):
			return "", false, errRaw
		}
		return string(raw), false, nil
	}
	f, err := formOf(v)
	if err != nil {
		return "", false, err
	}
	switch f.kind {
	case formNull:
		return "", false, errNil
	case formText:
		return f.text, false, nil
	case formJSON:
		if isBytes(v.Type()) {
			return string(f.json), false, nil
		}
		return textOfJSON(f.json)
	case formValue:
		return text(reflect.ValueOf(f.value), depth+1)
	}
	return kindText(v, depth)
}

// textOfJSON gives the text that stands in a JSON string, and other JSON as it is.
func textOfJSON(b []byte) (string, bool, error) {
	switch b = trimBlanks(b); {
	case string(b) == "null":
		return "", false, errNil
	case b[0] != '"':
		return string(b), false, nil
	}
	var s string
	err := json.Unmarshal(b, &s)
	return s, false, err
}

// namedText writes the types that are known by name.
func namedText(v reflect.Value) (s string, ok bool, err error) {
	switch v.Type() {
	case timeType:
		return timeText(v.Interface().(time.Time)), true, nil
	case durationType:
		return durationText(time.Duration(v.Int())), true, nil
	case numberType:
		if n := v.String(); isNumber(n) {
			return n, true, nil
		}
		return "", true, errNumber
	case hardwareType:
		if v.IsNil() {
			return "", true, errNil
		}
		return net.HardwareAddr(v.Bytes()).String(), true, nil
	}
	return "", false, nil
}

func kindText(v reflect.Value, depth int) (s string, array bool, err error) {
	switch v.Kind() {
	case reflect.String:
		return v.String(), false, nil
	case reflect.Bool:
		return strconv.FormatBool(v.Bool()), false, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10), false, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return strconv.FormatUint(v.Uint(), 10), false, nil
	case reflect.Float32, reflect.Float64:
		return floatText(v.Float(), v.Type().Bits()), false, nil
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.IsNil() {
			return "", false, errNil
		}
		if v.Type().Elem() == byteType {
			return bytesText(v), false, nil
		}
		if isMultirange(v.Type()) {
			s, err = multirangeText(v, depth)
			return s, false, err
		}
		s, err = arrayText(v, depth)
		return s, true, err
	case reflect.Map, reflect.Struct:
		if isRange(v.Type()) {
			s, err = rangeText(v, depth)
			return s, false, err
		}
		var e encoder
		if err := e.value(v, 1); err != nil {
			return "", false, err
		}
		return textOfJSON(e.buf.Bytes()) // a nil map is null
	}
	return "", false, fmt.Errorf("a value of type %s has no text form", v.Type())
}

func bytesText(v reflect.Value) string {
	b := make([]byte, v.Len())
	reflect.Copy(reflect.ValueOf(b), v)
	h := hex.EncodeToString(b)
	if v.Kind() == reflect.Array && v.Len() == 16 {
		return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
	}
	return `\x` + h
}
