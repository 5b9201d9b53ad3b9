package jwt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
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
	payload, err := h.payload(id)
	if err != nil {
		return "", err
	}
	text := usualHeader + "." + strict.EncodeToString(payload)
	signature, err := jwt.SigningMethodHS256.Sign(text, h.secret())
	if err != nil { // which concerns the key's type alone
		return "", fmt.Errorf("jwt: the claims of role %q can't be signed", id.Role)
	}
	return text + "." + strict.EncodeToString(signature), nil
}

// payload returns the claims of a token for id.
func (h *hs256) payload(id auth.Identity) (json.RawMessage, error) {
	var claims map[string]json.RawMessage
	if len(id.Claims) > 0 {
		var ok bool
		if claims, ok = members(id.Claims); !ok {
			return nil, errors.New("jwt: Identity.Claims must be a JSON object that repeats no member")
		}
	}
	payload, err := id.ClaimsWithRole() // as PostgREST does, wherever it reads the role from
	if err != nil {
		return nil, err
	}
	if h.rules.role.String() != auth.DefaultClaimPath {
		if payload, err = h.withRole(payload, id.Role); err != nil {
			return nil, err
		}
	}
	exp := time.Now().Add(h.lifetime).Unix()
	switch b := claims["exp"]; {
	case b == nil:
	case absent(b): // null, which would be for ever
		if claims, _ = members(payload); claims != nil {
			claims["exp"] = fmt.Appendf(nil, "%d", exp)
		}
		return json.Marshal(claims)
	default:
		return payload, nil
	}
	open := payload[:bytes.LastIndexByte(payload, '}')] // which has the role, so that a comma follows
	return fmt.Appendf(slices.Clip(open), `,"exp":%d}`, exp), nil
}

// withRole puts the role at Config.RoleClaim, and makes sure that whoever reads the
// claims finds it there.
func (h *hs256) withRole(payload json.RawMessage, name string) (json.RawMessage, error) {
	claims, ok := members(payload)
	if !ok {
		return nil, errRolePlace
	}
	if err := putRole(claims, h.rules.role, claims["role"]); err != nil {
		return nil, err
	}
	b, err := json.Marshal(claims)
	if err != nil {
		return nil, errRolePlace
	}
	if got, err := h.rules.roleOf(b, claims); err != nil || got != name {
		return nil, errRolePlace
	}
	return b, nil
}

// String leaves out the secret.
func (h HS256) String() string { return "jwt.HS256(secret hidden)" }

// Format leaves out the secret for every verb, %+v and %#v included.
func (h HS256) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, h.String()) }

// LogValue leaves out the secret.
func (h HS256) LogValue() slog.Value { return slog.StringValue(h.String()) }

// MarshalText leaves out the secret, for encoding/json among others.
func (h HS256) MarshalText() ([]byte, error) { return []byte(h.String()), nil }
