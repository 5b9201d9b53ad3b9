package decode

import (
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// The kinds of bounds of pgtype.BoundType.
const (
	boundInclusive = 'i'
	boundExclusive = 'e'
	boundNone      = 'U'
	boundEmpty     = 'E'
)

// The fields of pgtype.Range, in their order.
const (
	rangeLower = iota
	rangeUpper
	rangeLowerType
	rangeUpperType
	rangeValid
)

// isRange recognizes pgtype.Range without importing it. Its values come as text, and it has no method that reads text.
func isRange(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || t.NumField() != 5 {
		return false
	}
	for i, name := range []string{"Lower", "Upper", "LowerType", "UpperType", "Valid"} {
		if t.Field(i).Name != name {
			return false
		}
	}
	return t.Field(rangeLower).Type == t.Field(rangeUpper).Type && t.Field(rangeLowerType).Type.Kind() == reflect.Uint8 &&
		t.Field(rangeUpperType).Type.Kind() == reflect.Uint8 && t.Field(rangeValid).Type.Kind() == reflect.Bool
}

// isMultirange recognizes pgtype.Multirange. Another slice of ranges is an array.
func isMultirange(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && isRange(t.Elem()) &&
		strings.HasPrefix(t.Name(), "Multirange[") && strings.HasSuffix(t.PkgPath(), "/pgtype")
}

func (b *builder) fillRange(n *node) error {
	bound, err := b.node(n.typ.Field(rangeLower).Type, false)
	if err != nil {
		return err
	}
	n.nullable = true
	n.read = func(d *decoder, v reflect.Value, k kind) error {
		p, err := d.rangeText(n.typ, k)
		if err != nil {
			return err
		}
		if err := d.readRange(p, bound, v); err != nil {
			return err
		}
		if p.s != "" {
			return d.notRange(n.typ)
		}
		return nil
	}
	return nil
}

func (b *builder) fillMultirange(n *node) error {
	bound, err := b.node(n.typ.Elem().Field(rangeLower).Type, false)
	if err != nil {
		return err
	}
	n.nullable = true
	n.read = func(d *decoder, v reflect.Value, k kind) error {
		p, err := d.rangeText(n.typ, k)
		if err != nil {
			return err
		}
		ok := p.accept('{')
		v.Set(reflect.MakeSlice(n.typ, 0, 0))
		for ok && !p.accept('}') {
			if v.Len() > 0 && !p.accept(',') {
				ok = false
				break
			}
			v.Grow(1)
			v.SetLen(v.Len() + 1)
			if err := d.readRange(p, bound, v.Index(v.Len()-1)); err != nil {
				return err
			}
		}
		if !ok || p.s != "" {
			return d.notRange(n.typ)
		}
		return nil
	}
	return nil
}

func (d *decoder) rangeText(t reflect.Type, k kind) (*rangeParser, error) {
	if k != text {
		return nil, d.mismatch(t, k, "only a range or multirange is read into it")
	}
	sp, err := d.text()
	if err != nil {
		return nil, err
	}
	s, err := d.string(t, sp)
	return &rangeParser{s}, err
}

func (d *decoder) notRange(t reflect.Type) error {
	return d.mismatch(t, text, "its text is not that of a range, or of a multirange where that is asked for: use string")
}

// readRange reads the next range of p into v.
func (d *decoder) readRange(p *rangeParser, bound *node, v reflect.Value) error {
	lowerType, upperType := v.Field(rangeLowerType), v.Field(rangeUpperType)
	v.Field(rangeValid).SetBool(true)
	if p.word("empty") {
		lowerType.SetUint(boundEmpty)
		upperType.SetUint(boundEmpty)
		return nil
	}
	lowerType.SetUint(boundExclusive)
	if p.accept('[') {
		lowerType.SetUint(boundInclusive)
	} else if !p.accept('(') {
		return d.notRange(v.Type())
	}
	if err := d.readBound(p, ",", bound, v.Field(rangeLower), lowerType); err != nil {
		return err
	}
	if !p.accept(',') {
		return d.notRange(v.Type())
	}
	if err := d.readBound(p, "])", bound, v.Field(rangeUpper), upperType); err != nil {
		return err
	}
	switch closed := p.accept(']'); {
	case !closed && !p.accept(')'):
		return d.notRange(v.Type())
	case upperType.Uint() == boundNone:
	case closed:
		upperType.SetUint(boundInclusive)
	default:
		upperType.SetUint(boundExclusive)
	}
	return nil
}

// readBound reads a bound as the JSON that a column of its type would have.
func (d *decoder) readBound(p *rangeParser, end string, bound *node, v, boundType reflect.Value) error {
	s, ok := p.bound(end)
	if !ok {
		boundType.SetUint(boundNone)
		return nil
	}
	body := []byte(s)
	if sc := (scanner{src: s}); sc.kind() != number || !sc.whole() {
		var err error
		if body, err = jsontext.AppendQuote(nil, s); err != nil {
			return d.mismatch(v.Type(), text, "a bound is not valid text")
		}
	}
	in := decoder{scanner: scanner{src: string(body)}, body: body, plan: d.plan, opts: d.opts, row: d.row}
	return at(in.value(bound, v), "[]")
}

// whole tells whether a number is all there is.
func (s *scanner) whole() bool {
	_, _, err := s.number()
	return err == nil && s.pos == len(s.src)
}

// rangeParser eats the text of a range from the front.
// See https://www.postgresql.org/docs/current/rangetypes.html#RANGETYPES-IO.
type rangeParser struct{ s string }

func (p *rangeParser) accept(c byte) bool {
	if p.s == "" || p.s[0] != c {
		return false
	}
	p.s = p.s[1:]
	return true
}

func (p *rangeParser) word(w string) bool {
	rest, ok := strings.CutPrefix(p.s, w)
	p.s = rest
	return ok
}

// bound eats a bound up to one of the bytes of end. A bound of nothing at all, not even quotes, is none.
func (p *rangeParser) bound(end string) (s string, ok bool) {
	var b strings.Builder
	quoted, i := false, 0
	for ; i < len(p.s); i++ {
		c := p.s[i]
		switch {
		case c == '\\' && i+1 < len(p.s):
			i++
			b.WriteByte(p.s[i])
		case c == '"' && quoted && i+1 < len(p.s) && p.s[i+1] == '"':
			i++
			b.WriteByte('"')
		case c == '"':
			quoted = !quoted
		case !quoted && strings.IndexByte(end, c) >= 0:
			p.s = p.s[i:]
			return b.String(), i > 0
		default:
			b.WriteByte(c)
		}
	}
	p.s = ""
	return b.String(), i > 0
}
