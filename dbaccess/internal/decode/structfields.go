package decode

import (
	"reflect"
)

// structFields reads a JSON object into a struct.
type structFields struct {
	fields   []field
	byColumn map[string]int
	// strict objects are rows and embeds: the query selected their columns, so a missing or a repeated one is an error.
	// Others are composite and json values, which may leave members out.
	strict bool
}

// field is a column and where it goes.
type field struct {
	column string
	member string // the member's name as Postgres writes it, quotes included
	goName string // path of Go names: "Base.ID"
	index  []int
	node   *node
	embed  *Embed
}

func (o *structFields) read(d *decoder, v reflect.Value, k kind, t reflect.Type) error {
	if k != object {
		return d.mismatch(t, k, "a struct is read from an object")
	}
	if err := d.open(); err != nil {
		return err
	}
	var few [2]uint64
	seen := few[:]
	if n := (len(o.fields) + 63) / 64; n > len(few) {
		seen = make([]uint64, n)
	}
	count, next := 0, 0
	for position := 0; ; position++ {
		ok, err := d.more(position == 0, '}')
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		i, err := o.member(d, position, next)
		if err != nil {
			return err
		}
		if i < 0 {
			if err := d.skip(); err != nil {
				return err
			}
			continue
		}
		f, bit := &o.fields[i], uint64(1)<<(i%64)
		dst := f.in(v)
		if seen[i/64]&bit == 0 {
			seen[i/64] |= bit
			count++
		} else if o.strict {
			return at(d.mismatch(t, object, "the row has this column twice: name one of them differently"), f.column)
		} else {
			dst.SetZero()
		}
		if err := d.value(f.node, dst); err != nil {
			return at(err, f.column)
		}
		next = i + 1
	}
	if o.strict && count < len(o.fields) {
		for i := range o.fields {
			if seen[i/64]&(1<<(i%64)) == 0 {
				return &MissingColumnError{Column: o.fields[i].column, Row: d.row}
			}
		}
	}
	return nil
}

// member reads the name of a member with its colon and gives the index of its field, -1 when there is none. The guess
// is the field found at this position in the row before, else the field after the last one found.
func (o *structFields) member(d *decoder, position, next int) (int, error) {
	d.space()
	guess := next
	root := o == d.plan.object
	if root && position < len(d.order) {
		guess = d.order[position]
	}
	if guess >= 0 && guess < len(o.fields) {
		if name := o.fields[guess].member; len(d.src)-d.pos >= len(name) && d.src[d.pos:d.pos+len(name)] == name {
			d.pos += len(name)
			if root {
				d.remember(position, guess)
			}
			return guess, d.colon()
		}
	}
	sp, err := d.name()
	if err != nil {
		return 0, err
	}
	i := -1
	if name, err := d.string(nil, sp); err == nil {
		if found, ok := o.byColumn[name]; ok {
			i = found
		}
	}
	if root {
		d.remember(position, i)
	}
	return i, d.colon()
}

func (d *decoder) remember(position, i int) {
	if position < len(d.order) {
		d.order[position] = i
		return
	}
	if d.order == nil {
		d.order = d.fewColumns[:0]
		if n := len(d.plan.object.fields); n > len(d.fewColumns) {
			d.order = make([]int, 0, n)
		}
	}
	d.order = append(d.order, i)
}

// in gives the field inside v, making the embedded structs on the way to it that are pointers.
func (f *field) in(v reflect.Value) reflect.Value {
	if len(f.index) == 1 {
		return v.Field(f.index[0])
	}
	for i, x := range f.index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(x)
	}
	return v
}
