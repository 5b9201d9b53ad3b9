package decode

import (
	"encoding/json"
	"fmt"
	"reflect"
)

func (b *builder) fillSlice(n *node, strict bool) error {
	t := n.typ
	n.nullable = true
	if t.Elem() == byteType {
		n.read = readBytes
		return nil
	}
	if t == stringsType {
		n.read = readStrings
		return nil
	}
	elem, err := b.node(t.Elem(), strict)
	if err != nil {
		return err
	}
	empty := reflect.MakeSlice(t, 0, 0)
	n.read = func(d *decoder, v reflect.Value, k kind) error {
		if k != array {
			return d.mismatch(t, k, "a slice is read from an array: is the column one?")
		}
		v.Set(empty)
		i := 0
		return d.items(']', func() error {
			if i == v.Cap() {
				v.Grow(max(i, 4))
			}
			v.SetLen(i + 1)
			i++
			return at(d.value(elem, v.Index(i-1)), "[]")
		})
	}
	return nil
}

// readStrings is the slice of strings, the commonest of slices, in one allocation: it is gathered in a buffer first.
func readStrings(d *decoder, v reflect.Value, k kind) error {
	if k != array {
		return d.mismatch(stringsType, k, "a slice is read from an array: is the column one?")
	}
	if d.texts == nil {
		d.texts = d.fewTexts[:]
	}
	d.texts = d.texts[:0]
	err := d.items(']', func() error {
		s, err := d.stringOrNull()
		d.texts = append(d.texts, s)
		return at(err, "[]")
	})
	if err != nil {
		return err
	}
	*v.Addr().Interface().(*[]string) = append(make([]string, 0, len(d.texts)), d.texts...)
	return nil
}

func (d *decoder) stringOrNull() (string, error) {
	switch k := d.kind(); k {
	case invalid:
		return "", d.fail("no value")
	case null:
		if err := d.word("null"); err != nil || d.opts.NullAsZero {
			return "", err
		}
		return "", d.nullError(stringType)
	default:
		return d.stringOf(stringType, k)
	}
}

func (b *builder) fillArray(n *node) error {
	t := n.typ
	if t.Elem() == byteType {
		n.read = readByteArray
		return nil
	}
	elem, err := b.node(t.Elem(), false)
	if err != nil {
		return err
	}
	n.read = func(d *decoder, v reflect.Value, k kind) error {
		if k != array {
			return d.mismatch(t, k, "an array is read from an array: is the column one?")
		}
		i := 0
		err := d.items(']', func() error {
			if i == v.Len() {
				return d.mismatch(t, k, "it has more elements than the Go array: use a slice")
			}
			i++
			return at(d.value(elem, v.Index(i-1)), "[]")
		})
		if err == nil && i < v.Len() {
			return d.mismatch(t, k, "it has fewer elements than the Go array: use a slice")
		}
		return err
	}
	return nil
}

func (b *builder) fillMap(n *node) error {
	t := n.typ
	n.nullable = true
	if t.Key().Kind() != reflect.String {
		return fmt.Errorf("%s: the keys of a map are column or member names, so they have to be strings", t)
	}
	if t == anyMapType {
		n.read = readAnyMap
		return nil
	}
	elem, err := b.node(t.Elem(), false)
	if err != nil {
		return err
	}
	n.read = func(d *decoder, v reflect.Value, k kind) error {
		if k != object {
			return d.mismatch(t, k, "a map is read from an object")
		}
		v.Set(reflect.MakeMap(t))
		key := reflect.New(t.Key()).Elem()
		value := reflect.New(t.Elem()).Elem()
		return d.items('}', func() error {
			name, err := d.memberName(t)
			if err != nil {
				return err
			}
			key.SetString(name)
			value.SetZero()
			if err := d.value(elem, value); err != nil {
				return err
			}
			v.SetMapIndex(key, value)
			return nil
		})
	}
	return nil
}

// memberName reads the name of a member and its colon.
func (d *decoder) memberName(t reflect.Type) (string, error) {
	sp, err := d.name()
	if err != nil {
		return "", err
	}
	name, err := d.string(t, sp)
	if err != nil {
		return "", err
	}
	return name, d.colon()
}

func readAnyMap(d *decoder, v reflect.Value, k kind) error {
	if k != object {
		return d.mismatch(anyMapType, k, "a map is read from an object")
	}
	m, err := d.anyMap()
	if err != nil {
		return err
	}
	v.Set(reflect.ValueOf(m))
	return nil
}

func readAny(d *decoder, v reflect.Value, _ kind) error {
	x, err := d.any()
	if err != nil {
		return err
	}
	v.Set(reflect.ValueOf(x))
	return nil
}

// any reads the next value as bool, json.Number, string, []any, map[string]any or nil. A number is never a float64,
// which would lose digits of a bigint or a numeric.
func (d *decoder) any() (any, error) {
	switch d.kind() {
	case null:
		return nil, d.word("null")
	case boolean:
		return d.boolean()
	case number:
		sp, _, err := d.number()
		if err != nil {
			return nil, err
		}
		return json.Number(d.src[sp.start:sp.end]), nil
	case text:
		sp, err := d.text()
		if err != nil {
			return nil, err
		}
		return d.string(anyType, sp)
	case array:
		s := []any{}
		err := d.items(']', func() error {
			x, err := d.any()
			s = append(s, x)
			return err
		})
		return s, err
	case object:
		return d.anyMap()
	}
	return nil, d.fail("no value")
}

func (d *decoder) anyMap() (map[string]any, error) {
	m := map[string]any{}
	err := d.items('}', func() error {
		name, err := d.memberName(anyType)
		if err != nil {
			return err
		}
		m[name], err = d.any()
		return err
	})
	return m, err
}
