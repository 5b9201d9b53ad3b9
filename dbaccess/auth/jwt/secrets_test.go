package jwt_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
)

// everyText is all that fmt, slog and encoding/json make of a value, in lower case.
// The verb p asks no value how to print, and go vet refuses it for what is no pointer.
func everyText(tb testing.TB, v any) string {
	tb.Helper()
	var out bytes.Buffer
	for _, verb := range strings.Split("v +v #v s +s q #q x X d t c U e E f F g G b o O T 10v", " ") {
		fmt.Fprintf(&out, "%"+verb+"\n", v)
	}
	fmt.Fprintln(&out, v)
	for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(h).With("with", v).Info("made", "value", v, slog.Group("in", "value", v))
	}
	b, err := json.Marshal(v)
	if err != nil {
		tb.Fatalf("%T: %v", v, err)
	}
	out.Write(b)
	return strings.ToLower(out.String())
}

// spellings are the forms in which a secret may come out.
func spellings(s string) []string {
	return []string{
		strings.ToLower(s), fmt.Sprintf("%x", s), strings.Trim(fmt.Sprint([]byte(s)), "[]"),
		strings.ToLower(base64.StdEncoding.EncodeToString([]byte(s))[:len(s)]), strings.ToLower(b64([]byte(s))[:len(s)]),
	}
}

// TestSecretsAreNeverPrinted plants canaries in every exported type and searches
// all that it prints as.
func TestSecretsAreNeverPrinted(t *testing.T) {
	t.Parallel()
	const canary = "canary-5e1d-of-at-least-32-bytes!"
	key := []byte(canary)
	cfg := jwt.Config{Secret: key}
	hs, err := jwt.NewHS256(cfg)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	address := strings.Replace(server.URL, "http://", "http://"+canary+":"+canary+"@", 1) + "/?apikey=" + canary
	document := keySet(t, map[string]any{"kty": "oct", "k": b64(key)})
	remote, static := jwt.JWKSConfig{URL: address, Secret: key}, jwt.JWKSConfig{Document: document, Secret: key}
	overHTTP := newRemote(t, address, func(c *jwt.JWKSConfig) { c.Secret = key })
	fromDocument := newDocument(t, document, nil)

	claims := json.RawMessage(`{"sub":"` + canary + `"}`)
	token, err := hs.Sign(t.Context(), auth.Identity{Role: "authenticated", Claims: claims})
	if err != nil {
		t.Fatal(err)
	}
	identity, err := hs.Verify(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	type exported struct {
		C  jwt.Config
		PC *jwt.Config
		J  jwt.JWKSConfig
		PJ *jwt.JWKSConfig
		H  jwt.HS256
		PH *jwt.HS256
		K  jwt.JWKS
		PK *jwt.JWKS
		I  auth.Identity
		A  []any
	}
	type unexported struct {
		h  jwt.HS256
		ph *jwt.HS256
		k  jwt.JWKS
		pk *jwt.JWKS
	}
	for name, v := range map[string]any{
		"Config": cfg, "*Config": &cfg, "JWKSConfig": remote, "*JWKSConfig": &static, "HS256": *hs, "*HS256": hs,
		"JWKS": *overHTTP, "*JWKS": fromDocument, "identity": identity,
		"exported":   exported{cfg, &cfg, remote, &static, *hs, hs, *fromDocument, overHTTP, identity, []any{cfg, static, hs, fromDocument, overHTTP}},
		"unexported": unexported{*hs, hs, *fromDocument, overHTTP}, "*unexported": &unexported{*hs, hs, *overHTTP, fromDocument},
		"map": map[string]any{"a": cfg, "b": remote, "c": *hs, "d": *fromDocument},
	} {
		text := everyText(t, v)
		for _, s := range append(spellings(canary), strings.ToLower(token), strings.ToLower(string(document)), "127.0.0.1") {
			if strings.Contains(text, s) {
				t.Errorf("%s tells %q: %s", name, s, text)
			}
		}
	}

	// Errors neither, of the token and of whatever it meets.
	sealed := strings.Split(token, ".")
	fail := func(what string, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s: no error", what)
			return
		}
		text := everyText(t, err)
		for _, s := range append(spellings(canary), strings.ToLower(token), strings.ToLower(sealed[1]), strings.ToLower(sealed[2]), "127.0.0.1") {
			if strings.Contains(text, s) {
				t.Errorf("%s: the error tells %q: %s", what, s, text)
			}
		}
	}
	for what, bad := range map[string]string{
		"text": canary, "API key": "sb_secret_" + canary, "token cut short": token[:len(token)-4], "two tokens": token + "." + token,
		"alg": makeTokenWith(t, hs, `{"alg":"`+canary+`"}`), "kid": sign(t, "ES256", canary, "ec", string(claims)),
		"header": makeTokenWith(t, hs, canary),
	} {
		for _, v := range []auth.Verifier{hs, overHTTP, fromDocument} {
			_, err := v.Verify(context.Background(), bad)
			fail(what, err)
		}
	}
	for _, claims := range []string{
		canary, `{"role":["` + canary + `"]}`, `{"exp":"` + canary + `"}`, `{"aud":{"a":"` + canary + `"}}`, `{"role":"` + canary + `\u0000"}`,
	} {
		_, err := hs.Verify(t.Context(), signWith(key, claims))
		fail(claims, err)
	}
	for what, bad := range map[string]jwt.JWKSConfig{
		"scheme": {URL: "http://" + canary + "@example.org/" + canary}, "not a URL": {URL: "http://" + canary + "%zz:%"},
		"document": {Document: []byte(canary)}, "key": {Document: keySet(t, jwk(t, "ec", canary, map[string]any{"d": canary}))},
		"curve": {Document: keySet(t, jwk(t, "ec", canary, map[string]any{"crv": canary, "alg": canary, "use": canary}))},
		"type":  {Document: keySet(t, map[string]any{"kty": canary})},
	} {
		_, err := jwt.NewJWKS(bad)
		fail(what, err)
	}
	_, err = jwt.NewHS256(jwt.Config{Secret: keyOf(t, map[string]any{"kty": "oct", "k": canary})})
	fail("secret that is a key", err)
}

func makeTokenWith(tb testing.TB, hs *jwt.HS256, header string) string {
	tb.Helper()
	token, err := hs.Sign(tb.Context(), auth.Identity{Role: "anon"})
	if err != nil {
		tb.Fatal(err)
	}
	return encode(header) + token[strings.IndexByte(token, '.'):]
}
