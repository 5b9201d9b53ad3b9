package auth_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/auth"
)

func TestIdentityPrintsItsRoleAlone(t *testing.T) {
	t.Parallel()
	const claim, token = "canary-claim", "canary-token"
	id := auth.Identity{Role: "authenticated", Claims: json.RawMessage(`{"email":"` + claim + `"}`), Token: token}
	var text strings.Builder
	log := slog.New(slog.NewJSONHandler(&text, nil))
	log.Info("x", "id", id, "p", &id, "list", []auth.Identity{id})
	j, err := json.Marshal(map[string]any{"id": id, "p": &id})
	if err != nil {
		t.Fatal(err)
	}
	text.Write(j)
	wrapped := struct{ ID auth.Identity }{id}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		fmt.Fprintf(&text, verb+verb+verb, id, &id, wrapped)
	}
	for _, leak := range []string{claim, token, fmt.Sprintf("%x", claim), fmt.Sprintf("%x", token), fmt.Sprintf("%X", token)} {
		if strings.Contains(text.String(), leak) {
			t.Errorf("%s is in %s", leak, text.String())
		}
	}
	if got := fmt.Sprint(id); got != "identity(authenticated)" {
		t.Errorf("got %s", got)
	}
	if diff := cmp.Diff(`{"id":{"role":"authenticated"},"p":{"role":"authenticated"}}`, string(j)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestIdentityValidate(t *testing.T) {
	t.Parallel()
	const canary = "canary-5b1c"
	for _, tt := range []struct {
		name string
		id   auth.Identity
		want string // part of the error, "" for none
	}{
		{"role", auth.Identity{Role: "anon"}, ""},
		{"role and claims", auth.Identity{Role: "anon", Claims: json.RawMessage(" \t\r\n{}\n")}, ""},
		{"a role with odd characters", auth.Identity{Role: `we"ird role é`}, ""},
		{"no role", auth.Identity{Claims: json.RawMessage(`{"a":"` + canary + `"}`)}, "without a role"},
		{"none", auth.Identity{Role: "none"}, "login role"},
		{"None", auth.Identity{Role: "NONE"}, "login role"},
		{"zero byte", auth.Identity{Role: "a\x00b"}, "zero byte"},
		{"role not UTF-8", auth.Identity{Role: "a\xff"}, "UTF-8"},
		{"claims not UTF-8", auth.Identity{Role: "a", Claims: json.RawMessage("{\"a\":\"" + canary + "\xff\"}")}, "UTF-8"},
		{"claims an array", auth.Identity{Role: "a", Claims: json.RawMessage(`["` + canary + `"]`)}, "JSON object"},
		{"claims null", auth.Identity{Role: "a", Claims: json.RawMessage(`null`)}, "JSON object"},
		{"claims broken", auth.Identity{Role: "a", Claims: json.RawMessage(`{"` + canary)}, "JSON object"},
		{"claims two objects", auth.Identity{Role: "a", Claims: json.RawMessage(`{}{}`)}, "JSON object"},
		{"claims white space", auth.Identity{Role: "a", Claims: json.RawMessage(` `)}, "JSON object"},
	} {
		err := tt.id.Validate()
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: error %v, want one about %q", tt.name, err, tt.want)
		case err != nil && strings.Contains(err.Error(), canary):
			t.Errorf("%s: the error holds a claim: %v", tt.name, err)
		}
	}
}

func TestClaimsWithRole(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, role, claims, want string }{
		{"no claims", "anon", ``, `{"role":"anon"}`},
		{"empty object", "anon", ` { } `, `{"role":"anon"}`},
		{"inserted last", "anon", `{"b":1,"a":2}`, `{"b":1,"a":2,"role":"anon"}`},
		{"the same already, bytes kept", "anon", `{ "role" : "anon", "a":1.10 }`, `{ "role" : "anon", "a":1.10 }`},
		{"overridden", "anon", `{"role":"service_role","a":1}`, `{"a":1,"role":"anon"}`},
		{"overridden, no string", "anon", `{"a":1,"role":{"role":"anon"}}`, `{"a":1,"role":"anon"}`},
		{"repeated", "anon", `{"role":"anon","a":1,"role":"service_role"}`, `{"a":1,"role":"anon"}`},
		{"repeated, the last right", "anon", `{"role":"service_role","a":1,"role":"anon"}`, `{"a":1,"role":"anon"}`},
		{"escaped name", "anon", `{"r\u006fle":"service_role"}`, `{"role":"anon"}`},
		{"case matters", "anon", `{"Role":"service_role"}`, `{"Role":"service_role","role":"anon"}`},
		{"nested role stays", "anon", `{"x":{"role":"y"},"l":[{"role":1},"}"]}`, `{"x":{"role":"y"},"l":[{"role":1},"}"],"role":"anon"}`},
		{"numbers exact", "anon", `{"n":9007199254740993,"d":1.10,"e":1E+5}`, `{"n":9007199254740993,"d":1.10,"e":1E+5,"role":"anon"}`},
		{"text exact", "anon", `{"t":"<é\u00e9\\\"}, ]"}`, `{"t":"<é\u00e9\\\"}, ]","role":"anon"}`},
		{"words", "anon", `{"a":true,"b":null ,"c":-1}`, `{"a":true,"b":null,"c":-1,"role":"anon"}`},
		{"role quoted", `we"ird`, `{}`, `{"role":"we\"ird"}`},
	} {
		got, err := auth.Identity{Role: tt.role, Claims: json.RawMessage(tt.claims)}.ClaimsWithRole()
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	for _, claims := range []string{`[]`, `{`, `"canary"`, `{"canary":}`} {
		if got, err := (auth.Identity{Role: "anon", Claims: json.RawMessage(claims)}).ClaimsWithRole(); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: got %s, error %v", claims, got, err)
		}
	}
}

func TestSubject(t *testing.T) {
	t.Parallel()
	for claims, want := range map[string]string{
		``:                              "",
		`{}`:                            "",
		`{"sub":"alice"}`:               "alice",
		`{"sub":""}`:                    "",
		`{"sub":7}`:                     "",
		`{"sub":null}`:                  "",
		`{"sub":"a","SUB":"b"}`:         "a",
		`{"SUB":"b"}`:                   "",
		`{"x":{"sub":"b"}}`:             "",
		`{"s\u0075b":"\u00e9\n"}`:       "é\n",
		`{"sub":"a","sub":"b"}`:         "b",
		`[{"sub":"a"}]`:                 "",
		`{"sub":"a"`:                    "",
		` { "a" : [ 1 ] , "sub" : "b"}`: "b",
	} {
		if got := (auth.Identity{Role: "anon", Claims: json.RawMessage(claims)}).Subject(); got != want {
			t.Errorf("%s: got %q, want %q", claims, got, want)
		}
	}
}

func TestWithAndFrom(t *testing.T) {
	t.Parallel()
	if id, ok := auth.From(context.Background()); ok {
		t.Errorf("an empty context has %v", id)
	}
	want := auth.Identity{Role: "anon", Token: "t"}
	ctx := auth.With(auth.With(context.Background(), auth.Identity{Role: "other"}), want)
	got, ok := auth.From(ctx)
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("%v (-want +got):\n%s", ok, diff)
	}
}

func TestTokenError(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("wrapped: %w", &auth.TokenError{Code: auth.CodeTokenClaims, Reason: "JWT expired"})
	if !auth.IsTokenError(err) || auth.IsTokenError(context.Canceled) || auth.IsTokenError(nil) {
		t.Error("IsTokenError is wrong")
	}
	if got, want := err.Error(), "wrapped: auth: bearer token refused: JWT expired"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// FuzzClaimsWithRole holds the splice against encoding/json.
func FuzzClaimsWithRole(f *testing.F) {
	f.Add("anon", `{"role":"x","a":[1,{"role":2}],"r\u006fle":null}`)
	f.Add(`q"`, ` { "a" : "\\\"}" , "b" : -1.5e3 } `)
	f.Add("none", `{"":{},"\u0000":[]}`)
	f.Fuzz(func(t *testing.T, role, claims string) {
		id := auth.Identity{Role: role, Claims: json.RawMessage(claims)}
		if id.Validate() != nil {
			_ = id.Subject()
			return
		}
		got, err := id.ClaimsWithRole()
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]json.RawMessage{}
		if len(claims) > 0 {
			if err := json.Unmarshal([]byte(claims), &want); err != nil {
				t.Fatal(err)
			}
		}
		if want["role"], err = json.Marshal(role); err != nil {
			t.Fatal(err)
		}
		have := map[string]json.RawMessage{}
		if err := json.Unmarshal(got, &have); err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		if diff := cmp.Diff(want, have, cmp.Transformer("text", func(r json.RawMessage) string { return string(r) })); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", got, diff)
		}
		if n := bytes.Count(got, []byte(`"role"`)); n == 0 {
			t.Fatalf("no role in %s", got)
		}
		var sub string
		if json.Unmarshal(have["sub"], &sub) != nil {
			sub = ""
		}
		if s := id.Subject(); s != sub {
			t.Fatalf("subject %q, want %q", s, sub)
		}
	})
}

func BenchmarkClaimsWithRole(b *testing.B) {
	for name, claims := range map[string]string{
		"there":    `{"role":"authenticated","sub":"11111111-1111-1111-1111-111111111111","email":"a@example.org","exp":4102444800}`,
		"inserted": `{"sub":"11111111-1111-1111-1111-111111111111","email":"a@example.org","exp":4102444800}`,
	} {
		id := auth.Identity{Role: "authenticated", Claims: json.RawMessage(claims)}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := id.ClaimsWithRole(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
