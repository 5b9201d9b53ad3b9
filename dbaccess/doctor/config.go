package doctor

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"time"
)

// Defaults of a [Config].
const (
	DefaultTimeout  = 9 * time.Second
	DefaultSchema   = "public"
	DefaultAnonRole = "anon"
)

// Config says what to examine. What is empty is left out. It prints without its
// secrets.
type Config struct {
	// DirectDSN is that of direct.Config.DSN, best a transaction pooler's. Optional.
	DirectDSN string
	// SessionDSN leads to Postgres itself, or to a pooler in session mode, for LISTEN and
	// session locks. Optional.
	SessionDSN string
	// AdminDSN leads to PgBouncer's console, database "pgbouncer": it tells PgBouncer's
	// version and limits, which nothing else does. Optional.
	AdminDSN string
	// RESTURL is that of rest.Config.URL. Optional.
	RESTURL string
	// APIKey is that of rest.Config.APIKey. Optional.
	APIKey string
	// JWTSecret is PostgREST's jwt-secret. A token of a minute is signed with it, for a
	// request that reads nothing. Optional.
	JWTSecret string

	// Schema is the schema of the app's tables. Defaults to DefaultSchema.
	Schema string
	// Roles are those that callers act as. Defaults to AnonRole and "authenticated".
	Roles []string
	// AnonRole is PostgREST's db-anon-role. Defaults to DefaultAnonRole.
	AnonRole string
	// Instances is how many instances of the app may run at once. Defaults to 0, not
	// known.
	Instances int
	// MaxConns is direct.Config.MaxConns. Defaults as there.
	MaxConns int
	// PoolerClients is how many clients the pooler takes. Defaults to what is known of its
	// kind, or what its console says.
	PoolerClients int

	// Timeout bounds the whole examination, and each step of it by a share: a login has a
	// third. Defaults to DefaultTimeout.
	Timeout time.Duration
	// Resolver looks up hosts. Defaults to net.DefaultResolver.
	Resolver *net.Resolver
}

// WithDefaults returns the config with every default filled in.
func (c Config) WithDefaults() Config {
	if c.Schema == "" {
		c.Schema = DefaultSchema
	}
	if c.AnonRole == "" {
		c.AnonRole = DefaultAnonRole
	}
	if len(c.Roles) == 0 {
		c.Roles = []string{c.AnonRole, "authenticated"}
	}
	c.Roles = slices.Clone(c.Roles)
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Resolver == nil {
		c.Resolver = net.DefaultResolver
	}
	return c
}

// String leaves out the secrets.
func (c Config) String() string { return "doctor.Config(hidden)" }

// Format leaves out the secrets for every verb, %+v and %#v included.
func (c Config) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, c.String()) }

// LogValue leaves out the secrets.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalText leaves out the secrets, for encoding/json among others.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.String()), nil }
