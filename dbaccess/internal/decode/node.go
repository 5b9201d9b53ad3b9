package decode

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// node knows how to read one Go type.
type node struct {
	typ      reflect.Type
	nullable bool // NULL leaves the zero value: nil, or a Null type that is not valid
	// read fills v, the zero value, from a value of kind k, which is neither null nor invalid.
	read func(d *decoder, v reflect.Value, k kind) error
	// null, where set, takes NULL instead of leaving the zero value.
	null func(d *decoder, v reflect.Value) error
}

// Types that are known by name. They come before any method or kind.
var (
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
	numberType   = reflect.TypeFor[json.Number]()
	rawType      = reflect.TypeFor[json.RawMessage]()
	valueType    = reflect.TypeFor[jsontext.Value]()
	addrType     = reflect.TypeFor[netip.Addr]()
	prefixType   = reflect.TypeFor[netip.Prefix]()
	hardwareType = reflect.TypeFor[net.HardwareAddr]()
	byteType     = reflect.TypeFor[byte]()
	anyType      = reflect.TypeFor[any]()
	anyMapType   = reflect.TypeFor[map[string]any]()
	stringType   = reflect.TypeFor[string]()
	stringsType  = reflect.TypeFor[[]string]()
)

// builder makes the nodes of one plan. A type that contains itself finds its own node in nodes.
type builder struct {
	nodes map[nodeKey]*node
	// rows holds the fields of the structs that are rows and embeds.
	rows map[reflect.Type]*structFields
	// building holds those of them that are not complete: an embed inside itself would select without end.
	building map[reflect.Type]bool
}

type nodeKey struct {
	typ    reflect.Type
	strict bool
}

// node gives the node of t. strict is for rows and embeds, see [structFields].
func (b *builder) node(t reflect.Type, strict bool) (*node, error) {
	key := nodeKey{t, strict}
	if n := b.nodes[key]; n != nil {
		return n, nil
	}
	n := &node{typ: t}
	b.nodes[key] = n
	if err := b.fill(n, strict); err != nil {
		delete(b.nodes, key)
		return nil, err
	}
	return n, nil
}

// fill holds the order of precedence that the package comment documents.
func (b *builder) fill(n *node, strict bool) error {
	t := n.typ
	switch {
	case fillNamed(n):
		return nil
	case isSQLNull(t):
		return b.fillSQLNull(n)
	case t.Kind() == reflect.Pointer:
		return b.fillPointer(n, strict)
	case !strict && fillMethod(n):
		return nil
	case isRange(t):
		return b.fillRange(n)
	case isMultirange(t):
		return b.fillMultirange(n)
	}
	switch t.Kind() {
	case reflect.Bool:
		n.read = readBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n.read = readInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n.read = readUint
	case reflect.Float32, reflect.Float64:
		n.read = readFloat
	case reflect.String:
		n.read = readString
	case reflect.Slice:
		return b.fillSlice(n, strict)
	case reflect.Array:
		return b.fillArray(n)
	case reflect.Map:
		return b.fillMap(n)
	case reflect.Struct:
		fields, err := b.structFields(t, strict)
		if err != nil {
			return err
		}
		n.read = func(d *decoder, v reflect.Value, k kind) error { return fields.read(d, v, k, t) }
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return fmt.Errorf("%s is an interface with methods: use any or a type", t)
		}
		n.nullable, n.read = true, readAny
	default:
		return fmt.Errorf("%s cannot hold a database value", t)
	}
	return nil
}

func fillNamed(n *node) bool {
	switch n.typ {
	case timeType:
		n.read = readTime
	case durationType:
		n.read = readDuration
	case numberType:
		n.read = readNumber
	case rawType, valueType:
		n.nullable, n.read, n.null = true, readRaw, nullRaw
	case addrType:
		n.read = readAddr
	case prefixType:
		n.read = readPrefix
	case hardwareType:
		n.nullable, n.read = true, readHardwareAddr
	default:
		return false
	}
	return true
}

// isSQLNull recognizes sql.Null[T], sql.NullInt64 and their kin, which are read as T or int64 is and not through Scan:
// that would refuse the text of a timestamp.
func isSQLNull(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.PkgPath() == "database/sql" && strings.HasPrefix(t.Name(), "Null") && t.NumField() == 2
}

func (b *builder) fillSQLNull(n *node) error {
	valid, ok := n.typ.FieldByName("Valid")
	if !ok {
		return fmt.Errorf("%s has no field Valid", n.typ)
	}
	value := 1 - valid.Index[0]
	inner, err := b.node(n.typ.Field(value).Type, false)
	if err != nil {
		return err
	}
	n.nullable = true
	n.read = func(d *decoder, v reflect.Value, k kind) error {
		if err := inner.read(d, v.Field(value), k); err != nil {
			return err
		}
		v.Field(valid.Index[0]).SetBool(true)
		return nil
	}
	return nil
}

func (b *builder) fillPointer(n *node, strict bool) error {
	n.nullable = true
	elem := n.typ.Elem()
	inner, err := b.node(elem, strict)
	if err != nil {
		return err
	}
	n.read = func(d *decoder, v reflect.Value, k kind) error {
		p := reflect.New(elem)
		if err := inner.read(d, p.Elem(), k); err != nil {
			return err
		}
		v.Set(p)
		return nil
	}
	return nil
}

// structFields builds the columns of t, reporting every field that has a fault.
func (b *builder) structFields(t reflect.Type, strict bool) (*structFields, error) {
	o := &structFields{strict: strict, byColumn: make(map[string]int)}
	if strict {
		b.building[t] = true
		defer delete(b.building, t)
	}
	var faults []error
	b.collect(o, t, "", nil, nil, &faults)
	if len(o.fields) == 0 && len(faults) == 0 {
		faults = append(faults, fmt.Errorf("%s has no exported field to read into", t))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	if strict {
		b.rows[t] = o
	}
	return o, nil
}
