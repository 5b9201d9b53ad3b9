package jwt

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/twinpath/twinpath/dbaccess/auth"
)

// JWKS verifies tokens with public keys, from an address or a document. It is safe
// for concurrent use, and prints without address and keys.
type JWKS struct {
	*jwks // a pointer, behind which fmt does not look
}

type jwks struct {
	rules  rules
	static []key
	remote *remote // nil without an address
}

var _ auth.Verifier = (*JWKS)(nil)

// NewJWKS makes a [JWKS]. It starts nothing: keys are asked for when the first
// token needs one, or by [JWKS.Start]. Its error names every field that is wrong.
func NewJWKS(cfg JWKSConfig) (*JWKS, error) {
	cfg = cfg.WithDefaults()
	r, address, static, err := cfg.validate()
	if err != nil {
		return nil, err
	}
	j := &JWKS{&jwks{rules: r, static: static}}
	if address != nil {
		j.remote = newRemote(&cfg, address)
	}
	return j, nil
}

// Start asks for the keys and keeps them fresh in the background until
// [JWKS.Close], so that no request has to wait for them. It is optional. Its error
// is the *[auth.UnavailableError] of keys that can't be had yet; they are asked
// for again all the same.
func (j *JWKS) Start(ctx context.Context) error {
	if j.remote == nil {
		return nil
	}
	return j.remote.start(ctx)
}

// Close ends requests for keys and waits until they have ended. Verify goes on with
// the keys that it has until they are too old.
func (j *JWKS) Close() error {
	if j.remote != nil {
		j.remote.close()
	}
	return nil
}

// Verify returns the identity that a token proves: its role, its claims byte by
// byte, and the token itself. The token comes without "Bearer ".
//
// The token's header names an algorithm and may name a key; whether the two go
// together is the key's type to say. Errors are *[auth.TokenError], and
// *[auth.UnavailableError] where the token needs a key that can't be had at the
// moment: nobody is let in then, and nobody is called a forger.
func (j *JWKS) Verify(ctx context.Context, token string) (auth.Identity, error) {
	t, err := parseCompact(token)
	if err != nil {
		return auth.Identity{}, err
	}
	if err := j.proves(ctx, &t); err != nil {
		return auth.Identity{}, err
	}
	return j.rules.identity(token, &t)
}

// proves returns nil when one of the keys signed the token.
func (j *jwks) proves(ctx context.Context, t *compact) error {
	if ok, _ := verifies(j.static, t); ok {
		return nil
	}
	if isHMAC(t.alg) { // no address has a key for it: see parseKeySet
		return j.noSecret(t)
	}
	if j.remote == nil {
		return errKey
	}
	keys, err := j.remote.current(ctx)
	if err != nil {
		return err
	}
	ok, asked := verifies(keys, t)
	if ok {
		return nil
	}
	// A key that is known and didn't sign is an answer. One that isn't may be new, as
	// may be that of a token without a name for it.
	if asked && t.hasKid {
		return errKey
	}
	if keys, err = j.remote.newer(ctx); err != nil {
		return err
	}
	if ok, _ := verifies(keys, t); ok {
		return nil
	}
	return errKey
}

// noSecret is the refusal of a token with a shared secret.
func (j *jwks) noSecret(t *compact) error {
	for _, k := range j.static {
		if isHMAC(k.algorithms[0]) {
			return errKey
		}
	}
	return errNoSecret
}

func isHMAC(alg string) bool { return len(alg) > 2 && alg[:2] == "HS" }

var errNoSecret error = tokenError("No suitable key or wrong key type", "The JWT is signed with a shared secret, and public keys alone are accepted")

// String leaves out address and keys.
func (j JWKS) String() string { return "jwt.JWKS(hidden)" }

// Format leaves them out for every verb, %+v and %#v included.
func (j JWKS) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, j.String()) }

// LogValue leaves them out.
func (j JWKS) LogValue() slog.Value { return slog.StringValue(j.String()) }

// MarshalText leaves them out, for encoding/json among others.
func (j JWKS) MarshalText() ([]byte, error) { return []byte(j.String()), nil }
