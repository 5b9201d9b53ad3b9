package decode_test

import (
	"encoding/json"
	"errors"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/twinpath/twinpath/dbaccess/internal/decode"
)

func asType[E error](err error, target *E) bool { return errors.As(err, target) }

type (
	kindOfTrade string
	cents       int64
	blob        []byte
)

func TestNumbers(t *testing.T) {
	t.Parallel()
	runColumns(t, []columnCase{
		reads("true", true),
		reads("false", false),
		refuses[bool](`"true"`, "only boolean"),
		refuses[bool]("1", "only boolean"),
		refuses[bool]("[true]", "only boolean"),

		reads[int16]("32767", 32767),
		reads[int16]("-32768", -32768),
		reads[int32]("2147483647", 2147483647),
		reads[int64]("9223372036854775807", math.MaxInt64),
		reads[int64]("-9223372036854775808", math.MinInt64),
		reads[int64]("9007199254740993", 9007199254740993), // 2^53+1: lost by way of float64
		reads("-0", 0),
		reads[cents]("1250", 1250),
		reads[int64](`"4294967295"`, 4294967295), // oid
		refuses[int8]("128", "out of range"),
		refuses[int16]("32768", "out of range"),
		refuses[int32]("-2147483649", "out of range"),
		refuses[int64]("9223372036854775808", "out of range"),
		refuses[int64](`"92233720368547758080"`, "out of range"),
		refuses[int64]("1.0", "not written as an integer"),
		refuses[int64]("1e3", "not written as an integer"),
		refuses[int64](`"12a"`, "not an integer"),
		refuses[int64](`"+12"`, "not an integer"),
		refuses[int64](`" 12"`, "not an integer"),
		refuses[int64](`"-"`, "not an integer"),
		refuses[int64](`""`, "not an integer"),
		refuses[int64](`"1_000"`, "not an integer"),
		refuses[int64]("true", "only integers"),
		refuses[int64]("[12]", "only integers"),
		refuses[int64](`{"a":1}`, "only integers"),

		reads[uint8]("255", 255),
		reads[uint32](`"4294967295"`, math.MaxUint32),
		reads[uint64]("18446744073709551615", math.MaxUint64),
		reads[uint]("-0", 0),
		refuses[uint32]("-1", "negative or out of range"),
		refuses[uint32]("4294967296", "negative or out of range"),
		refuses[uint32]("1.5", "not written as an integer"),
		refuses[uint32]("false", "only integers"),

		reads("0.1", 0.1),
		reads("-0", math.Copysign(0, -1)),
		reads("1e+300", 1e300),
		reads("1.7976931348623157e+308", math.MaxFloat64),
		reads[float32]("3.4028235e+38", math.MaxFloat32),
		reads[float32]("1.5", 1.5),
		reads(`"NaN"`, math.NaN()),
		reads(`"Infinity"`, math.Inf(1)),
		reads(`"-Infinity"`, math.Inf(-1)),
		reads(`"-Infinity"`, float32(math.Inf(-1))),
		refuses[float64]("1e400", "out of range"),
		refuses[float32]("3.5e38", "out of range"),
		refuses[float64](`"1.5"`, "none of NaN"),
		refuses[float64](`"Inf"`, "none of NaN"),
		refuses[float64](`"nan"`, "none of NaN"),
		refuses[float64]("true", "only numbers"),
		refuses[float64]("[0.125]", "only numbers"),

		reads("12345678901234567890.123456789", json.Number("12345678901234567890.123456789")),
		reads("1.10", json.Number("1.10")),
		refuses[json.Number](`"NaN"`, "use string"),
		refuses[json.Number]("true", "use string"),

		refuses[bool]("null", "use *bool or sql.Null[bool]"),
		refuses[[2]int]("null", "use *[2]int"),
	}[:])
}

func TestText(t *testing.T) {
	t.Parallel()
	id := [16]byte{0xa0, 0xee, 0xbc, 0x99, 0x9c, 0x0b, 0x4e, 0xf8, 0xbb, 0x6d, 0x6b, 0xb9, 0xbd, 0x38, 0x0a, 0x11}
	runColumns(t, []columnCase{
		reads(`"plain"`, "plain"),
		reads(`""`, ""),
		reads(`"ab   "`, "ab   "),
		reads(`"한국어 🚀"`, "한국어 🚀"),
		reads(`"line\nbreak\ttab \"quote\" \\ back"`, "line\nbreak\ttab \"quote\" \\ back"),
		reads(`"\u00e9\ud83d\ude80\/"`, "é🚀/"),
		reads("1.10", "1.10"), // a numeric keeps its digits
		reads("12345678901234567890.123456789", "12345678901234567890.123456789"),
		reads(`"NaN"`, "NaN"),
		reads[kindOfTrade](`"buy"`, "buy"),
		refuses[string]("true", "only text and numbers"),
		refuses[string](`{"secret":1}`, "only text and numbers"),
		refuses[string](`["secret"]`, "only text and numbers"),
		refuses[string](`"\ud800 half"`, "surrogate"),
		refuses[string]("false", "only text and numbers"),

		reads(`"\\x00ff10"`, []byte{0x00, 0xff, 0x10}),
		reads(`"\\x"`, []byte{}),
		reads(`"\\xDEADbeef"`, blob{0xde, 0xad, 0xbe, 0xef}),
		reads(`"\\x0102"`, [2]byte{1, 2}),
		reads("null", []byte(nil)),
		refuses[[]byte](`"\\x00f"`, "hex form"),
		refuses[[]byte](`"\\x00fg"`, "not hexadecimal"),
		refuses[[]byte](`"c2VjcmV0"`, "hex form"),
		refuses[[]byte](`"\\000secret"`, "hex form"),
		refuses[[]byte]("[1,2,3]", "only bytea"),
		refuses[[2]byte](`"\\x010203"`, "another length"),
		refuses[[2]byte]("[1,2]", "uuid (16 bytes) or bytea"),

		reads(`"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"`, id),
		reads(`"A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"`, id),
		reads(`"\\xa0eebc999c0b4ef8bb6d6bb9bd380a11"`, id),
		reads(`"00000000-0000-0000-0000-000000000000"`, [16]byte{}),
		refuses[[16]byte](`"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1"`, "not a uuid"),
		refuses[[16]byte](`"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1g"`, "not hexadecimal"),
		refuses[[16]byte](`"a0eebc999c0b4ef8bb6d6bb9bd380a110000"`, "not a uuid"),
		refuses[[16]byte](`""`, "not a uuid"),

		reads(`"10.1.2.3"`, netip.MustParseAddr("10.1.2.3")),
		reads(`"::1"`, netip.MustParseAddr("::1")),
		reads(`"10.1.2.3/32"`, netip.MustParseAddr("10.1.2.3")),
		reads(`"::1/128"`, netip.MustParseAddr("::1")),
		refuses[netip.Addr](`"192.168.0.1/24"`, "use netip.Prefix"),
		refuses[netip.Addr](`"192.168.0"`, "not an inet"),
		refuses[netip.Addr](`"fe80::1%secret"`, "not an inet"),
		refuses[netip.Addr]("1921680", "only inet and cidr"),
		reads(`"192.168.0.1/24"`, netip.MustParsePrefix("192.168.0.1/24")),
		reads(`"2001:db8::/32"`, netip.MustParsePrefix("2001:db8::/32")),
		reads(`"10.1.2.3"`, netip.MustParsePrefix("10.1.2.3/32")),
		reads(`"::1"`, netip.MustParsePrefix("::1/128")),
		refuses[netip.Prefix](`"192.168.0.1/33"`, "not an inet"),

		reads(`{"b": 1,  "a": [1, 2.50, null], "b": 2}`, json.RawMessage(`{"b": 1,  "a": [1, 2.50, null], "b": 2}`)),
		reads(`"\ud800"`, json.RawMessage(`"\ud800"`)), // json, unlike jsonb, may hold half a character
		reads(`"str"`, jsontext.Value(`"str"`)),
		reads("null", json.RawMessage("null")),
		reads("null", jsontext.Value("null")),

		refuses[string]("null", "use *string or sql.Null[string]"),
		refuses[netip.Addr]("null", "use *netip.Addr"),
		refuses[[16]byte]("null", "SQL NULL"),
	}[:])
}

func TestTimes(t *testing.T) {
	t.Parallel()
	utc := func(y int, m time.Month, d, h, mi, s, ns int) time.Time {
		return time.Date(y, m, d, h, mi, s, ns, time.UTC)
	}
	runColumns(t, []columnCase{
		reads(`"2026-02-28T04:14:15.123456+00:00"`, utc(2026, 2, 28, 4, 14, 15, 123456000)),
		reads(`"2026-02-28T13:14:15.123456+09:00"`, utc(2026, 2, 28, 4, 14, 15, 123456000)),
		reads(`"2026-02-28T13:14:15.123456"`, utc(2026, 2, 28, 13, 14, 15, 123456000)),
		reads(`"2026-02-28T13:14:15.5+09"`, utc(2026, 2, 28, 4, 14, 15, 500000000)),
		reads(`"2026-02-28T13:14:15-05:30"`, utc(2026, 2, 28, 18, 44, 15, 0)),
		reads(`"1800-01-01T00:00:00-04:56:02"`, utc(1800, 1, 1, 4, 56, 2, 0)),
		reads(`"2026-02-28T13:14:15.123456789Z"`, utc(2026, 2, 28, 13, 14, 15, 123456789)),
		reads(`"2026-02-28 13:14:15+00"`, utc(2026, 2, 28, 13, 14, 15, 0)), // timestamptz cast to text
		reads(`"2026-02-28"`, utc(2026, 2, 28, 0, 0, 0, 0)),
		reads(`"2024-02-29"`, utc(2024, 2, 29, 0, 0, 0, 0)),
		reads(`"0044-03-15 BC"`, utc(-43, 3, 15, 0, 0, 0, 0)),
		reads(`"0044-03-15T12:30:00+00:00 BC"`, utc(-43, 3, 15, 12, 30, 0, 0)),
		reads(`"0001-02-29 BC"`, utc(0, 2, 29, 0, 0, 0, 0)),
		reads(`"0001-01-01T00:00:00"`, time.Time{}),
		reads(`"9999-12-31T23:59:59.999999+00:00"`, utc(9999, 12, 31, 23, 59, 59, 999999000)),
		reads(`"294276-12-31T23:59:59.999999+00:00"`, utc(294276, 12, 31, 23, 59, 59, 999999000)),
		reads(`"10000-01-01"`, utc(10000, 1, 1, 0, 0, 0, 0)),
		refuses[time.Time](`"13:14:15.123456"`, "time of day"),
		refuses[time.Time](`"13:14:15+09"`, "time of day"),
		refuses[time.Time](`"infinity"`, "infinite"),
		refuses[time.Time](`"-infinity"`, "infinite"),
		refuses[time.Time](`"02/28/2026"`, "datestyle"),
		refuses[time.Time](`"2026-02-29"`, "not a date"),
		refuses[time.Time](`"2026-04-31"`, "not a date"),
		refuses[time.Time](`"2026-13-01"`, "not a date"),
		refuses[time.Time](`"2026-00-01"`, "not a date"),
		refuses[time.Time](`"2026-01-00"`, "not a date"),
		refuses[time.Time](`"0000-01-01"`, "not a date"),
		refuses[time.Time](`"2026-02-28T24:00:00"`, "not a date"),
		refuses[time.Time](`"2026-02-28T13:60:00"`, "not a date"),
		refuses[time.Time](`"2026-02-28T13:14:60"`, "not a date"),
		refuses[time.Time](`"2026-02-28T13:14"`, "not a date"),
		refuses[time.Time](`"2026-02-28T13:14:15."`, "not a date"),
		refuses[time.Time](`"2026-02-28T13:14:15.1234567891"`, "not a date"),
		refuses[time.Time](`"2026-02-28T13:14:15+"`, "not a date"),
		refuses[time.Time](`"2026-02-28T13:14:15+24"`, "not a date"),
		refuses[time.Time](`"2026-02-28T13:14:15 Europe/Paris"`, "not a date"),
		refuses[time.Time](`""`, "not a date"),
		refuses[time.Time]("1772251200", "only date"),
		refuses[time.Time]("null", "use *time.Time or sql.Null[time.Time]"),

		reads(`"04:05:06.5"`, 4*time.Hour+5*time.Minute+6*time.Second+500*time.Millisecond),
		reads(`"-00:00:01"`, -time.Second),
		reads(`"00:00:00"`, time.Duration(0)),
		reads(`"24:00:00"`, 24*time.Hour), // the last time of a day
		reads(`"100000:00:00.000001"`, 100000*time.Hour+time.Microsecond),
		refuses[time.Duration](`"1 day"`, "no fixed length"),
		refuses[time.Duration](`"1 year 2 mons 3 days 04:05:06.5"`, "no fixed length"),
		refuses[time.Duration](`"-1 days +02:03:00"`, "no fixed length"),
		refuses[time.Duration](`"2562047:59:59"`, "292 years"),
		refuses[time.Duration](`"PT4H5M6S"`, "intervalstyle"),
		refuses[time.Duration](`"13:14:15+09"`, "intervalstyle"),
		refuses[time.Duration](`"04:65:06"`, "intervalstyle"),
		refuses[time.Duration](`"infinity"`, "infinite"),
		refuses[time.Duration]("5000000", "integer type"),
		refuses[time.Duration]("null", "use *time.Duration"),
	}[:])
}

func TestReasons(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]error{
		`[{"v":null}]`:        decode.ErrNull,
		`[{"v":"infinity"}]`:  decode.ErrInfinity,
		`[{"v":"-infinity"}]`: decode.ErrInfinity,
	} {
		if _, err := rows[cell[time.Time]](t, body, decode.Options{}); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want one that is %v", body, err, want)
		}
	}
	if _, err := rows[cell[time.Time]](t, `[{"v":"x"}]`, decode.Options{}); errors.Is(err, decode.ErrNull) || errors.Is(err, decode.ErrInfinity) {
		t.Errorf("a bad text is taken for another fault: %v", err)
	}
}

// TestNullAsZero has the old behaviour of postgrest-go, for those who ask for it.
func TestNullAsZero(t *testing.T) {
	t.Parallel()
	type row struct {
		I int64        `db:"i"`
		F float32      `db:"f"`
		S string       `db:"s"`
		B bool         `db:"b"`
		T time.Time    `db:"t"`
		D scanOnly     `db:"d"`
		U upperText    `db:"u"`
		A []string     `db:"a"`
		N []int        `db:"n"`
		O cell[string] `db:"o"`
	}
	const body = `[{"i":null,"f":null,"s":null,"b":null,"t":null,"d":null,"u":null,"a":["x",null],"n":[null,2],"o":null}]`
	got, err := rows[row](t, body, decode.Options{NullAsZero: true})
	if err != nil {
		t.Fatal(err)
	}
	want := row{A: []string{"x", ""}, N: []int{0, 2}}
	if diff := diffAll(want, got[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err = rows[row](t, body, decode.Options{})
	if !errors.Is(err, decode.ErrNull) || !strings.Contains(err.Error(), `"i"`) {
		t.Errorf("without the option: %v", err)
	}
}
