package jwt_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
)

// privateJWK writes a private key as the RFCs have it.
func privateJWK(tb testing.TB, name, kid string, more map[string]any) []byte {
	tb.Helper()
	m := jwk(tb, name, kid, nil)
	switch k := signingKeys()[name].(type) {
	case *rsa.PrivateKey:
		k.Precompute()
		m["d"], m["p"], m["q"] = b64(k.D.Bytes()), b64(k.Primes[0].Bytes()), b64(k.Primes[1].Bytes())
		m["dp"], m["dq"], m["qi"] = b64(k.Precomputed.Dp.Bytes()), b64(k.Precomputed.Dq.Bytes()), b64(k.Precomputed.Qinv.Bytes())
	case *ecdsa.PrivateKey:
		d, err := k.Bytes()
		if err != nil {
			tb.Fatal(err)
		}
		m["d"] = b64(d)
	case ed25519.PrivateKey:
		m["d"] = b64(k.Seed())
	}
	maps.Copy(m, more)
	return keyOf(tb, m)
}

func TestSigner(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, kid string
		more      map[string]any
		header    string
	}{
		{"ec", "k", nil, `{"alg":"ES256","kid":"k","typ":"JWT"}`},
		{"ec", "", nil, `{"alg":"ES256","typ":"JWT"}`},
		{"ec384", "k", map[string]any{"alg": "ES384", "use": "sig", "key_ops": []string{"sign"}}, `{"alg":"ES384","kid":"k","typ":"JWT"}`},
		{"ec521", "k", nil, `{"alg":"ES512","kid":"k","typ":"JWT"}`},
		{"rsa", "k", nil, `{"alg":"RS256","kid":"k","typ":"JWT"}`},
		{"rsa", "k", map[string]any{"alg": "RS512"}, `{"alg":"RS512","kid":"k","typ":"JWT"}`},
		{"ed", "k\"", nil, `{"alg":"EdDSA","kid":"k\"","typ":"JWT"}`},
	} {
		s, err := jwt.NewSigner(jwt.SignerConfig{Key: privateJWK(t, tt.name, tt.kid, tt.more), Lifetime: time.Hour, RoleClaim: ".app.role"})
		if err != nil {
			t.Errorf("%s: %v", tt.header, err)
			continue
		}
		token, err := s.Sign(t.Context(), auth.Identity{Role: "clerk", Claims: json.RawMessage(`{"sub":"alice"}`), Token: "another"})
		if err != nil {
			t.Errorf("%s: %v", tt.header, err)
			continue
		}
		head, _, _ := strings.Cut(token, ".")
		header, err := base64.RawURLEncoding.DecodeString(head)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.header, string(header)); diff != "" {
			t.Errorf("header (-want +got):\n%s", diff)
		}
		v := newDocument(t, keyOf(t, jwk(t, tt.name, tt.kid, nil)), func(c *jwt.JWKSConfig) { c.RoleClaim = ".app.role" })
		id, err := v.Verify(t.Context(), token)
		if err != nil || id.Role != "clerk" || id.Subject() != "alice" {
			t.Errorf("%s: %v, %v", tt.header, id, err)
		}
		if token, err := s.Sign(t.Context(), auth.Identity{Role: "none"}); err == nil {
			t.Errorf("%s: signed %s for the login role", tt.header, token)
		}
	}
}

func TestNewSignerRefuses(t *testing.T) {
	t.Parallel()
	const canary = "canary-5e1d"
	for name, tt := range map[string]struct {
		key  []byte
		want string
	}{
		"empty":             {nil, "is empty"},
		"garbage":           {[]byte(canary), "is not a JWK"},
		"a set":             {keySet(t, jwk(t, "ec", "k", nil)), "is not a JWK"},
		"public":            {keyOf(t, jwk(t, "ec", "k", nil)), "has no private part"},
		"public RSA":        {keyOf(t, jwk(t, "rsa", "k", nil)), "has no private part"},
		"half of an RSA":    {keyOf(t, jwk(t, "rsa", "k", map[string]any{"d": "AAAA"})), "has no private part"},
		"secret":            {keyOf(t, map[string]any{"kty": "oct", "k": b64([]byte(secret))}), "NewHS256"},
		"of another public": {privateJWK(t, "ec", canary, map[string]any{"x": jwk(t, "ec2", "", nil)["x"]}), "is malformed"},
		"wrong curve":       {privateJWK(t, "ec", canary, map[string]any{"crv": canary}), "is malformed"},
		"another alg":       {privateJWK(t, "ec", canary, map[string]any{"alg": "RS256"}), "no algorithm"},
		"HS256":             {privateJWK(t, "rsa", canary, map[string]any{"alg": "HS256"}), "no algorithm"},
		"short":             {privateJWK(t, "rsa short", canary, nil), "too short"},
	} {
		_, err := jwt.NewSigner(jwt.SignerConfig{Key: tt.key})
		if err == nil || !strings.Contains(err.Error(), "Config.Key ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", name, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), canary) {
			t.Errorf("%s: the error quotes: %v", name, err)
		}
	}
	_, err := jwt.NewSigner(jwt.SignerConfig{RoleClaim: canary, Lifetime: time.Millisecond})
	for _, field := range []string{"Config.Key", "Config.RoleClaim", "Config.Lifetime"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("error lacks %s: %v", field, err)
		}
	}
}

func TestSignerPrintsNoKey(t *testing.T) {
	t.Parallel()
	cfg := jwt.SignerConfig{Key: privateJWK(t, "ec", "k", nil)}
	s, err := jwt.NewSigner(cfg)
	if err != nil {
		t.Fatal(err)
	}
	d, err := signingKeys()["ec"].(*ecdsa.PrivateKey).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	number := new(big.Int).SetBytes(d).String() // as fmt would print it
	type unexported struct {
		s  jwt.Signer
		ps *jwt.Signer
	}
	for name, v := range map[string]any{
		"SignerConfig": cfg, "*SignerConfig": &cfg, "Signer": *s, "*Signer": s,
		"exported": struct {
			C jwt.SignerConfig
			S jwt.Signer
			P *jwt.Signer
		}{cfg, *s, s},
		"unexported": unexported{*s, s}, "slice": []any{cfg, *s, s},
	} {
		text := everyText(t, v)
		for _, leak := range append(spellings(string(d)), spellings(string(cfg.Key))...) {
			if strings.Contains(text, leak) {
				t.Errorf("%s tells the key: %s", name, text)
			}
		}
		if strings.Contains(text, number) {
			t.Errorf("%s tells the key's number", name)
		}
	}
}
