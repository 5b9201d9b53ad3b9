package query_test

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/twinpath/twinpath/dbaccess/query"
)

type (
	uuid     [16]byte
	named    string
	number   int16
	rawBytes []byte
	valued   struct{ v driver.Value }
	failing  struct{}
	endless  struct{}
	point    struct {
		X int `json:"x"`
	}
	textual []string
)

func (v valued) Value() (driver.Value, error)  { return v.v, nil }
func (failing) Value() (driver.Value, error)   { return nil, errors.New("s3cret") }
func (failing) MarshalJSON() ([]byte, error)   { return nil, errors.New("s3cret") }
func (e endless) Value() (driver.Value, error) { return e, nil }
func (t *textual) MarshalText() ([]byte, error) {
	return []byte(strings.Join(*t, "+")), nil
}

func TestText(t *testing.T) {
	t.Parallel()
	n := 7
	seoul := time.FixedZone("KST", 9*3600)
	for name, tc := range map[string]struct {
		value any
		want  string
	}{
		"string":          {"a 'b' \"c\" \\ 🚀", "a 'b' \"c\" \\ 🚀"},
		"empty":           {"", ""},
		"named string":    {named("x"), "x"},
		"int":             {-42, "-42"},
		"named int":       {number(7), "7"},
		"int64":           {int64(math.MinInt64), "-9223372036854775808"},
		"uint64":          {uint64(math.MaxUint64), "18446744073709551615"},
		"bool":            {true, "true"},
		"float64":         {0.1, "0.1"},
		"float32":         {float32(0.1), "0.1"},
		"large float":     {1e300, "1e+300"},
		"NaN":             {math.NaN(), "NaN"},
		"Infinity":        {math.Inf(1), "Infinity"},
		"-Infinity":       {math.Inf(-1), "-Infinity"},
		"time":            {time.Date(2026, 2, 28, 13, 14, 15, 123456000, seoul), "2026-02-28T04:14:15.123456Z"},
		"year 10000":      {time.Date(10000, 1, 2, 0, 0, 0, 0, time.UTC), "10000-01-02T00:00:00Z"},
		"44 BC":           {time.Date(-43, 3, 15, 0, 0, 0, 0, time.UTC), "0044-03-15T00:00:00Z BC"},
		"1 BC":            {time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), "0001-01-01T00:00:00Z BC"},
		"duration":        {90 * time.Second, "00:01:30"},
		"bytes":           {[]byte{0, 255}, `\x00ff`},
		"no bytes":        {[]byte{}, `\x`},
		"named bytes":     {rawBytes{1}, `\x01`},
		"array of bytes":  {[2]byte{1, 2}, `\x0102`},
		"uuid":            {uuid{0xa0, 0xee, 15: 0x11}, "a0ee0000-0000-0000-0000-000000000011"},
		"raw JSON":        {json.RawMessage(`{"a": 1}`), `{"a": 1}`},
		"JSON number":     {json.Number("1.10"), "1.10"},
		"pointer":         {&n, "7"},
		"valuer":          {valued{int64(5)}, "5"},
		"valuer of time":  {valued{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}, "2026-01-01T00:00:00Z"},
		"valid null type": {sql.NullString{String: "x", Valid: true}, "x"},
		"marshaler":       {netip.MustParsePrefix("10.0.0.0/8"), "10.0.0.0/8"},
		"map":             {map[string]any{"b": 1, "a": "x"}, `{"a":"x","b":1}`},
		"struct":          {point{1}, `{"x":1}`},

		"strings":           {[]string{"a b", `c"d`, `e\f`, "", "NULL", "{}", "a,b"}, `{"a b","c\"d","e\\f","","NULL","{}","a,b"}`},
		"no strings":        {[]string{}, "{}"},
		"ints":              {[]int{1, 2}, `{"1","2"}`},
		"array":             {[2]bool{true, false}, `{"true","false"}`},
		"NULL in array":     {[]*int{&n, nil}, `{"7",NULL}`},
		"any in array":      {[]any{1, "a", nil, []any{2}}, `{"1","a",NULL,{"2"}}`},
		"matrix":            {[][]int{{1, 2}, {3, 4}}, `{{"1","2"},{"3","4"}}`},
		"bytes in array":    {[][]byte{{1}, nil}, `{"\\x01",NULL}`},
		"uuids":             {[]uuid{{}}, `{"00000000-0000-0000-0000-000000000000"}`},
		"JSON in array":     {[]json.RawMessage{json.RawMessage(`{"a":[1]}`)}, `{"{\"a\":[1]}"}`},
		"times in array":    {[]time.Time{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}, `{"2026-01-01T00:00:00Z"}`},
		"null types":        {[]sql.NullInt64{{Int64: 1, Valid: true}, {}}, `{"1",NULL}`},
		"marshaled slices":  {[]*textual{{"a", "b,c"}}, `{"a+b,c"}`},
		"pointers to array": {[]*[]int{{1}}, `{{"1"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := query.Text(tc.value)
			if err != nil {
				t.Fatal(err)
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestTextErrors(t *testing.T) {
	t.Parallel()
	deep := any(1)
	for range 20 {
		deep = []any{deep}
	}
	for name, tc := range map[string]struct {
		value any
		want  string
	}{
		"nil":               {nil, "query.IsNull"},
		"nil pointer":       {(*string)(nil), "query.IsNull"},
		"nil bytes":         {[]byte(nil), "query.IsNull"},
		"nil slice":         {[]int(nil), "query.IsNull"},
		"null type":         {sql.NullString{String: "s3cret"}, "query.IsNull"},
		"zero byte":         {"s3cret\x00", "zero byte"},
		"invalid UTF-8":     {"s3cret\xff", "UTF-8"},
		"zero byte inside":  {[]string{"s3cret\x00"}, "zero byte"},
		"channel":           {make(chan int), "chan int"},
		"function":          {func() {}, "func()"},
		"complex":           {complex(1, 2), "complex128"},
		"failing valuer":    {failing{}, "query_test.failing can't be written as JSON"},
		"failing JSON":      {map[string]failing{"s3cret": {}}, "JSON"},
		"endless valuer":    {endless{}, "nests too deeply"},
		"deep array":        {deep, "nests too deeply"},
		"channel in array":  {[]any{1, make(chan int)}, "element 1"},
		"failing in array":  {[]failing{{}}, "element 0"},
		"function in a map": {map[string]any{"s3cret": func() {}}, "func()"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := query.Text(tc.value)
			if err == nil {
				t.Fatalf("got %q, want an error", got)
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %q, want it to contain %q", err, tc.want)
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error tells a value: %v", err)
			}
		})
	}
}

// FuzzTextArray holds array literals against a reader written after the manual
// (https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO).
func FuzzTextArray(f *testing.F) {
	f.Add("a", `b"c`)
	f.Add("", `\`)
	f.Add("NULL", "{,}")
	f.Add(" lead", "\n🚀")
	f.Fuzz(func(t *testing.T, a, b string) {
		text, err := query.Text([]string{a, b})
		if err != nil {
			return
		}
		got, ok := readArray(text)
		if !ok || len(got) != 2 || got[0] != a || got[1] != b {
			t.Errorf("%q, %q became %s, read as %q", a, b, text, got)
		}
	})
}

// readArray reads an array literal whose elements are all quoted.
func readArray(s string) (elements []string, ok bool) {
	s, open := strings.CutPrefix(s, "{")
	s, closed := strings.CutSuffix(s, "}")
	if !open || !closed {
		return nil, false
	}
	for s != "" {
		if s[0] != '"' {
			return nil, false
		}
		var b strings.Builder
		i := 1
		for ; i < len(s) && s[i] != '"'; i++ {
			if s[i] == '\\' {
				i++
			}
			if i < len(s) {
				b.WriteByte(s[i])
			}
		}
		if i >= len(s) {
			return nil, false
		}
		elements = append(elements, b.String())
		s = s[i+1:]
		if s != "" {
			if s[0] != ',' {
				return nil, false
			}
			s = s[1:]
		}
	}
	return elements, true
}
