package query_test

import (
	"database/sql"
	"encoding/json"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/query"
)

type kind string

type base struct {
	ID int64 `db:"id,omitzero"`
}

type row struct {
	base
	Ticker string    `db:"ticker" json:"ignored"`
	Note   *string   `json:"note"`
	Tags   []string  `db:"tags,omitempty"`
	At     time.Time `db:"at,omitzero"`
	Skip   int       `db:"-"`
	hidden int
	Embeds []int `db:"related" embed:"related"`
}

func TestValues(t *testing.T) {
	t.Parallel()
	note := "x\"\\\n<&>"
	seoul := time.FixedZone("KST", 9*3600)
	tests := []struct {
		name string
		v    any
		want string
	}{
		{"absent and null", row{Ticker: "T", hidden: 1, Skip: 1}, `{"ticker":"T","note":null}`},
		{"everything", &row{base: base{ID: 7}, Ticker: "T", Note: &note, Tags: []string{"a", ""}, At: time.Date(2026, 1, 2, 9, 0, 0, 1000, seoul)},
			`{"id":7,"ticker":"T","note":"x\"\\\n<&>","tags":["a",""],"at":"2026-01-02T00:00:00.000001Z"}`},
		{"map, sorted", map[string]any{"b": 1, "a": nil, "c": []any{true, 1.5, "x"}}, `{"a":null,"b":1,"c":[true,1.5,"x"]}`},
		{"nested structs keep their names", map[string]any{"doc": struct {
			Plain int
			Named int `json:"named,omitempty"`
		}{Plain: 1}}, `{"doc":{"Plain":1}}`},
		{"numbers", map[string]any{"big": int64(9007199254740993), "u": uint64(math.MaxUint64), "f32": float32(0.1), "f": 1e300, "n": json.Number("12345678901234567890.10")},
			`{"big":9007199254740993,"f":1e+300,"f32":0.1,"n":12345678901234567890.10,"u":18446744073709551615}`},
		{"numbers JSON lacks", map[string]any{"nan": math.NaN(), "inf": math.Inf(1), "ninf": math.Inf(-1)}, `{"inf":"Infinity","nan":"NaN","ninf":"-Infinity"}`},
		{"bytes", map[string]any{"b": []byte{0, 255}, "nil": []byte(nil), "uuid": [16]byte{15: 1}}, `{"b":"\\x00ff","nil":null,"uuid":"00000000-0000-0000-0000-000000000001"}`},
		{"times", map[string]any{"t": time.Date(-43, 3, 15, 0, 0, 0, 0, time.UTC), "d": 1500 * time.Millisecond, "far": time.Date(12026, 1, 2, 3, 4, 5, 0, time.UTC)},
			`{"d":"00:00:01.5","far":"12026-01-02T03:04:05Z","t":"0044-03-15T00:00:00Z BC"}`},
		{"text marshalers", map[string]any{"ip": netip.MustParseAddr("::1"), "net": netip.MustParsePrefix("10.0.0.0/8")}, `{"ip":"::1","net":"10.0.0.0/8"}`},
		{"valuers", map[string]any{"s": sql.NullString{String: "x", Valid: true}, "no": sql.NullInt64{}, "t": sql.Null[time.Time]{V: time.Unix(0, 0), Valid: true}},
			`{"no":null,"s":"x","t":"1970-01-01T00:00:00Z"}`},
		{"raw JSON", map[string]any{"j": json.RawMessage(`{"b": 1,"a":[1.10]}`), "nil": json.RawMessage(nil)}, `{"j":{"b": 1,"a":[1.10]},"nil":null}`},
		{"named kinds", map[string]any{"k": kind("buy"), "ks": []kind{"buy", "sell"}}, `{"k":"buy","ks":["buy","sell"]}`},
		{"nil slice, empty slice, nil elements", map[string]any{"n": []int(nil), "e": []int{}, "p": []*int{nil}}, `{"e":[],"n":null,"p":[null]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := query.Values(tt.v)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !json.Valid(got) {
				t.Error("not valid JSON")
			}
		})
	}
}

func TestValuesRefuses(t *testing.T) {
	t.Parallel()
	const canary = "CANARY-1b"
	type cyclic struct {
		Next *cyclic `db:"next"`
	}
	loop := &cyclic{}
	loop.Next = loop
	for name, v := range map[string]any{
		"channel":   map[string]any{"c": make(chan int)},
		"no column": struct{ Ticker string }{canary},
		"two for a column": struct {
			A string `db:"x"`
			B string `db:"x"`
		}{canary, canary},
		"invalid UTF-8":  map[string]any{"s": canary + "\xff"},
		"zero byte":      map[string]any{"s": canary + "\x00"},
		"bad raw JSON":   map[string]any{"s": json.RawMessage(`{"` + canary)},
		"bad number":     map[string]any{"n": json.Number(canary)},
		"cycle":          loop,
		"zero in a name": map[string]any{canary + "\x00": 1},
	} {
		_, err := query.Values(v)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		if strings.Contains(err.Error(), canary) {
			t.Errorf("%s: the error shows a value: %v", name, err)
		}
	}
}

func TestWritePayload(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		q    query.Query
		want query.Write
	}{
		{"one struct", query.Insert("t", row{Ticker: "T"}), query.Write{Payload: []byte(`{"ticker":"T","note":null}`), Columns: []string{"ticker", "note"}}},
		{"alike", query.Insert("t", []*row{{Ticker: "A"}, {Ticker: "B"}}),
			query.Write{Payload: []byte(`[{"ticker":"A","note":null},{"ticker":"B","note":null}]`), Columns: []string{"ticker", "note"}}},
		{"a later row has more", query.Insert("t", []row{{Ticker: "A"}, {base: base{ID: 1}, Ticker: "B"}}),
			query.Write{Payload: []byte(`[{"ticker":"A","note":null},{"id":1,"ticker":"B","note":null}]`), Columns: []string{"ticker", "note", "id"}, MissingDefault: true}},
		{"a later row has fewer", query.Insert("t", []map[string]any{{"a": 1, "b": 2}, {"a": 1}}),
			query.Write{Payload: []byte(`[{"a":1,"b":2},{"a":1}]`), Columns: []string{"a", "b"}, MissingDefault: true}},
		{"columns of the rows only", query.Insert("t", map[string]any{"doc": map[string]any{"inner": 1}}),
			query.Write{Payload: []byte(`{"doc":{"inner":1}}`), Columns: []string{"doc"}}},
		{"no rows", query.Insert("t", []row{}), query.Write{Payload: []byte(`[]`)}},
		{"raw", query.Insert("t", json.RawMessage(` [{"a":1}]`)), query.Write{Payload: []byte(` [{"a":1}]`)}},
		{"merge", query.Insert("t", map[string]int{"a": 1}).Merge("a"),
			query.Write{Payload: []byte(`{"a":1}`), Columns: []string{"a"}, Conflict: query.ConflictMerge, ConflictOn: []string{"a"}}},
		{"update", query.Update("t", map[string]any{"a": nil}).MaxAffected(3), query.Write{Payload: []byte(`{"a":null}`), Columns: []string{"a"}, MaxAffected: 3}},
		{"delete", query.Delete("t"), query.Write{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if err := tt.q.Err(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&tt.want, tt.q.Spec().Write); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWriteFaults(t *testing.T) {
	t.Parallel()
	for name, q := range map[string]query.Query{
		"a scalar row":               query.Insert("t", 5),
		"a time":                     query.Insert("t", time.Now()),
		"scalars in a slice":         query.Insert("t", []int{1}),
		"a nil row":                  query.Insert("t", []*row{nil}),
		"several rows in an update":  query.Update("t", []row{{}}),
		"raw array in an update":     query.Update("t", json.RawMessage(`[{}]`)),
		"raw text":                   query.Insert("t", json.RawMessage(`{"a"`)),
		"merge of an update":         query.Update("t", row{}).Merge(),
		"max affected of an insert":  query.Insert("t", row{}).MaxAffected(1),
		"max affected of nothing":    query.Delete("t").MaxAffected(0),
		"arguments that are a list":  query.Call("f", []int{1}),
		"read only that is no call":  query.From("t").ReadOnly(),
		"bad path inside an embed":   query.From("t").Select(query.Rel("r").Filter(query.Eq(query.JSON("c", 1.5), 1))),
		"negative top":               query.From("t").Select(query.Rel("r").Top(-1)),
		"an embed without a name":    query.From("t").Select(query.Rel("")),
		"a nil item":                 query.From("t").Select(nil),
		"a nil item inside an embed": query.From("t").Select(query.Rel("r", nil)),
	} {
		if q.Err() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
