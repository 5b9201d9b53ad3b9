package jwt

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"slices"

	"github.com/golang-jwt/jwt/v5"
)

const algHS256 = "HS256"

// methodOf returns the algorithm of that name in a token's header, nil for one that
// isn't known. There is no "none".
//
// Source: RFC 7518, section 3.1; RFC 8037, section 3.1
func methodOf(alg string) jwt.SigningMethod {
	switch alg {
	case algHS256:
		return jwt.SigningMethodHS256
	case "HS384":
		return jwt.SigningMethodHS384
	case "HS512":
		return jwt.SigningMethodHS512
	case "RS256":
		return jwt.SigningMethodRS256
	case "RS384":
		return jwt.SigningMethodRS384
	case "RS512":
		return jwt.SigningMethodRS512
	case "PS256":
		return jwt.SigningMethodPS256
	case "PS384":
		return jwt.SigningMethodPS384
	case "PS512":
		return jwt.SigningMethodPS512
	case "ES256":
		return jwt.SigningMethodES256
	case "ES384":
		return jwt.SigningMethodES384
	case "ES512":
		return jwt.SigningMethodES512
	case "EdDSA":
		return jwt.SigningMethodEdDSA
	}
	return nil
}

// publicAlgorithms returns the algorithms that verify with a public key, as far
// as PostgREST has them.
func publicAlgorithms() []string {
	return []string{"RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "EdDSA"}
}

// pssAlgorithms returns those that PostgREST does not have.
func pssAlgorithms() []string { return []string{"PS256", "PS384", "PS512"} }

// key is a key and the algorithms that it may be used with, which its type
// decides: no token can choose another.
type key struct {
	kid        string
	hasKid     bool
	algorithms []string
	material   any // as the signing method wants it, or hidden
}

// hidden is a secret of which fmt prints the address at most, whatever it is asked.
type hidden func() []byte

func hide(secret []byte) hidden {
	secret = slices.Clone(secret)
	return func() []byte { return secret }
}

// verify returns nil when the key signed the token.
func (k *key) verify(t *compact) error {
	material := k.material
	if secret, ok := material.(hidden); ok {
		material = secret()
	}
	return methodOf(t.alg).Verify(t.signed, t.signature, material)
}

// fits says whether the key may verify the token. As in PostgREST a token that
// names no key fits all, and one that does fits that key alone.
func (k *key) fits(t *compact) bool {
	return slices.Contains(k.algorithms, t.alg) && (!t.hasKid || k.hasKid && k.kid == t.kid)
}

// verifies says whether one of the keys signed the token, and whether a key was
// there to ask.
func verifies(keys []key, t *compact) (ok, asked bool) {
	for i := range keys {
		if k := &keys[i]; k.fits(t) {
			asked = true
			if k.verify(t) == nil {
				return true, true
			}
		}
	}
	return false, asked
}

// Bounds of RSA keys, in bits. Shorter ones are unsafe (RFC 7518, section 3.3), and
// verification with much longer ones would take too long.
const (
	minRSABits = 2048
	maxRSABits = 8192
)

// algorithmsOf returns what a public key may be used with, nil for none.
func algorithmsOf(public any) []string {
	switch k := public.(type) {
	case *rsa.PublicKey:
		if n := k.N.BitLen(); n < minRSABits || n > maxRSABits || k.E < 3 {
			return nil
		}
		return []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}
	case *ecdsa.PublicKey:
		switch k.Params().BitSize {
		case 256:
			return []string{"ES256"}
		case 384:
			return []string{"ES384"}
		case 521:
			return []string{"ES512"}
		}
	case ed25519.PublicKey:
		if len(k) == ed25519.PublicKeySize {
			return []string{"EdDSA"}
		}
	}
	return nil
}
