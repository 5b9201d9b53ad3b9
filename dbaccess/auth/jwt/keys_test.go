package jwt_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"

	gojwt "github.com/golang-jwt/jwt/v5"
)

// signingKeys are made once: an RSA key takes its time.
var signingKeys = sync.OnceValue(func() map[string]crypto.Signer {
	must := func(k crypto.Signer, err error) crypto.Signer {
		if err != nil {
			panic(err)
		}
		return k
	}
	ec := func(c elliptic.Curve) crypto.Signer {
		k, err := ecdsa.GenerateKey(c, rand.Reader)
		return must(k, err)
	}
	rsaKey := func(bits int) crypto.Signer {
		k, err := rsa.GenerateKey(rand.Reader, bits)
		return must(k, err)
	}
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	return map[string]crypto.Signer{
		"rsa": rsaKey(2048), "rsa short": rsaKey(1024),
		"ec": ec(elliptic.P256()), "ec2": ec(elliptic.P256()), "ec384": ec(elliptic.P384()), "ec521": ec(elliptic.P521()),
		"ed": must(ed, err),
	}
})

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// jwk writes a public key as the RFCs have it, so that the package is not judged by
// its own library.
func jwk(tb testing.TB, name, kid string, more map[string]any) map[string]any {
	tb.Helper()
	m := map[string]any{}
	switch k := signingKeys()[name].Public().(type) {
	case *rsa.PublicKey:
		m["kty"], m["n"], m["e"] = "RSA", b64(k.N.Bytes()), b64(big.NewInt(int64(k.E)).Bytes())
	case *ecdsa.PublicKey:
		point, err := k.Bytes()
		if err != nil {
			tb.Fatal(err)
		}
		half := (len(point) - 1) / 2
		m["kty"], m["crv"], m["x"], m["y"] = "EC", k.Params().Name, b64(point[1:1+half]), b64(point[1+half:])
	case ed25519.PublicKey:
		m["kty"], m["crv"], m["x"] = "OKP", "Ed25519", b64(k)
	default:
		tb.Fatalf("no key %s", name)
	}
	if kid != "" {
		m["kid"] = kid
	}
	for name, v := range more {
		m[name] = v
	}
	return m
}

func keySet(tb testing.TB, keys ...any) []byte {
	tb.Helper()
	if keys == nil {
		keys = []any{}
	}
	b, err := json.Marshal(map[string]any{"keys": keys})
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// sign makes a token with a key, whatever its header says.
func sign(tb testing.TB, alg, kid, name, claims string) string {
	tb.Helper()
	header := fmt.Sprintf(`{"alg":%q,"typ":"JWT"}`, alg)
	if kid != "" {
		header = fmt.Sprintf(`{"alg":%q,"kid":%q,"typ":"JWT"}`, alg, kid)
	}
	text := encode(header) + "." + encode(claims)
	method := gojwt.GetSigningMethod(alg)
	if method == nil {
		tb.Fatalf("no method %s", alg)
	}
	sig, err := method.Sign(text, signingKeys()[name])
	if err != nil {
		tb.Fatal(err)
	}
	return text + "." + b64(sig)
}

// signES256 makes a valid token of the usual claims.
func signES256(tb testing.TB, kid, name string) string {
	tb.Helper()
	return sign(tb, "ES256", kid, name, usualClaims)
}

const usualClaims = `{"role":"authenticated","sub":"11111111-1111-1111-1111-111111111111","exp":4102444800}`

// hmacWith makes an HS256 token whose key is what an attacker knows.
func hmacWith(kid string, key []byte) string {
	header := plainHeader
	if kid != "" {
		header = `{"alg":"HS256","kid":"` + kid + `"}`
	}
	return makeToken(header, `{"role":"service_role"}`, sha256.New, string(key))
}

func shorten(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return strings.TrimSpace(s)
}

// signWith makes an HS256 token of claims that Sign would not make.
func signWith(key []byte, claims string) string {
	return makeToken(plainHeader, claims, sha256.New, string(key))
}
