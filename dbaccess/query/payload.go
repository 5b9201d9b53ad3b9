package query

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

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
		return rv.Type() != timeType
	case reflect.Map:
		return !rv.IsNil() && rv.Type().Key().Kind() == reflect.String
	}
	return false
}

// row writes a row: its columns, whatever methods its type has. What it would
// marshal to need not be an object, and might be a field's method in truth.
func (e *encoder) row(rv reflect.Value) error {
	if rv.Kind() == reflect.Map {
		return e.mapValue(rv, 0)
	}
	return e.structValue(rv, 0)
}
