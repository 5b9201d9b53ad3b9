package query

import (
	"bytes"
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
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
//	string kinds                 a string
//	time.Time, time.Duration,
//	[]byte, [16]byte kinds       a string as [Text] writes it
//	json.RawMessage              as it is
//	json.Marshaler               what it says
//	encoding.TextMarshaler       a string
//	driver.Valuer                the JSON of its value
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

// payload is the JSON of a write and what has to be said about it.
type payload struct {
	json    []byte
	columns []string // the union of the rows' members, in order of appearance
	ragged  bool     // the rows don't all have the same members
}

// payloadOf encodes the rows of a write, or one row where many is false.
func payloadOf(v any, many bool) (payload, error) {
	if raw, ok := v.(json.RawMessage); ok {
		if !json.Valid(raw) {
			return payload{}, errors.New("the json.RawMessage is not valid JSON")
		}
		t := bytes.TrimLeft(raw, " \t\r\n")
		if t[0] != '{' && (t[0] != '[' || !many) {
			return payload{}, errShape(many)
		}
		return payload{json: raw}, nil
	}
	rv := reflect.ValueOf(v)
	for rv.Kind() == reflect.Pointer && !rv.IsNil() {
		rv = rv.Elem()
	}
	var e encoder
	switch {
	case isRow(rv):
		if err := e.row(rv); err != nil {
			return payload{}, err
		}
		return payload{json: e.buf.Bytes(), columns: e.columns}, nil
	case many && rv.Kind() == reflect.Slice:
		e.buf.WriteByte('[')
		for i := range rv.Len() {
			if i > 0 {
				e.buf.WriteByte(',')
			}
			row := rv.Index(i)
			for (row.Kind() == reflect.Pointer || row.Kind() == reflect.Interface) && !row.IsNil() {
				row = row.Elem()
			}
			if !isRow(row) {
				return payload{}, fmt.Errorf("row %d: %w", i, errShape(many))
			}
			if err := e.row(row); err != nil {
				return payload{}, fmt.Errorf("row %d: %w", i, err)
			}
			e.rows++
		}
		e.buf.WriteByte(']')
		return payload{json: e.buf.Bytes(), columns: e.columns, ragged: e.ragged}, nil
	}
	return payload{}, errShape(many)
}

func errShape(many bool) error {
	if many {
		return errors.New("rows must be a struct, a map with string keys, a slice of either, or JSON of that shape as a json.RawMessage")
	}
	return errors.New("must be a struct, a map with string keys, or a JSON object as a json.RawMessage")
}

func isRow(rv reflect.Value) bool {
	switch rv.Kind() {
	case reflect.Struct:
		_, isTime := rv.Interface().(time.Time)
		return !isTime
	case reflect.Map:
		return !rv.IsNil() && rv.Type().Key().Kind() == reflect.String
	}
	return false
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

var (
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
	rawType      = reflect.TypeFor[json.RawMessage]()
	numberType   = reflect.TypeFor[json.Number]()
)

// row writes a row: its columns, whatever methods its type has. What it would
// marshal to need not be an object, and might be a field's method in truth.
func (e *encoder) row(rv reflect.Value) error {
	if rv.Kind() == reflect.Map {
		return e.mapValue(rv, 0)
	}
	return e.structValue(rv, 0)
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
		// What is pointed to is addressable, so methods of the pointer are found.
		return e.value(rv.Elem(), depth+1)
	}
	switch rv.Type() {
	case timeType, durationType:
		return e.text(rv)
	case numberType:
		if n := rv.String(); json.Valid([]byte(n)) && n[0] != '"' && n[0] != '{' && n[0] != '[' {
			e.buf.WriteString(n)
			return nil
		}
		return errors.New("a json.Number that is not a number")
	case rawType:
		if rv.Len() == 0 {
			e.buf.WriteString("null")
			return nil
		}
		if !json.Valid(rv.Bytes()) {
			return errors.New("a json.RawMessage that is not valid JSON")
		}
		e.buf.Write(rv.Bytes())
		return nil
	}
	if done, err := e.method(rv, depth); done {
		return err
	}
	switch rv.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		t, err := kindText(rv, 0)
		e.buf.WriteString(t)
		return err
	case reflect.Float32, reflect.Float64:
		f := rv.Float()
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return e.text(rv)
		}
		e.buf.WriteString(strconv.FormatFloat(f, 'g', -1, rv.Type().Bits()))
		return nil
	case reflect.String:
		if s := rv.String(); plain(s) {
			e.string(s)
			return nil
		}
		return e.text(rv)
	case reflect.Slice, reflect.Array:
		if rv.Kind() == reflect.Slice && rv.IsNil() {
			e.buf.WriteString("null")
			return nil
		}
		if rv.Type().Elem().Kind() == reflect.Uint8 {
			return e.text(rv)
		}
		return e.array(rv, depth)
	case reflect.Map:
		return e.mapValue(rv, depth)
	case reflect.Struct:
		return e.structValue(rv, depth)
	}
	return fmt.Errorf("a value of type %s can't be sent", rv.Type())
}

// method encodes by the value's own methods, if it has any that count.
func (e *encoder) method(rv reflect.Value, depth int) (done bool, err error) {
	if rv.Type().PkgPath() == "" && rv.Kind() != reflect.Struct || !rv.CanInterface() {
		return false, nil // a type without a name of its own has no methods, but those of what a struct embeds
	}
	if rv.Kind() != reflect.Pointer && rv.CanAddr() {
		rv = rv.Addr()
	}
	switch m := rv.Interface().(type) {
	case json.Marshaler:
		b, err := m.MarshalJSON()
		if err != nil || !json.Valid(b) {
			return true, fmt.Errorf("%T can't be written as JSON", m)
		}
		e.buf.Write(b)
		return true, nil
	case encoding.TextMarshaler:
		return true, e.text(rv)
	case driver.Valuer:
		v, err := m.Value()
		if err != nil {
			return true, fmt.Errorf("%T has no value", m)
		}
		return true, e.value(reflect.ValueOf(v), depth+1)
	}
	return false, nil
}

// text writes the value's text form as a JSON string.
func (e *encoder) text(rv reflect.Value) error {
	t, err := Text(rv.Interface())
	if err != nil {
		return err
	}
	e.string(t)
	return nil
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

func (e *encoder) string(s string) {
	if plain(s) {
		e.buf.WriteByte('"')
		e.buf.WriteString(s)
		e.buf.WriteByte('"')
		return
	}
	enc := json.NewEncoder(&e.buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a valid UTF-8 string always encodes
	e.buf.Truncate(e.buf.Len() - 1)
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
		if err := o.member(k.String(), rv.MapIndex(k)); err != nil {
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
	o := e.open(depth)
	for _, f := range fields {
		fv, ok := f.in(rv)
		if !ok || f.omit(fv) {
			continue
		}
		if err := o.member(f.name, fv); err != nil {
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

func (e *encoder) open(depth int) *object {
	e.buf.WriteByte('{')
	return &object{e: e, depth: depth}
}

func (o *object) member(name string, v reflect.Value) error {
	if !plain(name) {
		if _, err := Text(name); err != nil {
			return fmt.Errorf("a member name: %w", err)
		}
	}
	if o.n > 0 {
		o.e.buf.WriteByte(',')
	}
	o.n++
	o.e.string(name)
	o.e.buf.WriteByte(':')
	if o.depth == 0 && !slices.Contains(o.e.columns, name) {
		o.e.columns = append(o.e.columns, name)
		o.e.ragged = o.e.ragged || o.e.rows > 0
	}
	if err := o.e.value(v, o.depth+1); err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	return nil
}

func (o *object) close() {
	o.e.buf.WriteByte('}')
	if o.depth == 0 {
		o.e.ragged = o.e.ragged || o.n < len(o.e.columns)
	}
}
