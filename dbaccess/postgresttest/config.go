package postgresttest

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
)

// Defaults of [Config].
const (
	DefaultAnonRole = "anon"
	DefaultSchema   = "public"
	DefaultVersion  = "14.17"
	DefaultMaxConns = 10 // PostgREST's db-pool
)

// Config makes a [Handler] or a [Server]. It prints without its secrets.
type Config struct {
	// DSN logs in to Postgres as PostgREST would: as a role that may become the
	// roles that tokens name, and has no rights of its own. Required.
	DSN string
	// JWTSecret is the secret of tokens, at least 32 bytes: PostgREST's
	// jwt-secret. Defaults to none: a request with a token fails with PGRST300.
	JWTSecret string
	// AnonRole is the role of requests without a token: PostgREST's
	// db-anon-role. Defaults to DefaultAnonRole.
	AnonRole string
	// Schemas are the schemas that requests may name, the first of which is that
	// of requests that name none: PostgREST's db-schemas. Defaults to
	// DefaultSchema.
	Schemas []string
	// ExtraSearchPath are schemas whose functions and operators are found:
	// PostgREST's db-extra-search-path. Defaults to DefaultSchema.
	ExtraSearchPath []string
	// PreRequest is a function without arguments, as schema.name, that runs before
	// each query: PostgREST's db-pre-request. Defaults to none.
	PreRequest string
	// MaxRows cuts every answer short: PostgREST's db-max-rows. Defaults to 0, no
	// limit; Supabase has 1000.
	MaxRows int64
	// AllowRollback lets requests undo what they did (Prefer: tx=rollback):
	// PostgREST's db-tx-end commit-allow-override. Defaults to false, commit: the
	// preference is ignored.
	AllowRollback bool
	// APIKey makes the handler ask for the header "apikey", as Supabase's gateway
	// does, and refuse requests without it in the gateway's words. Defaults to
	// none.
	APIKey string
	// ServerTiming adds the header Server-Timing to successful answers:
	// PostgREST's server-timing-enabled. Defaults to off.
	ServerTiming bool
	// Version is the release that the header Server names. Defaults to
	// DefaultVersion.
	Version string
	// MaxConns bounds the connections to Postgres: PostgREST's db-pool. Defaults
	// to DefaultMaxConns.
	MaxConns int
}

// WithDefaults returns the config with every default filled in.
func (c Config) WithDefaults() Config {
	if c.AnonRole == "" {
		c.AnonRole = DefaultAnonRole
	}
	if len(c.Schemas) == 0 {
		c.Schemas = []string{DefaultSchema}
	}
	if c.ExtraSearchPath == nil {
		c.ExtraSearchPath = []string{DefaultSchema}
	}
	if c.Version == "" {
		c.Version = DefaultVersion
	}
	if c.MaxConns == 0 {
		c.MaxConns = DefaultMaxConns
	}
	return c
}

// String leaves out the secrets.
func (c Config) String() string { return "postgresttest.Config(hidden)" }

// Format leaves out the secrets for every verb, %+v and %#v included.
func (c Config) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, c.String()) }

// MarshalText leaves out the secrets, for encoding/json and slog among others.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// validate returns how to connect and the verifier of tokens, or
// everything that is wrong.
func (c Config) validate() (*pgconn.Config, auth.Verifier, error) {
	var errs []error
	var conn *pgconn.Config
	if c.DSN == "" {
		errs = append(errs, errors.New("Config.DSN is empty: set it to the login that PostgREST would have"))
	} else {
		var err error
		if conn, err = pgconn.ParseConfig(c.DSN); err != nil {
			errs = append(errs, errors.New("Config.DSN is not a DSN")) // its own error may quote it
		}
	}
	var verifier auth.Verifier
	if c.JWTSecret != "" {
		v, err := jwt.NewHS256(jwt.Config{Secret: []byte(c.JWTSecret), AnonRole: c.AnonRole})
		if err != nil {
			errs = append(errs, fmt.Errorf("Config.JWTSecret: %w", err))
		} else {
			verifier = v
		}
	}
	if slices.Contains(c.Schemas, "") || slices.Contains(c.ExtraSearchPath, "") {
		errs = append(errs, errors.New("Config.Schemas and Config.ExtraSearchPath must not have an empty name"))
	}
	if strings.HasPrefix(c.PreRequest, ".") || strings.HasSuffix(c.PreRequest, ".") {
		errs = append(errs, errors.New("Config.PreRequest must be the name of a function, schema.name"))
	}
	if c.MaxRows < 0 {
		errs = append(errs, errors.New("Config.MaxRows must be positive, or 0 for no limit"))
	}
	if c.MaxConns < 0 {
		errs = append(errs, errors.New("Config.MaxConns must be positive, or 0 for the default"))
	}
	if strings.ContainsAny(c.Version, "\r\n") {
		errs = append(errs, errors.New("Config.Version has a line break"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, nil, fmt.Errorf("postgresttest: %w", err)
	}
	return conn, verifier, nil
}
