package localpg

import (
	"errors"
	"fmt"
	"time"
)

// Auth says how a server makes TCP clients prove who they are.
type Auth string

// The authentication methods a [Config] and a [PoolerConfig] take.
const (
	// AuthSCRAM asks for a password by SCRAM-SHA-256.
	AuthSCRAM Auth = "scram-sha-256"
	// AuthTrust believes any user name. Everybody on this machine can then become superuser.
	AuthTrust Auth = "trust"
)

const (
	defaultStartTimeout   = 60 * time.Second
	defaultMaxConnections = 100
)

// Config describes a private PostgreSQL cluster. The zero value is useful.
type Config struct {
	// Dir is the directory in which the cluster's own directory is made. Defaults to the system's
	// directory for temporary files, or, where the unprivileged user could not reach that, /tmp
	// or /var/tmp.
	Dir string

	// BinDir is the directory of initdb and postgres. Defaults to what [FindPostgres] finds.
	BinDir string

	// Port is the TCP port on 127.0.0.1. Defaults to 0, any free port.
	Port int

	// Auth is how TCP clients authenticate. Defaults to [AuthSCRAM].
	Auth Auth

	// Password is that of the superuser, "postgres". Defaults to a random one.
	Password string

	// MaxConnections is PostgreSQL's max_connections. Defaults to 100.
	MaxConnections int

	// Locale is the cluster's locale; its encoding is always UTF8. Defaults to C.UTF-8 on Linux
	// and to C elsewhere.
	Locale string

	// Durable turns fsync, synchronous_commit and full_page_writes on. Defaults to false: data
	// does not survive a crash of the machine.
	Durable bool

	// Settings are further server settings by name, as in postgresql.conf. They win over those
	// this package makes. Defaults to none.
	Settings map[string]string

	// StartTimeout bounds initdb and the wait for the server's first answer, each. Defaults to
	// 60 s.
	StartTimeout time.Duration
}

func (c Config) withDefaults() Config {
	if c.Auth == "" {
		c.Auth = AuthSCRAM
	}
	if c.Password == "" {
		c.Password = randomPassword()
	}
	if c.MaxConnections == 0 {
		c.MaxConnections = defaultMaxConnections
	}
	if c.Locale == "" {
		c.Locale = defaultLocale
	}
	if c.StartTimeout == 0 {
		c.StartTimeout = defaultStartTimeout
	}
	return c
}

func (c Config) validate() error {
	return errors.Join(
		validAuth(c.Auth),
		validPort(c.Port),
		atLeast("MaxConnections", c.MaxConnections, 1),
		validTimeout("StartTimeout", c.StartTimeout),
		validNames("Settings", c.Settings),
	)
}

func validAuth(a Auth) error {
	if a != AuthSCRAM && a != AuthTrust {
		return fmt.Errorf("localpg: Auth is %q; use AuthSCRAM or AuthTrust", string(a))
	}
	return nil
}

func validPort(p int) error {
	if p < 0 || p > 65535 {
		return fmt.Errorf("localpg: Port is %d; use 0 for any free port, or 1 to 65535", p)
	}
	return nil
}

func atLeast(field string, n, least int) error {
	if n < least {
		return fmt.Errorf("localpg: %s is %d; use %d or more", field, n, least)
	}
	return nil
}

func validTimeout(field string, d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("localpg: %s is %s; use 0 for the default, or more", field, d)
	}
	return nil
}

// validNames checks the names of settings, which become words of a command line or of an ini file.
func validNames(field string, settings map[string]string) error {
	var errs []error
	for name, value := range settings {
		for _, r := range name {
			if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '.' {
				errs = append(errs, fmt.Errorf("localpg: %s has a setting named %q; use letters, digits, dots and underscores", field, name))
				break
			}
		}
		for _, r := range value {
			if r < ' ' {
				errs = append(errs, fmt.Errorf("localpg: %s: the value of %q has a control character", field, name))
				break
			}
		}
	}
	return errors.Join(errs...)
}
