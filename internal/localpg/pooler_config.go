package localpg

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// PoolerConfig describes a private PgBouncer.
type PoolerConfig struct {
	// Upstream is the host:port of the PostgreSQL server behind the pooler, such as [Cluster.Addr].
	// Required.
	Upstream string

	// Users are the names and passwords of those who may log in; PgBouncer uses the same for its
	// own connections to the server. Required.
	Users map[string]string

	// Dir is the directory in which the pooler's own directory is made. Defaults as in [Config].
	Dir string

	// Program is the path of pgbouncer. Defaults to what [FindPgBouncer] finds.
	Program string

	// Port is the TCP port on 127.0.0.1. Defaults to 0, any free port.
	Port int

	// Auth is how clients authenticate. Defaults to [AuthSCRAM].
	Auth Auth

	// PoolMode is PgBouncer's pool_mode. Defaults to "transaction".
	PoolMode string

	// PoolSize is the number of server connections per user and database. Defaults to 20, as
	// PgBouncer's default_pool_size does.
	PoolSize int

	// MaxClients is the number of client connections, max_client_conn. Defaults to 100, as
	// PgBouncer's does.
	MaxClients int

	// ServerIdleTimeout closes server connections that were idle for so long. Defaults to 600 s,
	// as PgBouncer's does; -1 means never.
	ServerIdleTimeout time.Duration

	// ClientIdleTimeout closes client connections that were idle for so long. Defaults to never, as
	// PgBouncer's does.
	ClientIdleTimeout time.Duration

	// QueryWaitTimeout ends a client that waited so long for a server connection. Defaults to
	// 120 s, as PgBouncer's does; -1 means never.
	QueryWaitTimeout time.Duration

	// IgnoreStartupParameters lists start-up parameters to swallow instead of refusing the login.
	// Defaults to none.
	IgnoreStartupParameters []string

	// Settings are further settings by name, as in the section [pgbouncer] of its ini file. They
	// win over those this package makes. Defaults to none.
	Settings map[string]string

	// StartTimeout bounds the wait for the pooler's first answer. Defaults to 60 s.
	StartTimeout time.Duration
}

func (c PoolerConfig) withDefaults() PoolerConfig {
	if c.Auth == "" {
		c.Auth = AuthSCRAM
	}
	if c.PoolMode == "" {
		c.PoolMode = "transaction"
	}
	if c.PoolSize == 0 {
		c.PoolSize = 20
	}
	if c.MaxClients == 0 {
		c.MaxClients = 100
	}
	if c.ServerIdleTimeout == 0 {
		c.ServerIdleTimeout = 600 * time.Second
	}
	if c.QueryWaitTimeout == 0 {
		c.QueryWaitTimeout = 120 * time.Second
	}
	if c.StartTimeout == 0 {
		c.StartTimeout = defaultStartTimeout
	}
	return c
}

func (c PoolerConfig) validate() error {
	errs := []error{
		validAuth(c.Auth),
		validPort(c.Port),
		atLeast("PoolSize", c.PoolSize, 1),
		atLeast("MaxClients", c.MaxClients, 1),
		validTimeout("StartTimeout", c.StartTimeout),
		validNames("Settings", c.Settings),
	}
	if host, port, err := net.SplitHostPort(c.Upstream); err != nil || host == "" || port == "" || strings.ContainsAny(c.Upstream, " \t\n'=") {
		errs = append(errs, errors.New("localpg: Upstream must be the host:port of a PostgreSQL server"))
	}
	if len(c.Users) == 0 {
		errs = append(errs, errors.New("localpg: Users is empty, so nobody could log in"))
	}
	for user, password := range c.Users {
		if user == "" || strings.ContainsAny(user+password, "\n\r\x00") {
			errs = append(errs, errors.New("localpg: Users has an empty name, or a line break in a name or password"))
		}
	}
	switch c.PoolMode {
	case "transaction", "session", "statement":
	default:
		errs = append(errs, fmt.Errorf("localpg: PoolMode is %q; use transaction, session or statement", c.PoolMode))
	}
	for _, name := range c.IgnoreStartupParameters {
		errs = append(errs, validNames("IgnoreStartupParameters", map[string]string{name: ""}))
	}
	return errors.Join(errs...)
}
