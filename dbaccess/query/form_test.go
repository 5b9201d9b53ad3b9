package query_test

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/twinpath/twinpath/dbaccess/query"
)

// everything has all methods that count, and says which one was asked.
type everything struct {
	value   driver.Value
	jsonErr bool
}

func (e everything) MarshalJSON() ([]byte, error) {
	if e.jsonErr {
		return nil, errors.New("s3cret")
	}
	return []byte(`"from JSON"`), nil
}
func (e everything) MarshalText() ([]byte, error) { return []byte("from text"), nil }
func (e everything) Value() (driver.Value, error) {
	if e.value == "fail" {
		return nil, errors.New("s3cret")
	}
	return e.value, nil
}

// worded has a text and a value.
type worded struct{ value driver.Value }

func (w worded) MarshalText() ([]byte, error) { return []byte("from text"), nil }
func (w worded) Value() (driver.Value, error) { return w.value, nil }

// kinds of what a Valuer can be.
type (
	valuedSlice  []string
	valuedBytes  []byte
	valuedString string
	valuedMap    map[string]int
)

func (v valuedSlice) Value() (driver.Value, error)  { return strings.Join(v, ""), nil }
func (v valuedBytes) Value() (driver.Value, error)  { return []byte(v), nil }
func (v valuedString) Value() (driver.Value, error) { return string(v), nil }
func (v valuedMap) Value() (driver.Value, error)    { return json.Marshal(map[string]int(v)) }

// jsonBytes is JSON itself, a kind of json.RawMessage.
type jsonBytes []byte

func (j jsonBytes) MarshalJSON() ([]byte, error) { return j, nil }

// marshaled writes any JSON.
type marshaled struct{ json string }

func (m marshaled) MarshalJSON() ([]byte, error) { return []byte(m.json), nil }

type byPointer struct{ s string }

func (b *byPointer) MarshalText() ([]byte, error) { return []byte("text of " + b.s), nil }

type level uint8

// TestForms holds the text of a value and its JSON in a write to one meaning.
func TestForms(t *testing.T) {
	t.Parallel()
	ides := time.Date(-43, 3, 15, 0, 0, 0, 0, time.UTC)
	none := "\x00" // no text form: NULL
	for name, tc := range map[string]struct {
		value      any
		text, json string
	}{
		"JSON comes first":             {everything{value: "from value"}, "from JSON", `"from JSON"`},
		"NULL comes before it":         {everything{}, none, `null`},
		"years BC come before it":      {everything{value: ides}, "0044-03-15T00:00:00Z BC", `"0044-03-15T00:00:00Z BC"`},
		"years AD do not":              {everything{value: time.Unix(0, 0)}, "from JSON", `"from JSON"`},
		"a failing Value is no matter": {everything{value: "fail"}, "from JSON", `"from JSON"`},
		"Value where JSON fails":       {everything{value: 1.5, jsonErr: true}, "1.5", `1.5`},
		"text before a value":          {worded{"from value"}, "from text", `"from text"`},
		"NULL before text":             {worded{}, none, `null`},
		"a pointer's method":           {byPointer{"x"}, "text of x", `"text of x"`},
		"of an element":                {[]byPointer{{"x"}}, `{"text of x"}`, `["text of x"]`},

		"JSON text":    {marshaled{`"a\"b"`}, `a"b`, `"a\"b"`},
		"JSON number":  {marshaled{`1.10`}, `1.10`, `1.10`},
		"JSON null":    {marshaled{` null`}, none, ` null`},
		"JSON object":  {marshaled{`{"a": 1}`}, `{"a": 1}`, `{"a": 1}`},
		"bytes of one": {jsonBytes(`"a"`), `"a"`, `"a"`},

		"document in bytes":             {valuedMap{"a": 1}, `{"a":1}`, `{"a":1}`},
		"document in bytes of bytes":    {valuedBytes(`{"a": "\\"}`), `{"a": "\\"}`, `{"a": "\\"}`},
		"array in bytes of bytes":       {valuedBytes(`[1]`), `[1]`, `[1]`},
		"text in bytes":                 {valuedBytes(`plain "é`), `plain "é`, `"plain \"é"`},
		"escapes in bytes":              {valuedBytes(`a\b`), `\x615c62`, `"\\x615c62"`},
		"zero in bytes":                 {valuedBytes("a\x00"), `\x6100`, `"\\x6100"`},
		"bytes that are no text":        {valuedBytes("\xff"), `\xff`, `"\\xff"`},
		"scalar JSON in bytes":          {valuedBytes(`12`), `12`, `"12"`},
		"document in a string":          {everything{value: `{"a":1}`, jsonErr: true}, `{"a":1}`, `{"a":1}`},
		"range in a string":             {everything{value: `[1,5)`, jsonErr: true}, `[1,5)`, `"[1,5)"`},
		"a string is a string":          {valuedString(`{"a":1}`), `{"a":1}`, `"{\"a\":1}"`},
		"array literal":                 {valuedSlice{`{a,b}`}, `{a,b}`, `"{a,b}"`},
		"empty array literal":           {valuedSlice{`{}`}, `{}`, `"{}"`},
		"JSON array of a slice":         {valuedSlice{`["a"]`}, `["a"]`, `["a"]`},
		"null type of what has none":    {sql.Null[time.Duration]{V: time.Second, Valid: true}, "00:00:01", `"00:00:01"`},
		"null type of a struct":         {sql.Null[point]{V: point{1}, Valid: true}, `{"x":1}`, `{"x":1}`},
		"null type of an array":         {sql.Null[[]int]{V: []int{1}, Valid: true}, `{"1"}`, `[1]`},
		"null type that is NULL":        {sql.Null[point]{V: point{1}}, none, `null`},
		"null type of a NULL":           {sql.Null[*int]{Valid: true}, none, `null`},
		"empty raw JSON":                {json.RawMessage{}, none, `null`},
		"hardware address":              {net.HardwareAddr{8, 0, 0x2b, 1, 2, 3}, "08:00:2b:01:02:03", `"08:00:2b:01:02:03"`},
		"no hardware address":           {net.HardwareAddr(nil), none, `null`},
		"address":                       {net.ParseIP("10.0.0.1"), "10.0.0.1", `"10.0.0.1"`},
		"numbers of a byte's kind":      {[]level{1, 255}, `{"1","255"}`, `[1,255]`},
		"nil map":                       {map[string]int(nil), none, `null`},
		"nested pointers":               {new(new(7)), "7", `7`},
		"nil in a pointer":              {new(*int), none, `null`},
		"struct without tags":           {struct{ A, B int }{1, 2}, `{"A":1,"B":2}`, `{"A":1,"B":2}`},
		"db tags, times and NaN inside": {map[string]any{"t": time.Unix(0, 0), "b": []byte{1}, "s": sql.NullString{}}, `{"b":"\\x01","s":null,"t":"1970-01-01T00:00:00Z"}`, `{"b":"\\x01","s":null,"t":"1970-01-01T00:00:00Z"}`},

		"round float":     {1e6, "1000000", `1000000`},
		"large float":     {1e21, "1e+21", `1e+21`},
		"small float":     {1e-7, "1e-07", `1e-07`},
		"float32":         {float32(16777216), "16777216", `16777216`},
		"negative length": {-1500 * time.Millisecond, "-00:00:01.5", `"-00:00:01.5"`},
		"longest":         {time.Duration(1<<63 - 1), "2562047:47:16.854775807", `"2562047:47:16.854775807"`},
		"least":           {time.Duration(-1 << 63), "-2562047:47:16.854775808", `"-2562047:47:16.854775808"`},
		"one nanosecond":  {time.Nanosecond, "00:00:00.000000001", `"00:00:00.000000001"`},

		"range":             {rangeOf('i', 1, 5, 'e'), `["1","5")`, `"[\"1\",\"5\")"`},
		"range of texts":    {rangeOf('e', `a"b\`, "", 'i'), `("a\"b\\",""]`, `"(\"a\\\"b\\\\\",\"\"]"`},
		"range without end": {rangeOf('U', 0, 0, 'U'), `(,)`, `"(,)"`},
		"empty range":       {rangeOf('E', 0, 0, 'E'), `empty`, `"empty"`},
		"NULL range":        {pgtype.Range[int]{}, none, `null`},
		"array of ranges":   {[]pgtype.Range[int]{rangeOf('i', 1, 5, 'e')}, `{"[\"1\",\"5\")"}`, `["[\"1\",\"5\")"]`},
		"multirange":        {pgtype.Multirange[pgtype.Range[int]]{rangeOf('i', 1, 5, 'e'), rangeOf('i', 7, 0, 'U')}, `{["1","5"),["7",)}`, `"{[\"1\",\"5\"),[\"7\",)}"`},
		"no multirange":     {pgtype.Multirange[pgtype.Range[int]](nil), none, `null`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := query.Text(tc.value)
			switch {
			case tc.text == none:
				if err == nil || !strings.Contains(err.Error(), "query.IsNull") {
					t.Errorf("text %q, %v; want none", text, err)
				}
			case err != nil:
				t.Error(err)
			case text != tc.text:
				t.Errorf("text (-want +got):\n%s", cmp.Diff(tc.text, text))
			}
			got, err := query.Values(map[string]any{"v": tc.value})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(`{"v":`+tc.json+`}`, string(got)); diff != "" {
				t.Errorf("JSON (-want +got):\n%s", diff)
			}
		})
	}
}

func rangeOf[T any](lowerType byte, lower, upper T, upperType byte) pgtype.Range[T] {
	return pgtype.Range[T]{Lower: lower, Upper: upper, LowerType: pgtype.BoundType(lowerType), UpperType: pgtype.BoundType(upperType), Valid: true}
}

type (
	pretender struct{ Lower, Upper, LowerType, UpperType, Valid int }
	stamp     time.Time
	loop      *loop
)

func TestFormFaults(t *testing.T) {
	t.Parallel()
	var endless any
	endless = &endless
	var cycle loop
	cycle = &cycle
	for name, tc := range map[string]struct {
		value any
		want  string
	}{
		"neither JSON nor value": {everything{value: "fail", jsonErr: true}, "can't be written as JSON"},
		"invalid JSON":           {marshaled{"s3cret"}, "can't be written as JSON"},
		"bound of no kind":       {rangeOf(0, "s3cret", "s3cret", 'e'), "lower bound"},
		"bound that is NULL":     {rangeOf('i', (*int)(nil), nil, 'e'), "lower bound: is NULL"},
		"upper bound":            {rangeOf('i', any("s3cret"), any(make(chan int)), 'e'), "upper bound"},
		"NULL in a multirange":   {pgtype.Multirange[pgtype.Range[int]]{{}}, "range 0"},
		"bad raw JSON":           {json.RawMessage(`{"s3cret`), "not valid JSON"},
		"bad number":             {json.Number("s3cret"), "not a number"},
		"number that is a word":  {json.Number("true"), "not a number"},
		"no exported field":      {stamp(time.Now()), "no exported field"},
		"pointer to itself":      {endless, "too deep"},
		"pointer of its own":     {cycle, "too deep"},
		"in a map":               {map[string]any{"s3cret": map[string]any{"s3cret": make(chan int)}}, "chan int"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := query.Text(tc.value)
			if !saysOnly(err, tc.want) {
				t.Errorf("text %q, %v; want an error with %q", text, err, tc.want)
			}
			got, err := query.Values(map[string]any{"v": tc.value})
			if !saysOnly(err, tc.want) {
				t.Errorf("JSON %s, %v; want an error with %q", got, err, tc.want)
			}
			if err != nil && !strings.Contains(err.Error(), `"v"`) {
				t.Errorf("the error does not name the column: %v", err)
			}
		})
	}
	if text, err := query.Text(pretender{1, 2, 3, 4, 5}); err != nil || text != `{"Lower":1,"Upper":2,"LowerType":3,"UpperType":4,"Valid":5}` {
		t.Errorf("a struct like a range: %s, %v", text, err)
	}
}

func saysOnly(err error, want string) bool {
	return err != nil && strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "s3cret")
}

// Embedded structs without a tag stand for their fields, unless they are values.
func TestEmbeddedValues(t *testing.T) {
	t.Parallel()
	type Audit struct {
		By string `db:"by"`
	}
	for want, v := range map[string]any{
		"NullString of": struct{ sql.NullString }{},
		"Time of":       struct{ time.Time }{},
		"UUID of":       struct{ pgtype.UUID }{},
	} {
		if err := query.Insert("t", v).Err(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "names no column") {
			t.Errorf("%T: %v", v, err)
		}
	}
	got := query.Insert("t", struct {
		Audit
		sql.NullString `db:"note"`
	}{Audit{"me"}, sql.NullString{}}).Spec().Write.Payload
	if diff := cmp.Diff(`{"by":"me","note":null}`, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
