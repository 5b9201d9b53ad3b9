package stack

import (
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// target is a Postgres server or pooler that a DSN leads to.
type target struct {
	dsn      string
	addr     string // host:port
	password string
	database string
	socket   bool // a Unix socket: addr is of no use
	verified bool // TLS checks the host's name, which a proxy in between would change
}

// parseTarget reads the DSN in the variable name. Its errors never repeat it.
func parseTarget(name, dsn string) (target, error) {
	cfg, err := pgconn.ParseConfig(dsn)
	if err != nil {
		return target{}, errors.New(name + " is no DSN: write it as postgres://user:password@host:5432/database")
	}
	return target{
		dsn:      dsn,
		addr:     net.JoinHostPort(cfg.Host, strconv.Itoa(int(cfg.Port))),
		password: cfg.Password,
		database: cfg.Database,
		socket:   strings.HasPrefix(cfg.Host, "/"),
		verified: cfg.TLSConfig != nil && !cfg.TLSConfig.InsecureSkipVerify,
	}, nil
}

// at returns the DSN of the same database at another address.
func (t target) at(addr string) string {
	if addr == t.addr {
		return t.dsn
	}
	host, port, _ := net.SplitHostPort(addr) // an address of our own making
	if u, ok := t.url(); ok {
		u.Host = addr
		q := u.Query()
		q.Del("host")
		q.Del("port")
		u.RawQuery = q.Encode()
		return u.String()
	}
	return t.dsn + " host=" + host + " port=" + port // the last one counts
}

// as returns the DSN of the same database for another login.
func (t target) as(l login) string {
	if u, ok := t.url(); ok {
		u.User = url.UserPassword(l.user, l.password)
		q := u.Query()
		q.Del("user")
		q.Del("password")
		u.RawQuery = q.Encode()
		return u.String()
	}
	return t.dsn + " user=" + l.user + " password=" + l.password // both letters and digits alone
}

func (t target) url() (*url.URL, bool) {
	if !strings.HasPrefix(t.dsn, "postgres://") && !strings.HasPrefix(t.dsn, "postgresql://") {
		return nil, false
	}
	u, err := url.Parse(t.dsn)
	return u, err == nil
}
