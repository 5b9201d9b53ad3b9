package jwt

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"
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
	// RoleClaim is the way to the claim that holds the Postgres role, one member
	// name a step: PostgREST's jwt-role-claim-key. Defaults to {"role"}.
	RoleClaim []string
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
	if len(c.RoleClaim) == 0 {
		c.RoleClaim = []string{"role"}
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

func (c Config) validate() error {
	var errs []error
	switch {
	case len(c.Secret) == 0:
		errs = append(errs, errors.New("Config.Secret is empty: set it to PostgREST's jwt-secret"))
	case len(c.Secret) < MinSecret:
		errs = append(errs, fmt.Errorf("Config.Secret has %d bytes and needs at least %d", len(c.Secret), MinSecret))
	}
	if slices.Contains(c.RoleClaim, "") {
		errs = append(errs, errors.New("Config.RoleClaim has an empty step"))
	}
	if strings.EqualFold(c.AnonRole, "none") {
		errs = append(errs, errors.New(`Config.AnonRole "none" means the login role to Postgres and is refused`))
	}
	if c.Skew < 0 {
		errs = append(errs, errors.New("Config.Skew must be positive, 0 for the default or -1 for none"))
	}
	if c.Lifetime < time.Second {
		errs = append(errs, errors.New("Config.Lifetime must be at least a second, or 0 for the default"))
	}
	if len(errs) > 0 {
		return fmt.Errorf("jwt: %w", errors.Join(errs...))
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
