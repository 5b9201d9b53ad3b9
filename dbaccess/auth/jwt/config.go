package jwt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/twinpath/twinpath/dbaccess/auth"
)

// Defaults of [Config].
const (
	DefaultSkew     = 30 * time.Second // what PostgREST grants
	DefaultLifetime = time.Minute
	DefaultAnonRole = "anon" // the name on Supabase and in PostgREST's documentation
)

// MinSecret is the least number of bytes in a secret, which PostgREST demands
// as well.
// Source: https://docs.postgrest.org/en/stable/references/configuration.html#jwt-secret
const MinSecret = 32

// Config makes an [HS256]. It prints without its secret.
type Config struct {
	// Secret is the key shared with PostgREST, at least MinSecret bytes. A secret
	// that PostgREST has in base64 (jwt-secret-is-base64) must be decoded first.
	// Required.
	Secret []byte
	// Audience is PostgREST's jwt-aud. As with PostgREST a token that names
	// another audience is refused, and one that names none passes. Defaults to
	// any.
	Audience string
	// RoleClaim is where the claim with the Postgres role is: PostgREST's
	// jwt-role-claim-key, for example .app_metadata.roles[0]. [auth.ClaimPath] has
	// its grammar. Defaults to .role.
	RoleClaim string
	// AnonRole is the role of a token without the role claim: PostgREST's
	// db-anon-role. Defaults to DefaultAnonRole.
	AnonRole string
	// Skew is how far the issuer's clock may be off. Defaults to DefaultSkew; -1
	// means not at all.
	Skew time.Duration
	// Lifetime is how long a minted token is good for. It needs to outlive one
	// call. Defaults to DefaultLifetime.
	Lifetime time.Duration
}

// WithDefaults returns the config with every default filled in.
func (c Config) WithDefaults() Config {
	if c.RoleClaim == "" {
		c.RoleClaim = auth.DefaultClaimPath
	}
	if c.AnonRole == "" {
		c.AnonRole = DefaultAnonRole
	}
	switch c.Skew {
	case 0:
		c.Skew = DefaultSkew
	case -1:
		c.Skew = 0
	}
	if c.Lifetime == 0 {
		c.Lifetime = DefaultLifetime
	}
	return c
}

func (c Config) validate() (rules, error) {
	r, err := newRules(c.Audience, c.RoleClaim, c.AnonRole, c.Skew)
	errs := []error{checkSecret(c.Secret, "set it to PostgREST's jwt-secret"), err}
	if c.Lifetime < time.Second {
		errs = append(errs, errors.New("Config.Lifetime must be at least a second, or 0 for the default"))
	}
	if err := errors.Join(errs...); err != nil {
		return r, fmt.Errorf("jwt: %w", err)
	}
	return r, nil
}

// checkSecret refuses what can't be a shared secret. Public keys above all: whoever
// read one could sign with it.
func checkSecret(secret []byte, empty string) error {
	switch text := bytes.TrimSpace(secret); {
	case len(text) == 0:
		return errors.New("Config.Secret is empty: " + empty)
	case text[0] == '{' && json.Valid(text):
		return errors.New("Config.Secret is JSON: give a JWK or a JWK set to NewJWKS, as JWKSConfig.Document")
	case bytes.HasPrefix(text, []byte("-----BEGIN ")), bytes.HasPrefix(text, []byte("ssh-")):
		return errors.New("Config.Secret is a key file, not a shared secret: give the public key to NewJWKS, as a JWK in JWKSConfig.Document")
	case len(secret) < MinSecret:
		return fmt.Errorf("Config.Secret has %d bytes and needs at least %d", len(secret), MinSecret)
	}
	return nil
}

// String leaves out the secret.
func (c Config) String() string { return "jwt.Config(secret hidden)" }

// Format leaves out the secret for every verb, %+v and %#v included.
func (c Config) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, c.String()) }

// LogValue leaves out the secret.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalText leaves out the secret, for encoding/json among others.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.String()), nil }
