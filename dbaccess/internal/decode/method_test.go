package decode_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/twinpath/twinpath/dbaccess/internal/decode"
)

// scanOnly takes what database/sql would give, as pgtype.Interval does.
type scanOnly struct{ got string }

func (s *scanOnly) Scan(src any) error {
	if src == nil {
		return errors.New("scanOnly cannot hold NULL")
	}
	s.got = fmt.Sprintf("%T %s", src, src)
	if strings.Contains(s.got, "refuse") {
		return fmt.Errorf("refused %v", src)
	}
	return nil
}

// scanNull is a Scanner that can hold NULL.
type scanNull struct{ Set, Null bool }

func (s *scanNull) Scan(src any) error {
	*s = scanNull{Set: src != nil, Null: src == nil}
	return nil
}

// upperText is a TextUnmarshaler, as most uuid types are.
type upperText struct{ got string }

func (u *upperText) UnmarshalText(b []byte) error {
	if u.got = strings.ToUpper(string(b)); strings.Contains(u.got, "REFUSE") {
		return errors.New("refused " + string(b))
	}
	return nil
}

func (u *upperText) Scan(any) error { panic("UnmarshalText comes first") }

// validJSON is shaped like the types of pgtype: UnmarshalJSON beside Scan, and Valid.
type validJSON struct {
	Raw   string
	Valid bool
}

func (p *validJSON) UnmarshalJSON(b []byte) error {
	p.Raw, p.Valid = string(b), string(b) != "null"
	if strings.Contains(p.Raw, "refuse") {
		return errors.New("refused " + p.Raw)
	}
	return nil
}

func (p *validJSON) Scan(any) error { panic("UnmarshalJSON comes first") }

// plainJSON cannot hold NULL: by convention its UnmarshalJSON leaves it alone.
type plainJSON struct{ Raw string }

func (p *plainJSON) UnmarshalJSON(b []byte) error {
	if string(b) != "null" {
		p.Raw = string(b)
	}
	return nil
}

// streamed has the method of encoding/json/v2, which comes before UnmarshalJSON.
type streamed struct{ kinds string }

func (s *streamed) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	tok, err := dec.ReadToken()
	s.kinds = tok.Kind().String()
	if s.kinds == "{" {
		return err // leaves the rest unread, which is an error
	}
	return err
}

func (s *streamed) UnmarshalJSON([]byte) error { panic("UnmarshalJSONFrom comes first") }

type nullableText struct{ set bool }

func (n *nullableText) UnmarshalText([]byte) error { n.set = true; return nil }
func (n *nullableText) IsNull() bool               { return !n.set }

type textSlice []string

func (s *textSlice) UnmarshalText(b []byte) error { *s = strings.Split(string(b), "-"); return nil }

func TestMethods(t *testing.T) {
	t.Parallel()
	runColumns(t, []columnCase{
		reads(`"1 year"`, scanOnly{"string 1 year"}),
		reads("12", scanOnly{"int64 %!s(int64=12)"}),
		reads("1.10", scanOnly{"string 1.10"}),
		reads("18446744073709551616", scanOnly{"string 18446744073709551616"}),
		reads("true", scanOnly{"bool %!s(bool=true)"}),
		reads(`{"a": 1}`, scanOnly{`[]uint8 {"a": 1}`}),
		reads("[1, 2]", scanOnly{"[]uint8 [1, 2]"}),
		refuses[scanOnly](`"refuse me"`, "own method refused"),
		reads("1", scanNull{Set: true}),

		reads(`"a0-b1"`, upperText{"A0-B1"}),
		reads(`"a\nb"`, upperText{"A\nB"}),
		reads("1.5e3", upperText{"1.5E3"}),
		reads(`"a-b"`, textSlice{"a", "b"}),
		reads("null", textSlice(nil)),
		refuses[upperText](`"refuse me"`, "own method refused"),
		refuses[upperText]("true", "UnmarshalText"),
		refuses[upperText]("[123]", "UnmarshalText"),
		reads("null", nullableText{}),
		reads(`"x"`, nullableText{true}),

		reads(`"x"`, validJSON{`"x"`, true}),
		reads(`{"a": 1, "a": 2}`, validJSON{`{"a": 1, "a": 2}`, true}),
		reads("null", validJSON{"null", false}),
		refuses[validJSON](`"refuse me"`, "own method refused"),
		reads("1.10", plainJSON{"1.10"}),

		reads("true", streamed{"true"}),
		reads(`"x"`, streamed{"string"}),
		refuses[streamed](`{"secret": 1}`, "own method refused"),

		reads("123456789012345678901234567890", *bigInt("123456789012345678901234567890")),
		reads(`[1,2]`, []plainJSON{{"1"}, {"2"}}),
	})
	for name, err := range map[string]error{
		"Scan answers an error":          second(rows[cell[scanOnly]](t, `[{"v":null}]`, decode.Options{})),
		"UnmarshalJSON without Valid":    second(rows[cell[plainJSON]](t, `[{"v":null}]`, decode.Options{})),
		"UnmarshalText without Valid":    second(rows[cell[upperText]](t, `[{"v":null}]`, decode.Options{})),
		"UnmarshalJSONFrom without Null": second(rows[cell[streamed]](t, `[{"v":null}]`, decode.Options{})),
	} {
		if !errors.Is(err, decode.ErrNull) {
			t.Errorf("%s: NULL gives %v, want ErrNull", name, err)
		}
	}
	nulls, err := rows[cell[scanNull]](t, `[{"v":null}]`, decode.Options{})
	if err != nil || !nulls[0].V.Null {
		t.Errorf("Scan(nil) was not asked: %v %v", nulls, err)
	}
}

func bigInt(s string) *big.Int { i, _ := new(big.Int).SetString(s, 10); return i }

func second[T any](_ T, err error) error { return err }

// TestMethodError checks that the words of a type's own method are to be had, but in no text and in no chain of errors,
// which is where error reporters look.
func TestMethodError(t *testing.T) {
	t.Parallel()
	_, err := rows[cell[upperText]](t, `[{"v":"refuse canary"}]`, decode.Options{})
	var e *decode.TypeError
	if !asType(err, &e) {
		t.Fatalf("got %v", err)
	}
	if e.MethodError() == nil || !strings.Contains(e.MethodError().Error(), "canary") {
		t.Errorf("MethodError is %v", e.MethodError())
	}
	for chained := error(e); chained != nil; chained = errors.Unwrap(chained) {
		leaks(t, chained, "canary")
	}
	if b, err := json.Marshal(struct{ Error any }{*e}); err == nil && strings.Contains(string(b), "canary") {
		t.Errorf("JSON of the error holds the value: %s", b)
	}
	if e.GoType != reflect.TypeFor[upperText]() || e.JSONKind != "string" {
		t.Errorf("got %v of a %s", e.GoType, e.JSONKind)
	}
}
