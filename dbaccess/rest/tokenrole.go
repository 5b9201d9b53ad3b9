package rest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"hash/maphash"
	"strings"
	"sync/atomic"

	"github.com/twinpath/twinpath/dbaccess/auth"
)

const (
	// maxTokenBytes bounds what is read of a token. Servers refuse headers of that
	// size.
	maxTokenBytes = 64 << 10
	cachedRoles   = 64
)

// roleCache has the roles of tokens seen lately, so that a caller's many calls
// read the token once. The zero value is not ready: see newRoleCache.
type roleCache struct {
	seed    maphash.Seed
	claim   auth.ClaimPath
	entries *[cachedRoles]atomic.Pointer[tokenRole]
}

type tokenRole struct {
	token, role string
	known       bool
}

// newRoleCache makes a cache for a claim that validate has passed.
func newRoleCache(claim string) roleCache {
	path, _ := auth.ParseClaimPath(claim)
	return roleCache{seed: maphash.MakeSeed(), claim: path, entries: new([cachedRoles]atomic.Pointer[tokenRole])}
}

// roleOf returns the role that a token names, without looking at its signature:
// whether the token holds is PostgREST's to say. ok is false for what can't be
// read, which PostgREST or a gateway refuses.
func (b *Backend) roleOf(token string) (role string, ok bool) {
	slot := &b.roles.entries[maphash.String(b.roles.seed, token)%cachedRoles]
	if e := slot.Load(); e != nil && e.token == token {
		return e.role, e.known
	}
	e := &tokenRole{token: token}
	e.role, e.known = b.readRole(token)
	slot.Store(e)
	return e.role, e.known
}

// readRole reads the role out of a token's payload. One without the claim is
// anonymous, as it is to PostgREST.
func (b *Backend) readRole(token string) (role string, ok bool) {
	if len(token) > maxTokenBytes {
		return "", false
	}
	_, rest, ok := strings.Cut(token, ".")
	payload, signature, signed := strings.Cut(rest, ".")
	if !ok || !signed || strings.Contains(signature, ".") {
		return "", false
	}
	claims, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(payload, "="))
	if err != nil {
		return "", false
	}
	if !bytes.HasPrefix(bytes.TrimLeft(claims, " \t\r\n"), []byte("{")) || !json.Valid(claims) {
		return "", false
	}
	value, has := b.roles.claim.Find(claims)
	if !has {
		return b.cfg.AnonRole, true
	}
	if value[0] != '"' {
		// PostgREST takes the JSON text of anything else for the role's name.
		return string(value), true
	}
	if json.Unmarshal(value, &role) != nil {
		return "", false
	}
	return role, true
}
