package typeparity_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// typeCase says what a Go type and a column do to each other.
type typeCase struct {
	column string
	// into and from are the Go type as the page names it, when it is read into,
	// and when it is written from.
	into, from string
	noFilter   bool // the column's operators or the value's text form can't find it
	runs       []func(t *testing.T, p *paths, c typeCase)
}

// both says that values of T are written and come back as they are.
func both[T any](column string, values ...T) typeCase {
	name := nameOf[T]()
	c := typeCase{column: column, into: name, from: name}
	for _, v := range values {
		c = c.and(becomes(column, v, v))
	}
	return c
}

// becomes says that v is written and comes back as want.
func becomes[V, W any](column string, v V, want W) typeCase {
	c := typeCase{column: column, from: nameOf[V]()}
	if reflect.TypeFor[V]() == reflect.TypeFor[W]() {
		c.into = c.from
	}
	c.runs = []func(*testing.T, *paths, typeCase){func(t *testing.T, p *paths, c typeCase) { roundTrip(t, p, c, v, want) }}
	return c
}

// reads says that what Postgres makes of a text comes back as want.
func reads[W any](column, text string, want W) typeCase {
	c := becomes(column, text, want)
	c.into, c.from = nameOf[W](), ""
	return c
}

// and joins the runs of two cases of a type.
func (c typeCase) and(more ...typeCase) typeCase {
	for _, m := range more {
		c.runs = append(c.runs, m.runs...)
	}
	return c
}

// as gives the type the name of those that it stands for.
func (c typeCase) as(name string) typeCase {
	if c.into != "" {
		c.into = name
	}
	if c.from != "" {
		c.from = name
	}
	return c
}

// unfiltered says that Eq with the value can't find the row.
func (c typeCase) unfiltered() typeCase {
	c.noFilter = true
	return c
}

// nameOf is the type's name as people write it.
func nameOf[T any]() string {
	return "`" + strings.NewReplacer("interface {}", "any", "uint8", "byte").Replace(reflect.TypeFor[T]().String()) + "`"
}

// same compares values for identity, times with their zone.
var same = cmp.Options{
	cmp.Exporter(func(reflect.Type) bool { return true }),
	cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b }),
	cmp.Comparer(func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b }),
	cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) && a.Location().String() == b.Location().String() }),
	// The zone of a pgtype.Timestamptz is its own business: Local, or none.
	cmp.Comparer(func(a, b pgtype.Timestamptz) bool {
		return a.Valid == b.Valid && a.InfinityModifier == b.InfinityModifier && a.Time.Equal(b.Time)
	}),
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
	cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
	cmp.Comparer(func(a, b *big.Int) bool { return a == b || a != nil && b != nil && a.Cmp(b) == 0 }),
}

// roundTrip writes v by insert and by update over each path, and wants to read
// want over each path, to find it by a filter with v, and to see the same JSON.
func roundTrip[V, W any](t *testing.T, p *paths, c typeCase, v V, want W) {
	t.Helper()
	sameForm(t, c, v)
	cell := query.From("all_types").Columns(c.column)
	for _, path := range bothPaths {
		ctx := over(t, path)
		inserted, updated := p.next(), p.next()
		check := func(what string, row map[string]W, err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("%s over %s: %v%s", what, path, err, serverWords(err))
			}
			if diff := cmp.Diff(want, row[c.column], same); diff != "" {
				t.Errorf("%s over %s (-want +got):\n%s", what, path, diff)
			}
		}
		row, err := dbaccess.One[map[string]W](ctx, p.DB, query.Insert("all_types", map[string]any{"id": inserted, c.column: v}).Columns(c.column))
		check("insert", row, err)
		if _, err := dbaccess.Exec(ctx, p.DB, query.Insert("all_types", map[string]any{"id": updated})); err != nil {
			t.Fatalf("insert an empty row over %s: %v", path, err)
		}
		row, err = dbaccess.One[map[string]W](ctx, p.DB,
			query.Update("all_types", map[string]any{c.column: v}).Where(query.Eq("id", updated)).Columns(c.column))
		check("update", row, err)

		var json [2]string
		for i, reader := range bothPaths {
			row, err := dbaccess.One[map[string]W](over(t, reader), p.DB, cell.Where(query.Eq("id", inserted)))
			check("read over "+string(reader)+" what was written", row, err)
			raw, err := dbaccess.JSON(over(t, reader), p.DB, cell.Where(query.In("id", inserted, updated)))
			if err != nil {
				t.Fatal(err)
			}
			json[i] = string(raw)
		}
		if json[0] != json[1] {
			t.Errorf("what was written over %s is read as\n%s over REST and as\n%s directly", path, json[0], json[1])
		}
		if c.noFilter {
			continue
		}
		found := query.Eq(c.column, v)
		if isNull(v) {
			found = query.IsNull(c.column)
		}
		n, err := dbaccess.Count(ctx, p.DB, query.From("all_types").Where(query.In("id", inserted, updated), found))
		if err != nil {
			t.Errorf("filter over %s: %v%s", path, err, serverWords(err))
		} else if n != 2 {
			t.Errorf("a filter over %s with what was written finds %d rows of 2", path, n)
		}
	}
}

// isNull tells whether v is NULL in a write.
func isNull(v any) bool {
	raw, err := query.Values(map[string]any{"v": v})
	return err == nil && string(raw) == `{"v":null}`
}

// serverWords are what the server said, which is no secret in a test.
func serverWords(err error) string {
	if e, ok := err.(*dbaccess.Error); ok {
		return fmt.Sprintf(": %s %s", e.Message(), e.Detail())
	}
	return ""
}

// sameForm checks, without a database, that v is written alike as a map's value and
// as a struct's field, addressable or not, and that its text is what its JSON is.
func sameForm[V any](t *testing.T, c typeCase, v V) {
	t.Helper()
	fromMap, err := query.Values(map[string]any{c.column: v})
	if err != nil {
		t.Fatal(err)
	}
	row := reflect.New(reflect.StructOf([]reflect.StructField{{
		Name: "F", Type: reflect.TypeFor[V](), Tag: reflect.StructTag(`db:"` + c.column + `"`),
	}}))
	row.Elem().Field(0).Set(reflect.ValueOf(&v).Elem())
	for name, row := range map[string]any{"pointer": row.Interface(), "struct": row.Elem().Interface()} {
		fromStruct, err := query.Values(row)
		if err != nil {
			t.Fatal(err)
		}
		if string(fromStruct) != string(fromMap) {
			t.Errorf("a map has %.200s and a %s %.200s", fromMap, name, fromStruct)
		}
	}
	var written map[string]json.RawMessage
	if err := json.Unmarshal(fromMap, &written); err != nil {
		t.Fatal(err)
	}
	want, text := string(written[c.column]), ""
	text, err = query.Text(v)
	switch {
	case want == "null":
		if err == nil {
			t.Errorf("NULL has the text form %q", text)
		}
		return
	case err != nil:
		t.Errorf("written as %.200s, but without a text form: %v", want, err)
	case want[0] == '[' && text[0] == '{': // an array and its literal, which the server holds against each other
	case want[0] == '"' && want != text: // the same for a JSON document that is a string
		var s string
		if err := json.Unmarshal([]byte(want), &s); err != nil {
			t.Fatal(err)
		}
		if s != text {
			t.Errorf("written as %.200q and compared with %.200q", s, text)
		}
	case want != text:
		t.Errorf("written as %.200s and compared with %.200s", want, text)
	}
}
