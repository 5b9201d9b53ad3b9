package jwt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/twinpath/twinpath/dbaccess/auth"
)

// HS256 verifies and mints tokens with a shared secret. It is safe for
// concurrent use, and prints without the secret.
type HS256 struct {
	*hs256 // a pointer, behind which fmt does not look
}

type hs256 struct {
	rules    rules
	secret   hidden
	lifetime time.Duration
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
	return &HS256{&hs256{rules: r, secret: hide(cfg.Secret), lifetime: cfg.Lifetime}}, nil
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
	id.Token = ""
	if err := id.Validate(); err != nil {
		return "", err
	}
	claims := map[string]json.RawMessage{}
	if len(id.Claims) > 0 {
		var ok bool
		if claims, ok = members(id.Claims); !ok {
			return "", errors.New("jwt: Identity.Claims must be a JSON object that repeats no member")
		}
	}
	role, err := json.Marshal(id.Role)
	if err != nil {
		return "", fmt.Errorf("jwt: encode role: %w", err)
	}
	claims["role"] = role // as PostgREST does, wherever it reads the role from
	if err := putRole(claims, h.rules.role, role); err != nil {
		return "", err
	}
	if claims["exp"] == nil {
		exp := time.Now().Add(h.lifetime).Unix()
		claims["exp"] = fmt.Appendf(nil, "%d", exp)
	}
	if err := h.readsBack(claims, id.Role); err != nil {
		return "", err
	}
	// SignedString's errors concern the key's type and the encoder alone.
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claimSet(claims)).SignedString(h.secret())
	if err != nil {
		return "", fmt.Errorf("jwt: the claims of role %q can't be signed", id.Role)
	}
	return token, nil
}

// readsBack makes sure that whoever reads the claims finds the role that is meant,
// where the path is more than names.
func (h *hs256) readsBack(claims map[string]json.RawMessage, role string) error {
	if _, whole := h.rules.role.Members(); whole {
		return nil
	}
	b, err := json.Marshal(claims)
	if err != nil {
		return errRolePlace
	}
	if got, err := h.rules.roleOf(b, claims); err != nil || got != role {
		return errRolePlace
	}
	return nil
}

// String leaves out the secret.
func (h HS256) String() string { return "jwt.HS256(secret hidden)" }

// Format leaves out the secret for every verb, %+v and %#v included.
func (h HS256) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, h.String()) }

// LogValue leaves out the secret.
func (h HS256) LogValue() slog.Value { return slog.StringValue(h.String()) }

// MarshalText leaves out the secret, for encoding/json among others.
func (h HS256) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// claimSet is the library's view of claims that it only has to encode.
type claimSet map[string]json.RawMessage

var _ jwt.Claims = claimSet(nil)

func (claimSet) GetExpirationTime() (*jwt.NumericDate, error) { return nil, nil }
func (claimSet) GetIssuedAt() (*jwt.NumericDate, error)       { return nil, nil }
func (claimSet) GetNotBefore() (*jwt.NumericDate, error)      { return nil, nil }
func (claimSet) GetIssuer() (string, error)                   { return "", nil }
func (claimSet) GetSubject() (string, error)                  { return "", nil }
func (claimSet) GetAudience() (jwt.ClaimStrings, error)       { return nil, nil }
