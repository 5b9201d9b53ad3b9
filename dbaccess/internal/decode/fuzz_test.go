package decode_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/twinpath/twinpath/dbaccess/internal/decode"
)

var bodies = []string{
	"", "null", "true", "-0.5e+10", `"a\u00e9\ud83d\ude80\n"`, `"\ud800"`, `[1, {"a":[], "a":{}}, "x"]`, "[1,]", "[01]", "{\"a\"\t:\n1}\r", "\xff", `"` + "\x1f" + `"`,
	`[{"id":1,"ticker":"A"}]`, `{"v":[1,null]}`, `[]]`, "1 2", "tru", "-", "1.", "1e", `{"a" 1}`, `{a:1}`, "\ufeff[]", `"\u12"`, `"\`, "[[[[", "Infinity",
}

// FuzzBody holds the scanner against encoding/json and jsontext: they have to agree on what is JSON and on what it says.
func FuzzBody(f *testing.F) {
	for _, body := range bodies {
		f.Add([]byte(body))
	}
	var cache decode.Cache
	raw, err := decode.PlanFor[json.RawMessage](&cache)
	if err != nil {
		f.Fatal(err)
	}
	anything, err := decode.PlanFor[any](&cache)
	if err != nil {
		f.Fatal(err)
	}
	wide, err := decode.PlanFor[filing](&cache)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		valid := json.Valid(body) && utf8.Valid(body)
		kept, err := decode.Row[json.RawMessage](raw, body, decode.Options{})
		if (err == nil) != valid {
			t.Fatalf("encoding/json says %t, decode says %v", valid, err)
		}
		if valid && !bytes.Equal(bytes.Trim(body, " \t\r\n"), kept) {
			t.Fatalf("kept %q", kept)
		}
		if lax := jsontext.Value(body).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); valid && !lax {
			t.Fatal("jsontext refuses it")
		}
		if strict := jsontext.Value(body).IsValid(jsontext.AllowDuplicateNames(true)); strict && !valid {
			t.Fatal("jsontext accepts it")
		}
		got, err := decode.Row[any](anything, body, decode.Options{})
		if err == nil {
			dec := json.NewDecoder(bytes.NewReader(body))
			dec.UseNumber()
			var want any
			if err := dec.Decode(&want); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(want, got) {
				t.Fatalf("encoding/json has %#v, decode has %#v", want, got)
			}
		} else if valid && !strings.Contains(err.Error(), "surrogate") {
			t.Fatal(err)
		}
		listed, err := decode.Rows[filing](wide, body, decode.Options{NullAsZero: true})
		if err == nil && !valid {
			t.Fatalf("read %v from what is not JSON", listed)
		}
	})
}

// FuzzTypes puts every value into a column of every kind of type: none panics, and no error holds the value.
func FuzzTypes(f *testing.F) {
	for _, body := range bodies {
		f.Add([]byte(body))
	}
	for _, value := range []string{`"2026-02-28T04:14:15+00:00"`, `"04:05:06.5"`, `"\\\\x00ff"`, `"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"`, `"10.0.0.0/8"`, `[[1,2],[3,4]]`, `{"city": "x"}`} {
		f.Add([]byte(value))
	}
	var cache decode.Cache
	types := []func([]byte) error{
		into[bool](f, &cache), into[int8](f, &cache), into[uint64](f, &cache), into[float32](f, &cache), into[string](f, &cache),
		into[[]byte](f, &cache), into[[16]byte](f, &cache), into[[2]byte](f, &cache), into[time.Time](f, &cache), into[time.Duration](f, &cache),
		into[netip.Addr](f, &cache), into[netip.Prefix](f, &cache), into[json.Number](f, &cache), into[[]string](f, &cache), into[[][]int](f, &cache),
		into[[2][2]int](f, &cache), into[map[string]int](f, &cache), into[address](f, &cache), into[tree](f, &cache), into[nested](f, &cache),
		into[sql.Null[[]int]](f, &cache), into[scanOnly](f, &cache), into[upperText](f, &cache), into[streamed](f, &cache), into[big.Int](f, &cache),
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		for _, read := range types {
			err := read(value)
			if err == nil {
				if !json.Valid(value) {
					t.Fatalf("read %q, which is not JSON", value)
				}
				continue
			}
			if len(value) > 20 && strings.Contains(err.Error(), string(value)) {
				t.Fatalf("the error holds the value: %v", err)
			}
		}
	})
}

// into gives a function that reads a value into a column of type T.
func into[T any](f *testing.F, cache *decode.Cache) func(value []byte) error {
	plan, err := decode.PlanFor[T](cache)
	if err != nil {
		f.Fatal(err)
	}
	return func(value []byte) error {
		_, err := decode.Row[T](plan, value, decode.Options{})
		if plan.Scalar() && err == nil && len(bytes.TrimSpace(value)) > 0 && bytes.TrimSpace(value)[0] != '{' {
			_, err = decode.Rows[T](plan, []byte(`[{"v":`+string(value)+`}]`), decode.Options{})
		}
		return err
	}
}

// FuzzTime holds parseTime against time.Parse where both know the form.
func FuzzTime(f *testing.F) {
	for _, s := range []string{"2026-02-28T13:14:15.123456+09:00", "2024-02-29T00:00:00Z", "2026-02-28", "0044-03-15 BC", "10000-01-01T00:00:00-04:56:02", "infinity", "2023-02-29T00:00:00Z"} {
		f.Add(s)
	}
	plan, err := decode.PlanFor[time.Time](new(decode.Cache))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		body, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode.Row[time.Time](plan, body, decode.Options{})
		want, wantErr := time.Parse(time.RFC3339, s)
		if err == nil {
			if got.Location() != time.UTC {
				t.Fatalf("%q is in %v", s, got.Location())
			}
			if wantErr == nil && !got.Equal(want) {
				t.Fatalf("%q: time.Parse has %v, decode has %v", s, want, got)
			}
			return
		}
		if year, _, _ := strings.Cut(s, "-"); wantErr == nil && year != "0000" && !lenient(s) {
			t.Fatalf("%q: time.Parse has %v, decode has %v", s, want, err)
		}
	})
}

// lenient tells of forms that time.Parse accepts and Postgres never writes: a comma or more than nine decimals, an hour
// of one digit, an offset of 24 hours.
func lenient(s string) bool {
	if strings.Contains(s, ",") || len(s) < 13 || s[13:14] != ":" || strings.Contains(s[19:], "+24") || strings.Contains(s[19:], "-24") {
		return true
	}
	digits := 0
	for _, c := range s[19:] {
		if c >= '0' && c <= '9' {
			digits++
		}
	}
	return digits > 9
}

// FuzzInterval holds the durations against the texts that Postgres writes for them.
func FuzzInterval(f *testing.F) {
	f.Add("04:05:06.5")
	f.Add("-100000:00:01")
	f.Add("1 day")
	plan, err := decode.PlanFor[time.Duration](new(decode.Cache))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		body, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode.Row[time.Duration](plan, body, decode.Options{})
		if err != nil {
			return
		}
		// time.ParseDuration knows another form of the same: 04:05:06.5 is 04h05m06.5s.
		want, wantErr := time.ParseDuration(strings.Replace(strings.Replace(s, ":", "h", 1), ":", "m", 1) + "s")
		if wantErr != nil || got != want {
			t.Fatalf("%q: time.ParseDuration has %v, %v, decode has %v", s, want, wantErr, got)
		}
	})
}
