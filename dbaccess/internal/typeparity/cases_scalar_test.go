package typeparity_test

import (
	"database/sql"
	"encoding/json"
	"math"
	"math/big"
	"net"
	"net/netip"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
)

func ptr[T any](v T) *T { return &v }

const thirtyDigits = "123456789012345.678901234567890"

var (
	sampleUUID = [16]byte{0xa0, 0xee, 0xbc, 0x99, 0x9c, 0x0b, 0x4e, 0xf8, 0xbb, 0x6d, 0x6b, 0xb9, 0xbd, 0x38, 0x0a, 0x11}
	oddText    = "line\nbreak\ttab \"quote\" 'apo' \\ back , . : * % _ ( ) { } é 한국어 🚀 \u2028"
	huge       = bigOf("9223372036854775807")
	odd        = []string{"", " ", "NULL", "null", "a b", "c,d", `e"f`, `g\h`, "{}", "{1}", "한", "\n"}
)

func bigOf(s string) *big.Int { i, _ := new(big.Int).SetString(s, 10); return i }

func numericOf(s string) pgtype.Numeric {
	var n pgtype.Numeric
	if err := n.Scan(s); err != nil {
		panic(err)
	}
	return n
}

// numberCases are booleans and numbers.
var numberCases = []typeCase{
	both("c_bool", true, false),
	both("c_bool", ptr(true), nil),
	both("c_bool", switched(true)).as("named bool kinds"),
	both("c_bool", sql.NullBool{Bool: true, Valid: true}, sql.NullBool{}),
	both("c_bool", sql.Null[bool]{V: true, Valid: true}, sql.Null[bool]{}),
	both("c_bool", pgtype.Bool{Bool: false, Valid: true}, pgtype.Bool{}),
	both[any]("c_bool", true, nil).as("`any` (bool)"),

	both("c_int2", int16(math.MinInt16), int16(math.MaxInt16)),
	both("c_int2", int8(-128)),
	both("c_int2", level(255)).as("named integer kinds"),
	both("c_int2", sql.NullInt16{Int16: 7, Valid: true}, sql.NullInt16{}),
	both("c_int2", sql.NullByte{Byte: 7, Valid: true}, sql.NullByte{}),
	both("c_int2", pgtype.Int2{Int16: -7, Valid: true}, pgtype.Int2{}),

	both("c_int4", 0, math.MinInt32, math.MaxInt32),
	both("c_int4", int32(-1)),
	both("c_int4", uint16(math.MaxUint16)),
	both("c_int4", ptr(1), nil),
	both("c_int4", ptr(ptr(1))).as("pointers to pointers"),
	both("c_int4", sql.NullInt32{Int32: 7, Valid: true}, sql.NullInt32{}),
	both("c_int4", pgtype.Int4{Int32: 7, Valid: true}, pgtype.Int4{}),
	becomes("c_int4", 1e6, 1000000).as("`float64` without a fraction"),

	both("c_int8", int64(math.MinInt64), int64(math.MaxInt64), int64(1)<<53+1),
	both("c_int8", uint32(math.MaxUint32)),
	both("c_int8", uint64(1)<<53+1, uint64(math.MaxInt64)),
	both("c_int8", json.Number("9007199254740993")),
	both("c_int8", "9007199254740993"),
	both("c_int8", huge, nil),
	both("c_int8", *huge),
	both("c_int8", sql.NullInt64{Int64: 1<<53 + 1, Valid: true}, sql.NullInt64{}),
	both("c_int8", sql.Null[int64]{V: math.MaxInt64, Valid: true}, sql.Null[int64]{}),
	both("c_int8", pgtype.Int8{Int64: math.MaxInt64, Valid: true}, pgtype.Int8{}),
	both("c_int8", json.RawMessage("9007199254740993")),
	both[any]("c_int8", json.Number("9007199254740993")).as("`any` (json.Number)"),

	both("c_float4", float32(0.1), math.MaxFloat32, float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))),
	both("c_float4", pgtype.Float4{Float32: 1.5, Valid: true}, pgtype.Float4{Float32: float32(math.NaN()), Valid: true}, pgtype.Float4{}),

	both("c_float8", 0.1, 1e300, 5e-324, math.MaxFloat64, 1e6, 1e21, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1)),
	both("c_float8", sql.NullFloat64{Float64: math.NaN(), Valid: true}, sql.NullFloat64{Float64: 0.1, Valid: true}, sql.NullFloat64{}),
	both("c_float8", pgtype.Float8{Float64: 0.1, Valid: true}, pgtype.Float8{Float64: math.NaN(), Valid: true},
		pgtype.Float8{Float64: math.Inf(-1), Valid: true}, pgtype.Float8{}),
	both("c_float8", "NaN", "0.1"),
	both[any]("c_float8", "Infinity").as("`any` (json.Number; NaN and infinities as string)").and(both[any]("c_float8", json.Number("0.1"))),

	both("c_numeric", thirtyDigits, "1.10", "NaN", "Infinity", "-Infinity"),
	both("c_numeric", json.Number(thirtyDigits), "1.10"),
	both("c_numeric", decimal{thirtyDigits}, decimal{"1.10"}).as("`decimal.Decimal` of shopspring, and its like"),
	both("c_numeric", ptr(decimal{"1.10"}), nil).as("pointers to them"),
	both("c_numeric", sql.Null[decimal]{V: decimal{"1.10"}, Valid: true}, sql.Null[decimal]{}).as("`sql.Null` of them"),
	both("c_numeric", bareDecimal{thirtyDigits}).as("types with `MarshalText` and `UnmarshalText`"),
	both("c_numeric", numericOf(thirtyDigits), numericOf("0.00000000000000000001"), numericOf("NaN"), numericOf("Infinity"), numericOf("-Infinity"), pgtype.Numeric{}),
	both("c_numeric", bigOf("123456789012345678901234567890"), nil),
	both("c_numeric", int64(math.MaxInt64)),
	both("c_numeric", uint64(math.MaxUint64)),
	both("c_numeric", 1.5, math.NaN()),
	both("c_numeric", sql.NullString{String: "1.10", Valid: true}, sql.NullString{}),
	both[any]("c_numeric", json.Number(thirtyDigits)).as("`any` (json.Number; NaN and infinities as string)"),

	becomes("c_money_like", "1.1", "1.1000").and(becomes("c_money_like", "9999999999999999.9999", "9999999999999999.9999")),
	becomes("c_money_like", decimal{"1.1"}, decimal{"1.1000"}).as("`decimal.Decimal` of shopspring, and its like"),
	both("c_money_like", json.Number("1.1000")),
}

// textCases are texts, bytes, identifiers and networks.
var textCases = []typeCase{
	both("c_text", oddText, "", "NULL", strings.Repeat("x", 70_000)).unfiltered().and(both("c_text", oddText)),
	both("c_text", ptr(oddText), ptr(""), nil),
	both("c_text", ticker(oddText)).as("named string kinds"),
	both("c_text", sql.NullString{String: oddText, Valid: true}, sql.NullString{Valid: true}, sql.NullString{}),
	both("c_text", sql.Null[ticker]{V: "T", Valid: true}, sql.Null[ticker]{}).as("`sql.Null` of them"),
	both("c_text", pgtype.Text{String: oddText, Valid: true}, pgtype.Text{}),
	both("c_text", nullText{String: "", Valid: true}, nullText{String: "x", Valid: true}, nullText{}).as("`null.String` of guregu, and its like"),
	both("c_text", netip.MustParseAddrPort("[::1]:80")).as("types with `MarshalText` and `UnmarshalText`"),
	becomes("c_text", pointerText{"x"}, "<x>").as("types whose pointer has `MarshalText`"),
	becomes("c_text", textBytes{oddTextNoBackslash}, oddTextNoBackslash).as("a `driver.Valuer` of text as bytes"),
	becomes("c_text", 5, "5").as("numbers and bools, as their text"),
	becomes("c_text", true, "true").as("numbers and bools, as their text"),
	both[any]("c_text", oddText, nil).as("`any` (string)"),

	both("c_varchar", ",.():*%_", "한국어 🚀"),
	both("c_varchar", ticker("T01")).as("named string kinds"),
	becomes("c_char", "ab", "ab   ").and(becomes("c_char", " a  b", " a  b")),
	both("c_char", sql.NullString{String: "12345", Valid: true}, sql.NullString{}),

	both("c_bytea", []byte{0, 0xff, '\\', '"'}, []byte{}, nil, []byte(`{"a":"\\"}`)),
	both("c_bytea", ptr([]byte{1}), nil),
	both("c_bytea", rawBytes{1, 2}, nil).as("named kinds of it"),
	both("c_bytea", [4]byte{1, 2, 3, 4}).as("`[N]byte`"),
	both("c_bytea", sql.Null[[]byte]{V: []byte("x"), Valid: true}, sql.Null[[]byte]{}),
	becomes("c_bytea", textBytes{oddTextNoBackslash}, []byte(oddTextNoBackslash)).as("a `driver.Valuer` of bytes"),
	becomes("c_bytea", textBytes{"\x00\xff"}, []byte{0, 0xff}).as("a `driver.Valuer` of bytes"),
	both("c_bytea", `\x00ff`),

	both("c_uuid", sampleUUID, [16]byte{}),
	both("c_uuid", ptr(sampleUUID), nil),
	both("c_uuid", plainID(sampleUUID)).as("named kinds of it"),
	both("c_uuid", uuid(sampleUUID), uuid{}).as("`uuid.UUID` of google and gofrs, and their like"),
	both("c_uuid", ptr(uuid(sampleUUID)), nil).as("pointers to them"),
	both("c_uuid", sql.Null[uuid]{V: uuid(sampleUUID), Valid: true}, sql.Null[uuid]{}).as("`sql.Null` of them"),
	both("c_uuid", nullUUID{uuid(sampleUUID), true}, nullUUID{}).as("`uuid.NullUUID`"),
	both("c_uuid", pgtype.UUID{Bytes: sampleUUID, Valid: true}, pgtype.UUID{}),
	both("c_uuid", uuid(sampleUUID).String()),

	both("c_enum", tradeKind("buy"), "gift").as("named string kinds"),
	both("c_enum", ptr(tradeKind("sell")), nil).as("pointers to them"),
	both("c_enum", sql.Null[tradeKind]{V: "buy", Valid: true}, sql.Null[tradeKind]{}).as("`sql.Null` of them"),
	both("c_enum", "buy"),
	both("c_enum", pgtype.Text{String: "buy", Valid: true}, pgtype.Text{}),

	both("c_inet", netip.MustParsePrefix("192.168.0.1/24"), netip.MustParsePrefix("10.1.2.3/32"), netip.MustParsePrefix("::1/128")),
	both("c_inet", netip.MustParseAddr("10.1.2.3"), netip.MustParseAddr("2001:db8::1")),
	both("c_inet", ptr(netip.MustParseAddr("10.1.2.3")), nil),
	becomes("c_inet", net.ParseIP("10.1.2.3").To16(), net.ParseIP("10.1.2.3").To16()),
	both("c_inet", "192.168.0.1/24"),
	both("c_cidr", netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")),
	both("c_cidr", ptr(netip.MustParsePrefix("10.0.0.0/8")), nil),
	both("c_cidr", "10.0.0.0/8"),
	both("c_macaddr", net.HardwareAddr{8, 0, 0x2b, 1, 2, 3}, nil),
	both("c_macaddr", "08:00:2b:01:02:03"),

	both("c_bit", "1010"),
	both("c_bit", pgtype.Bits{Bytes: []byte{0xa0}, Len: 4, Valid: true}, pgtype.Bits{}),
	both("c_varbit", "101", ""),
	both("c_varbit", pgtype.Bits{Bytes: []byte{0xa0}, Len: 3, Valid: true}, pgtype.Bits{}),

	both("c_point", "(1.5,-2)").unfiltered(),
	both("c_point", pgtype.Point{P: pgtype.Vec2{X: 1.5, Y: -2}, Valid: true}, pgtype.Point{}).unfiltered(),
	becomes("c_tsvector", "fat:2 cat:3", "'cat':3 'fat':2"),
	both("c_tsvector", "'a':1A 'b':2B", ""),
	both("c_tsvector", pgtype.TSVector{Lexemes: []pgtype.TSVectorLexeme{{Word: "cat"}}, Valid: true}, pgtype.TSVector{}),
	both("c_xml", "<c>&amp;</c>").unfiltered(),
	both("c_xml", ptr("<c/>"), nil).unfiltered(),
}

const oddTextNoBackslash = "plain 한국어 \"q\" {x}"
