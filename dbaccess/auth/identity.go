package auth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"unicode/utf8"
)

// Identity is who a call acts as. It prints as its role alone: claims and token
// are left out by every fmt verb, by slog and by encoding/json, unless it is in an
// unexported field of another struct, where fmt asks no value how to print: keep a
// pointer there.
type Identity struct {
	// Role is the Postgres role whose rights apply. Required.
	Role string
	// Claims is the JSON object that policies read as request.jwt.claims. Both
	// paths add the member "role" to it. Empty means no further claims.
	Claims json.RawMessage
	// Token is the bearer token that proves the identity to PostgREST. It must
	// name Role and hold Claims: the REST path acts by the token, the direct one
	// by those two. A token for another role is refused; other claims can't be
	// told. Where Token is empty the REST path asks its Signer for one, unless
	// the identity is the anonymous role without claims.
	Token string
}

// Subject returns the claim "sub", or "" where there is none that is a string.
// It is what percentage roll-outs divide users by.
func (id Identity) Subject() string {
	if !isObject(id.Claims) {
		return ""
	}
	v, _ := lookup(id.Claims, "sub")
	if len(v) < 2 || v[0] != '"' {
		return ""
	}
	if plain := v[1 : len(v)-1]; bytes.IndexByte(plain, '\\') < 0 {
		return string(plain)
	}
	var sub string
	if json.Unmarshal(v, &sub) != nil {
		return ""
	}
	return sub
}

// Validate reports why no call can act as the identity. The role "none" is
// refused because SET ROLE would take it for the login role.
func (id Identity) Validate() error {
	switch {
	case id.Role == "":
		return errors.New("auth: identity without a role: set Identity.Role to the Postgres role that the call acts as")
	case strings.EqualFold(id.Role, "none"):
		return errors.New(`auth: role "none" means the login role to Postgres and is refused`)
	case strings.IndexByte(id.Role, 0) >= 0:
		return errors.New("auth: role name with a zero byte")
	case len(id.Claims) > 0 && !isObject(id.Claims):
		return errNotObject
	case IsAPIKey(id.Token):
		return errors.New("auth: Identity.Token is a Supabase API key, which is no token: put it into rest.Config.APIKey")
	case !utf8.ValidString(id.Role) || !utf8.Valid(id.Claims):
		return errors.New("auth: role or claims that are not valid UTF-8, which Postgres refuses")
	}
	return nil
}

func isObject(b []byte) bool {
	b = bytes.TrimLeft(b, " \t\r\n")
	return len(b) > 0 && b[0] == '{' && json.Valid(b)
}

// ClaimsWithRole returns the claims as Postgres gets to see them: a JSON object
// whose one member "role" is the identity's, whatever the claims say. All else
// keeps its bytes, numbers included.
func (id Identity) ClaimsWithRole() (json.RawMessage, error) {
	if len(id.Claims) > 0 {
		if !isObject(id.Claims) {
			return nil, errNotObject
		}
		if v, n := lookup(id.Claims, "role"); n == 1 && spells(v, id.Role) {
			return id.Claims, nil
		}
	}
	role, err := json.Marshal(id.Role)
	if err != nil {
		return nil, fmt.Errorf("auth: encode role: %w", err)
	}
	if len(id.Claims) == 0 {
		return append(append([]byte(`{"role":`), role...), '}'), nil
	}
	out := append(make([]byte, 0, len(id.Claims)+len(role)+len(`"role":,`)), '{')
	for ms := membersOf(id.Claims); ; {
		m, ok := ms.next()
		if !ok {
			break
		}
		if !m.is("role") {
			out = append(append(out, id.Claims[m.start:m.end]...), ',')
		}
	}
	out = append(append(out, `"role":`...), role...)
	return append(out, '}'), nil
}

// spells says whether a JSON value is that text, written without an escape.
func spells(v []byte, text string) bool {
	return len(v) == len(text)+2 && v[0] == '"' && string(v[1:len(v)-1]) == text && strings.IndexByte(text, '\\') < 0
}

var errNotObject = errors.New("auth: Identity.Claims must be a JSON object")

// String returns the role.
func (id Identity) String() string { return "identity(" + id.Role + ")" }

// Format prints the role for every verb, %+v and %#v included.
func (id Identity) Format(s fmt.State, _ rune) { _, _ = fmt.Fprint(s, id.String()) }

// LogValue logs the role.
func (id Identity) LogValue() slog.Value { return slog.StringValue(id.String()) }

// MarshalJSON writes the role.
func (id Identity) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Role string `json:"role"`
	}{id.Role})
}

type ctxKey struct{}

// With returns a context whose database calls act as id. The caller vouches for
// it: nothing is verified here.
func With(ctx context.Context, id Identity) context.Context {
	return context.WithValue(ctx, ctxKey{}, &id) // a pointer, which fmt does not follow into a context
}

// From returns the identity that calls with ctx act as, and whether there is
// one.
func From(ctx context.Context) (Identity, bool) {
	id, ok := ctx.Value(ctxKey{}).(*Identity)
	if !ok {
		return Identity{}, false
	}
	return *id, true
}
