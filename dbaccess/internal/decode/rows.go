package decode

import (
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"
)

// Options are the choices a caller of [Rows] and [Row] has.
type Options struct {
	// NullAsZero reads SQL NULL into a value that cannot hold it as the zero value, as encoding/json does. It cannot be
	// told from a real zero afterwards. Defaults to false: such a NULL is a [*TypeError] that wraps [ErrNull].
	NullAsZero bool
}

// Rows reads a body that is an array of rows, with the plan of T. No rows are an empty slice, not nil. After an error
// there are no rows at all.
//
// Strings in the result are parts of one copy of the body, so keeping one of them keeps that copy: strings.Clone lets
// go of it. The body itself is not changed and not kept, but the methods of T's own types get parts of it to read.
func Rows[T any](p *Plan, body []byte, o Options) ([]T, error) {
	rows, _, err := RowsAndLast[T](p, body, o)
	return rows, err
}

// RowsAndLast is [Rows] that also returns the JSON of the last row, which is a part of body, or nil when there are no
// rows.
func RowsAndLast[T any](p *Plan, body []byte, o Options) (rows []T, last []byte, err error) {
	if err := planFits[T](p); err != nil {
		return nil, nil, err
	}
	d, err := newDecoder(p, body, o)
	if err != nil {
		return nil, nil, err
	}
	switch k := d.kind(); k {
	case array:
	case invalid:
		return nil, nil, d.fail("no value")
	default:
		return nil, nil, d.fail("a value that is not an array of rows: " + k.String())
	}
	if err := d.open(); err != nil {
		return nil, nil, err
	}
	rows = []T{}
	for first := true; ; first = false {
		start := d.pos
		ok, err := d.more(first, ']')
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			break
		}
		var zero T
		rows = append(rows, zero)
		last = body[d.pos:]
		if err := d.readRow(reflect.ValueOf(&rows[len(rows)-1]).Elem()); err != nil {
			return nil, nil, err
		}
		last = last[:len(last)-len(body)+d.pos]
		if first {
			rows = roomFor(rows, (len(d.src)-d.pos)/(d.pos-start))
		}
		d.row++
	}
	if err := d.end(); err != nil {
		return nil, nil, err
	}
	return rows, last, nil
}

// maxRoom bounds the guess of how many rows follow the first, so that a short first row does not claim much memory.
const maxRoom = 1024

// roomFor moves the first row to a slice with room for about n more, an eighth to spare.
func roomFor[T any](rows []T, n int) []T {
	n = min(n+n/8, maxRoom)
	if n == 0 {
		return rows
	}
	return append(make([]T, 0, n+1), rows...)
}

// Row reads a body that is one row: an object, or a bare value for a row of one value.
func Row[T any](p *Plan, body []byte, o Options) (T, error) {
	var zero, row T
	if err := planFits[T](p); err != nil {
		return zero, err
	}
	d, err := newDecoder(p, body, o)
	if err != nil {
		return zero, err
	}
	if err := d.readRow(reflect.ValueOf(&row).Elem()); err != nil {
		return zero, err
	}
	if err := d.end(); err != nil {
		return zero, err
	}
	return row, nil
}

func planFits[T any](p *Plan) error {
	if t := reflect.TypeFor[T](); p.typ != t {
		return fmt.Errorf("decode: the plan is for %s, not for %s", p.typ, t)
	}
	return nil
}

// decoder is the state of one call. It is a scanner that knows how to fill Go values.
type decoder struct {
	scanner
	body []byte // the same bytes as src, for the methods that want bytes
	plan *Plan
	opts Options
	row  int

	// order holds, for each position in a row, the field found there in the row before (-1: none). Rows of one
	// result have their columns in one order, so the look-up by name is needed for the first row only.
	order []int
	// arena is where byte slices are cut from, to save an allocation for each.
	arena   []byte
	scratch []byte
	texts   []string

	// What order and texts begin with.
	fewColumns [16]int
	fewTexts   [8]string
}

func newDecoder(p *Plan, body []byte, o Options) (*decoder, error) {
	d := &decoder{scanner: scanner{src: string(body)}, body: body, plan: p, opts: o}
	if err := validUTF8(d.src); err != nil {
		return nil, err
	}
	if d.space(); d.pos == len(d.src) {
		return nil, &SyntaxError{Offset: int64(d.pos), Why: "it is empty"}
	}
	return d, nil
}

// readRow fills v from the next row. A row of one value comes as an object with one member from a table, and bare
// from a function.
func (d *decoder) readRow(v reflect.Value) error {
	n := d.plan.root
	if !d.plan.Scalar() || d.kind() != object {
		return d.value(n, v)
	}
	if err := d.open(); err != nil {
		return err
	}
	ok, err := d.more(true, '}')
	if err != nil {
		return err
	}
	if !ok {
		return d.mismatch(n.typ, object, "the row has no column")
	}
	if _, err := d.name(); err != nil {
		return err
	}
	if err := d.colon(); err != nil {
		return err
	}
	if err := d.value(n, v); err != nil {
		return err
	}
	if ok, err = d.more(false, '}'); ok {
		return d.mismatch(n.typ, object, "the row has more than one column: select one, or read it into a struct")
	}
	return err
}

// value fills v, which is the zero value, from the next value of the body.
func (d *decoder) value(n *node, v reflect.Value) error {
	k := d.kind()
	switch k {
	case invalid:
		return d.fail("no value")
	case null:
		if err := d.word("null"); err != nil {
			return err
		}
		return d.setNull(n, v)
	}
	return n.read(d, v, k)
}

func (d *decoder) setNull(n *node, v reflect.Value) error {
	switch {
	case n.null != nil:
		return n.null(d, v)
	case n.nullable || d.opts.NullAsZero:
		return nil
	}
	return d.nullError(n.typ)
}

func (d *decoder) nullError(t reflect.Type) *TypeError {
	err := d.mismatch(t, null, fmt.Sprintf("SQL NULL has no value of this type: use *%s or sql.Null[%s], or set NullAsZero", t, t))
	err.reason = ErrNull
	return err
}

func (d *decoder) mismatch(t reflect.Type, k kind, why string) *TypeError {
	return &TypeError{Row: d.row, GoType: t, JSONKind: k.String(), Why: why}
}

// string gives the text of sp. It is part of src unless it has to be unescaped.
func (d *decoder) string(t reflect.Type, sp span) (string, error) {
	if !sp.escaped {
		return d.src[sp.start:sp.end], nil
	}
	if err := d.unescape(t, sp); err != nil {
		return "", err
	}
	return string(d.scratch), nil
}

// bytes gives the text of sp as bytes that nobody may write to.
func (d *decoder) bytes(t reflect.Type, sp span) ([]byte, error) {
	if !sp.escaped {
		return d.body[sp.start:sp.end:sp.end], nil
	}
	if err := d.unescape(t, sp); err != nil {
		return nil, err
	}
	return append(d.alloc(len(d.scratch)), d.scratch...), nil
}

// unescape leaves the text of sp in scratch. A json column may hold "\ud800", half of a character: Postgres checks that
// only in jsonb. It is kept in a json.RawMessage and has no Go string.
func (d *decoder) unescape(t reflect.Type, sp span) (err error) {
	d.scratch, err = jsontext.AppendUnquote(d.scratch[:0], d.body[sp.start-1:sp.end+1])
	if err != nil {
		return d.mismatch(t, text, "an escaped surrogate without its other half is not text: use json.RawMessage")
	}
	return nil
}

// raw reads one value and gives its bytes as they stand in the body, which nobody may write to.
func (d *decoder) raw() ([]byte, error) {
	d.space()
	start := d.pos
	if err := d.skip(); err != nil {
		return nil, err
	}
	return d.body[start:d.pos:d.pos], nil
}

const (
	minArena = 64
	maxArena = 64 << 10
)

// alloc gives an empty slice with room for n bytes that belongs to the caller alone. Small ones share an allocation.
func (d *decoder) alloc(n int) []byte {
	if d.arena == nil || n > cap(d.arena)-len(d.arena) { // nil would make an empty value look like NULL
		d.arena = make([]byte, 0, max(n, min(4*cap(d.arena), maxArena), minArena))
	}
	start := len(d.arena)
	d.arena = d.arena[:start+n]
	return d.arena[start : start : start+n]
}
