package jwt_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
)

func newDocument(tb testing.TB, document []byte, change func(*jwt.JWKSConfig)) *jwt.JWKS {
	tb.Helper()
	cfg := jwt.JWKSConfig{Document: document}
	if change != nil {
		change(&cfg)
	}
	j, err := jwt.NewJWKS(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return j
}

// TestAlgorithms tries every algorithm with every key: a token passes only where
// both belong together.
func TestAlgorithms(t *testing.T) {
	t.Parallel()
	fits := map[string]string{
		"RS256": "rsa", "RS384": "rsa", "RS512": "rsa", "PS256": "rsa", "PS384": "rsa", "PS512": "rsa",
		"ES256": "ec", "ES384": "ec384", "ES512": "ec521", "EdDSA": "ed",
	}
	names := []string{"rsa", "ec", "ec384", "ec521", "ed"}
	var keys []any
	for _, name := range names {
		keys = append(keys, jwk(t, name, "kid-"+name, nil))
	}
	byDefault := newDocument(t, keySet(t, keys...), nil)
	all := newDocument(t, keySet(t, keys...), func(c *jwt.JWKSConfig) { c.Algorithms = slices.Collect(maps.Keys(fits)) })
	one := newDocument(t, keySet(t, keys...), func(c *jwt.JWKSConfig) { c.Algorithms = []string{"ES256", "RS256", "ES384", "ES512", "EdDSA"} })
	for alg, name := range fits {
		token := sign(t, alg, "kid-"+name, name, usualClaims)
		if id, err := all.Verify(t.Context(), token); err != nil || id.Role != "authenticated" || id.Token != token || string(id.Claims) != usualClaims {
			t.Errorf("%s: %v, %v", alg, id, err)
		}
		if _, err := byDefault.Verify(t.Context(), token); (err == nil) == strings.HasPrefix(alg, "PS") {
			t.Errorf("%s by default: %v", alg, err)
		}
		if _, err := one.Verify(t.Context(), token); (err == nil) != slices.Contains([]string{"ES256", "RS256", "ES384", "ES512", "EdDSA"}, alg) {
			t.Errorf("%s among five: %v", alg, err)
		}
		if _, err := all.Verify(t.Context(), sign(t, alg, "", name, usualClaims)); err != nil {
			t.Errorf("%s without a kid: %v", alg, err)
		}
		for _, other := range names {
			if other == name {
				continue
			}
			if _, err := all.Verify(t.Context(), sign(t, alg, "kid-"+other, name, usualClaims)); !auth.IsTokenError(err) {
				t.Errorf("%s by the key %s under the name of %s: %v", alg, name, other, err)
			}
		}
	}
}

// TestAlgorithmConfusion: nobody can sign with what everybody may read.
func TestAlgorithmConfusion(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"rsa", "ec", "ed"} {
		document := keySet(t, jwk(t, name, "k", nil))
		der, err := x509.MarshalPKIXPublicKey(signingKeys()[name].Public())
		if err != nil {
			t.Fatal(err)
		}
		public := [][]byte{document, der, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), {}}
		switch k := signingKeys()[name].Public().(type) {
		case *rsa.PublicKey:
			public = append(public, k.N.Bytes(), x509.MarshalPKCS1PublicKey(k))
		case *ecdsa.PublicKey:
			b, err := k.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			public = append(public, b, b[1:33])
		}
		for _, j := range []*jwt.JWKS{
			newDocument(t, document, nil),
			newDocument(t, document, func(c *jwt.JWKSConfig) { c.Secret = []byte(secret) }),
		} {
			for i, key := range public {
				for _, kid := range []string{"", "k"} {
					if _, err := j.Verify(t.Context(), hmacWith(kid, key)); !auth.IsTokenError(err) {
						t.Errorf("%s: HS256 with public key %d passed: %v", name, i, err)
					}
				}
			}
			good := sign(t, map[string]string{"rsa": "RS256", "ec": "ES256", "ed": "EdDSA"}[name], "k", name, usualClaims)
			parts := strings.Split(good, ".")
			for _, alg := range []string{"none", "None", "HS256", "RS256", "ES256", "PS256", "EdDSA", "ES384", "", "rs256"} {
				for _, signature := range []string{"", parts[2]} {
					header := encode(fmt.Sprintf(`{"alg":%q,"kid":"k"}`, alg)) // another header than was signed
					if _, err := j.Verify(t.Context(), header+"."+parts[1]+"."+signature); !auth.IsTokenError(err) {
						t.Errorf("%s: alg %q with signature %q passed: %v", name, alg, shorten(signature), err)
					}
				}
			}
			if _, err := j.Verify(t.Context(), parts[0]+"."+encode(`{"role":"service_role"}`)+"."+parts[2]); !auth.IsTokenError(err) {
				t.Errorf("%s: other claims passed: %v", name, err)
			}
			if _, err := j.Verify(t.Context(), good); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		// Nor does HS256 take a public key for its secret.
		for i, key := range public[:3] {
			if i == 1 {
				continue // bytes like any other
			}
			if _, err := jwt.NewHS256(jwt.Config{Secret: key}); err == nil || !strings.Contains(err.Error(), "NewJWKS") {
				t.Errorf("%s: NewHS256 took public key %d: %v", name, i, err)
			}
		}
	}
}

// TestDocument is about what PostgREST's jwt-secret may be, and what else a
// document may hold.
func TestDocument(t *testing.T) {
	t.Parallel()
	oct := func(kid string, more map[string]any) map[string]any {
		m := map[string]any{"kty": "oct", "k": b64([]byte(secret))}
		if kid != "" {
			m["kid"] = kid
		}
		maps.Copy(m, more)
		return m
	}
	ec := jwk(t, "ec", "new", nil)
	for _, tt := range []struct {
		name     string
		document []byte
		token    string
		ok       bool
	}{
		{"a single key", keyOf(t, ec), signES256(t, "new", "ec"), true},
		{"a single secret", keyOf(t, oct("", nil)), goodToken(usualClaims), true},
		{"a secret for HS256", keyOf(t, oct("", map[string]any{"alg": "HS256"})), goodToken(usualClaims), true},
		{"a secret for HS512", keyOf(t, oct("", map[string]any{"alg": "HS512"})), goodToken(usualClaims), false},
		{"as on Supabase: new key", keySet(t, ec, oct("old", nil)), signES256(t, "new", "ec"), true},
		{"as on Supabase: older token", keySet(t, ec, oct("old", nil)), goodToken(usualClaims), true},
		{"key of another name", keyOf(t, ec), signES256(t, "other", "ec"), false},
		{"key without a name, token with one", keyOf(t, jwk(t, "ec", "", nil)), signES256(t, "new", "ec"), false},
		{"key without a name, token without", keyOf(t, jwk(t, "ec", "", nil)), signES256(t, "", "ec"), true},
		{"two keys of one name, the first", keySet(t, jwk(t, "ec", "k", nil), jwk(t, "ec2", "k", nil)), signES256(t, "k", "ec"), true},
		{"two keys of one name, the second", keySet(t, jwk(t, "ec", "k", nil), jwk(t, "ec2", "k", nil)), signES256(t, "k", "ec2"), true},
		{"other alg than the key's", keyOf(t, jwk(t, "rsa", "k", map[string]any{"alg": "RS512"})), sign(t, "RS256", "k", "rsa", usualClaims), false},
		{"the key's alg", keyOf(t, jwk(t, "rsa", "k", map[string]any{"alg": "RS512", "use": "sig", "key_ops": []string{"verify"}})), sign(t, "RS512", "k", "rsa", usualClaims), true},
		{"certificates are not looked at", keyOf(t, jwk(t, "ec", "k", map[string]any{"x5u": "http://127.0.0.1:1/", "x5c": []string{"!"}, "x5t": "x"})), signES256(t, "k", "ec"), true},
	} {
		id, err := newDocument(t, tt.document, nil).Verify(t.Context(), tt.token)
		if (err == nil) != tt.ok || err != nil && !auth.IsTokenError(err) {
			t.Errorf("%s: %v, %v", tt.name, id, err)
		}
	}
}

func keyOf(tb testing.TB, m map[string]any) []byte {
	tb.Helper()
	return []byte(strings.TrimSuffix(strings.TrimPrefix(string(keySet(tb, m)), `{"keys":[`), "]}"))
}

// hostile are key sets from which no key may be taken, neither from a document nor
// from an address.
func hostile(tb testing.TB) map[string][]byte {
	tb.Helper()
	with := func(name string, more map[string]any) []byte { return keySet(tb, jwk(tb, name, "k", more)) }
	private := signingKeys()["rsa"].(*rsa.PrivateKey)
	many := make([]any, 65)
	for i := range many {
		many[i] = jwk(tb, "ec", fmt.Sprint(i), nil)
	}
	return map[string][]byte{
		"empty":                   {},
		"garbage":                 []byte("\x00\xff<html>"),
		"null":                    []byte("null"),
		"an array":                []byte("[]"),
		"a text":                  []byte(`"keys"`),
		"no keys":                 []byte(`{}`),
		"keys null":               []byte(`{"keys":null}`),
		"keys no array":           []byte(`{"keys":{}}`),
		"no key":                  keySet(tb),
		"a key that is a number":  []byte(`{"keys":[1]}`),
		"a key that is null":      []byte(`{"keys":[null]}`),
		"too many":                keySet(tb, many...),
		"cut off":                 with("ec", nil)[:60],
		"nested deeply":           []byte(strings.Repeat(`{"keys":[`, 20_000)),
		"no type":                 with("ec", map[string]any{"kty": nil}),
		"type unknown":            with("ec", map[string]any{"kty": "EX"}),
		"type none":               with("ec", map[string]any{"kty": "none"}),
		"RSA said to be EC":       with("rsa", map[string]any{"kty": "EC"}),
		"EC said to be RSA":       with("ec", map[string]any{"kty": "RSA"}),
		"EC said to be OKP":       with("ec", map[string]any{"kty": "OKP"}),
		"wrong curve":             with("ec", map[string]any{"crv": "P-384"}),
		"unknown curve":           with("ec", map[string]any{"crv": "secp256k1"}),
		"not on the curve":        with("ec", map[string]any{"y": b64([]byte("x"))}),
		"point at infinity":       with("ec", map[string]any{"x": "", "y": ""}),
		"point of zeros":          with("ec", map[string]any{"x": b64(make([]byte, 32)), "y": b64(make([]byte, 32))}),
		"huge coordinate":         with("ec", map[string]any{"x": b64(make([]byte, 10_000))}),
		"Ed25519 too short":       with("ed", map[string]any{"x": b64([]byte("short"))}),
		"X25519":                  with("ed", map[string]any{"crv": "X25519"}),
		"short RSA":               with("rsa short", nil),
		"long RSA":                with("rsa", map[string]any{"n": b64(new(big.Int).Lsh(big.NewInt(1), 16_384).Bytes())}),
		"RSA exponent 1":          with("rsa", map[string]any{"e": b64([]byte{1})}),
		"RSA exponent 0":          with("rsa", map[string]any{"e": b64([]byte{0})}),
		"RSA exponent huge":       with("rsa", map[string]any{"e": b64(make([]byte, 100))}),
		"RSA modulus empty":       with("rsa", map[string]any{"n": ""}),
		"base64 of another sort":  with("rsa", map[string]any{"n": "+/+/"}),
		"alg of another type":     with("ec", map[string]any{"alg": "RS256"}),
		"alg HS256":               with("rsa", map[string]any{"alg": "HS256"}),
		"alg none":                with("rsa", map[string]any{"alg": "none"}),
		"for encryption":          with("rsa", map[string]any{"use": "enc"}),
		"for signing alone":       with("rsa", map[string]any{"key_ops": []string{"sign"}}),
		"private RSA":             with("rsa", map[string]any{"d": b64(private.D.Bytes())}),
		"private EC":              with("ec", map[string]any{"d": "AAAA"}),
		"private Ed25519":         with("ed", map[string]any{"d": "AAAA"}),
		"private in capitals":     with("ec", map[string]any{"D": "AAAA"}),
		"secret beside a key":     with("ec", map[string]any{"k": "AAAA"}),
		"secret, short":           keySet(tb, map[string]any{"kty": "oct", "kid": "k", "k": b64([]byte("short"))}),
		"secret, empty":           keySet(tb, map[string]any{"kty": "oct", "kid": "k"}),
		"secret for public alg":   keySet(tb, map[string]any{"kty": "oct", "kid": "k", "k": b64([]byte(secret)), "alg": "ES256"}),
		"secret, not in base64":   keySet(tb, map[string]any{"kty": "oct", "kid": "k", "k": strings.Repeat("!", 64)}),
		"a key set in a key set":  []byte(`{"keys":[` + string(with("ec", nil)) + `]}`),
		"members of other sorts":  with("ec", map[string]any{"kid": 1}),
		"key_ops of another sort": with("ec", map[string]any{"key_ops": 1}),
	}
}

func TestDocumentRefuses(t *testing.T) {
	t.Parallel()
	for name, document := range hostile(t) {
		_, err := jwt.NewJWKS(jwt.JWKSConfig{Document: document})
		if err == nil || !strings.Contains(err.Error(), "Config.") {
			t.Errorf("%s: error %v", name, err)
			continue
		}
		if len(err.Error()) > 400 || strings.Contains(err.Error(), b64([]byte(secret))) {
			t.Errorf("%s: the error tells too much: %v", name, err)
		}
	}
	// One bad key spoils a document that the application wrote itself.
	_, err := jwt.NewJWKS(jwt.JWKSConfig{Document: keySet(t, jwk(t, "ec", "a", nil), jwk(t, "ec2", "b", map[string]any{"d": "AAAA"}))})
	if err == nil || !strings.Contains(err.Error(), "key 1 of the set is a private key") {
		t.Errorf("error %v", err)
	}
}

func TestJWKSConfigErrorsNameEveryField(t *testing.T) {
	t.Parallel()
	_, err := jwt.NewJWKS(jwt.JWKSConfig{
		URL: "http://canary.example/keys?apikey=canary", Secret: []byte("canary"), Algorithms: []string{"ES256", "HS256", "none"},
		RoleClaim: "canary", AnonRole: "none", Skew: -2, Refresh: -1, Grace: -2, UnknownKeyPause: -1, Timeout: -1,
	})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, field := range []string{
		"URL", "Secret", "Algorithms[1]", "Algorithms[2]", "RoleClaim", "AnonRole", "Skew", "Refresh", "Grace", "UnknownKeyPause", "Timeout",
	} {
		if !strings.Contains(err.Error(), "Config."+field) {
			t.Errorf("error lacks %s: %v", field, err)
		}
	}
	if strings.Contains(err.Error(), "canary") {
		t.Errorf("the error quotes: %v", err)
	}
	for _, tt := range []struct{ url, want string }{
		{"https://issuer.example/keys", ""},
		{"http://localhost:9999/keys", ""},
		{"http://127.0.0.2/keys", ""},
		{"http://[::1]:9999/keys", ""},
		{"http://auth:9999/keys", "https://"},
		{"http://10.0.0.1/keys", "https://"},
		{"http://127.0.0.1.example/keys", "https://"},
		{"ftp://issuer.example/keys", "https://"},
		{"https:///keys", "no host"},
		{"keys", "no host"},
		{"https://a b:%zz", "not a URL"},
	} {
		_, err := jwt.NewJWKS(jwt.JWKSConfig{URL: tt.url})
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v", tt.url, err)
		}
	}
	for _, cfg := range []jwt.JWKSConfig{{}, {URL: "https://issuer.example", Document: keySet(t, jwk(t, "ec", "k", nil))}, {Secret: []byte(secret)}} {
		if _, err := jwt.NewJWKS(cfg); err == nil || !strings.Contains(err.Error(), "Config.URL and Config.Document") {
			t.Errorf("%v: error %v", cfg, err)
		}
	}
}

// FuzzKeySet: no document makes a key with which an outsider could sign.
func FuzzKeySet(f *testing.F) {
	for _, document := range hostile(f) {
		if len(document) < 2000 {
			f.Add(document)
		}
	}
	f.Add(keySet(f, jwk(f, "ec", "k", nil), jwk(f, "ed", "", nil), jwk(f, "rsa", "r", map[string]any{"alg": "RS256"})))
	f.Add(keyOf(f, map[string]any{"kty": "oct", "k": b64([]byte(secret))}))
	f.Fuzz(func(t *testing.T, document []byte) {
		j, err := jwt.NewJWKS(jwt.JWKSConfig{Document: document})
		if err != nil {
			return
		}
		for _, token := range []string{
			hmacWith("k", document), hmacWith("", nil),
			sign(t, "EdDSA", "k", "ed", usualClaims)[:80], makeToken(`{"alg":"RS256","kid":"k"}`, `{}`, sha256.New, ""),
			makeToken(`{"alg":"ES256","kid":"k"}`, `{}`, sha256.New, ""), makeToken(`{"alg":"EdDSA","kid":"k"}`, `{}`, sha256.New, ""),
		} {
			_, err := j.Verify(context.Background(), token)
			if _, ok := errors.AsType[*auth.TokenError](err); !ok {
				t.Fatalf("error %v of %T", err, err)
			}
		}
	})
}
