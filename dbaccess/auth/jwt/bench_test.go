package jwt_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/twinpath/twinpath/dbaccess/auth"
)

func BenchmarkVerify(b *testing.B) {
	hs := newHS256(b, nil)
	keys := newDocument(b, keySet(b, jwk(b, "rsa", "r", nil), jwk(b, "ec", "e", nil), jwk(b, "ed", "d", nil)), nil)
	issuer := &issuer{document: keySet(b, jwk(b, "ec", "e", nil))}
	remote := issuer.serve(b, nil)
	for _, bb := range []struct {
		name  string
		v     auth.Verifier
		token string
	}{
		{"HS256", hs, goodToken(usualClaims)},
		{"RS256", keys, sign(b, "RS256", "r", "rsa", usualClaims)},
		{"ES256", keys, signES256(b, "e", "ec")},
		{"ES256Remote", remote, signES256(b, "e", "ec")},
		{"EdDSA", keys, sign(b, "EdDSA", "d", "ed", usualClaims)},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := bb.v.Verify(context.Background(), bb.token); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSign is what a call through PostgREST costs more without a token.
func BenchmarkSign(b *testing.B) {
	hs := newHS256(b, nil)
	id := auth.Identity{Role: "authenticated", Claims: json.RawMessage(`{"sub":"11111111-1111-1111-1111-111111111111","email":"a@example.org"}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := hs.Sign(context.Background(), id); err != nil {
			b.Fatal(err)
		}
	}
}
