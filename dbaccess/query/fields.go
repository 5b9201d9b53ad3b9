package query

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// field is a struct field that is sent.
type field struct {
	name      string
	index     []int
	omitZero  bool
	omitEmpty bool
}

// in returns the field's value in a struct, and whether it is there at all: a
// nil embedded pointer has no fields.
func (f *field) in(rv reflect.Value) (reflect.Value, bool) {
	for i, x := range f.index {
		if i > 0 && rv.Kind() == reflect.Pointer {
			if rv.IsNil() {
				return reflect.Value{}, false
			}
			rv = rv.Elem()
		}
		rv = rv.Field(x)
	}
	return rv, true
}

func (f *field) omit(v reflect.Value) bool {
	if f.omitZero {
		if z, ok := v.Interface().(interface{ IsZero() bool }); ok && !(v.Kind() == reflect.Pointer && v.IsNil()) {
			return z.IsZero()
		}
		return v.IsZero()
	}
	if !f.omitEmpty {
		return false
	}
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

type fieldsKey struct {
	t       reflect.Type
	columns bool
}

// fieldCache keeps what fieldsOf found, which depends on nothing but the type.
var fieldCache sync.Map // fieldsKey → fieldsResult

type fieldsResult struct {
	fields []field
	err    error
}

// fieldsOf lists the fields of a struct type that are sent. With columns, a
// field must have a db or a json tag that names its column.
func fieldsOf(t reflect.Type, columns bool) ([]field, error) {
	key := fieldsKey{t, columns}
	if r, ok := fieldCache.Load(key); ok {
		return r.(fieldsResult).fields, r.(fieldsResult).err
	}
	var r fieldsResult
	r.fields, r.err = collect(t, columns, nil, nil)
	fieldCache.Store(key, r)
	return r.fields, r.err
}

func collect(t reflect.Type, columns bool, at []int, into []field) ([]field, error) {
	for i := range t.NumField() {
		sf := t.Field(i)
		index := append(append([]int(nil), at...), i)
		tag, tagged := sf.Tag.Lookup("db")
		if !tagged {
			tag = sf.Tag.Get("json")
		}
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case tag == "-":
			continue
		case sf.Tag.Get("embed") != "":
			continue // related rows are read, not written
		case sf.Anonymous && name == "":
			et := sf.Type
			if et.Kind() == reflect.Pointer {
				et = et.Elem()
			}
			if et.Kind() == reflect.Struct && !isValueType(et) {
				var err error
				if into, err = collect(et, columns, index, into); err != nil {
					return nil, err
				}
				continue
			}
		}
		if !sf.IsExported() {
			continue
		}
		if name == "" {
			if columns {
				return nil, fmt.Errorf("field %s of %s names no column: give it a db or a json tag, or the tag \"-\"", sf.Name, t)
			}
			name = sf.Name
		}
		f := field{name: name, index: index}
		for o := range strings.SplitSeq(options, ",") {
			f.omitZero = f.omitZero || o == "omitzero"
			f.omitEmpty = f.omitEmpty || o == "omitempty"
		}
		for _, other := range into {
			if other.name == name {
				return nil, fmt.Errorf("%s has two fields for the column %q", t, name)
			}
		}
		into = append(into, f)
	}
	return into, nil
}
