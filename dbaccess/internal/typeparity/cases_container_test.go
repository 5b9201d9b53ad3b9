package typeparity_test

import (
	"database/sql"
	"encoding/json"
	"math"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

var sampleDocument = document{
	Name: oddText, Big: 1234567890123456789, Price: "1.10", At: noon, Took: 90 * time.Second, Bytes: []byte{0, 0xff},
	Labels: map[string]string{"b": "2", "a": "1"}, Inner: &document{Name: "in", At: idesOfMarch},
}

// jsonCases are json and jsonb. The column's text is what it was sent; jsonb is
// normalised.
var jsonCases = []typeCase{
	both("c_json", json.RawMessage(`{"b": 1, "a": [1, 2.50, null], "b": 2}`), json.RawMessage(`"x"`), json.RawMessage(`1e400`)).unfiltered(),
	becomes("c_json", json.RawMessage(nil), json.RawMessage("null")),
	both("c_json", sampleDocument).as("structs").unfiltered(),
	both("c_json", map[string]any{"n": json.Number("1234567890123456789"), "x": []any{nil, true, "a"}}).unfiltered(),
	both("c_json", []string{"a", "b"}).as("slices").unfiltered(),
	both[any]("c_json", map[string]any{"n": json.Number("1.10")}, []any{}).unfiltered(),

	becomes("c_jsonb", json.RawMessage(`{"b":1,"a":[1,2.50,null]}`), json.RawMessage(`{"a": [1, 2.50, null], "b": 1}`)).and(
		both("c_jsonb", json.RawMessage(`{"n": 1234567890123456789}`), json.RawMessage(`"str"`), json.RawMessage(`[]`), json.RawMessage(thirtyDigits))),
	becomes("c_jsonb", json.RawMessage(nil), json.RawMessage("null")),
	both("c_jsonb", ptr(json.RawMessage(`{}`)), nil),
	both("c_jsonb", sampleDocument).as("structs"),
	both("c_jsonb", ptr(sampleDocument), nil).as("pointers to structs"),
	both("c_jsonb", sql.Null[document]{V: document{Name: "x"}, Valid: true}, sql.Null[document]{}).as("`sql.Null` of structs"),
	both("c_jsonb", map[string]any{"n": json.Number("1234567890123456789"), "x": []any{nil, true, "a"}}, map[string]any{}, nil),
	both("c_jsonb", map[string]string{"a": oddText}).as("`map[string]T`"),
	both("c_jsonb", map[string]document{"a": sampleDocument}).as("`map[string]T`"),
	both("c_jsonb", []string{"a", "b"}, []string{}, nil).as("slices").unfiltered(),
	both("c_jsonb", []document{sampleDocument}).as("slices").unfiltered(),
	both("c_jsonb", stored{"x", 1<<53 + 1}).as("a `driver.Valuer` of JSON as bytes or string"),
	both("c_jsonb", storedText{oddText}).as("a `driver.Valuer` of JSON as bytes or string"),
	both("c_jsonb", rawDocument(`{"a": 1}`), rawDocument(`[]`)).as("a `driver.Valuer` of JSON as bytes or string"),
	both("c_jsonb", gormJSON(`{"a": 1}`), gormJSON(`"str"`)).as("`datatypes.JSON` of GORM, and its like"),
	both("c_jsonb", time.Time(noon)).as("values that JSON has as a string").unfiltered(),
	both("c_jsonb", 9007199254740993).as("numbers and bools"),
	both("c_jsonb", true).as("numbers and bools"),
	both("c_jsonb", "x").unfiltered(),
	both[any]("c_jsonb", map[string]any{"n": json.Number("1234567890123456789")}, []any{"a"}, nil).unfiltered(),
	becomes("c_jsonb", any(nil), json.RawMessage("null")).as("`any`"),
}

// arrayCases are arrays.
var arrayCases = []typeCase{
	both("c_int_arr", []int{1, 2, 3}, []int{}, nil),
	both("c_int_arr", []*int{ptr(1), nil, ptr(3)}).as("`[]*T`, with NULLs"),
	both("c_int_arr", []sql.NullInt64{{Int64: 1, Valid: true}, {}}).as("`[]sql.NullX`, `[]sql.Null[T]`, with NULLs"),
	both("c_int_arr", []sql.Null[int]{{V: 1, Valid: true}, {}}).as("`[]sql.NullX`, `[]sql.Null[T]`, with NULLs"),
	both("c_int_arr", []pgtype.Int4{{Int32: 1, Valid: true}, {}}).as("slices of pgtype's types, with NULLs"),
	both("c_int_arr", pgtype.FlatArray[int32]{1, 2}),
	both("c_int_arr", []level{1, 255}).as("slices of named kinds"),
	both("c_int_arr", [3]int{1, 2, 3}).as("`[N]T`"),
	both("c_int_arr", ptr([]int{1}), nil),
	both[any]("c_int_arr", []any{json.Number("1"), nil}).as("`any` ([]any)"),
	both("c_int_arr", json.RawMessage("[1,null,3]")).unfiltered(),

	both("c_text_arr", odd, []string{}, nil),
	both("c_text_arr", []*string{ptr("null"), nil, ptr("")}).as("`[]*T`, with NULLs"),
	both("c_text_arr", []sql.NullString{{String: oddText, Valid: true}, {}}).as("`[]sql.NullX`, with NULLs"),
	both("c_text_arr", []ticker{"a", "b"}).as("slices of named kinds"),
	becomes("c_text_arr", literal{"a", "b c"}, []string{"a", "b c"}).as("`pq.StringArray`, and its like"),
	becomes("c_text_arr", `{a,"b c",NULL}`, []*string{ptr("a"), ptr("b c"), nil}).as("`string`, an array literal"),

	both("c_num_arr", []string{"1.10", thirtyDigits, "NaN"}),
	both("c_num_arr", []json.Number{"1.10", thirtyDigits}),
	both("c_num_arr", []decimal{{"1.10"}, {thirtyDigits}}).as("slices of decimals"),
	both("c_num_arr", []float64{1.5, math.NaN(), math.Inf(1)}),
	both("c_num_arr", []pgtype.Numeric{numericOf("1.10"), numericOf("NaN"), {}}).as("slices of pgtype's types, with NULLs"),

	both("c_ts_arr", []time.Time{noon, idesOfMarch, farFuture}).and(becomes("c_ts_arr", []time.Time{early}, []time.Time{early.UTC()})),
	both("c_ts_arr", []*time.Time{ptr(noon), nil}).as("`[]*T`, with NULLs"),
	both("c_ts_arr", []sql.NullTime{{Time: noon, Valid: true}, {}}).as("`[]sql.NullX`, with NULLs"),

	both("c_matrix", [][]int{{1, 2}, {3, 4}}),
	both("c_matrix", [2][2]int{{1, 2}, {3, 4}}).as("`[N][M]T`"),
	both("c_matrix", [][]*int{{ptr(1), nil}}).as("`[][]*T`, with NULLs"),
	both("c_matrix", [][][]int{{{1}, {2}}}).as("slices of as many dimensions as the value has"),

	both("c_enum_arr", []tradeKind{"buy", "sell"}, []tradeKind{}, nil).as("slices of named kinds"),
	both("c_enum_arr", []*tradeKind{ptr(tradeKind("gift")), nil}).as("`[]*T`, with NULLs"),
	both("c_enum_arr", []string{"buy"}),
	becomes("c_enum_arr", literal{"buy", "gift"}, []tradeKind{"buy", "gift"}).as("`pq.StringArray`, and its like"),
}

func rangeOf[T any](lowerType pgtype.BoundType, lower, upper T, upperType pgtype.BoundType) pgtype.Range[T] {
	return pgtype.Range[T]{Lower: lower, Upper: upper, LowerType: lowerType, UpperType: upperType, Valid: true}
}

func emptyRange[T any]() pgtype.Range[T] {
	return pgtype.Range[T]{LowerType: pgtype.Empty, UpperType: pgtype.Empty, Valid: true}
}

const (
	inclusive = pgtype.Inclusive
	exclusive = pgtype.Exclusive
	unbounded = pgtype.Unbounded
)

// rangeCases are ranges and multiranges.
var rangeCases = []typeCase{
	both("c_int4range", "[1,5)", "empty", "(,)"),
	both("c_int4range", rangeOf[int32](inclusive, 1, 5, exclusive), rangeOf[int32](unbounded, 0, 5, exclusive), emptyRange[int32](), pgtype.Range[int32]{}).and(
		becomes("c_int4range", rangeOf[int32](inclusive, 1, 5, inclusive), rangeOf[int32](inclusive, 1, 6, exclusive))).as("`pgtype.Range[T]`"),
	both("c_int4range", rangeOf(inclusive, pgtype.Int4{Int32: -1, Valid: true}, pgtype.Int4{Int32: 5, Valid: true}, exclusive)).as("`pgtype.Range[T]`"),
	both("c_int4range", ptr(rangeOf(inclusive, 1, 5, exclusive)), nil).as("pointers to it"),

	both("c_tstzrange", `["2026-01-01 00:00:00+00","2026-02-01 00:00:00+00")`),
	both("c_tstzrange", rangeOf(inclusive, noon, farFuture, exclusive), rangeOf(exclusive, idesOfMarch, noon, inclusive), emptyRange[time.Time]()).as("`pgtype.Range[T]`"),
	both("c_tstzrange", rangeOf(inclusive, pgtype.Timestamptz{Time: noon, Valid: true}, pgtype.Timestamptz{InfinityModifier: pgtype.Infinity, Valid: true}, exclusive)).
		as("`pgtype.Range[T]`"),

	both("c_daterange", "[2026-01-01,2026-02-01)"),
	both("c_daterange", rangeOf(inclusive, day, farFuture, exclusive)).as("`pgtype.Range[T]`"),
	both("c_daterange", rangeOf(inclusive, pgtype.Date{Time: day, Valid: true}, pgtype.Date{}, unbounded)).as("`pgtype.Range[T]`"),
	both("c_daterange", rangeOf(inclusive, "2026-01-01", "infinity", exclusive)).as("`pgtype.Range[T]`"),

	both("c_nummultirange", "{[1.5,2.5),[3,4)}", "{}"),
	both("c_nummultirange", pgtype.Multirange[pgtype.Range[string]]{rangeOf(inclusive, "1.5", "2.5", exclusive), rangeOf(inclusive, "3", "", unbounded)},
		pgtype.Multirange[pgtype.Range[string]]{}, nil).as("`pgtype.Multirange[pgtype.Range[T]]`"),
	both("c_nummultirange", pgtype.Multirange[pgtype.Range[pgtype.Numeric]]{rangeOf(inclusive, numericOf("1.5"), numericOf("2.50"), exclusive)}).
		as("`pgtype.Multirange[pgtype.Range[T]]`"),
}

// pair is a composite type.
type pair struct {
	A *int   `db:"a"`
	B string `db:"b"`
}

// otherCases are types that the golden fixture leaves out.
var otherCases = []typeCase{
	both("c_oid", uint32(math.MaxUint32)),
	both("c_oid", int64(7)),
	both("c_oid", "4294967295"),
	both("c_name", "pg_class"),
	both("c_macaddr8", net.HardwareAddr{8, 0, 0x2b, 1, 2, 3, 4, 5}, nil),
	both("c_macaddr8", "08:00:2b:01:02:03:04:05"),
	reads("c_hstore", `"a"=>"1", "b"=>NULL`, map[string]*string{"a": ptr("1"), "b": nil}),
	reads("c_hstore", `"a"=>"1"`, map[string]string{"a": "1"}),
	becomes("c_hstore", pgtype.Hstore{"b": nil}, map[string]*string{"b": nil}),
	becomes("c_hstore", `"a"=>"1"`, map[string]string{"a": "1"}).as("`string`, its literal"),
	both("c_pair", pair{ptr(1), oddText}, pair{nil, ""}).as("structs").unfiltered(),
	both("c_pair", ptr(pair{ptr(1), "x"}), nil).as("pointers to structs").unfiltered(),
	both("c_pair", map[string]any{"a": json.Number("1"), "b": "x"}).unfiltered(),
	becomes("c_pair", `(1,"x y")`, pair{ptr(1), "x y"}).as("`string`, its literal").unfiltered(),
	both("c_pair_arr", []pair{{ptr(1), "x"}}).as("slices of structs").unfiltered(),
	both("c_pair_arr", []*pair{{ptr(1), oddText}, nil}).as("slices of pointers to structs, with NULLs").unfiltered(),
	both("c_domain", 7),
	both("c_domain", sql.NullInt64{Int64: 7, Valid: true}, sql.NullInt64{}),
	both("c_jsonb_arr", []json.RawMessage{json.RawMessage(`{"a": "x\"y"}`), json.RawMessage(`[1, 2]`), json.RawMessage(`"s"`)}),
	both("c_jsonb_arr", []document{sampleDocument}).as("slices of structs"),
	both("c_jsonb_arr", []map[string]string{{"a": oddText}}),
	both("c_circle", "<(1,2),3>"),
	both("c_circle", pgtype.Circle{P: pgtype.Vec2{X: 1, Y: 2}, R: 3, Valid: true}, pgtype.Circle{}),
	both("c_range_arr", []pgtype.Range[int32]{rangeOf[int32](inclusive, 1, 5, exclusive), emptyRange[int32]()}).as("`[]pgtype.Range[T]`"),
	both("c_range_arr", []string{"[1,5)", "empty"}),
}
