package corpus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// value is a JSON value with what encoding/json would lose: the text of numbers,
// the order of members, and repeated ones.
type value struct {
	text    string // of a scalar, strings decoded and marked by a leading quote
	kind    byte   // '[', '{', or 's' for a scalar
	keys    []string
	members []value // of an object, beside keys, or the elements of an array
}

// compareJSON returns where two JSON texts differ. Whitespace doesn't count, nor
// does the order of members below the rows; volatile members of rows may have any
// value.
func compareJSON(want, got []byte, volatile []string) string {
	w, err := parseJSON(want)
	if err != nil {
		return "the recorded answer is not JSON"
	}
	g, err := parseJSON(got)
	if err != nil {
		return fmt.Sprintf("the body is not JSON: %q", short(string(got)))
	}
	return diff("", w, g, 0, volatile)
}

func parseJSON(b []byte) (value, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	v, err := parseValue(d)
	if err != nil {
		return v, err
	}
	if d.More() {
		return v, fmt.Errorf("more than one value")
	}
	return v, nil
}

func parseValue(d *json.Decoder) (value, error) {
	t, err := d.Token()
	if err != nil {
		return value{}, err
	}
	switch t := t.(type) {
	case json.Delim:
		v := value{kind: byte(t)}
		for d.More() {
			if t == '{' {
				k, err := d.Token()
				if err != nil {
					return v, err
				}
				v.keys = append(v.keys, fmt.Sprint(k))
			}
			m, err := parseValue(d)
			if err != nil {
				return v, err
			}
			v.members = append(v.members, m)
		}
		_, err := d.Token()
		return v, err
	case string:
		return value{kind: 's', text: `"` + t}, nil
	case nil:
		return value{kind: 's', text: "null"}, nil
	default: // json.Number, bool
		return value{kind: 's', text: fmt.Sprint(t)}, nil
	}
}

// rowDepth is how deep rows lie: in the answer's array, or as the answer itself.
const rowDepth = 1

func diff(path string, want, got value, depth int, volatile []string) string {
	at := path
	if at == "" {
		at = "the body"
	}
	if want.kind != got.kind {
		return fmt.Sprintf("%s: %s, want %s", at, got, want)
	}
	switch want.kind {
	case 's':
		if want.text != got.text {
			return fmt.Sprintf("%s: %s, want %s", at, got, want)
		}
	case '[':
		for i := range min(len(want.members), len(got.members)) {
			if d := diff(fmt.Sprintf("%s[%d]", path, i), want.members[i], got.members[i], depth+1, volatile); d != "" {
				return d
			}
		}
		if len(want.members) != len(got.members) {
			return fmt.Sprintf("%s: %d elements, want %d", at, len(got.members), len(want.members))
		}
	case '{':
		if depth > rowDepth {
			want, got = want.sorted(), got.sorted()
		}
		if !slices.Equal(want.keys, got.keys) {
			return fmt.Sprintf("%s: members %s, want %s", at, short(strings.Join(got.keys, ",")), short(strings.Join(want.keys, ",")))
		}
		for i, k := range want.keys {
			if depth <= rowDepth && slices.Contains(volatile, k) {
				continue
			}
			if d := diff(path+"."+k, want.members[i], got.members[i], depth+1, nil); d != "" {
				return d
			}
		}
	}
	return ""
}

// sorted returns an object with its members by name; those of one name stay in
// order.
func (v value) sorted() value {
	index := make([]int, len(v.keys))
	for i := range index {
		index[i] = i
	}
	slices.SortStableFunc(index, func(a, b int) int { return strings.Compare(v.keys[a], v.keys[b]) })
	s := value{kind: v.kind}
	for _, i := range index {
		s.keys = append(s.keys, v.keys[i])
		s.members = append(s.members, v.members[i])
	}
	return s
}

func (v value) String() string {
	switch v.kind {
	case '[':
		return fmt.Sprintf("a list of %d", len(v.members))
	case '{':
		return "an object"
	}
	return short(v.text)
}
