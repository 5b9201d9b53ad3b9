package jwt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/twinpath/twinpath/dbaccess/auth"
)

// minter writes the claims of minted tokens, whoever signs them.
type minter struct {
	role     auth.ClaimPath
	lifetime time.Duration
}

// payload returns the claims of a token for id.
func (m minter) payload(id auth.Identity) (json.RawMessage, error) {
	id.Token = "" // which is not looked at
	if err := id.Validate(); err != nil {
		return nil, err
	}
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
	if m.role.String() != auth.DefaultClaimPath {
		if payload, err = m.withRole(payload, id.Role); err != nil {
			return nil, err
		}
	}
	exp := time.Now().Add(m.lifetime).Unix()
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
func (m minter) withRole(payload json.RawMessage, name string) (json.RawMessage, error) {
	claims, ok := members(payload)
	if !ok {
		return nil, errRolePlace
	}
	if err := putRole(claims, m.role, claims["role"]); err != nil {
		return nil, err
	}
	b, err := json.Marshal(claims)
	if err != nil {
		return nil, errRolePlace
	}
	r := rules{role: m.role}
	if got, err := r.roleOf(b, claims); err != nil || got != name {
		return nil, errRolePlace
	}
	return b, nil
}

// seal signs a payload. The header is encoded already.
func seal(method jwt.SigningMethod, header string, payload []byte, key any) (string, error) {
	text := header + "." + strict.EncodeToString(payload)
	signature, err := method.Sign(text, key)
	if err != nil { // which may concern the key
		return "", errors.New("jwt: the key does not sign: it must be a private key for its algorithm")
	}
	return text + "." + strict.EncodeToString(signature), nil
}
