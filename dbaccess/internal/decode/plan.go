package decode

import (
	"fmt"
	"reflect"
	"sync"
)

// A Plan knows how to read rows into one Go type. It is immutable and safe for concurrent use.
type Plan struct {
	typ     reflect.Type
	root    *node
	object  *structFields // nil unless the rows are structs
	columns []Column
	scalar  bool
}

// A Column is a column that a struct row reads.
type Column struct {
	Name     string       // name of the column, or of the nested member for an embed
	Field    string       // Go field, with the embedded structs it lies in: "Base.ID"
	Type     reflect.Type // type of the field
	Nullable bool         // whether the field can hold SQL NULL; a type with Scan says so only when it is asked
	Embed    *Embed       // set when the column is an embedded relation
	Nested   *Plan        // plan of the embedded relation's rows; nil when they are not read into structs
}

// Type is the Go type of a row.
func (p *Plan) Type() reflect.Type { return p.typ }

// Columns are the columns of a struct row, in the order of its fields. Other row types have none: they take what the
// query selects. Callers must not change the slice.
func (p *Plan) Columns() []Column { return p.columns }

// Scalar tells whether a row is one value, so that the query has to select exactly one column.
func (p *Plan) Scalar() bool { return p.scalar }

// A Cache keeps the plans it made, which are costly to make and needed for every call. The zero Cache is ready to use,
// and it is safe for concurrent use. It holds one plan for each row type of the program.
type Cache struct {
	plans sync.Map // reflect.Type → *planned
}

type planned struct {
	plan *Plan
	err  error
}

// PlanFor gives the plan of T from c, making it at the first call. The error names every field that cannot be read.
func PlanFor[T any](c *Cache) (*Plan, error) { return c.Plan(reflect.TypeFor[T]()) }

// Plan gives the plan of t, making it at the first call. The error names every field that cannot be read.
func (c *Cache) Plan(t reflect.Type) (*Plan, error) {
	if e, ok := c.plans.Load(t); ok {
		e := e.(*planned)
		return e.plan, e.err
	}
	p, err := newPlan(t)
	if err != nil {
		p, err = nil, fmt.Errorf("decode: rows cannot be read into %s: %w", t, err)
	}
	e, _ := c.plans.LoadOrStore(t, &planned{p, err})
	first := e.(*planned)
	return first.plan, first.err
}

func newPlan(t reflect.Type) (*Plan, error) {
	if t == nil {
		return nil, fmt.Errorf("no type")
	}
	b := &builder{
		nodes:    make(map[nodeKey]*node),
		rows:     make(map[reflect.Type]*structFields),
		building: make(map[reflect.Type]bool),
	}
	return b.plan(t)
}

// plan makes the plan of t as a row.
func (b *builder) plan(t reflect.Type) (*Plan, error) {
	base := t
	for base.Kind() == reflect.Pointer {
		base = base.Elem()
	}
	row := base.Kind() == reflect.Struct && !isValue(base)
	root, err := b.node(t, row)
	if err != nil {
		return nil, err
	}
	p := &Plan{typ: t, root: root, scalar: !row && !isDocument(base)}
	if !row {
		return p, nil
	}
	p.object = b.rows[base]
	for _, f := range p.object.fields {
		c := Column{Name: f.column, Field: f.goName, Type: f.node.typ, Nullable: f.node.nullable, Embed: f.embed}
		if f.embed != nil {
			if r, _ := embedRow(f.node.typ); r != nil {
				if c.Nested, err = b.plan(r); err != nil {
					return nil, err
				}
			}
		}
		p.columns = append(p.columns, c)
	}
	return p, nil
}

// isDocument tells whether a row read into t is the whole object rather than its only member.
func isDocument(t reflect.Type) bool {
	n := &node{typ: t}
	return t == rawType || t == valueType || t == anyType || (t.Kind() == reflect.Map && !fillMethod(n))
}
