package auth_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/twinpath/twinpath/dbaccess/auth"
)

// The cases follow PostgREST's grammar and its documented examples.
func TestClaimPath(t *testing.T) {
	t.Parallel()
	const claims = ` {"role":"anon","":"empty","näme_1$@":"letters",
		"postgrest":{"roles":["author","editor"],"wlcg.groups":["/groupa","/groupb"],"a\u0062c":"escaped"},
		"realm_access":{"roles":["offline_access", 7, null, "\u0063lient_admin","uma"]},
		"n":7,"nothing":null,"twice":1,"twice":2,"text":"äbc\ud83d\ude00"} `
	const none = ""
	for _, tt := range []struct{ path, want string }{
		{"", `"anon"`},
		{".role", `"anon"`},
		{`."role"`, `"anon"`},
		{".Role", none},
		{`.""`, `"empty"`},
		{".näme_1$@", `"letters"`},
		{".postgrest.roles", `["author","editor"]`},
		{".postgrest.roles[0]", `"author"`},
		{".postgrest.roles[01]", `"editor"`},
		{".postgrest.roles[2]", none},
		{".postgrest.roles[99999999]", none},
		{".postgrest.roles.x", none},
		{".postgrest[0]", none},
		{`.postgrest."abc"`, `"escaped"`},
		{`.postgrest."wlcg.groups"[0][1:]`, `"groupa"`},
		{`.postgrest."wlcg.groups"[?(@ ==^ "b")][-1:]`, `"b"`},
		{".role[0]", none},
		{"[0]", none},
		{`.realm_access.roles[?(@ == "client_admin")]`, `"\u0063lient_admin"`},
		{`.realm_access.roles[?(@=="client_admin")]`, `"\u0063lient_admin"`},
		{".realm_access.roles[?(@ \t==\n\"uma\")]", `"uma"`},
		{`.realm_access.roles[?(@ == "none of them")]`, none},
		{`.realm_access.roles[?(@ != "offline_access")]`, `"\u0063lient_admin"`},
		{`.realm_access.roles[?(@ ^== "client_")]`, `"\u0063lient_admin"`},
		{`.realm_access.roles[?(@ ==^ "_admin")]`, `"\u0063lient_admin"`},
		{`.realm_access.roles[?(@ *== "t_a")]`, `"\u0063lient_admin"`},
		{`.realm_access.roles[?(@ *== "")]`, `"offline_access"`},
		{`.realm_access[?(@ == "x")]`, none},
		{`.role[?(@ == "anon")]`, none},
		{".n", "7"},
		{".nothing", "null"},
		{".nothing.x", none},
		{".twice", "2"},
		{".text[1:]", `"bc😀"`},
		{".text[:-1]", `"äbc"`},
		{".text[-2:-1]", `"c"`},
		{".text[:]", `"äbc😀"`},
		{".text[-:-]", `"äbc😀"`},
		{".text[3:1]", `""`},
		{".text[-99:99]", `"äbc😀"`},
		{".text[1:][1:2]", `"c"`},
		{".n[1:]", none},
	} {
		p, err := auth.ParseClaimPath(tt.path)
		if err != nil {
			t.Errorf("%s: %v", tt.path, err)
			continue
		}
		got, ok := p.Find(json.RawMessage(claims))
		if string(got) != tt.want || ok != (tt.want != none) {
			t.Errorf("%s: %s, %t; want %s", tt.path, got, ok, tt.want)
		}
		if want := tt.path; want != "" && p.String() != want {
			t.Errorf("%s prints as %s", want, p)
		}
	}
	for _, claims := range []string{"", "null", "[]", `"role"`, `{"role":`, `{"role":1} x`} {
		if v, ok := (auth.ClaimPath{}).Find(json.RawMessage(claims)); ok {
			t.Errorf("%q: found %s", claims, v)
		}
	}
	if s := (auth.ClaimPath{}).String(); s != ".role" {
		t.Errorf("the zero path prints as %s", s)
	}
}

func TestParseClaimPathRefuses(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"role", ".", "..role", ".role.", ".ro-le", ".role ", " .role", `."role`, `.role"`, ".role[", ".role[]", ".role[x]", ".role[-1]", ".role[1",
		".role[1]x", ".role[1:2:3]", ".role[--1:]", ".role[1 :2]", ".role[99999999999]", ".role[?(@)]", `.r[?(@ = "x")]`, `.r[?(@ === "x")]`,
		`.r[?(@ == x)]`, `.r[?(@ == "x)]`, `.r[?(@ == "x"]`, `.r[?(@ == "x")`, `.r[?(@ == "x" )]`, `.r[?( @ == "x")]`, `.r[?(@ ~= "x")]`, `.r[?(`, "\xff",
		strings.Repeat(".a", 65),
	} {
		if p, err := auth.ParseClaimPath(path); err == nil {
			t.Errorf("%s passed as %s", path, p)
		}
	}
}

// FuzzClaimPath: what parses prints as it was written, parses again to the same,
// and finds valid JSON or nothing.
func FuzzClaimPath(f *testing.F) {
	f.Add(".role", `{"role":"anon"}`)
	f.Add(`.a."b c"[0][?(@ ==^ "x")][1:-1]`, `{"a":{"b c":[["ax"," x "]]}}`)
	f.Add(`.r[?(@!="")]`, `{"r":[ 1 , "a" ,{}],"r\u0000":[]}`)
	f.Add(".a[-1:]", `{"a":"\ud800"}`)
	f.Fuzz(func(t *testing.T, path, claims string) {
		p, err := auth.ParseClaimPath(path)
		if err != nil {
			return
		}
		again, err := auth.ParseClaimPath(p.String())
		if err != nil {
			t.Fatalf("%s does not parse again: %v", p, err)
		}
		v, ok := p.Find(json.RawMessage(claims))
		w, ok2 := again.Find(json.RawMessage(claims))
		if ok != ok2 || string(v) != string(w) {
			t.Fatalf("%s finds %s, then %s", p, v, w)
		}
		if ok && !json.Valid(v) {
			t.Fatalf("%s finds %q, which is not JSON", p, v)
		}
		// encoding/json agrees where the path is made of names and none is repeated.
		names, whole := p.Members()
		if !whole || strings.Contains(claims, `\`) || !utf8.ValidString(claims) {
			return
		}
		var x any = json.RawMessage(claims)
		for _, name := range names {
			var o map[string]json.RawMessage
			b, _ := x.(json.RawMessage)
			if json.Unmarshal(b, &o) != nil || o[name] == nil {
				if ok {
					t.Fatalf("%s finds %s, encoding/json nothing", p, v)
				}
				return
			}
			x = o[name]
		}
		if b, _ := x.(json.RawMessage); !ok || string(b) != string(v) {
			t.Fatalf("%s finds %s, encoding/json %s", p, v, b)
		}
	})
}
