package query

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Values returns the JSON that stands for a Go value in a write or in the
// arguments of a function; both access paths send it, and Postgres gives each
// member its column's type.
//
//	struct                       an object: a field's name is its db tag, else its json tag, else,
//	                             below the first level, its own; "-" leaves it out, and the option
//	                             omitzero or omitempty leaves it out when it is zero or empty
//	map with string keys         an object, its keys sorted
//	slice, array                 an array
//	nil, nil pointers            null
//	integers, floats, bool       as they are; "NaN", "Infinity", "-Infinity"
//	json.Number                  as it is
//	string kinds                 a string
//	time.Time, time.Duration,
//	[]byte, [16]byte kinds,
//	net.HardwareAddr, pgtype's
//	Range and Multirange         a string as [Text] writes it
//	json.RawMessage              as it is
//	sql.Null[T], sql.NullX       null, or what they hold
//	driver.Valuer                null where its value is NULL
//	json.Marshaler               what it says
//	encoding.TextMarshaler       a string
//	driver.Valuer                the JSON of its value
//
// The types that are named here come first, then methods, in this order, then
// kinds; but the rows of a write and the arguments of a call are their columns,
// whatever methods their type has. Drivers let the column decide what the string
// or the bytes of a Valuer are. Here they are a document where they hold a JSON
// object or array, else text, and bytea where they are bytes that are no text.
//
// A field that is absent keeps its column's default in an insert and its value
// in an update; a field that is null makes the column NULL. Errors name the
// field and hold no value.
func Values(v any) (json.RawMessage, error) {
	var e encoder
	if err := e.value(reflect.ValueOf(v), 0); err != nil {
		return nil, err
	}
	return e.buf.Bytes(), nil
}

const maxValueDepth = 64

// encoder writes JSON. The members of objects at depth 0 are remembered as
// columns.
type encoder struct {
	buf     bytes.Buffer
	columns []string
	rows    int // rows completed
	ragged  bool
}

func (e *encoder) value(rv reflect.Value, depth int) error {
	if depth > maxValueDepth {
		return errors.New("values nest too deeply")
	}
	if !rv.IsValid() {
		e.buf.WriteString("null")
		return nil
	}
	if k := rv.Kind(); k == reflect.Pointer || k == reflect.Interface {
		return e.value(rv.Elem(), depth+1)
	}
	switch rv.Type() {
	case timeType, durationType, hardwareType:
		return e.text(rv)
	case numberType:
		if n := rv.String(); isNumber(n) {
			e.buf.WriteString(n)
			return nil
		}
		return errNumber
	case rawType:
		if rv.Len() == 0 {
			e.buf.WriteString("null")
			return nil
		}
		if !json.Valid(rv.Bytes()) {
			return errRaw
		}
		e.buf.Write(rv.Bytes())
		return nil
	}
	f, err := formOf(rv)
	if err != nil {
		return err
	}
	switch f.kind {
	case formNull:
		e.buf.WriteString("null")
		return nil
	case formText:
		return e.string(f.text)
	case formJSON:
		e.buf.Write(f.json)
		return nil
	case formValue:
		return e.value(reflect.ValueOf(f.value), depth+1)
	}
	return e.kind(rv, depth)
}

func (e *encoder) kind(rv reflect.Value, depth int) error {
	switch rv.Kind() {
	case reflect.Bool:
		e.buf.Write(strconv.AppendBool(e.buf.AvailableBuffer(), rv.Bool()))
		return nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		e.buf.Write(strconv.AppendInt(e.buf.AvailableBuffer(), rv.Int(), 10))
		return nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		e.buf.Write(strconv.AppendUint(e.buf.AvailableBuffer(), rv.Uint(), 10))
		return nil
	case reflect.Float32, reflect.Float64:
		if f := rv.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			return e.text(rv)
		}
		e.buf.WriteString(floatText(rv.Float(), rv.Type().Bits()))
		return nil
	case reflect.String:
		return e.string(rv.String())
	case reflect.Slice, reflect.Array:
		if rv.Kind() == reflect.Slice && rv.IsNil() {
			e.buf.WriteString("null")
			return nil
		}
		if rv.Type().Elem() == byteType || isMultirange(rv.Type()) {
			return e.text(rv)
		}
		return e.array(rv, depth)
	case reflect.Map:
		return e.mapValue(rv, depth)
	case reflect.Struct:
		if isRange(rv.Type()) {
			return e.text(rv)
		}
		return e.structValue(rv, depth)
	}
	return fmt.Errorf("a value of type %s can't be sent", rv.Type())
}

// text writes the value's text form as a JSON string, or null where it is NULL.
func (e *encoder) text(rv reflect.Value) error {
	t, _, err := text(rv, 0)
	switch {
	case errors.Is(err, errNil):
		e.buf.WriteString("null")
		return nil
	case err != nil:
		return err
	}
	return e.string(t)
}

// plain says whether a text is a JSON string as it is, between quotes.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

func (e *encoder) string(s string) error {
	if plain(s) {
		e.buf.WriteByte('"')
		e.buf.WriteString(s)
		e.buf.WriteByte('"')
		return nil
	}
	if err := storable(s); err != nil {
		return err
	}
	enc := json.NewEncoder(&e.buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a valid UTF-8 string always encodes
	e.buf.Truncate(e.buf.Len() - 1)
	return nil
}

func (e *encoder) array(rv reflect.Value, depth int) error {
	e.buf.WriteByte('[')
	for i := range rv.Len() {
		if i > 0 {
			e.buf.WriteByte(',')
		}
		if err := e.value(rv.Index(i), depth+1); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	e.buf.WriteByte(']')
	return nil
}

func (e *encoder) mapValue(rv reflect.Value, depth int) error {
	if rv.IsNil() {
		e.buf.WriteString("null")
		return nil
	}
	if rv.Type().Key().Kind() != reflect.String {
		return fmt.Errorf("%s: keys must be strings", rv.Type())
	}
	keys := rv.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	o := e.open(depth)
	for _, k := range keys {
		if err := o.member(k.String(), rv.MapIndex(k), depth > 0); err != nil {
			return err
		}
	}
	o.close()
	return nil
}

func (e *encoder) structValue(rv reflect.Value, depth int) error {
	fields, err := fieldsOf(rv.Type(), depth == 0)
	if err != nil {
		return err
	}
	if depth > 0 && len(fields) == 0 && rv.NumField() > 0 {
		return fmt.Errorf("%s has no exported field and no method that says what it is", rv.Type())
	}
	o := e.open(depth)
	for _, f := range fields {
		fv, ok := f.in(rv)
		if !ok || f.omit(fv) {
			continue
		}
		if err := o.member(f.name, fv, false); err != nil {
			return err
		}
	}
	o.close()
	return nil
}

// object writes the members of one JSON object.
type object struct {
	e     *encoder
	depth int
	n     int
}

func (e *encoder) open(depth int) object {
	e.buf.WriteByte('{')
	return object{e: e, depth: depth}
}

// member writes one member. Its name goes into errors unless it is data itself, as
// the keys of a map inside a column are.
func (o *object) member(name string, v reflect.Value, data bool) error {
	if o.n > 0 {
		o.e.buf.WriteByte(',')
	}
	o.n++
	if err := o.e.string(name); err != nil {
		return fmt.Errorf("a member name: %w", err)
	}
	o.e.buf.WriteByte(':')
	if o.depth == 0 && !slices.Contains(o.e.columns, name) {
		o.e.columns = append(o.e.columns, name)
		o.e.ragged = o.e.ragged || o.e.rows > 0
	}
	err := o.e.value(v, o.depth+1)
	if err != nil && !data {
		return fmt.Errorf("%q: %w", name, err)
	}
	return err
}

func (o *object) close() {
	o.e.buf.WriteByte('}')
	if o.depth == 0 {
		o.e.ragged = o.e.ragged || o.n < len(o.e.columns)
	}
}
