package query_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/query"
)

// FuzzValues sends JSON through Go values and back: nothing may change but blanks
// and the order of members.
func FuzzValues(f *testing.F) {
	for _, text := range []string{
		`{"a":1,"b":[null,true,"x\n\u2028\"\\<&>"],"c":{"d":1.10,"e":-1e400}}`, `[]`, `"x"`, `0`, `{"":{"":[[]]}}`,
	} {
		f.Add(text)
	}
	decode := func(text []byte) (v any, err error) {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		err = d.Decode(&v)
		return v, err
	}
	f.Fuzz(func(t *testing.T, text string) {
		want, err := decode([]byte(text))
		if err != nil || !json.Valid([]byte(text)) {
			return
		}
		got, err := query.Values(want)
		if err != nil {
			if !strings.Contains(text, `\u0000`) && strings.Count(text, "[")+strings.Count(text, "{") < 32 {
				t.Errorf("%s: %v", text, err)
			}
			return
		}
		back, err := decode(got)
		if err != nil {
			t.Fatalf("%s became %s: %v", text, got, err)
		}
		if !reflect.DeepEqual(want, back) {
			t.Errorf("%s became %s", text, got)
		}
	})
}

// Changing a query leaves those that it was made of alone.
func TestWritesAreImmutable(t *testing.T) {
	t.Parallel()
	insert := query.Insert("t", map[string]int{"a": 1})
	on := []string{"a"}
	merged := insert.Merge(on...)
	on[0] = "changed"
	ignored := merged.Ignore("b")
	if w := insert.Spec().Write; w.Conflict != query.ConflictFail || w.ConflictOn != nil {
		t.Errorf("Merge changed the query it was called on: %+v", w)
	}
	if w := merged.Spec().Write; w.Conflict != query.ConflictMerge || !cmp.Equal(w.ConflictOn, []string{"a"}) {
		t.Errorf("Ignore, or who called Merge, changed the query: %+v", w)
	}
	if w := ignored.Spec().Write; w.Conflict != query.ConflictIgnore || !cmp.Equal(w.ConflictOn, []string{"b"}) {
		t.Errorf("Ignore: %+v", w)
	}
	del := query.Delete("t").Where(query.AllRows())
	if limited := del.MaxAffected(3); del.Spec().Write.MaxAffected != 0 || limited.Spec().Write.MaxAffected != 3 {
		t.Error("MaxAffected changed the query it was called on, or not its own")
	}
	call := query.Call("f", nil)
	if ro := call.ReadOnly(); call.Spec().Call.ReadOnly || !ro.Spec().Call.ReadOnly {
		t.Error("ReadOnly changed the query it was called on, or not its own")
	}
}

func TestAllRows(t *testing.T) {
	t.Parallel()
	q := query.Delete("t").Where(query.AllRows())
	if err := q.Err(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]query.Expr{query.Every{}}, q.Spec().Where); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := q.String(); got != "delete t" {
		t.Errorf("summary %q", got)
	}
}

func TestCallArgs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args any
		want string
	}{
		"none": {nil, `{}`},
		"map":  {map[string]any{"b": 1, "a": []int{1}}, `{"a":[1],"b":1}`},
		"struct": {struct {
			Since time.Time `db:"since"`
		}{time.Unix(0, 0)}, `{"since":"1970-01-01T00:00:00Z"}`},
		"pointer": {&struct {
			N int `json:"n"`
		}{3}, `{"n":3}`},
		"absent": {struct {
			N int `json:"n,omitempty"`
		}{}, `{}`},
		"raw": {json.RawMessage(`{"n": 1}`), `{"n": 1}`},
		"embed is no arg": {struct {
			N    int   `db:"n"`
			Rows []int `embed:"rows"`
		}{1, nil}, `{"n":1}`},
	} {
		q := query.Call("f", tc.args)
		if err := q.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := string(q.Spec().Call.Args); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// marked is a row that would marshal itself to something else than its columns.
type marked struct {
	Ticker string `db:"ticker"`
}

func (marked) MarshalJSON() ([]byte, error) { return []byte(`"not a row"`), nil }

// promoted has the methods of what it embeds.
type promoted struct {
	time.Time `db:"at"`
	Ticker    string `db:"ticker"`
}

// A row is its columns, whatever methods its type has: what it marshals to need
// not be an object, and the path to PostgREST would take it for no rows at all.
func TestRowsAreTheirColumns(t *testing.T) {
	t.Parallel()
	for want, rows := range map[string]any{
		`{"ticker":"T"}`:   marked{"T"},
		`[{"ticker":"T"}]`: []*marked{{"T"}},
		`{"at":"1970-01-01T00:00:00Z","ticker":"T"}`: promoted{time.Unix(0, 0), "T"},
	} {
		q := query.Insert("t", rows)
		if err := q.Err(); err != nil {
			t.Errorf("%T: %v", rows, err)
		} else if got := string(q.Spec().Write.Payload); got != want {
			t.Errorf("%T: %s, want %s", rows, got, want)
		}
	}
	// Within a row, a value says what it is.
	q := query.Insert("t", map[string]any{"m": marked{}})
	if got := string(q.Spec().Write.Payload); got != `{"m":"not a row"}` {
		t.Errorf("a value within a row: %s", got)
	}
}

type failingText struct{}

func (failingText) MarshalText() ([]byte, error) { return nil, errors.New("s3cret") }

func TestFieldFaults(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]any{
		"failing text":   map[string]any{"a": failingText{}},
		"map of numbers": map[string]any{"a": map[int]int{1: 1}},
		"complex":        map[string]any{"a": complex(1, 1)},
		"function": struct {
			F func() `db:"f"`
		}{func() {}},
		"field in a field": struct {
			Doc any `db:"doc"`
		}{map[string]any{"x": make(chan int)}},
	} {
		_, err := query.Values(v)
		if err == nil {
			t.Errorf("%s: no error", name)
		} else if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: the error shows a value: %v", name, err)
		}
	}
}

// A field is found through embedded pointers, and is absent where one is nil.
func TestEmbeddedPointers(t *testing.T) {
	t.Parallel()
	type Inner struct {
		A int `db:"a"`
	}
	type outer struct {
		*Inner
		B int `db:"b"`
	}
	for want, v := range map[string]outer{`{"b":2}`: {B: 2}, `{"a":1,"b":2}`: {Inner: &Inner{1}, B: 2}} {
		got, err := query.Values(v)
		if err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}

func ExampleInsert() {
	type filing struct {
		ID     int64    `db:"id,omitzero"` // absent when zero: the column's default
		Ticker string   `db:"ticker"`
		Price  *float64 `db:"price"` // NULL when nil
	}
	q := query.Insert("insider_transactions", []filing{{Ticker: "T01"}, {ID: 7, Ticker: "T02"}})
	fmt.Println(string(q.Spec().Write.Payload))
	fmt.Println(q.Spec().Write.Columns)
	// Output:
	// [{"ticker":"T01","price":null},{"id":7,"ticker":"T02","price":null}]
	// [ticker price id]
}

func ExampleQuery_Merge() {
	q := query.Insert("prices", map[string]any{"ticker": "T01", "day": "2026-03-01", "close": "7.00"}).Merge("ticker", "day")
	fmt.Println(q, q.Err())
	// Output: insert prices <nil>
}

func ExampleUpdate() {
	q := query.Update("companies", map[string]any{"sector_id": nil}).Where(query.Eq("ticker", "T01")).MaxAffected(1)
	fmt.Println(q)
	fmt.Println(string(q.Spec().Write.Payload))
	// Output:
	// update companies by ticker
	// {"sector_id":null}
}

func ExampleAllRows() {
	q := query.Delete("staging").Where(query.AllRows())
	fmt.Println(q, q.Err())
	// Output: delete staging <nil>
}

func ExampleCall() {
	q := query.Call("top_traders", map[string]int{"min_shares": 900}).Columns("id").OrderBy(query.Desc("shares")).Limit(3)
	fmt.Println(q)
	fmt.Println(string(q.Spec().Call.Args))
	// Output:
	// call top_traders
	// {"min_shares":900}
}

func ExampleValues() {
	v, err := query.Values(map[string]any{
		"bytes": []byte{0xde, 0xad}, "none": nil, "tags": []string{"a", `b"c`}, "when": time.Date(2026, 2, 28, 4, 0, 0, 0, time.UTC),
	})
	fmt.Println(string(v), err)
	// Output: {"bytes":"\\xdead","none":null,"tags":["a","b\"c"],"when":"2026-02-28T04:00:00Z"} <nil>
}

func BenchmarkInsert(b *testing.B) {
	type price struct {
		Ticker string `db:"ticker"`
		Day    string `db:"day"`
		Close  string `db:"close"`
		Volume int64  `db:"volume"`
	}
	rows := make([]price, 10_000)
	for i := range rows {
		rows[i] = price{"T01", "2026-03-01", "100.25", int64(i)}
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := query.Insert("prices", rows).Err(); err != nil {
			b.Fatal(err)
		}
	}
}
