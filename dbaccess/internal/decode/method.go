package decode

import (
	"bytes"
	"database/sql"
	"encoding"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// unmarshalerFrom is the streaming method of go-json-experiment and encoding/json/v2.
type unmarshalerFrom interface {
	UnmarshalJSONFrom(*jsontext.Decoder) error
}

var (
	unmarshalerFromType = reflect.TypeFor[unmarshalerFrom]()
	unmarshalerType     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
	scannerType         = reflect.TypeFor[sql.Scanner]()
)

// fillMethod makes n read through a method of its type, if it has one that can.
func fillMethod(n *node) bool {
	t := n.typ
	p := reflect.PointerTo(t)
	switch {
	case p.Implements(unmarshalerFromType):
		n.read = readFrom
		n.nullable = holdsNull(t)
	case p.Implements(unmarshalerType):
		n.read = readJSON
		if n.nullable = holdsNull(t); n.nullable {
			n.null = func(d *decoder, v reflect.Value) error {
				return d.call(v, null, v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON([]byte("null")))
			}
		}
	case p.Implements(textUnmarshalerType):
		n.read = readText
		n.nullable = holdsNull(t)
	case p.Implements(scannerType):
		n.read = readScan
		n.nullable = true
		n.null = nullScan
	default:
		return false
	}
	return true
}

// holdsNull tells whether NULL can be told from every other value of a type with methods. UnmarshalJSON cannot be asked:
// by convention it leaves a value alone when it reads null, and answers no error. What tells is a kind that can be nil,
// a field Valid as in database/sql and pgtype, or a method IsNull.
func holdsNull(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Slice, reflect.Map:
		return true
	case reflect.Struct:
		if f, ok := t.FieldByName("Valid"); ok && f.Type.Kind() == reflect.Bool {
			return true
		}
	}
	_, ok := reflect.PointerTo(t).MethodByName("IsNull")
	return ok
}

// call turns the answer of a type's own method into an error that does not quote it.
func (d *decoder) call(v reflect.Value, k kind, answer error) error {
	if answer == nil {
		return nil
	}
	err := d.mismatch(v.Type(), k, "the type's own method refused it (see MethodError)")
	err.method = answer
	return err
}

// readFrom lets the method find half a character ("\ud800") as the error that it is.
func readFrom(d *decoder, v reflect.Value, k kind) error {
	raw, err := d.raw()
	if err != nil {
		return err
	}
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true))
	err = v.Addr().Interface().(unmarshalerFrom).UnmarshalJSONFrom(dec)
	if err == nil {
		if _, rest := dec.ReadToken(); !errors.Is(rest, io.EOF) {
			err = errors.New("UnmarshalJSONFrom did not read exactly one value")
		}
	}
	return d.call(v, k, err)
}

func readJSON(d *decoder, v reflect.Value, k kind) error {
	before := d.pos
	raw, err := d.raw()
	if err != nil {
		return err
	}
	err = d.call(v, k, v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(raw))
	if err == nil || k != text || !isSpecial(d.src[before+1:d.pos-1]) {
		return err
	}
	if _, ok := v.Addr().Interface().(sql.Scanner); !ok {
		return err
	}
	// Types of database/sql often know such values in Scan alone: pgtype.Float8 knows NaN there, pgtype.Date years BC.
	v.SetZero()
	d.pos = before
	if readScan(d, v, k) != nil {
		return err
	}
	return nil
}

// isSpecial tells whether s is what Postgres writes for a value that Go's JSON has no form or another form for.
func isSpecial(s string) bool {
	switch s {
	case "NaN", "Infinity", "-Infinity", "infinity", "-infinity":
		return true
	}
	_, ok := parseTime(s)
	return ok
}

// readText hands over text, or the digits of a number, which Postgres also calls its text.
func readText(d *decoder, v reflect.Value, k kind) error {
	var txt []byte
	switch k {
	case text:
		sp, err := d.text()
		if err != nil {
			return err
		}
		if txt, err = d.bytes(v.Type(), sp); err != nil {
			return err
		}
	case number:
		sp, _, err := d.number()
		if err != nil {
			return err
		}
		txt = d.body[sp.start:sp.end:sp.end]
	default:
		return d.mismatch(v.Type(), k, "only text and numbers are read by UnmarshalText: add UnmarshalJSON, or use json.RawMessage")
	}
	return d.call(v, k, v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText(txt))
}

// readScan hands over the nearest of the values a driver has: bool; int64 for an integer that fits, else the digits of a
// number as string; string, and the time.Time in it when the string is refused; and []byte for an object or array.
func readScan(d *decoder, v reflect.Value, k kind) error {
	var x any
	switch k {
	case boolean:
		b, err := d.boolean()
		if err != nil {
			return err
		}
		x = b
	case number:
		sp, integer, err := d.number()
		if err != nil {
			return err
		}
		digits := d.src[sp.start:sp.end]
		x = digits
		if i, err := strconv.ParseInt(digits, 10, 64); integer && err == nil {
			x = i
		}
	case text:
		sp, err := d.text()
		if err != nil {
			return err
		}
		s, err := d.string(v.Type(), sp)
		if err != nil {
			return err
		}
		if answer := v.Addr().Interface().(sql.Scanner).Scan(s); answer != nil {
			return d.scanTime(v, s, answer)
		}
		return nil
	default:
		raw, err := d.raw()
		if err != nil {
			return err
		}
		x = append(d.alloc(len(raw)), raw...)
	}
	return d.call(v, k, v.Addr().Interface().(sql.Scanner).Scan(x))
}

// scanTime hands over as a time.Time, which is what drivers give, the text that Scan refused.
func (d *decoder) scanTime(v reflect.Value, s string, answer error) error {
	if t, ok := parseTime(s); ok {
		v.SetZero()
		if v.Addr().Interface().(sql.Scanner).Scan(t) == nil {
			return nil
		}
	}
	return d.call(v, text, answer)
}

// nullScan asks Scan, as database/sql does: a type that cannot hold NULL answers an error.
func nullScan(d *decoder, v reflect.Value) error {
	answer := v.Addr().Interface().(sql.Scanner).Scan(nil)
	if answer == nil {
		return nil
	}
	if d.opts.NullAsZero {
		v.SetZero()
		return nil
	}
	err := d.nullError(v.Type())
	err.method = answer
	return err
}
