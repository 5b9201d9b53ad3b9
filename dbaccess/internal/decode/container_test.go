package decode_test

import (
	"database/sql"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/internal/decode"
)

type address struct {
	City string  `json:"city"`
	Zip  *string `json:"zip,omitempty"`
}

type tree struct {
	Name string `json:"name"`
	Kids []tree `json:"kids"`
}

func TestContainers(t *testing.T) {
	t.Parallel()
	one, three := 1, 3
	a, empty := "a b", ""
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	runColumns(t, []columnCase{
		reads("[1,null,3]", []*int{&one, nil, &three}),
		reads("[1, 2, 3, 4, 5, 6, 7, 8, 9]", []int64{1, 2, 3, 4, 5, 6, 7, 8, 9}),
		reads("[]", []int{}),
		reads("null", []int(nil)),
		refuses[[]int]("[1,null,3]", "SQL NULL"),
		refuses[[]int](`["secret"]`, "not an integer"),
		refuses[[]int](`"{12,34}"`, "slice is read from an array"),
		refuses[[]int](`{"a":123}`, "slice is read from an array"),
		reads(`["a b","c,d","e\"f",""]`, []string{"a b", "c,d", `e"f`, ""}),
		reads("[1.10,2]", []string{"1.10", "2"}),
		reads("[]", []string{}),
		reads("null", []string(nil)),
		reads(`["a b",null,""]`, []*string{&a, nil, &empty}),
		refuses[[]string](`["secret",null]`, "SQL NULL"),
		refuses[[]string](`["secret",true]`, "only text"),
		refuses[[]string](`"{secret}"`, "slice is read from an array"),
		reads(`["buy","sell"]`, []kindOfTrade{"buy", "sell"}),
		reads("[1.10,2.2]", []json.Number{"1.10", "2.2"}),
		reads(`["2026-01-01T00:00:00+00:00",null]`, []*time.Time{&day, nil}),
		reads(`["2026-01-01T00:00:00+00:00",null]`, []sql.Null[time.Time]{{V: day, Valid: true}, {}}),
		reads("[[1,2],[3,4]]", [][]int{{1, 2}, {3, 4}}),
		reads("[[1,2],[3,4]]", [2][2]int{{1, 2}, {3, 4}}),
		reads(`["\\x01",null]`, [][]byte{{1}, nil}),
		refuses[[2]int]("[123]", "fewer elements"),
		refuses[[2]int]("[123,456,789]", "more elements"),
		refuses[[2]int](`{"a":123}`, "array is read from an array"),

		reads(`{"a": 1, "b": 2}`, map[string]int{"a": 1, "b": 2}),
		reads(`{"a": 1, "a": 2}`, map[string]int{"a": 2}),
		reads(`{"a": "x", "b\n": null}`, map[kindOfTrade]*string{"a": ptr("x"), "b\n": nil}),
		reads(`{}`, map[string]int{}),
		reads("null", map[string]int(nil)),
		reads("null", map[string]any(nil)),
		refuses[map[string]int](`{"secret": "secret"}`, "not an integer"),
		refuses[map[string]int](`["secret"]`, "map is read from an object"),
		refuses[map[string]any](`["secret"]`, "map is read from an object"),
		refuses[map[string]int](`{"secret\ud800": 1}`, "surrogate"),

		reads(`{"n": 9007199254740993, "b": [true, null, "s", 1.10], "n": 1234567890123456789}`, any(map[string]any{
			"n": json.Number("1234567890123456789"),
			"b": []any{true, nil, "s", json.Number("1.10")},
		})),
		reads(`{"n": 9007199254740993}`, map[string]any{"n": json.Number("9007199254740993")}),
		reads[any]("null", nil),
		reads[any]("[]", []any{}),
		refuses[any](`["\ud800 half"]`, "surrogate"),

		reads(`{"city": "Rome", "zip": "00100", "more": [{}]}`, address{City: "Rome", Zip: ptr("00100")}),
		reads(`{"zip": null}`, address{}),                                  // a json document may leave members out
		reads(`{"city": "Rome", "city": "Oslo"}`, address{City: "Oslo"}),   // and hold one twice
		reads(`{"c\u0069ty": "Rome", "\ud800": 1}`, address{City: "Rome"}), // names are compared unescaped
		reads(`[{"city": "Rome"}, {"city": "Oslo"}]`, []address{{City: "Rome"}, {City: "Oslo"}}),
		reads(`{"name": "a", "kids": [{"name": "b", "kids": []}]}`, tree{Name: "a", Kids: []tree{{Name: "b", Kids: []tree{}}}}),
		reads("null", []address(nil)),
		refuses[address](`{"city": null}`, "SQL NULL"),
		refuses[address](`"(secret,1)"`, "struct is read from an object"),
		refuses[address]("null", "use *decode_test.address"),

		reads("7", sql.NullInt64{Int64: 7, Valid: true}),
		reads("null", sql.NullInt64{}),
		reads(`"s"`, sql.NullString{String: "s", Valid: true}),
		reads("1.10", sql.NullString{String: "1.10", Valid: true}),
		reads("true", sql.NullBool{Bool: true, Valid: true}),
		reads(`"2026-01-01T00:00:00"`, sql.NullTime{Time: day, Valid: true}),
		reads(`"2026-01-01"`, sql.Null[time.Time]{V: day, Valid: true}),
		reads(`["x"]`, sql.Null[[]string]{V: []string{"x"}, Valid: true}),
		reads("null", sql.Null[json.RawMessage]{}),
		refuses[sql.NullInt16]("70000", "out of range"),
	})
}

func ptr[T any](v T) *T { return &v }

// TestPath checks that an error deep in a value says where, without the keys of a map: those are data.
func TestPath(t *testing.T) {
	t.Parallel()
	type lot struct {
		Price int64 `json:"price"`
	}
	type row struct {
		Lots []lot            `db:"lots"`
		Map  map[string][]lot `db:"map"`
	}
	for body, want := range map[string]string{
		`{"lots":[{"price":1},{"price":"x"}],"map":{}}`: "lots[].price",
		`{"lots":[],"map":{"canary":[{"price":"x"}]}}`:  "map[].price",
		`{"lots":[3],"map":{}}`:                         "lots[]",
	} {
		_, err := rows[row](t, `[{"lots":[],"map":{}},`+body+`]`, decode.Options{})
		var e *decode.TypeError
		if !asType(err, &e) || e.Column != want || e.Row != 1 {
			t.Errorf("%s: got %v, want a TypeError at %s of row 1", body, err, want)
			continue
		}
		leaks(t, err, "canary")
	}
}

// TestOwnership checks that what a result holds is its own: byte slices can be written to and grown without touching
// each other or the body, and the body can be reused.
func TestOwnership(t *testing.T) {
	t.Parallel()
	type row struct {
		A json.RawMessage `db:"a"`
		B []byte          `db:"b"`
		C json.RawMessage `db:"c"`
		S string          `db:"s"`
	}
	body := []byte(`[{"a":[1],"b":"\\x0102","c":[2],"s":"text"}]`)
	before := string(body)
	got, err := decode.Rows[row](planFor[row](t), body, decode.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := got[0]
	_ = append(r.A, "overflow"...)
	_ = append(r.B, 0xff, 0xff, 0xff)
	r.A[1] = '9'
	r.B[0] = 0xee
	if string(body) != before {
		t.Errorf("the body was changed: %s", body)
	}
	clear(body)
	want := row{A: json.RawMessage("[9]"), B: []byte{0xee, 2}, C: json.RawMessage("[2]"), S: "text"}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
