package decode

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// An Embed is a related table whose rows come nested in a column, from a field tagged
// `embed:"relation"`, `embed:"relation!hint"`, `embed:"relation!inner"` or `embed:"relation!hint!inner"`.
type Embed struct {
	Relation string // table, view or relationship to embed
	Hint     string // foreign key or column that picks one of several relationships, else empty
	Inner    bool   // leave out rows that have no related row
}

func parseEmbed(tag string) (*Embed, error) {
	parts := strings.Split(tag, "!")
	e := &Embed{Relation: parts[0]}
	if slices.Contains(parts, "") {
		return nil, fmt.Errorf("embed tag %q has an empty part: write relation[!hint][!inner]", tag)
	}
	for _, part := range parts[1:] {
		switch {
		case part == "inner" && !e.Inner:
			e.Inner = true
		case part != "inner" && e.Hint == "" && !e.Inner:
			e.Hint = part
		default:
			return nil, fmt.Errorf("embed tag %q is not relation[!hint][!inner]", tag)
		}
	}
	return e, nil
}

// columnOf gives the column that the tags of f name, "" when they name none, and whether the field is left out.
func columnOf(f reflect.StructField) (column string, skip bool) {
	for _, key := range []string{"db", "json"} {
		tag := f.Tag.Get(key)
		if tag == "-" {
			return "", true
		}
		if name, _, _ := strings.Cut(tag, ","); name != "" {
			return name, false
		}
	}
	return "", false
}

// collect adds the fields of t to o, those of embedded structs in place. path and index lead to t, above holds the
// structs on the way.
func (b *builder) collect(o *structFields, t reflect.Type, path string, index []int, above []reflect.Type, faults *[]error) {
	if slices.Contains(above, t) {
		*faults = append(*faults, fmt.Errorf("%s embeds itself", t))
		return
	}
	above = append(above, t)
	for i := range t.NumField() {
		sf := t.Field(i)
		name := path + sf.Name
		fault := func(err error) { *faults = append(*faults, fmt.Errorf("field %s: %w", name, err)) }
		column, skip := columnOf(sf)
		tag, embed := sf.Tag.Lookup("embed")
		if skip || (!sf.IsExported() && !sf.Anonymous) {
			continue
		}
		full := append(slices.Clone(index), i)
		if sf.Anonymous && column == "" && !embed {
			if base := flat(sf.Type); base != nil {
				if sf.Type.Kind() == reflect.Pointer && !sf.IsExported() {
					fault(fmt.Errorf("an embedded pointer to the unexported struct %s cannot be set: embed the struct", base))
					continue
				}
				b.collect(o, base, name+".", full, above, faults)
				continue
			}
		}
		if !sf.IsExported() {
			continue
		}
		f := field{goName: name, column: column, index: full}
		if embed {
			e, err := parseEmbed(tag)
			if err != nil {
				fault(err)
				continue
			}
			if f.embed = e; column == "" {
				f.column = e.Relation
			}
		}
		if f.column == "" {
			fault(fmt.Errorf("no column: tag it `db:\"column\"` or `json:\"column\"`, or `db:\"-\"` to leave it out"))
			continue
		}
		if err := b.add(o, f, sf.Type); err != nil {
			fault(err)
		}
	}
}

// flat gives the struct whose fields an untagged embedded field of type t stands for, nil when the field is one value.
func flat(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || isValue(t) {
		return nil
	}
	return t
}

func (b *builder) add(o *structFields, f field, t reflect.Type) error {
	if i, taken := o.byColumn[f.column]; taken {
		return fmt.Errorf("column %q belongs to field %s already", f.column, o.fields[i].goName)
	}
	quoted, err := jsontext.AppendQuote(nil, f.column)
	if err != nil {
		return fmt.Errorf("the column in its tag is not valid UTF-8")
	}
	f.member = string(quoted)
	if f.embed != nil {
		row, ok := embedRow(t)
		if !ok {
			return fmt.Errorf("an embed is read into a struct, a map, any or json.RawMessage, or a pointer or slice of one of them, not into %s", t)
		}
		if b.building[row] {
			return fmt.Errorf("the embed of %s holds itself, which would select without end", row)
		}
		if !o.strict {
			return fmt.Errorf("an embed belongs in a row or in another embed: nothing is selected for a field inside a value")
		}
	}
	if f.node, err = b.node(t, f.embed != nil); err != nil {
		return err
	}
	o.byColumn[f.column] = len(o.fields)
	o.fields = append(o.fields, f)
	return nil
}

// embedRow gives the struct of an embed's rows, nil when it is read into any, a map or json.RawMessage. It reports
// whether t can take an embed at all.
func embedRow(t reflect.Type) (row reflect.Type, ok bool) {
	for t.Kind() == reflect.Pointer || (t.Kind() == reflect.Slice && !isDocument(t)) {
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct && !isValue(t) {
		return t, true
	}
	return nil, isDocument(t)
}

// isValue tells whether a struct is one value (time.Time, sql.NullInt64, a decimal) rather than a row. A struct with a
// tagged field is a row even when it has methods of its own: its author told which columns it has.
func isValue(t reflect.Type) bool {
	n := &node{typ: t}
	return fillNamed(n) || isSQLNull(t) || isRange(t) || (fillMethod(n) && !hasTag(t, nil))
}

func hasTag(t reflect.Type, above []reflect.Type) bool {
	if slices.Contains(above, t) {
		return false
	}
	for i := range t.NumField() {
		sf := t.Field(i)
		if column, _ := columnOf(sf); sf.IsExported() && (column != "" || sf.Tag.Get("embed") != "") {
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
