package auth

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
)

// Supabase's names: the beginnings of its API keys that are no tokens, and the
// roles that its gateway gives to requests with such a key and no token.
//
// Source: https://supabase.com/docs/guides/api/api-keys
const (
	apiKeyPrefix      = "sb_"
	publishablePrefix = "sb_publishable_"
	secretPrefix      = "sb_secret_"

	anonRole    = "anon"
	serviceRole = "service_role"
)

// IsAPIKey says whether s is one of Supabase's API keys that are no tokens:
// sb_publishable_… or sb_secret_…. They go into the header "apikey" alone, which
// is rest.Config.APIKey; as a bearer token they are refused. The older keys, which
// are tokens of the roles anon and service_role, are not meant.
func IsAPIKey(s string) bool { return strings.HasPrefix(s, apiKeyPrefix) }

// APIKeyRole returns the role that Supabase's gateway gives to a request that
// has the API key and no token, "" for a key of a kind that isn't known. It is for
// keys of which [IsAPIKey] is true.
func APIKeyRole(key string) string {
	switch {
	case strings.HasPrefix(key, publishablePrefix):
		return anonRole
	case strings.HasPrefix(key, secretPrefix):
		return serviceRole
	}
	return ""
}

// FromAPIKey returns the identity of a Supabase API key of any kind, such as for
// dbaccess.Config.Default:
//
//	service, err := auth.FromAPIKey(os.Getenv("SUPABASE_SECRET_KEY"))
//	db, err := dbaccess.New(dbaccess.Config{Default: &service, …})
//
// A publishable key is anon, a secret key service_role, which no policy of row
// level security holds back. Both have no token: give rest.Config.APIKey the same
// key. The older keys are tokens and become the identity's. Whether a key is valid
// is Supabase's to say: take keys from the application's configuration, never from a
// request.
func FromAPIKey(key string) (Identity, error) {
	if IsAPIKey(key) {
		role := APIKeyRole(key)
		if role == "" {
			return Identity{}, errors.New("auth: API key of an unknown kind: known are sb_publishable_… and sb_secret_…")
		}
		return Identity{Role: role}, nil
	}
	id, err := FromVerifiedToken(key)
	if err != nil {
		return Identity{}, errors.New("auth: API key is neither one of Supabase's (sb_publishable_…, sb_secret_…) nor a token that names its role")
	}
	return id, nil
}

// FromVerifiedToken returns the identity of a JWT that the application has
// verified by other means, such as Echo's JWT middleware: its role at the claim
// "role", its claims byte by byte, and the token itself. It looks at neither signature
// nor expiry: whoever passes a token that nobody verified lets callers be who they
// like. Package auth/jwt verifies.
func FromVerifiedToken(token string) (Identity, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return Identity{}, errNoToken
	}
	claims, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil || !isObject(claims) {
		return Identity{}, errNoToken
	}
	if repeats(claims) {
		return Identity{}, errRepeats
	}
	v, ok := ClaimPath{}.Find(claims)
	if !ok {
		return Identity{}, errNoRole
	}
	role, ok := textOf(v)
	if !ok {
		return Identity{}, errNoRole
	}
	id := Identity{Role: role, Claims: json.RawMessage(claims), Token: token}
	if err := id.Validate(); err != nil {
		return Identity{}, err
	}
	return id, nil
}

var (
	errNoToken = errors.New("auth: not a JWT, which has three parts in base64")
	errRepeats = errors.New("auth: the token's claims have a name more than once, so that it would mean one thing to PostgREST and another to Postgres")
	errNoRole  = errors.New(`auth: the token's claims have no text at "role": set Identity.Role yourself`)
)
