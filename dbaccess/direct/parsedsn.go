package direct

import (
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twinpath/twinpath/dbaccess/internal/pgdsn"
)

// DSN is what a connection string means to [New], without its password. [ParseDSN]
// makes one.
type DSN struct {
	// Hosts are where connections go, in the order in which they are tried.
	Hosts []DSNHost
	// User and Database are "" where they hold characters that make one doubt that
	// the string was cut at the right places.
	User, Database string
	// HasPassword says whether a password was found, in the string, in PGPASSWORD or
	// in a password file.
	HasPassword bool

	// Vendor is whose service the first host is, "supabase", "neon" or "planetscale",
	// "" when its name doesn't tell.
	Vendor string
	// Pooler is what answers there, "supavisor" or "pgbouncer", "" for Postgres itself
	// and for what host and port don't tell. It is a guess, as Mode is.
	Pooler string
	// Mode is "transaction" or "session" behind a pooler, "direct" for Postgres itself,
	// "" when host and port don't tell.
	Mode string
	// IPv6Only says that the vendor gives the host no IPv4 address unless one is paid
	// for.
	IPv6Only bool

	// MaxConns is connection_limit or pool_max_conns, 0 for neither.
	MaxConns int
	// ConnectTimeout is connect_timeout, 0 for none.
	ConnectTimeout time.Duration
	// StatementTimeout is set for each call, 0 for none.
	StatementTimeout time.Duration
	// SearchPath is set for each call, nil for none.
	SearchPath []string

	// Notes tell what became of the parameters that are not simply sent to the server.
	Notes []DSNNote

	route string
}

// DSNHost is a server that a connection string names.
type DSNHost struct {
	Host string // a name, an address, or the directory of a Unix socket
	Port int
	// TLS is "off", "unverified", "verify-ca" or "verify-full".
	TLS string
}

// String is host:port, or the path of a socket's directory.
func (h DSNHost) String() string {
	if strings.HasPrefix(h.Host, "/") {
		return h.Host
	}
	return net.JoinHostPort(h.Host, strconv.Itoa(h.Port))
}

// DSNNote tells what became of one parameter, without its value.
type DSNNote struct {
	// Param is the parameter, or a PG* variable that does nothing.
	Param string
	// Source is where it comes from, other than the string itself: "PGSSLMODE",
	// "service file".
	Source string
	// Text says what became of it.
	Text string
	// Warning marks what is accepted, and probably not what was meant.
	Warning bool
}

// String is the note as a sentence.
func (n DSNNote) String() string { return pgdsn.Note(n).String() }

// ParseDSN reads a connection string as [New] does, PG* environment variables,
// service and password files included, and explains it. It connects to nothing. Its
// error names everything that New would refuse, says what to do about each, and holds
// no value of the string.
func ParseDSN(dsn string) (*DSN, error) {
	s, err := pgdsn.Parse(dsn)
	if err != nil {
		return nil, err
	}
	c := s.Pool.ConnConfig
	d := &DSN{
		User: plainOnly(c.User), Database: plainOnly(c.Database), HasPassword: c.Password != "",
		Vendor: s.Route.Vendor, Pooler: s.Route.Pooler, Mode: string(s.Route.Mode), IPv6Only: s.Route.IPv6Only,
		MaxConns: int(s.MaxConns), ConnectTimeout: c.ConnectTimeout,
		StatementTimeout: s.StatementTimeout, SearchPath: slices.Clone(s.SearchPath),
		route: s.Route.Text,
	}
	for _, h := range s.Hosts() {
		d.Hosts = append(d.Hosts, DSNHost{Host: plainOnly(h.Host), Port: int(h.Port), TLS: h.TLS})
	}
	for _, n := range s.Notes {
		d.Notes = append(d.Notes, DSNNote(n))
	}
	return d, nil
}

// Explain tells in sentences where the string leads and what became of its
// parameters.
func (d *DSN) Explain() []string {
	var texts []string
	for i, h := range d.Hosts {
		how := map[string]string{
			"off": "without TLS", "unverified": "with TLS, whose certificate nobody looks at",
			"verify-ca": "with TLS, of whose certificate the issuer is verified", "verify-full": "with TLS, whose certificate is verified",
		}[h.TLS]
		if i == 0 && d.route != "" {
			texts = append(texts, h.String()+", "+how+": "+d.route)
			continue
		}
		texts = append(texts, h.String()+", "+how)
	}
	for _, n := range d.Notes {
		texts = append(texts, n.String())
	}
	return texts
}

// plainOnly returns s if it is sure not to hold a piece of a password that was cut
// at the wrong place.
func plainOnly(s string) string {
	for _, c := range s {
		if c < '!' || strings.ContainsRune(`=?#@%&'"\`, c) || c == 0x7f {
			return ""
		}
	}
	return s
}
