package decode_test

import (
	"encoding/json"
	"math"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/internal/decode"
)

// allTypes is the table all_types of the golden corpus, one column of each type.
type allTypes struct {
	ID          int32           `db:"id"`
	Bool        *bool           `db:"c_bool"`
	Int2        *int16          `db:"c_int2"`
	Int4        *int32          `db:"c_int4"`
	Int8        *int64          `db:"c_int8"`
	Float4      *float32        `db:"c_float4"`
	Float8      *float64        `db:"c_float8"`
	Numeric     *string         `db:"c_numeric"`
	MoneyLike   *json.Number    `db:"c_money_like"`
	Text        *string         `db:"c_text"`
	Varchar     *string         `db:"c_varchar"`
	Char        *string         `db:"c_char"`
	Bytea       []byte          `db:"c_bytea"`
	UUID        *[16]byte       `db:"c_uuid"`
	Date        string          `db:"c_date"`
	Time        *time.Duration  `db:"c_time"`
	TimeTZ      *string         `db:"c_timetz"`
	Timestamp   any             `db:"c_timestamp"`
	TimestampTZ json.RawMessage `db:"c_timestamptz"`
	Interval    *string         `db:"c_interval"`
	JSON        json.RawMessage `db:"c_json"`
	JSONB       any             `db:"c_jsonb"`
	IntArr      []*int          `db:"c_int_arr"`
	TextArr     []*string       `db:"c_text_arr"`
	NumArr      []string        `db:"c_num_arr"`
	TSArr       []*time.Time    `db:"c_ts_arr"`
	Matrix      [][]int         `db:"c_matrix"`
	Enum        *kindOfTrade    `db:"c_enum"`
	EnumArr     []kindOfTrade   `db:"c_enum_arr"`
	Inet        *netip.Prefix   `db:"c_inet"`
	CIDR        *netip.Prefix   `db:"c_cidr"`
	MACAddr     *string         `db:"c_macaddr"`
	Bit         *string         `db:"c_bit"`
	Varbit      *string         `db:"c_varbit"`
	Int4Range   *string         `db:"c_int4range"`
	TSTZRange   *string         `db:"c_tstzrange"`
	DateRange   *string         `db:"c_daterange"`
	MultiRange  *string         `db:"c_nummultirange"`
	Point       *string         `db:"c_point"`
	TSVector    *string         `db:"c_tsvector"`
	XML         *string         `db:"c_xml"`
}

func allTypesBody(t *testing.T) []byte {
	t.Helper()
	body, err := os.ReadFile("testdata/types-all.json")
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// TestAllTypes reads the answer of a real PostgREST.
func TestAllTypes(t *testing.T) {
	t.Parallel()
	got, err := decode.Rows[allTypes](planFor[allTypes](t), allTypesBody(t), decode.Options{NullAsZero: true})
	if err != nil {
		t.Fatal(err)
	}
	huge := json.Number("1" + strings.Repeat("0", 400))
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	cidr := netip.MustParsePrefix
	want := []allTypes{{
		ID: 1, Bool: ptr(true), Int2: ptr[int16](32767), Int4: ptr[int32](2147483647), Int8: ptr[int64](9223372036854775807),
		Float4: ptr[float32](1.5), Float8: ptr(0.1), Numeric: ptr("12345678901234567890.123456789"), MoneyLike: ptr(json.Number("9999999999999999.9999")),
		Text: ptr("plain"), Varchar: ptr("v"), Char: ptr("ab   "), Bytea: []byte{0, 0xff, 0x10},
		UUID: &[16]byte{0xa0, 0xee, 0xbc, 0x99, 0x9c, 0x0b, 0x4e, 0xf8, 0xbb, 0x6d, 0x6b, 0xb9, 0xbd, 0x38, 0x0a, 0x11},
		Date: "2026-02-28", Time: ptr(13*time.Hour + 14*time.Minute + 15*time.Second + 123456*time.Microsecond), TimeTZ: ptr("13:14:15+09"),
		Timestamp: "2026-02-28T13:14:15.123456", TimestampTZ: json.RawMessage(`"2026-02-28T04:14:15.123456+00:00"`),
		Interval: ptr("1 year 2 mons 3 days 04:05:06.5"), JSON: json.RawMessage(`{"b": 1, "a": [1, 2.50, null], "b": 2}`),
		JSONB:  map[string]any{"a": []any{json.Number("1"), json.Number("2.50"), nil}, "b": json.Number("1")},
		IntArr: []*int{ptr(1), nil, ptr(3)}, TextArr: []*string{ptr("a b"), ptr("c,d"), ptr(`e"f`), nil, ptr("")},
		NumArr: []string{"1.10", "2.2"}, TSArr: []*time.Time{&day, nil}, Matrix: [][]int{{1, 2}, {3, 4}},
		Enum: ptr(kindOfTrade("buy")), EnumArr: []kindOfTrade{"buy", "sell"}, Inet: ptr(cidr("192.168.0.1/24")), CIDR: ptr(cidr("10.0.0.0/8")),
		MACAddr: ptr("08:00:2b:01:02:03"), Bit: ptr("1010"), Varbit: ptr("101"), Int4Range: ptr("[1,5)"),
		TSTZRange: ptr(`["2026-01-01 00:00:00+00","2026-02-01 00:00:00+00")`), DateRange: ptr("[2026-01-01,2026-02-01)"),
		MultiRange: ptr("{[1.5,2.5),[3,4)}"), Point: ptr("(1.5,-2)"), TSVector: ptr("'cat':3 'fat':2"), XML: ptr("<a>1</a>"),
	}, {
		ID: 2, Bool: ptr(false), Int2: ptr[int16](-32768), Int4: ptr[int32](-2147483648), Int8: ptr[int64](-9223372036854775808),
		Float4: ptr(float32(math.Inf(-1))), Float8: ptr(math.NaN()), Numeric: ptr("NaN"), MoneyLike: ptr(json.Number("0.0000")),
		Text: ptr(""), Varchar: ptr("한국어 🚀"), Char: ptr("     "), Bytea: []byte{}, UUID: &[16]byte{},
		Date: "0044-03-15 BC", Time: ptr(24 * time.Hour), TimeTZ: ptr("00:00:00-12"),
		Timestamp: "0001-01-01T00:00:00", TimestampTZ: json.RawMessage(`"9999-12-31T23:59:59.999999+00:00"`),
		Interval: ptr("-1 days +02:03:00"), JSON: json.RawMessage("null"), JSONB: json.Number("9007199254740993"),
		IntArr: []*int{}, TextArr: []*string{}, NumArr: []string{}, TSArr: []*time.Time{}, Matrix: [][]int{},
		Enum: ptr(kindOfTrade("gift")), EnumArr: []kindOfTrade{}, Inet: ptr(cidr("::1/128")), CIDR: ptr(cidr("2001:db8::/32")),
		MACAddr: ptr("ff:ff:ff:ff:ff:ff"), Bit: ptr("0000"), Varbit: ptr(""), Int4Range: ptr("empty"),
		TSTZRange: ptr("(,)"), DateRange: ptr("(,2026-01-01)"), MultiRange: ptr("{}"), Point: ptr("(0,0)"), TSVector: ptr(""), XML: ptr("<b/>"),
	}, {
		ID: 3, TimestampTZ: json.RawMessage("null"), JSON: json.RawMessage("null"),
	}, {
		ID: 4, Bool: ptr(true), Int2: ptr[int16](0), Int4: ptr[int32](0), Int8: ptr[int64](9007199254740993),
		Float4: ptr[float32](3.4028235e+38), Float8: ptr(1.7976931348623157e+308), Numeric: ptr("0.00000000000000000001"), MoneyLike: ptr(json.Number("0.0001")),
		Text: ptr("line\nbreak\ttab \"quote\" \\ back"), Varchar: ptr(",.():*%_"), Char: ptr("a  b "), Bytea: []byte{0xde, 0xad, 0xbe, 0xef},
		UUID: &[16]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255},
		Date: "infinity", Time: ptr(time.Duration(0)), TimeTZ: ptr("23:59:59.999999+00"),
		Timestamp: "-infinity", TimestampTZ: json.RawMessage(`"infinity"`), Interval: ptr("00:00:00"), JSON: json.RawMessage(`"str"`),
		JSONB:  map[string]any{"nested": map[string]any{"deep": []any{map[string]any{"x": huge}}}},
		IntArr: []*int{ptr(-1)}, TextArr: []*string{ptr("{}"), ptr("null")}, NumArr: []string{"NaN"}, TSArr: []*time.Time{}, Matrix: [][]int{{-1}},
		Enum: ptr(kindOfTrade("sell")), EnumArr: []kindOfTrade{"gift"}, Inet: ptr(cidr("10.1.2.3/32")), CIDR: ptr(cidr("192.168.1.0/24")),
		MACAddr: ptr("00:00:00:00:00:00"), Bit: ptr("1111"), Varbit: ptr("1"), Int4Range: ptr("(,)"),
		TSTZRange: ptr(`("2026-01-01 00:00:00+00","2026-01-01 00:00:01+00"]`), DateRange: ptr("empty"), MultiRange: ptr("{(,)}"),
		Point: ptr("(10000000000,-1e-10)"), TSVector: ptr("'a':1A 'b':2B"), XML: ptr("<c>&amp;</c>"),
	}}
	equal := cmp.Options{
		cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
		cmp.Comparer(func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }),
	}
	if diff := cmp.Diff(want, got, equal); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAllTypesAsDocuments reads the same answer without a struct: every digit and every byte stays.
func TestAllTypesAsDocuments(t *testing.T) {
	t.Parallel()
	body := allTypesBody(t)
	raws, err := decode.Rows[json.RawMessage](planFor[json.RawMessage](t), body, decode.Options{})
	if err != nil {
		t.Fatal(err)
	}
	parts := make([]string, len(raws))
	for i, r := range raws {
		parts[i] = string(r)
	}
	if got := "[" + strings.Join(parts, ", \n ") + "]"; got != string(body) {
		t.Errorf("the raw rows do not make up the body:\n%s", cmp.Diff(string(body), got))
	}
	maps, err := decode.Rows[map[string]any](planFor[map[string]any](t), body, decode.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var want []map[string]any
	dec := json.NewDecoder(strings.NewReader(string(body)))
	dec.UseNumber()
	if err := dec.Decode(&want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, maps); diff != "" {
		t.Errorf("maps (-encoding/json +decode):\n%s", diff)
	}
	if n := maps[3]["c_int8"]; n != json.Number("9007199254740993") {
		t.Errorf("c_int8 is %v", n)
	}
}
