package query

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Column is what names a column in a filter, a sort key or a select item: its
// plain name, or a [Path] into the JSON it holds.
type Column interface{ ~string | Path }

// Path is a column and, where it holds JSON, the way into it.
type Path struct {
	Column string
	Steps  []Step
}

// Step goes one level into a JSON value.
type Step struct {
	Key     string // member of an object, when IsIndex is false
	Index   int    // element of an array, from 0; negative counts from the end
	IsIndex bool
	Text    bool // ->> instead of ->: the result is text, possible in the last step only
}

// JSON is a path into a JSON column whose result is JSON (SQL's ->). A step is a
// string, the member of an object, or an int, the element of an array.
func JSON(column string, steps ...any) Path { return makePath(column, false, steps) }

// JSONText is a path into a JSON column whose result is text (SQL's ->>), which
// is what a comparison with a string needs. Steps are as in [JSON].
func JSONText(column string, steps ...any) Path { return makePath(column, true, steps) }

func makePath(column string, text bool, steps []any) Path {
	p := Path{Column: column, Steps: make([]Step, len(steps))}
	for i, s := range steps {
		last := i == len(steps)-1
		switch s := s.(type) {
		case string:
			p.Steps[i] = Step{Key: s, Text: text && last}
		case int:
			p.Steps[i] = Step{Index: s, IsIndex: true, Text: text && last}
		default:
			// Found by check, which every use of a path passes through.
			return Path{Column: column, Steps: []Step{{Key: fmt.Sprintf("%T", s), Index: badStep}}}
		}
	}
	return p
}

// badStep marks a step of a type that is neither string nor int.
const badStep = math.MinInt

func (p Path) check() error {
	if p.Column == "" {
		return errors.New("query: a column without a name")
	}
	for i, s := range p.Steps {
		switch {
		case s.Index == badStep:
			return fmt.Errorf("query: a path into column %q has a step of type %s: use a string or an int", p.Column, s.Key)
		case s.Text && i != len(p.Steps)-1:
			return fmt.Errorf("query: a path into column %q takes text before its last step", p.Column)
		}
	}
	return nil
}

func path[C Column](c C) Path {
	switch c := any(c).(type) {
	case Path:
		return c
	case string:
		return Path{Column: c}
	}
	return Path{Column: fmt.Sprint(c)} // a named string type
}

// Item is one entry of a select list. The set of implementations is closed:
// [Star], [Field] and [Embed].
type Item interface{ item() }

// Star selects every column.
type Star struct{}

// Field selects a column or a path into one.
type Field struct {
	Path  Path
	Alias string // name in the result; defaults to the column's, or the path's last key
	Cast  string // SQL type to convert to, as a plain type name; "" means none
	// Aggregate is "sum", "avg", "count", "max" or "min" and makes the fields
	// without one the groups; "" means none. A count without a column counts
	// rows. Servers refuse aggregates unless told not to.
	Aggregate     string
	AggregateCast string // SQL type to convert the aggregate to
}

func (Star) item()  {}
func (Field) item() {}

// Col selects a column, or a path into one.
func Col[C Column](column C) Field { return Field{Path: path(column)} }

// As names the field in the result.
func (f Field) As(alias string) Field {
	f.Alias = alias
	return f
}

// To converts the field to another SQL type, given by its plain name ("text",
// "float8").
func (f Field) To(sqlType string) Field {
	f.Cast = sqlType
	return f
}

// Name is the field's name in the result: the alias, the last named step of
// the path, or the column.
func (f Field) Name() string {
	if f.Alias != "" {
		return f.Alias
	}
	for _, s := range slices.Backward(f.Path.Steps) {
		if !s.IsIndex {
			return s.Key
		}
	}
	return f.Path.Column
}

// Nulls says where a sort key puts NULL.
type Nulls uint8

// Where NULLs go. Postgres puts them last in ascending and first in descending
// order unless told otherwise.
const (
	NullsDefault Nulls = iota
	NullsFirst
	NullsLast
)

// Order is a sort key.
type Order struct {
	// Relation is the name of an embedded relation of at most one row, whose
	// column the path then is; "" is the query's own table.
	Relation string
	Path     Path
	Desc     bool
	Nulls    Nulls
}

// Asc sorts by a column, smallest first.
func Asc[C Column](column C) Order { return Order{Path: path(column)} }

// Desc sorts by a column, largest first. Note that Postgres then puts NULLs
// first; [Order.NullsLast] changes that.
func Desc[C Column](column C) Order { return Order{Path: path(column), Desc: true} }

// Of makes the key a column of an embedded relation that has at most one row,
// by the embed's name.
func (o Order) Of(relation string) Order {
	o.Relation = relation
	return o
}

// NullsFirst puts NULLs before everything else.
func (o Order) NullsFirst() Order {
	o.Nulls = NullsFirst
	return o
}

// NullsLast puts NULLs after everything else.
func (o Order) NullsLast() Order {
	o.Nulls = NullsLast
	return o
}
