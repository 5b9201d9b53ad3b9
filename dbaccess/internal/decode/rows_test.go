package decode_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/internal/decode"
)

type stock struct {
	ID     int64  `db:"id"`
	Ticker string `db:"ticker"`
}

func TestRows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		want []stock
	}{
		"none":                       {`[]`, []stock{}},
		"white space":                {" [\n] \r\n\t", []stock{}},
		"one":                        {`[{"id":1,"ticker":"A"}]`, []stock{{1, "A"}}},
		"as json_agg writes":         {"[{\"id\":1,\"ticker\":\"A\"}, \n {\"id\":2,\"ticker\":\"B\"}]", []stock{{1, "A"}, {2, "B"}}},
		"as jsonb writes":            {`[{"id": 1, "ticker": "A"}, {"id": 2, "ticker": "B"}]`, []stock{{1, "A"}, {2, "B"}}},
		"another order":              {`[{"ticker":"A","id":1},{"ticker":"B","id":2}]`, []stock{{1, "A"}, {2, "B"}}},
		"the order changes":          {`[{"ticker":"A","id":1},{"id":2,"ticker":"B"},{"ticker":"C","id":3}]`, []stock{{1, "A"}, {2, "B"}, {3, "C"}}},
		"columns the struct has not": {`[{"x":{"y":[1]},"id":1,"y":null,"ticker":"A"},{"x":0,"id":2,"y":"","ticker":"B"}]`, []stock{{1, "A"}, {2, "B"}}},
		"an unknown name turns up where a column was": {`[{"id":1,"ticker":"A"},{"idx":9,"id":2,"ticker":"B"}]`, []stock{{1, "A"}, {2, "B"}}},
	} {
		got, err := rows[stock](t, c.body, decode.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestRowTypes(t *testing.T) {
	t.Parallel()
	check := func(name string, want any, got any, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	const two = `[{"id":1,"ticker":"A"},{"id":2,"ticker":"B"}]`
	pointers, err := rows[*stock](t, two, decode.Options{})
	check("pointers", []*stock{{1, "A"}, {2, "B"}}, pointers, err)
	anys, err := rows[any](t, two, decode.Options{})
	check("any", []any{
		map[string]any{"id": json.Number("1"), "ticker": "A"}, map[string]any{"id": json.Number("2"), "ticker": "B"},
	}, anys, err)
	maps, err := rows[map[string]string](t, two, decode.Options{})
	check("map of strings", []map[string]string{{"id": "1", "ticker": "A"}, {"id": "2", "ticker": "B"}}, maps, err)
	numbers, err := rows[int64](t, `[{"count":9007199254740993},{"count":2}]`, decode.Options{})
	check("one column", []int64{9007199254740993, 2}, numbers, err)
	bare, err := rows[*int64](t, `[1,null]`, decode.Options{})
	check("setof a scalar", []*int64{ptr[int64](1), nil}, bare, err)
	arrays, err := rows[[]int](t, `[{"c_int_arr":[1,2]},[3]]`, decode.Options{})
	check("one column that is an array", [][]int{{1, 2}, {3}}, arrays, err)

	one := func(body string) []byte { return []byte(body) }
	s, err := decode.Row[stock](planFor[stock](t), one(`{"id":1,"ticker":"A"}`), decode.Options{})
	check("single object", stock{1, "A"}, s, err)
	f, err := decode.Row[float64](planFor[float64](t), one(" 1.5 "), decode.Options{})
	check("scalar function", 1.5, f, err)
	a, err := decode.Row[[]string](planFor[[]string](t), one(`["a","b"]`), decode.Options{})
	check("array function", []string{"a", "b"}, a, err)
	n, err := decode.Row[*time.Time](planFor[*time.Time](t), one("null"), decode.Options{})
	check("function that answers NULL", (*time.Time)(nil), n, err)
}

func TestRowErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"missing":        {second(rows[stock](t, `[{"id":1,"ticker":"A"},{"id":2}]`, decode.Options{})), `row 1 has no column "ticker"`},
		"missing first":  {second(rows[stock](t, `[{"ticker":"A"}]`, decode.Options{})), `row 0 has no column "id"`},
		"empty row":      {second(rows[stock](t, `[{}]`, decode.Options{})), `row 0 has no column "id"`},
		"twice":          {second(rows[stock](t, `[{"id":1,"ticker":"A","id":2}]`, decode.Options{})), "this column twice"},
		"row is NULL":    {second(rows[stock](t, `[null]`, decode.Options{})), "row 0: cannot read a JSON null"},
		"row is scalar":  {second(rows[stock](t, `[17]`, decode.Options{})), "row 0: cannot read a JSON number"},
		"two columns":    {second(rows[int64](t, `[{"a":1,"b":2}]`, decode.Options{})), "more than one column"},
		"no column":      {second(rows[int64](t, `[{}]`, decode.Options{})), "has no column"},
		"second row bad": {second(rows[int64](t, `[{"a":1},{"a":"x"}]`, decode.Options{})), "row 1: cannot read a JSON string into int64"},
		"other plan":     {second(decode.Rows[int32](planFor[int64](t), []byte("[]"), decode.Options{})), "the plan is for int64, not for int32"},
		"other plan row": {second(decode.Row[int32](planFor[int64](t), []byte("1"), decode.Options{})), "the plan is for int64, not for int32"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q in it", name, c.err, c.want)
		}
	}
	_, err := rows[stock](t, `[{"id":1,"ticker":"A"},{"id":2}]`, decode.Options{NullAsZero: true})
	var missing *decode.MissingColumnError
	if !asType(err, &missing) || missing.Column != "ticker" || missing.Row != 1 {
		t.Errorf("got %#v", err)
	}
}

func TestSyntaxErrors(t *testing.T) {
	t.Parallel()
	const canary = "canary"
	for body, want := range map[string]struct {
		offset int64
		why    string
	}{
		"":                                       {0, "empty"},
		" \n":                                    {2, "empty"},
		"<html>canary</html>":                    {0, "no value"},
		"upstream connect error: canary":         {0, "no value"},
		`{"code":"canary"}`:                      {0, "not an array of rows: object"},
		`"canary"`:                               {0, "not an array of rows: string"},
		"null":                                   {0, "not an array of rows: null"},
		"[":                                      {1, "ends too early"},
		`[{"id":1,"ticker":"canary"}`:            {27, "ends too early"},
		`[{"id":1,"ticker":"canary`:              {25, "ends too early"},
		`[{"id":1,"ticker":`:                     {18, "ends too early"},
		`[{"id":1,"ticker"`:                      {17, "ends too early"},
		`[{"id":1,`:                              {9, "ends too early"},
		`[{"id":1,"ticker":"canary"}] x`:         {29, "follows"},
		`[{"id":1,"ticker":"canary"}][]`:         {28, "follows"},
		`[{"id":1,"ticker":"canary"},]`:          {28, "comma before the end"},
		`[{"id":1,"ticker":"canary",}]`:          {27, "comma before the end"},
		`[,{"id":1,"ticker":"canary"}]`:          {1, "no value"},
		`[{"id":1 "ticker":"canary"}]`:           {9, "neither a comma"},
		`[{"id":1;"ticker":"canary"}]`:           {8, "neither a comma"},
		`[{"id" 1,"ticker":"canary"}]`:           {7, "without a colon"},
		`[{id:1,"ticker":"canary"}]`:             {2, "without a name"},
		`[{"id":01,"ticker":"canary"}]`:          {8, "neither a comma"},
		`[{"id":-,"ticker":"canary"}]`:           {8, "without digits"},
		`[{"id":1.,"ticker":"canary"}]`:          {9, "after its point"},
		`[{"id":1e,"ticker":"canary"}]`:          {9, "in its exponent"},
		`[{"id":.5,"ticker":"canary"}]`:          {7, "no value"},
		`[{"id":+1,"ticker":"canary"}]`:          {7, "no value"},
		`[{"id":NaN,"ticker":"canary"}]`:         {7, "no value"},
		`[{"id":nul,"ticker":"canary"}]`:         {7, "neither true"},
		`[{"id":1,"x":tru,"ticker":""}]`:         {13, "neither true"},
		`[{"id":1,"x":falsy,"ticker":1}]`:        {13, "neither true"},
		"[{\"id\":1,\"ticker\":\"canary\n\"}]":   {25, "control character"},
		`[{"id":1,"ticker":"canary\x"}]`:         {25, "bad escape"},
		`[{"id":1,"ticker":"canary\u00g0"}]`:     {25, "bad escape"},
		"[{\"id\":1,\"ticker\":\"canary\xff\"}]": {25, "invalid UTF-8"},
		"[{\"id\":1,\"ticker\":\"\uFFFD\xc0\"}]": {22, "invalid UTF-8"},
		"\xef\xbb\xbf[]":                         {0, "no value"},
		`[{'id':1}]`:                             {2, "without a name"},
		"[]\x00":                                 {2, "follows"},
	} {
		got, err := rows[stock](t, body, decode.Options{})
		var e *decode.SyntaxError
		if !asType(err, &e) {
			t.Errorf("%q: got %v, %v, want a SyntaxError", body, got, err)
			continue
		}
		if e.Offset != want.offset || !strings.Contains(err.Error(), want.why) {
			t.Errorf("%q: got %q (offset %d), want %q at byte %d", body, err, e.Offset, want.why, want.offset)
		}
		leaks(t, err, canary)
	}
}

// TestDepth has the limit of encoding/json and jsontext, in kept, skipped and decoded values alike.
func TestDepth(t *testing.T) {
	t.Parallel()
	const limit = 10000
	nest := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	row := func(n int) string { return `[{"v":` + nest(n-2) + `}]` }
	for _, n := range []int{limit, limit + 1} {
		valid := n <= limit
		if json.Valid([]byte(row(n))) != valid {
			t.Fatalf("encoding/json takes another depth than %d", limit)
		}
		errs := map[string]error{
			"kept":   second(rows[cell[json.RawMessage]](t, row(n), decode.Options{})),
			"any":    second(rows[cell[any]](t, row(n), decode.Options{})),
			"nested": second(rows[cell[nested]](t, row(n), decode.Options{})),
			"skipped": second(rows[struct {
				V *int  `db:"-"`
				W []int `db:"w"`
			}](t, `[{"w":[],"v":`+nest(n-2)+`}]`, decode.Options{})),
		}
		for name, err := range errs {
			var e *decode.SyntaxError
			if valid && err != nil || !valid && !asType(err, &e) {
				t.Errorf("%s, %d deep: %v", name, n, err)
			}
		}
	}
}

type nested []nested

// TestConcurrentUse has many goroutines making and using one plan; the race detector is the judge.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	var cache decode.Cache
	body := filings(20)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				plan, err := decode.PlanFor[filing](&cache)
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := decode.Rows[filing](plan, body, decode.Options{}); err != nil || len(got) != 20 || got[19].Quantity != 19 {
					t.Errorf("got %d rows, %v", len(got), err)
					return
				}
			}
		})
	}
	wg.Wait()
	first, _ := decode.PlanFor[filing](&cache)
	again, _ := decode.PlanFor[filing](&cache)
	if first != again {
		t.Error("the plan was made twice")
	}
}

// TestManyRows passes the guess of how many rows there are, from a first row that is the shortest.
func TestManyRows(t *testing.T) {
	t.Parallel()
	const n = 3000
	body := bytes.NewBufferString(`[{"id":0,"ticker":""}`)
	for i := 1; i < n; i++ {
		fmt.Fprintf(body, `,{"id":%d,"ticker":"%s"}`, i, strings.Repeat("x", i%50))
	}
	body.WriteByte(']')
	got, err := decode.Rows[stock](planFor[stock](t), body.Bytes(), decode.Options{})
	if err != nil || len(got) != n {
		t.Fatalf("got %d rows, %v", len(got), err)
	}
	for i, s := range got {
		if s.ID != int64(i) || len(s.Ticker) != i%50 {
			t.Fatalf("row %d is %v", i, s)
		}
	}
}

// TestAllocations holds the budget that the direct path depends on: about one allocation a row that has a slice.
func TestAllocations(t *testing.T) {
	plan := planFor[filing](t)
	body := filings(50)
	got := testing.AllocsPerRun(20, func() {
		if _, err := decode.Rows[filing](plan, body, decode.Options{}); err != nil {
			t.Fatal(err)
		}
	})
	if got > 50+20 {
		t.Errorf("50 rows take %.0f allocations, want at most 70", got)
	}
}

func TestRowsAndLast(t *testing.T) {
	t.Parallel()
	type row struct {
		ID int `db:"id"`
	}
	for body, want := range map[string]string{
		`[]`:         ``,
		`[{"id":1}]`: `{"id":1}`,
		"[{\"id\":1}, \n {\"id\":2,\"x\":[\"]\"]} ]": `{"id":2,"x":["]"]}`,
	} {
		plan, err := decode.PlanFor[row](new(decode.Cache))
		if err != nil {
			t.Fatal(err)
		}
		_, last, err := decode.RowsAndLast[row](plan, []byte(body), decode.Options{})
		if err != nil || string(last) != want {
			t.Errorf("%s: last row %q, %v; want %q", body, last, err, want)
		}
	}
}
