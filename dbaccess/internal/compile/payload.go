package compile

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"unicode/utf8"

	"github.com/twinpath/twinpath/dbaccess/query"
)

// Payload reads the body of a write or a call that names no columns, as PostgREST
// does: an object, or an array of objects that all have the same members. Those
// are the columns, sorted. Other values count as an empty array.
//
// It returns the payload that the database is to get. The error is a
// *[RefusedError] with PostgREST's code PGRST102.
func Payload(body []byte) (payload []byte, columns []string, err error) {
	if !json.Valid(body) || !utf8.Valid(body) {
		return nil, nil, refuse(http.StatusBadRequest, codeBody, "Empty or invalid json")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	switch firstByte(body) {
	case '{':
		columns, err = members(d, nil)
		return body, columns, err
	case '[':
		columns, err = rowMembers(d)
		if err != nil {
			return nil, nil, refuse(http.StatusBadRequest, codeBody, "All object keys must match")
		}
		return body, columns, nil
	}
	return []byte("[]"), nil, nil
}

// checkPayload refuses what a write can't take its columns from.
func checkPayload(s *query.Spec) error {
	if s.Op != query.OpInsert && s.Op != query.OpUpdate || len(s.Write.Columns) > 0 {
		return nil
	}
	_, _, err := Payload(s.Write.Payload)
	return err
}

// firstByte is the first byte of a JSON text that is no blank, 0 for none.
func firstByte(text []byte) byte {
	for _, c := range text {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		}
		return c
	}
	return 0
}

// isObject says whether a JSON text looks like an object.
func isObject(text []byte) bool { return firstByte(text) == '{' }

var errNotUniform = errors.New("rows differ")

// rowMembers reads an array of objects and returns the members that each of them
// has.
func rowMembers(d *json.Decoder) ([]string, error) {
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	var first, row []string
	for i := 0; d.More(); i++ {
		var err error
		if row, err = members(d, row[:0]); err != nil {
			return nil, err
		}
		if i == 0 {
			first = slices.Clone(row)
		} else if !slices.Equal(first, row) {
			return nil, errNotUniform
		}
	}
	return first, nil
}

// members reads an object and appends the names of its members, sorted, each
// once.
func members(d *json.Decoder, into []string) ([]string, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	if t != json.Delim('{') {
		return nil, errNotUniform
	}
	var skipped json.RawMessage
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		into = append(into, name.(string)) // a valid object has nothing else there
		if err := d.Decode(&skipped); err != nil {
			return nil, err
		}
	}
	if _, err := d.Token(); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	slices.Sort(into)
	return slices.Compact(into), nil
}
