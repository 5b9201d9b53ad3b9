package jwt

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/MicahParks/jwkset"
)

// maxKeys bounds a key set: a token that names no key is tried with each.
const maxKeys = 64

// refusedKey says why a key of a set is not used. It holds nothing of the key.
type refusedKey struct {
	index  int
	reason string
}

func (r refusedKey) Error() string { return fmt.Sprintf("key %d of the set %s", r.index, r.reason) }

// parseKeySet reads a JWK set or a single JWK. A key that can't be used leaves the
// others as they are. Symmetric keys are for documents that nobody else reads:
// they are refused unless secrets is true.
//
// Source: RFC 7517, sections 4 and 5
func parseKeySet(document []byte, allowed []string, secrets bool) (keys []key, refused []refusedKey, err error) {
	var set struct {
		Keys *[]json.RawMessage `json:"keys"`
		Type string             `json:"kty"`
	}
	if json.Unmarshal(document, &set) != nil {
		return nil, nil, errors.New("is not a JWK set")
	}
	var raw []json.RawMessage
	switch {
	case set.Keys != nil:
		raw = *set.Keys
	case set.Type != "":
		raw = []json.RawMessage{document}
	default:
		return nil, nil, errors.New(`is not a JWK set: it has neither "keys" nor "kty"`)
	}
	if len(raw) > maxKeys {
		return nil, nil, fmt.Errorf("has more than %d keys", maxKeys)
	}
	for i, b := range raw {
		k, reason := parseKey(b, allowed, secrets)
		if reason != "" {
			refused = append(refused, refusedKey{index: i, reason: reason})
			continue
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return nil, refused, errors.New("has no key that can verify a token")
	}
	return keys, refused, nil
}

// parseKey returns a key, or the reason why it is refused.
func parseKey(b json.RawMessage, allowed []string, secrets bool) (k key, reason string) {
	var m jwkset.JWKMarshal
	if json.Unmarshal(b, &m) != nil {
		return key{}, "is not a JWK"
	}
	switch {
	case m.USE != "" && m.USE != jwkset.UseSig:
		return key{}, "is not for signatures"
	case len(m.KEYOPS) > 0 && !slices.Contains(m.KEYOPS, jwkset.KeyOpsVerify):
		return key{}, "is not for verification"
	}
	k = key{kid: m.KID, hasKid: m.KID != ""}
	if m.KTY == jwkset.KtyOct {
		if !secrets {
			return key{}, "is a secret, which must not come from an address that others can read"
		}
		return k.symmetric(m)
	}
	if m.D != "" || m.P != "" || m.Q != "" || m.DP != "" || m.DQ != "" || m.QI != "" || len(m.OTH) > 0 || m.K != "" {
		return key{}, "is a private key: only its public part belongs there"
	}
	// Certificates say nothing about a key that is named already, and their address
	// would have to be fetched.
	m.X5C, m.X5T, m.X5TS256, m.X5U = nil, "", "", ""
	parsed, err := jwkset.NewJWKFromMarshal(m, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{SkipKeyOps: true})
	if err != nil { // which quotes what it found
		return key{}, "is malformed or of an unknown type"
	}
	k.material = parsed.Key()
	fit := algorithmsOf(k.material)
	if m.ALG != "" {
		fit = slices.DeleteFunc(fit, func(alg string) bool { return alg != m.ALG.String() })
	}
	k.algorithms = slices.DeleteFunc(fit, func(alg string) bool { return !slices.Contains(allowed, alg) })
	if len(k.algorithms) == 0 {
		return key{}, "is for no algorithm that is allowed, or too short or too long to be used"
	}
	return k, ""
}

// symmetric fills in a shared secret. One that names no algorithm is for HS256.
func (k key) symmetric(m jwkset.JWKMarshal) (key, string) {
	secret, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(m.K, "="))
	if err != nil || len(secret) < MinSecret {
		return key{}, fmt.Sprintf("is a secret of fewer than %d bytes, or not in base64url", MinSecret)
	}
	switch alg := m.ALG.String(); alg {
	case "":
		k.algorithms = []string{algHS256}
	case algHS256, "HS384", "HS512":
		k.algorithms = []string{alg}
	default:
		return key{}, "is a secret for an algorithm that takes none"
	}
	k.material = hide(secret)
	return k, ""
}
