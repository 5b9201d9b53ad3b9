package decode_test

import (
	"encoding/json"
	"io"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/internal/decode"
)

// Base and audit are embedded by the rows below.
type Base struct {
	ID        int64     `db:"id" json:"ignored"`
	CreatedAt time.Time `json:"created_at,omitempty"`
}

type audit struct {
	By *string `db:"by"`
}

type trade struct {
	Price string `db:"price"`
}

type issuer struct {
	Name   string  `db:"name"`
	Trades []trade `embed:"trades!issuer_fk"`
}

type everyTag struct {
	Base
	*More
	audit
	Ticker   string            `db:"ticker"`
	Note     *string           `json:"note,omitempty"`
	Dash     int               `db:"-,"`
	Out      chan int          `db:"-" json:"out"`
	Gone     chan int          `json:"-"`
	Address  address           `json:"address"`
	Trades   []*trade          `embed:"trades"`
	Issuer   *issuer           `db:"company" embed:"issuers!fk!inner"`
	Anything []json.RawMessage `embed:"notes!inner"`
	private  int               `db:"private"`
}

// More is embedded by pointer.
type More struct {
	More string `db:"more"`
}

func TestColumns(t *testing.T) {
	t.Parallel()
	type column struct {
		Name, Field, Type string
		Nullable          bool
		Embed             *decode.Embed
		Nested            []string
	}
	var got []column
	for _, c := range planFor[*everyTag](t).Columns() {
		col := column{Name: c.Name, Field: c.Field, Type: c.Type.String(), Nullable: c.Nullable, Embed: c.Embed}
		if c.Nested != nil {
			for _, n := range c.Nested.Columns() {
				col.Nested = append(col.Nested, n.Name)
			}
		}
		got = append(got, col)
	}
	want := []column{
		{Name: "id", Field: "Base.ID", Type: "int64"},
		{Name: "created_at", Field: "Base.CreatedAt", Type: "time.Time"},
		{Name: "more", Field: "More.More", Type: "string"},
		{Name: "by", Field: "audit.By", Type: "*string", Nullable: true},
		{Name: "ticker", Field: "Ticker", Type: "string"},
		{Name: "note", Field: "Note", Type: "*string", Nullable: true},
		{Name: "-", Field: "Dash", Type: "int"},
		{Name: "address", Field: "Address", Type: "decode_test.address"},
		{Name: "trades", Field: "Trades", Type: "[]*decode_test.trade", Nullable: true, Embed: &decode.Embed{Relation: "trades"}, Nested: []string{"price"}},
		{Name: "company", Field: "Issuer", Type: "*decode_test.issuer", Nullable: true,
			Embed: &decode.Embed{Relation: "issuers", Hint: "fk", Inner: true}, Nested: []string{"name", "trades"}},
		{Name: "notes", Field: "Anything", Type: "[]json.RawMessage", Nullable: true, Embed: &decode.Embed{Relation: "notes", Inner: true}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if plan := planFor[*everyTag](t); plan.Type() != reflect.TypeFor[*everyTag]() || plan.Scalar() {
		t.Errorf("plan of %v, scalar %t", plan.Type(), plan.Scalar())
	}
}

func TestEmbeddedFields(t *testing.T) {
	t.Parallel()
	got, err := rows[everyTag](t, `[{"id":7,"created_at":"2026-01-01","more":"m","by":null,"ticker":"A","note":null,"-":3,"address":{},`+
		`"trades":[{"price":1.10}],"company":{"name":"X","trades":[]},"notes":[1]}]`, decode.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := everyTag{
		Base: Base{ID: 7, CreatedAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}, More: &More{More: "m"}, Ticker: "A", Dash: 3, private: 0,
		Trades: []*trade{{"1.10"}}, Issuer: &issuer{Name: "X", Trades: []trade{}}, Anything: []json.RawMessage{json.RawMessage("1")},
	}
	if diff := diffAll(want, got[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// The columns of an embed were selected too, so a missing one is an error.
	_, err = rows[issuer](t, `[{"name":"X","trades":[{"price":1},{}]}]`, decode.Options{})
	var e *decode.MissingColumnError
	if !asType(err, &e) || e.Column != "trades[].price" {
		t.Errorf("missing column of an embed: %v", err)
	}
}

func TestScalarPlans(t *testing.T) {
	t.Parallel()
	var cache decode.Cache
	for _, c := range []struct {
		typ    reflect.Type
		scalar bool
	}{
		{reflect.TypeFor[int64](), true},
		{reflect.TypeFor[*string](), true},
		{reflect.TypeFor[time.Time](), true},
		{reflect.TypeFor[[]byte](), true},
		{reflect.TypeFor[[]stock](), true},
		{reflect.TypeFor[big.Int](), true},    // a struct that reads itself
		{reflect.TypeFor[validJSON](), true},  // the same
		{reflect.TypeFor[ownJSON](), false},   // has tags: it said which columns it has
		{reflect.TypeFor[inherited](), false}, // has them from a struct it embeds
		{reflect.TypeFor[stock](), false},
		{reflect.TypeFor[**stock](), false},
		{reflect.TypeFor[any](), false},
		{reflect.TypeFor[json.RawMessage](), false},
		{reflect.TypeFor[map[string]int](), false},
	} {
		plan, err := cache.Plan(c.typ)
		if err != nil {
			t.Errorf("%s: %v", c.typ, err)
		} else if plan.Scalar() != c.scalar || plan.Type() != c.typ {
			t.Errorf("%s: scalar %t of %s, want %t", c.typ, plan.Scalar(), plan.Type(), c.scalar)
		}
	}
}

// ownJSON is a row that an API also reads from requests, by a method that rows must not go through.
type ownJSON struct {
	ID int64 `json:"id"`
}

func (*ownJSON) UnmarshalJSON([]byte) error { panic("not for rows") }

type inherited struct{ ownJSON }

func TestRowsPassOverMethods(t *testing.T) {
	t.Parallel()
	got, err := rows[inherited](t, `[{"id":1}]`, decode.Options{})
	if err != nil || got[0].ID != 1 {
		t.Errorf("got %v, %v", got, err)
	}
}

type (
	Loop    struct{ *Loop }
	manager struct {
		Boss *manager `embed:"employees"`
	}
	deepLoop struct {
		Other struct {
			Back []deepLoop `embed:"back"`
		} `embed:"other"`
	}
	hidden struct {
		X int `db:"x"`
	}
)

func TestPlanErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		typ  reflect.Type
		want []string
	}{
		"no tag": {reflect.TypeFor[struct {
			A int `db:"a"`
			B int
			C int `json:",omitempty"`
		}](), []string{"field B: no column", "field C: no column"}},
		"column twice": {reflect.TypeFor[struct {
			A int `db:"x"`
			B int `json:"x"`
		}](), []string{`field B: column "x" belongs to field A already`}},
		"column twice by embedding": {reflect.TypeFor[struct {
			Base
			ID int `db:"id"`
		}](), []string{`field ID: column "id" belongs to field Base.ID already`}},
		"kinds": {reflect.TypeFor[struct {
			A chan int            `db:"a"`
			B func()              `db:"b"`
			C complex128          `db:"c"`
			D io.Reader           `db:"d"`
			E map[int]string      `db:"e"`
			F []chan int          `db:"f"`
			G [1]func()           `db:"g"`
			H *uintptr            `db:"h"`
			I map[string]chan int `db:"i"`
		}](), []string{"field A: chan int", "field B: func()", "field C: complex128", "field D: io.Reader is an interface", "field E: map[int]string: the keys",
			"field F: chan int", "field G: func()", "field H: uintptr", "field I: chan int"}},
		"nested struct without tags": {reflect.TypeFor[struct {
			A struct{ X int } `db:"a"`
		}](), []string{"field A: field X: no column"}},
		"embedded value": {reflect.TypeFor[struct {
			time.Time
			X int `db:"x"`
		}](), []string{"field Time: no column"}},
		"embedded pointer, hidden":   {reflect.TypeFor[struct{ *hidden }](), []string{"field hidden: an embedded pointer to the unexported struct"}},
		"embeds itself":              {reflect.TypeFor[Loop](), []string{"embeds itself"}},
		"nothing":                    {reflect.TypeFor[struct{}](), []string{"no exported field"}},
		"nothing exported":           {reflect.TypeFor[struct{ a int }](), []string{"no exported field"}},
		"bare kind":                  {reflect.TypeFor[chan int](), []string{"chan int cannot hold"}},
		"embed within itself":        {reflect.TypeFor[manager](), []string{"holds itself"}},
		"embed within itself, below": {reflect.TypeFor[deepLoop](), []string{"holds itself"}},
		"embed of a number": {reflect.TypeFor[struct {
			A int `embed:"a"`
		}](), []string{"field A: an embed is read into a struct"}},
		"embed in a value": {reflect.TypeFor[struct {
			A struct {
				B stock `embed:"b"`
			} `db:"a"`
		}](), []string{"field A: field B: an embed belongs in a row"}},
		"embed tags": {reflect.TypeFor[struct {
			A stock `embed:""`
			B stock `embed:"b!"`
			C stock `embed:"c!x!y"`
			D stock `embed:"d!inner!x"`
			E stock `embed:"e!inner!inner"`
			F stock `embed:"!inner"`
		}](), []string{"field A", "field B", "field C", "field D", "field E", "field F"}},
		"nil": {nil, []string{"no type"}},
	} {
		var cache decode.Cache
		for range 2 { // the second answer comes from the cache
			plan, err := cache.Plan(c.typ)
			if err == nil || plan != nil {
				t.Errorf("%s: no error", name)
				continue
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %q not in: %v", name, want, err)
				}
			}
		}
	}
}
