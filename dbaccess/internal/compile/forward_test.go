package compile_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/internal/compile"
)

func TestHeadersSetting(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		h    http.Header
		want string
	}{
		{"none", nil, `{}`},
		{"a header without values", http.Header{"X-A": nil}, `{}`},
		{"lower case, sorted", http.Header{"X-Tenant": {"acme"}, "User-Agent": {"curl/8"}}, `{"user-agent":"curl/8","x-tenant":"acme"}`},
		{"the last of several", http.Header{"X-Tenant": {"a", "b"}}, `{"x-tenant":"b"}`},
		{"no cookies", http.Header{"Cookie": {"a=1"}, "X-B": {""}}, `{"x-b":""}`},
		{"quoted", http.Header{"X-A": {"say \"hi\" \\ \t<&> é"}}, `{"x-a":"say \"hi\" \\ \u0009<&> é"}`},
		{"space around", http.Header{"X-A": {" \tx y\t "}}, `{"x-a":"x y"}`},
		{"not UTF-8", http.Header{"X-A": {"a\xffb"}}, `{"x-a":"a` + "\ufffd" + `b"}`},
	} {
		if diff := cmp.Diff(tt.want, compile.HeadersSetting(tt.h)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestCookiesSetting(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"":                   `{}`,
		"a=1":                `{"a":"1"}`,
		"b=2; a=1":           `{"a":"1","b":"2"}`,
		"a=1;a=2":            `{"a":"2"}`,
		"a=1; b":             `{"a":"1","b":""}`,
		"a=x=y==":            `{"a":"x=y=="}`,
		`a="quoted"`:         `{"a":"\"quoted\""}`,
		"a=1;":               `{"a":"1"}`,
		"a = 1 ;  b=2":       `{"a ":" 1 ","b":"2"}`,
		"; a=1":              `{"":"","a":"1"}`,
		"session=eyJ0.eyJ.é": `{"session":"eyJ0.eyJ.é"}`,
	} {
		if diff := cmp.Diff(want, compile.CookiesSetting(http.Header{"Cookie": {header, "not=this"}})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", header, diff)
		}
	}
	if got := compile.CookiesSetting(http.Header{"X-A": {"a=1"}}); got != "{}" {
		t.Errorf("without cookies: %s", got)
	}
}

// FuzzForwardedSettings holds what is written against encoding/json.
func FuzzForwardedSettings(f *testing.F) {
	f.Add("X-A", "1", "a=1; b=2")
	f.Add("x-É", "\"\\\x00\x1f\u2028\xff", "=;=;;a")
	f.Fuzz(func(t *testing.T, name, value, cookies string) {
		h := http.Header{name: {value}}
		if name != "Cookie" {
			h["Cookie"] = []string{cookies}
		}
		for _, setting := range []string{compile.HeadersSetting(h), compile.CookiesSetting(h)} {
			var got map[string]string
			if err := json.Unmarshal([]byte(setting), &got); err != nil || !utf8.ValidString(setting) {
				t.Fatalf("%q: %v", setting, err)
			}
		}
		var got map[string]string
		if err := json.Unmarshal([]byte(compile.HeadersSetting(http.Header{"X": {value}})), &got); err != nil {
			t.Fatal(err)
		}
		if want := strings.ToValidUTF8(strings.Trim(value, " \t"), "\ufffd"); utf8.ValidString(value) && got["x"] != want {
			t.Fatalf("value %q became %q, want %q", value, got["x"], want)
		}
	})
}
