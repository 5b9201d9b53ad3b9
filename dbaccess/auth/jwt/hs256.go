package jwt

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/golang-jwt/jwt/v5"

	"github.com/twinpath/twinpath/dbaccess/auth"
)

// HS256 verifies and mints tokens with a shared secret. It is safe for
// concurrent use, and prints without the secret.
type HS256 struct {
	*hs256 // a pointer, behind which fmt does not look
}

type hs256 struct {
	rules  rules
	mint   minter
	secret hidden
}

var (
	_ auth.Verifier = (*HS256)(nil)
	_ auth.Signer   = (*HS256)(nil)
)

// NewHS256 makes an [HS256]. Its error names every field that is wrong.
func NewHS256(cfg Config) (*HS256, error) {
	cfg = cfg.WithDefaults()
	r, err := cfg.validate()
	if err != nil {
		return nil, err
	}
	return &HS256{&hs256{rules: r, mint: minter{r.role, cfg.Lifetime}, secret: hide(cfg.Secret)}}, nil
}

// Verify returns the identity that a token proves: its role, its claims byte by
// byte, and the token itself. The token comes without "Bearer ". Errors are
// *[auth.TokenError].
func (h *HS256) Verify(_ context.Context, token string) (auth.Identity, error) {
	t, err := parseCompact(token)
	if err != nil {
		return auth.Identity{}, err
	}
	// There is one key, so that what the token calls it does not matter.
	if t.alg != algHS256 || jwt.SigningMethodHS256.Verify(t.signed, t.signature, h.secret()) != nil {
		return auth.Identity{}, errKey
	}
	return h.rules.identity(token, &t)
}

// Sign mints a token for id: its claims, its role at Config.RoleClaim, and an
// expiry after Config.Lifetime unless the claims have one. A token that id has
// already is not looked at.
//
// It takes some ten microseconds, and the call that needs the token a thousand or more, so
// that nothing is kept.
func (h *HS256) Sign(_ context.Context, id auth.Identity) (string, error) {
	payload, err := h.mint.payload(id)
	if err != nil {
		return "", err
	}
	return seal(jwt.SigningMethodHS256, usualHeader, payload, h.secret())
}

// String leaves out the secret.
func (h HS256) String() string { return "jwt.HS256(secret hidden)" }

// Format leaves out the secret for every verb, %+v and %#v included.
func (h HS256) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, h.String()) }

// LogValue leaves out the secret.
func (h HS256) LogValue() slog.Value { return slog.StringValue(h.String()) }

// MarshalText leaves out the secret, for encoding/json among others.
func (h HS256) MarshalText() ([]byte, error) { return []byte(h.String()), nil }
