package rest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
)

// ErrNoToken means that an identity has no bearer token, is not the anonymous one
// without claims, and no signer is configured, or that it failed.
var ErrNoToken = errors.New("identity without a bearer token")

// ErrOtherRole means that an identity's token names another role than the identity.
// PostgREST acts as the one, the direct path as the other, so that nothing is sent.
// The error also answers errors.Is(err, dbaccess.ErrUnauthorized).
var ErrOtherRole = errors.New("bearer token for another role than the identity's")

// authorize returns the Authorization header for an identity, "" for none.
func (b *Backend) authorize(ctx context.Context, id auth.Identity) (string, error) {
	token, roleOf := id.Token, b.roleOf
	if token == "" {
		role, key := b.keyRole()
		if id.Role == role && b.claimsNothing(id) {
			if key == "" {
				return "", nil
			}
			return "Bearer " + key, nil
		}
		if b.cfg.Signer == nil {
			return "", &dbaccess.Error{Path: dbaccess.REST, Kind: ErrNoToken, Advice: b.tokenAdvice(id)}
		}
		var err error
		if token, err = b.cfg.Signer.Sign(ctx, id); err != nil {
			return "", signerError(err)
		}
		roleOf = b.readRole // of a token that is new with every call
	}
	if auth.IsAPIKey(token) {
		return "", &dbaccess.Error{
			Path: dbaccess.REST, Kind: dbaccess.ErrUnauthorized, Code: auth.CodeTokenInvalid, HTTPStatus: 401,
			Advice: "the bearer token is a Supabase API key, which is none: set rest.Config.APIKey to it, and leave auth.Identity.Token empty",
		}
	}
	if !isToken(token) {
		return "", &dbaccess.Error{
			Path: dbaccess.REST, Kind: dbaccess.ErrUnauthorized, Code: auth.CodeTokenInvalid, HTTPStatus: 401,
			Advice: "the bearer token has characters that no token may have",
		}
	}
	if role, ok := roleOf(token); ok && role != id.Role {
		e := dbaccess.Error{
			Path: dbaccess.REST, Kind: dbaccess.ErrUnauthorized,
			Advice: "the bearer token names another role than auth.Identity.Role: take the identity from the token, with auth/jwt, " +
				"or set rest.Config.RoleClaim to PostgREST's jwt-role-claim-key and rest.Config.AnonRole to its db-anon-role",
		}
		return "", e.With(dbaccess.ServerText{}, ErrOtherRole)
	}
	return "Bearer " + token, nil
}

// keyRole returns the role of a call that brings no token of its own, which the API
// key decides on Supabase, and the key where it is the token of that role. An
// unknown role is "".
func (b *Backend) keyRole() (role, token string) {
	key := b.cfg.APIKey
	if auth.IsAPIKey(key) {
		if role = auth.APIKeyRole(key); role == rolePublishable {
			role = b.cfg.AnonRole // whatever its name: PostgREST gets no more than that
		}
		return role, ""
	}
	if strings.Count(key, ".") == 2 {
		if role, ok := b.roleOf(key); ok && role != b.cfg.AnonRole {
			// Gateways differ in what they make of such a key alone.
			return role, key
		}
	}
	return b.cfg.AnonRole, ""
}

// rolePublishable is the role of publishable keys.
const rolePublishable = "anon"

// claimsNothing says whether an identity has no claims but its role, so that
// PostgREST tells policies the same with no token.
func (b *Backend) claimsNothing(id auth.Identity) bool {
	if len(id.Claims) == 0 {
		return true
	}
	claims, err := id.ClaimsWithRole()
	if err != nil {
		return false
	}
	nothing, err := auth.Identity{Role: id.Role}.ClaimsWithRole()
	return err == nil && bytes.Equal(claims, nothing)
}

func (b *Backend) tokenAdvice(id auth.Identity) string {
	role, _ := b.keyRole()
	switch {
	case id.Role == role:
		return "the identity has claims, of which PostgREST learns from a token alone: " +
			"leave auth.Identity.Claims empty, or set rest.Config.Signer"
	case id.Role == b.cfg.AnonRole:
		return "with the key in rest.Config.APIKey a call without a token is no anonymous one: " +
			"set the publishable key, or rest.Config.Signer"
	}
	return "PostgREST believes tokens alone: pass the caller's in auth.Identity.Token, or set rest.Config.Signer"
}

// signerError keeps a signer's reason where it is sure to hold nothing secret.
func signerError(err error) error {
	e := dbaccess.Error{Path: dbaccess.REST, Kind: ErrNoToken}
	if refused, ok := errors.AsType[*auth.TokenError](err); ok {
		e.Advice = "rest.Config.Signer failed: " + refused.Reason
	} else {
		e.Advice = fmt.Sprintf("rest.Config.Signer failed with an error of type %T, which errors.As finds in this one", err)
	}
	return e.With(dbaccess.ServerText{}, err)
}
