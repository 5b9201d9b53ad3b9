package jwt_test

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
)

const secret = "golden-corpus-jwt-secret-at-least-32-bytes!"

func newHS256(tb testing.TB, change func(*jwt.Config)) *jwt.HS256 {
	tb.Helper()
	cfg := jwt.Config{Secret: []byte(secret)}
	if change != nil {
		change(&cfg)
	}
	h, err := jwt.NewHS256(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

func encode(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

// makeToken signs by hand, so that the package is not judged by itself.
func makeToken(header, claims string, h func() hash.Hash, key string) string {
	text := encode(header) + "." + encode(claims)
	m := hmac.New(h, []byte(key))
	m.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

const plainHeader = `{"alg":"HS256","typ":"JWT"}`

func goodToken(claims string) string { return makeToken(plainHeader, claims, sha256.New, secret) }

// TestGolden verifies the corpus's tokens and compares each refusal with what a
// real PostgREST answered.
func TestGolden(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../../testdata/golden/tokens.json")
	if err != nil {
		t.Fatal(err)
	}
	var tokens map[string]string
	if err := json.Unmarshal(b, &tokens); err != nil {
		t.Fatal(err)
	}
	refused := goldenRefusals(t)
	roles := map[string]string{"alice": "authenticated", "bob": "authenticated", "service": "service_role", "badrole": "no_such_role"}
	h := newHS256(t, nil)
	for who, token := range tokens {
		id, err := h.Verify(t.Context(), token)
		if role, ok := roles[who]; ok {
			if err != nil {
				t.Errorf("%s: %v", who, err)
				continue
			}
			payload, _ := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
			want := auth.Identity{Role: role, Claims: payload, Token: token}
			if diff := cmp.Diff(want, id); diff != "" {
				t.Errorf("%s (-want +got):\n%s", who, diff)
			}
			continue
		}
		te, ok := errors.AsType[*auth.TokenError](err)
		if !ok {
			t.Errorf("%s: error %v, want a TokenError", who, err)
			continue
		}
		want, ok := refused[who]
		if !ok {
			t.Fatalf("the corpus has no refusal of %s", who)
		}
		if diff := cmp.Diff(want, *te); diff != "" {
			t.Errorf("%s (-want +got):\n%s", who, diff)
		}
	}
}

// goldenRefusals returns the answers to tokens that PostgREST itself refused,
// by caller.
func goldenRefusals(t *testing.T) map[string]auth.TokenError {
	t.Helper()
	f, err := os.Open("../../../testdata/golden/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]auth.TokenError{}
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var c struct {
			As       string
			Status   int
			Response string
		}
		if err := json.Unmarshal(sc.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		var body struct {
			Code, Message string
			Details       string
		}
		if c.Status != http.StatusUnauthorized || json.Unmarshal([]byte(c.Response), &body) != nil || !strings.HasPrefix(body.Code, "PGRST30") {
			continue
		}
		out[c.As] = auth.TokenError{Code: body.Code, Reason: body.Message, Details: body.Details}
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	const (
		invalid = auth.CodeTokenInvalid
		claims  = auth.CodeTokenClaims
		noKey   = "No suitable key or wrong key type"
		crypto  = "JWT cryptographic operation failed"
		badAlg  = "Wrong or unsupported encoding algorithm"
		parsing = "Parsing claims failed"
	)
	parts := strings.Split(goodToken(`{"role":"anon"}`), ".")
	for _, tt := range []struct {
		name, token, code, reason string
	}{
		{"empty", "", invalid, "Empty JWT is sent in Authorization header"},
		{"one part", "abc", invalid, "Expected 3 parts in JWT; got 1"},
		{"two parts", "a.b", invalid, "Expected 3 parts in JWT; got 2"},
		{"five parts", "a.b.c.d.e", invalid, "Expected 3 parts in JWT; got 5"},
		{"random characters", "quifquirndsjagnrgniur.fonvoienqhhdj.iuqvnvhojah", invalid, crypto},
		{"alg none", encode(`{"alg":"none"}`) + "." + parts[1] + ".", invalid, badAlg},
		{"alg NONE", encode(`{"alg":"NoNe"}`) + "." + parts[1] + "." + parts[2], invalid, badAlg},
		{"alg HS512, right key", makeToken(`{"alg":"HS512"}`, `{}`, sha512.New, secret), invalid, noKey},
		{"alg RS256, HMAC with the secret", makeToken(`{"alg":"RS256"}`, `{}`, sha256.New, secret), invalid, noKey},
		{"no alg", makeToken(`{}`, `{}`, sha256.New, secret), invalid, crypto},
		{"alg is a number", makeToken(`{"alg":256}`, `{}`, sha256.New, secret), invalid, crypto},
		{"two algs", makeToken(`{"alg":"none","alg":"HS256"}`, `{}`, sha256.New, secret), invalid, crypto},
		{"critical header", makeToken(`{"alg":"HS256","crit":["b64"],"b64":false}`, `{}`, sha256.New, secret), invalid, badAlg},
		{"wrong key", makeToken(plainHeader, `{}`, sha256.New, secret+"x"), invalid, noKey},
		{"no signature", parts[0] + "." + parts[1] + ".", invalid, noKey},
		{"signature cut short", parts[0] + "." + parts[1] + "." + parts[2][:40], invalid, noKey},
		{"other claims", parts[0] + "." + encode(`{"role":"service_role"}`) + "." + parts[2], invalid, noKey},
		{"newline in signature", parts[0] + "." + parts[1] + ".\n" + parts[2], invalid, crypto},
		{"padding", parts[0] + "." + parts[1] + "." + parts[2] + "=", invalid, crypto},
		{"loose last bits", parts[0] + "." + parts[1] + "." + looseEnd(parts[2]), invalid, crypto},
		{"with the scheme", "Bearer " + goodToken(`{}`), invalid, crypto},
		{"claims no JSON", goodToken(`not an object`), claims, parsing},
		{"claims null", goodToken(`null`), claims, parsing},
		{"claims an array", goodToken(`[]`), claims, parsing},
		{"claims and more", goodToken(`{} {}`), claims, parsing},
		{"claims not UTF-8", goodToken("{\"a\":\"\xff\"}"), claims, parsing},
		{"role twice", goodToken(`{"role":"anon","role":"service_role"}`), claims, parsing},
		{"role twice, escaped", goodToken(`{"role":"anon","r\u006fle":"service_role"}`), claims, parsing},
		{"exp text", goodToken(`{"exp":"4102444800"}`), claims, "The JWT 'exp' claim must be a number"},
		{"nbf bool", goodToken(`{"nbf":true}`), claims, "The JWT 'nbf' claim must be a number"},
		{"iat object", goodToken(`{"iat":{}}`), claims, "The JWT 'iat' claim must be a number"},
		{"exp past", goodToken(`{"exp":1500000000}`), claims, "JWT expired"},
		{"exp fraction, as PostgREST", goodToken(`{"exp":4102444800.5}`), claims, "JWT expired"},
		{"exp beyond 64 bits, as PostgREST", goodToken(`{"exp":1e400}`), claims, "JWT expired"},
		{"exp far past", goodToken(`{"exp":-1e400}`), claims, "JWT expired"},
		{"nbf future", goodToken(`{"nbf":4102444800}`), claims, "JWT not yet valid"},
		{"nbf beyond", goodToken(`{"nbf":1e400}`), claims, "JWT not yet valid"},
		{"iat future", goodToken(`{"iat":4102444800}`), claims, "JWT issued at future"},
		{"aud number", goodToken(`{"aud":7}`), claims, "The JWT 'aud' claim must be a string or an array of strings"},
		{"aud with null", goodToken(`{"aud":[null]}`), claims, "The JWT 'aud' claim must be a string or an array of strings"},
		{"role number", goodToken(`{"role":7}`), claims, "The role claim must be a string"},
		{"role null", goodToken(`{"role":null}`), claims, "The role claim must be a string"},
		{"role empty", goodToken(`{"role":""}`), claims, "The role claim names no role that a request can act as"},
		{"role none", goodToken(`{"role":"None"}`), claims, "The role claim names no role that a request can act as"},
		{"role with zero byte", goodToken(`{"role":"a\u0000b"}`), claims, "The role claim names no role that a request can act as"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			id, err := newHS256(t, nil).Verify(t.Context(), tt.token)
			te, ok := errors.AsType[*auth.TokenError](err)
			if !ok {
				t.Fatalf("got %v and error %v, want a TokenError", id, err)
			}
			if te.Code != tt.code || te.Reason != tt.reason {
				t.Errorf("got %s %q, want %s %q", te.Code, te.Reason, tt.code, tt.reason)
			}
			if !cmp.Equal(id, auth.Identity{}) {
				t.Error("an identity came with the error")
			}
		})
	}
}

// looseEnd changes bits of the last character that decoding drops.
func looseEnd(s string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	i := strings.IndexByte(alphabet, s[len(s)-1])
	return s[:len(s)-1] + string(alphabet[i^1])
}

func TestVerifyAccepts(t *testing.T) {
	t.Parallel()
	aud := func(c *jwt.Config) { c.Audience = "api" }
	for _, tt := range []struct {
		name, claims, role string
		change             func(*jwt.Config)
	}{
		{"no role", `{}`, "anon", nil},
		{"no role, own anon", `{}`, "web_anon", func(c *jwt.Config) { c.AnonRole = "web_anon" }},
		{"role", `{"role":"authenticated"}`, "authenticated", nil},
		{"Role is not role", `{"Role":"service_role"}`, "anon", nil},
		{"null times", `{"exp":null,"nbf":null,"iat":null}`, "anon", nil},
		{"times", `{"exp":4.1024448e9,"nbf":1500000000,"iat":1500000000.25}`, "anon", nil},
		{"no audience", `{}`, "anon", aud},
		{"audience null", `{"aud":null}`, "anon", aud},
		{"audience", `{"aud":"api"}`, "anon", aud},
		{"audience among others", `{"aud":["web","api"]}`, "anon", aud},
		{"audience empty list", `{"aud":[]}`, "anon", aud},
		{"any audience", `{"aud":"web"}`, "anon", nil},
		{"role path", `{"role":"x","app":{"db role":"clerk"}}`, "clerk", func(c *jwt.Config) { c.RoleClaim = `.app."db role"` }},
		{"header spelled otherwise", `{"role":"authenticated"}`, "authenticated", nil},
		{"role path absent", `{"role":"x"}`, "anon", func(c *jwt.Config) { c.RoleClaim = ".app.role" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			token := goodToken(tt.claims)
			if tt.name == "header spelled otherwise" {
				token = makeToken(`{"typ":"JWT","kid":"1","alg":"HS256"}`, tt.claims, sha256.New, secret)
			}
			id, err := newHS256(t, tt.change).Verify(t.Context(), token)
			if err != nil {
				t.Fatal(err)
			}
			want := auth.Identity{Role: tt.role, Claims: json.RawMessage(tt.claims), Token: token}
			if diff := cmp.Diff(want, id); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	// Of a name that is there twice PostgREST takes the first and Postgres the last.
	inApp := newHS256(t, func(c *jwt.Config) { c.RoleClaim = ".app.db.role" })
	for _, claims := range []string{
		`{"app":{"db":{"role":"anon","role":"service_role"}}}`, `{"app":{"db":{"role":"anon","r\u006fle":"service_role"}}}`,
		`{"app":{"db":{"role":"anon"},"db":{"role":"service_role"}}}`,
	} {
		if id, err := inApp.Verify(t.Context(), goodToken(claims)); err == nil || !strings.Contains(err.Error(), "Parsing claims failed") {
			t.Errorf("%s: identity %v, error %v", claims, id, err)
		}
	}
	for _, claims := range []string{`{}`, `{"app":null}`, `{"app":"db"}`, `{"app":{"db":["role"]}}`} {
		if id, err := inApp.Verify(t.Context(), goodToken(claims)); err != nil || id.Role != "anon" {
			t.Errorf("%s: identity %v, error %v", claims, id, err)
		}
	}
	for _, claims := range []string{`{"aud":"web"}`, `{"aud":["web"]}`, `{"aud":""}`} {
		if _, err := newHS256(t, aud).Verify(t.Context(), goodToken(claims)); err == nil || !strings.Contains(err.Error(), "JWT not in audience") {
			t.Errorf("%s: error %v", claims, err)
		}
	}
}

// TestClaimsKeepTheirBytes is about numbers that a float64 would change.
func TestClaimsKeepTheirBytes(t *testing.T) {
	t.Parallel()
	claims := `{ "role":"authenticated","tenant":9007199254740993, "rate":1.10,"html":"<&>","b":{"b":1,"a":2} }`
	id, err := newHS256(t, nil).Verify(t.Context(), goodToken(claims))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(claims, string(id.Claims)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSkew(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		claim  string
		offset time.Duration // of the claim from now
		skew   time.Duration
		ok     bool
	}{
		{"exp", -30 * time.Second, 0, true},
		{"exp", -31 * time.Second, 0, false},
		{"exp", 0, -1, true},
		{"exp", -time.Second, -1, false},
		{"exp", -5 * time.Second, 5 * time.Second, true},
		{"exp", -6 * time.Second, 5 * time.Second, false},
		{"nbf", 30 * time.Second, 0, true},
		{"nbf", 31 * time.Second, 0, false},
		{"nbf", time.Second, -1, false},
		{"iat", 30 * time.Second, 0, true},
		{"iat", 31 * time.Second, 0, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHS256(t, func(c *jwt.Config) { c.Skew = tt.skew })
			_, err := h.Verify(t.Context(), goodToken(fmt.Sprintf(`{%q:%d}`, tt.claim, time.Now().Add(tt.offset).Unix())))
			if (err == nil) != tt.ok {
				t.Errorf("%s %v from now, skew %v: error %v", tt.claim, tt.offset, tt.skew, err)
			}
		})
	}
}

func TestSign(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		path string
		id   auth.Identity
		want string
	}{
		{"role alone", "", auth.Identity{Role: "anon"}, `{"role":"anon","exp":946684860}`},
		{"claims", "", auth.Identity{Role: "authenticated", Claims: json.RawMessage(`{"n":9007199254740993,"role":"old"}`)},
			`{"n":9007199254740993,"role":"authenticated","exp":946684860}`},
		{"claims that fit keep their bytes", "", auth.Identity{Role: "anon", Claims: json.RawMessage(" { \"h\":\"<&>\", \"role\":\"anon\" } \n")},
			" { \"h\":\"<&>\", \"role\":\"anon\" ,\"exp\":946684860}"},
		{"own expiry", "", auth.Identity{Role: "anon", Claims: json.RawMessage(`{"exp":946684801}`)}, `{"exp":946684801,"role":"anon"}`},
		{"no expiry", "", auth.Identity{Role: "anon", Claims: json.RawMessage(`{"exp":null,"a":1}`)}, `{"a":1,"exp":946684860,"role":"anon"}`},
		{"nested role", ".app.role", auth.Identity{Role: "clerk", Claims: json.RawMessage(`{"app":{"x":1}}`)},
			`{"app":{"role":"clerk","x":1},"role":"clerk","exp":946684860}`},
		{"nested role, new", ".app.role", auth.Identity{Role: "clerk"},
			`{"app":{"role":"clerk"},"role":"clerk","exp":946684860}`},
		{"role in a list", ".app.roles[0]", auth.Identity{Role: "clerk"},
			`{"app":{"roles":["clerk"]},"role":"clerk","exp":946684860}`},
		{"role in front of a list", `.roles[?(@ ^== "cl")]`, auth.Identity{Role: "clerk", Claims: json.RawMessage(`{"roles":["a",1]}`)},
			`{"role":"clerk","roles":["clerk","a",1],"exp":946684860}`},
		{"role in front of an empty list", `.roles[?(@ != "x")]`, auth.Identity{Role: "clerk", Claims: json.RawMessage(`{"roles":[ ]}`)},
			`{"role":"clerk","roles":["clerk"],"exp":946684860}`},
	} {
		synctest.Test(t, func(t *testing.T) { // whose clock starts at 946684800
			h := newHS256(t, func(c *jwt.Config) { c.RoleClaim = tt.path })
			token, err := h.Sign(t.Context(), tt.id)
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			id, err := h.Verify(t.Context(), token)
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			want := auth.Identity{Role: tt.id.Role, Claims: json.RawMessage(tt.want), Token: token}
			if diff := cmp.Diff(want, id); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.name, diff)
			}
		})
	}
}

func TestSignRefuses(t *testing.T) {
	t.Parallel()
	const canary = "canary-7f3a"
	for name, id := range map[string]auth.Identity{
		"no role":         {Claims: json.RawMessage(`{"a":"` + canary + `"}`)},
		"claims repeated": {Role: "anon", Claims: json.RawMessage(`{"a":"` + canary + `","a":1}`)},
		"claims no JSON":  {Role: "anon", Claims: json.RawMessage(canary)},
		"role's place":    {Role: "anon", Claims: json.RawMessage(`{"app":"` + canary + `"}`)},
	} {
		h := newHS256(t, func(c *jwt.Config) { c.RoleClaim = ".app.role" })
		token, err := h.Sign(t.Context(), id)
		if err == nil {
			t.Errorf("%s: signed %s", name, token)
		} else if strings.Contains(err.Error(), canary) {
			t.Errorf("%s: the error holds a claim: %v", name, err)
		}
	}
}

// A role that PostgREST would read differently is not signed.
func TestSignRefusesRoleClaimsThatCantBeWritten(t *testing.T) {
	t.Parallel()
	for path, claims := range map[string]string{
		"[0]": `{}`, ".roles[1]": `{}`, `.roles[?(@ == "other")]`: `{}`, ".role[1:]": `{}`, `.roles[?(@ == "clerk")][1:]`: `{}`,
		".roles[0]": `{"roles":"text"}`, ".role[0]": `{}`, ".role.name": `{}`,
	} {
		h := newHS256(t, func(c *jwt.Config) { c.RoleClaim = path })
		if token, err := h.Sign(t.Context(), auth.Identity{Role: "clerk", Claims: json.RawMessage(claims)}); err == nil {
			t.Errorf("%s: signed %s", path, token)
		}
	}
}

func TestConfigErrorsNameEveryField(t *testing.T) {
	t.Parallel()
	_, err := jwt.NewHS256(jwt.Config{Secret: []byte("too short"), RoleClaim: "role", AnonRole: "none", Skew: -2, Lifetime: time.Millisecond})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"Config.Secret", "32", "Config.RoleClaim", "Config.AnonRole", "Config.Skew", "Config.Lifetime"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %s: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "too short") {
		t.Errorf("error holds the secret: %v", err)
	}
	if _, err := jwt.NewHS256(jwt.Config{}); err == nil || !strings.Contains(err.Error(), "Config.Secret is empty") {
		t.Errorf("zero config: %v", err)
	}
}

func TestSecretIsCopied(t *testing.T) {
	t.Parallel()
	key := []byte(secret)
	h, err := jwt.NewHS256(jwt.Config{Secret: key})
	if err != nil {
		t.Fatal(err)
	}
	clear(key)
	if _, err := h.Verify(t.Context(), goodToken(`{}`)); err != nil {
		t.Error(err)
	}
}

func FuzzVerify(f *testing.F) {
	h := newHS256(f, nil)
	f.Add(plainHeader, `{"role":"anon"}`, goodToken(`{}`))
	f.Add(`{"alg":"none"}`, `{"exp":1e400,"aud":["a"]}`, "a.b.c")
	f.Add(`{"alg":"HS256","crit":[]}`, `{"role":{},"r\u006fle":null}`, "..")
	f.Fuzz(func(t *testing.T, header, claims, raw string) {
		for _, token := range []string{raw, makeToken(header, claims, sha256.New, secret)} {
			id, err := h.Verify(context.Background(), token)
			if err != nil {
				if !auth.IsTokenError(err) {
					t.Fatalf("%T is no TokenError", err)
				}
				continue
			}
			if err := id.Validate(); err != nil {
				t.Fatal(err)
			}
			b, err := id.ClaimsWithRole()
			if err != nil || !json.Valid(b) {
				t.Fatalf("claims %s: %v", b, err)
			}
			again, err := h.Sign(context.Background(), id)
			if err != nil {
				t.Fatal(err)
			}
			if signed, err := h.Verify(context.Background(), again); err != nil || signed.Role != id.Role {
				t.Fatalf("signed again: %v, %v", signed, err)
			}
		}
		// Without the key no signature fits.
		if _, err := h.Verify(context.Background(), makeToken(header, claims, sha256.New, "not the key")); err == nil {
			t.Fatal("a token under another key passed")
		}
	})
}
