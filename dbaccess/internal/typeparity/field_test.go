package typeparity_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/query"
)

func badNumber(s string) json.Number { return json.Number(s) }

func rawOf(s string) json.RawMessage { return json.RawMessage(s) }

// What goes into jsonb is the same over both paths, whatever its Go type. Bytes
// are bytea, though, which jsonb takes for a string: JSON is a json.RawMessage.
func TestJSONBStoresOneValue(t *testing.T) {
	t.Parallel()
	p := open(t)
	for _, c := range []struct {
		value any
		want  string // as jsonb writes it
	}{
		{[]byte("{}"), `"\\x7b7d"`},
		{json.RawMessage("{}"), `{}`},
		{map[string]any{"n": int64(1)<<53 + 1, "a": []any{nil, 1.5}}, `{"a": [null, 1.5], "n": 9007199254740993}`},
		{[]string{"a", `b"c`}, `["a", "b\"c"]`},
		{struct {
			A int `json:"a"`
		}{1}, `{"a": 1}`},
		{nil, `null`},
	} {
		for _, path := range bothPaths {
			id := p.next()
			insert := query.Insert("all_types", map[string]any{"id": id, "c_jsonb": c.value}).Columns("c_jsonb")
			row, err := dbaccess.One[map[string]json.RawMessage](over(t, path), p.DB, insert)
			if err != nil {
				t.Fatalf("%T over %s: %v%s", c.value, path, err, serverWords(err))
			}
			if diff := cmp.Diff(c.want, string(row["c_jsonb"])); diff != "" {
				t.Errorf("%T over %s (-want +got):\n%s", c.value, path, diff)
			}
		}
	}
}

// The zone-less types are read as UTC into the same struct over both paths.
func TestTimesWithoutZone(t *testing.T) {
	t.Parallel()
	p := open(t)
	type times struct {
		TS   time.Time `db:"c_timestamp"`
		TSTZ time.Time `db:"c_timestamptz"`
		D    time.Time `db:"c_date"`
	}
	want := times{
		TS:   time.Date(2026, 2, 28, 13, 14, 15, 123456000, time.UTC),
		TSTZ: time.Date(2026, 2, 28, 4, 14, 15, 123456000, time.UTC),
		D:    day,
	}
	for _, path := range bothPaths {
		got, err := dbaccess.One[times](over(t, path), p.DB, query.From("all_types").Where(query.Eq("id", 1)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, same); diff != "" {
			t.Errorf("over %s (-want +got):\n%s", path, diff)
		}
	}
}

// Integers beyond 2^53 keep their digits in every kind of destination.
func TestIntegersKeepTheirDigits(t *testing.T) {
	t.Parallel()
	p := open(t)
	const big = 1234567890123456789
	type doc struct {
		N int64 `json:"n"`
	}
	type row struct {
		Int8    int64       `db:"c_int8"`
		Numeric json.Number `db:"c_numeric"`
		Doc     doc         `db:"c_jsonb"`
	}
	want := row{1<<53 + 1, thirtyDigits, doc{big}}
	for _, path := range bothPaths {
		ctx, id := over(t, path), p.next()
		values := map[string]any{"id": id, "c_int8": want.Int8, "c_numeric": want.Numeric, "c_jsonb": map[string]any{"n": big}}
		if _, err := dbaccess.Exec(ctx, p.DB, query.Insert("all_types", values)); err != nil {
			t.Fatal(err)
		}
		q := query.From("all_types").Columns("c_int8", "c_numeric", "c_jsonb").Where(query.Eq("id", id))
		got, err := dbaccess.One[row](ctx, p.DB, q)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("struct over %s (-want +got):\n%s", path, diff)
		}
		asMap, err := dbaccess.One[map[string]any](ctx, p.DB, q)
		if err != nil {
			t.Fatal(err)
		}
		wantMap := map[string]any{
			"c_int8": json.Number("9007199254740993"), "c_numeric": json.Number(thirtyDigits),
			"c_jsonb": map[string]any{"n": json.Number("1234567890123456789")},
		}
		if diff := cmp.Diff(wantMap, asMap); diff != "" {
			t.Errorf("map over %s (-want +got):\n%s", path, diff)
		}
		asAny, err := dbaccess.One[any](ctx, p.DB, q)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(any(wantMap), asAny); diff != "" {
			t.Errorf("any over %s (-want +got):\n%s", path, diff)
		}
	}
}
