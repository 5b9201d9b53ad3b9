package query

import (
	"bytes"
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// form is what a value's own methods make of it.
type form struct {
	kind  formKind
	text  string
	json  []byte
	value any
}

type formKind uint8

const (
	formNone  formKind = iota // no methods that count
	formNull                  // NULL
	formText                  // text, which JSON holds as a string
	formJSON                  // JSON
	formValue                 // another Go value
)

// methods says which methods that count a type has.
type methods struct {
	json, text, valuer bool
	pointer            bool // some of them have a pointer receiver
}

var (
	jsonMarshalerType = reflect.TypeFor[json.Marshaler]()
	textMarshalerType = reflect.TypeFor[encoding.TextMarshaler]()
	valuerType        = reflect.TypeFor[driver.Valuer]()
)

// methodCache keeps what methodsOf found, which depends on nothing but the type.
var methodCache sync.Map // reflect.Type → methods

func methodsOf(t reflect.Type) methods {
	if t.PkgPath() == "" && t.Kind() != reflect.Struct {
		return methods{} // neither a type of someone's nor a struct that embeds one
	}
	if m, ok := methodCache.Load(t); ok {
		return m.(methods)
	}
	p := reflect.PointerTo(t)
	m := methods{json: p.Implements(jsonMarshalerType), text: p.Implements(textMarshalerType), valuer: p.Implements(valuerType)}
	m.pointer = m.json != t.Implements(jsonMarshalerType) || m.text != t.Implements(textMarshalerType) || m.valuer != t.Implements(valuerType)
	methodCache.Store(t, m)
	return m
}

// formOf asks the methods of v. MarshalJSON comes first, because JSON is what is
// sent; what it can't write, such as the NaN of a pgtype.Float8 or a year BC, is
// left to Value. MarshalText comes before Value, as in encoding/json. NULL is for
// Value alone to say: the text of a missing value is anything from "" to "null".
func formOf(v reflect.Value) (form, error) {
	m := methodsOf(v.Type())
	if m == (methods{}) || !v.CanInterface() {
		return form{}, nil
	}
	if isSQLNull(v.Type()) {
		if !v.FieldByName("Valid").Bool() {
			return form{kind: formNull}, nil
		}
		return form{kind: formValue, value: v.Field(0).Interface()}, nil
	}
	if m.pointer {
		if v.CanAddr() {
			v = v.Addr()
		} else {
			p := reflect.New(v.Type())
			p.Elem().Set(v)
			v = p
		}
	}
	var value any
	failed := true
	if m.valuer {
		dv, err := v.Interface().(driver.Valuer).Value()
		value, failed = dv, err != nil
		if !failed {
			if dv == nil {
				return form{kind: formNull}, nil
			}
			if t, ok := dv.(time.Time); ok && (t.Year() < 1 || t.Year() > 9999) {
				return form{kind: formText, text: timeText(t)}, nil
			}
		}
	}
	if m.json {
		b, err := v.Interface().(json.Marshaler).MarshalJSON()
		if err == nil && json.Valid(b) {
			return form{kind: formJSON, json: b}, nil
		}
		if failed {
			return form{}, fmt.Errorf("%s can't be written as JSON", v.Type()) // the cause may quote it
		}
	}
	if m.text && !m.json {
		b, err := v.Interface().(encoding.TextMarshaler).MarshalText()
		if err == nil {
			return form{kind: formText, text: string(b)}, nil
		}
		if failed {
			return form{}, fmt.Errorf("%s has no text form", v.Type())
		}
	}
	if failed {
		return form{}, fmt.Errorf("%s has no value", v.Type())
	}
	return formOfValue(v.Type(), value), nil
}

// isSQLNull recognizes sql.Null[T], sql.NullInt64 and their kin, which are what
// they hold: Value would make numbers of a sql.Null[time.Duration] and refuse a
// sql.Null of a struct.
func isSQLNull(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.PkgPath() == "database/sql" && strings.HasPrefix(t.Name(), "Null") &&
		t.NumField() == 2 && t.Field(1).Name == "Valid"
}

// formOfValue says what a driver value stands for, which its Go type alone does
// not: drivers send strings and bytes as whatever the column is. Bytes that read
// the same as text and as bytea's escape form are sent as text.
func formOfValue(t reflect.Type, value any) form {
	switch value := value.(type) {
	case string:
		if isDocument(t, []byte(value)) {
			return form{kind: formJSON, json: []byte(value)}
		}
	case []byte:
		switch {
		case isDocument(t, value):
			return form{kind: formJSON, json: value}
		case utf8.Valid(value) && bytes.IndexByte(value, 0) < 0 && bytes.IndexByte(value, '\\') < 0:
			return form{kind: formText, text: string(value)}
		}
	}
	return form{kind: formValue, value: value}
}

// isDocument says whether the driver value of a type is a JSON object or array.
// What is a string anyway is none, nor is {} for a slice, where it is an array
// literal.
func isDocument(t reflect.Type, b []byte) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	b = trimBlanks(b)
	switch {
	case len(b) == 0 || b[0] != '{' && b[0] != '[':
		return false
	case t.Kind() == reflect.String, t.Kind() == reflect.Slice && t.Elem() != byteType && b[0] == '{':
		return false
	}
	return json.Valid(b)
}

func trimBlanks(b []byte) []byte { return bytes.Trim(b, " \t\r\n") }

func isBytes(t reflect.Type) bool { return t.Kind() == reflect.Slice && t.Elem() == byteType }

// isValueType says whether an embedded struct without a tag is one value rather
// than a row's fields: it has methods that count, and no tagged field, by which
// its author would have told which columns it has.
func isValueType(t reflect.Type) bool {
	return t == timeType || methodsOf(t) != (methods{}) && !hasTag(t, nil)
}

func hasTag(t reflect.Type, above []reflect.Type) bool {
	for _, a := range above {
		if a == t {
			return false
		}
	}
	for i := range t.NumField() {
		sf := t.Field(i)
		if name, skip := columnOf(sf); sf.IsExported() && !skip && (name != "" || sf.Tag.Get("embed") != "") {
			return true
		}
		if !sf.Anonymous {
			continue
		}
		base := sf.Type
		if base.Kind() == reflect.Pointer {
			base = base.Elem()
		}
		if base.Kind() == reflect.Struct && hasTag(base, append(above, t)) {
			return true
		}
	}
	return false
}

// columnOf gives the name in the tags of a field, "" when they have none, and
// whether the field is left out.
func columnOf(sf reflect.StructField) (name string, skip bool) {
	for _, key := range []string{"db", "json"} {
		tag := sf.Tag.Get(key)
		if tag == "-" {
			return "", true
		}
		if name, _, _ := strings.Cut(tag, ","); name != "" {
			return name, false
		}
	}
	return "", false
}

var (
	errRaw    = errors.New("a json.RawMessage that is not valid JSON")
	errNumber = errors.New("a json.Number that is not a number")
)
