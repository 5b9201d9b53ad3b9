package pgdsn

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// DefaultApplicationName is sent where neither the string nor PGAPPNAME has one:
// behind PgBouncer before 1.25 a connection without one shows another client's.
const DefaultApplicationName = "twinpath"

// Settings is what a connection string means.
type Settings struct {
	// Pool connects without refused or translated parameters, in exec mode, with
	// one attempt an address. MaxConns is pgxpool's own default unless the string
	// says otherwise: see Settings.MaxConns.
	Pool *pgxpool.Config
	// MaxConns is connection_limit or pool_max_conns, 0 when neither is given.
	MaxConns int32
	// StatementTimeout is to be set for each call, 0 when it is not given.
	StatementTimeout time.Duration
	// SearchPath is to be set for each call, nil when it is not given.
	SearchPath []string
	// Pooler says that the string names its server as a transaction pooler
	// (pgbouncer=true).
	Pooler bool
	// Route is what the first host suggests about who answers there.
	Route Route
	// Notes tell what became of the parameters that are not simply sent.
	Notes []Note
}

// Note tells what became of one parameter, without its value.
type Note struct {
	Param   string
	Source  string // where it comes from, other than the string itself: "PGSSLMODE", "service file"
	Text    string
	Warning bool // it is accepted, and probably not what was meant
}

// String is the note as a sentence.
func (n Note) String() string {
	if n.Source != "" {
		return n.Param + " (from " + n.Source + "): " + n.Text
	}
	return n.Param + ": " + n.Text
}

// Explain tells what became of the parameters that are not simply sent, one
// sentence each, without values.
func (s *Settings) Explain() []string {
	var texts []string
	for _, n := range s.Notes {
		texts = append(texts, n.String())
	}
	return texts
}

// Parse reads a connection string in URL or keyword form. White space around it,
// such as the line break at the end of a secret's file, is not part of it. An empty
// one stands for the PG* environment variables alone; one of nothing but white space
// is refused, since whatever was to fill it has failed. The error is an *[Error].
func Parse(dsn string) (*Settings, error) {
	given := dsn
	if dsn = trim(dsn); dsn == "" && given != "" {
		return nil, &Error{Problems: []Problem{{Advice: "the string is nothing but white space: is the secret that it comes from empty?"}}}
	}
	raw, err := pgconn.ParseConfig(dsn)
	if err != nil {
		return nil, &Error{Problems: []Problem{{Advice: syntaxAdvice(dsn, err)}}}
	}
	r := reader{dsn: dsn, given: collect(dsn), sent: map[string]string{"application_name": DefaultApplicationName}}
	for _, name := range slices.Sorted(maps.Keys(raw.RuntimeParams)) {
		r.param(name, raw.RuntimeParams[name], r.source(name))
	}
	r.route = guess(raw.Host, raw.Port, r.settings.Pooler)
	r.connection(raw)
	if len(r.problems) > 0 {
		return nil, &Error{Problems: r.problems}
	}
	pool, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, &Error{Problems: []Problem{{Advice: syntaxAdvice(dsn, err)}}}
	}
	pool.ConnConfig.RuntimeParams = r.sent
	pool.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	pool.ConnConfig.StatementCacheCapacity = 0
	pool.ConnConfig.DescriptionCacheCapacity = 0
	if dialOnce(&pool.ConnConfig.Config) {
		r.notef("sslmode", r.given["sslmode"].source, "prefer, which an absent one means, and allow: dials once, without TLS to a loopback address and with TLS elsewhere")
	}
	s := r.settings
	s.Pool, s.Notes, s.Route = pool, r.notes, r.route
	return &s, nil
}

// trim takes white space off both ends, but for one that a backslash makes part of
// a value.
func trim(dsn string) string {
	const space = " \t\r\n\f\v"
	dsn = strings.TrimLeft(dsn, space)
	trimmed := strings.TrimRight(dsn, space)
	slashes := len(trimmed) - len(strings.TrimRight(trimmed, `\`))
	if slashes%2 == 1 && len(trimmed) < len(dsn) && !isURL(dsn) {
		return dsn[:len(trimmed)+1]
	}
	return trimmed
}

// Host is a server that connections are made to.
type Host struct {
	Host string
	Port uint16
	TLS  string // "off", "unverified", "verify-ca" or "verify-full"
}

// Hosts lists the servers in the order in which they are tried.
func (s *Settings) Hosts() []Host {
	var hosts []Host
	for _, a := range attempts(&s.Pool.ConnConfig.Config) {
		h := Host{Host: a.Host, Port: a.Port}
		switch t := a.TLSConfig; {
		case t == nil:
			h.TLS = "off"
		case !t.InsecureSkipVerify:
			h.TLS = "verify-full"
		case t.VerifyPeerCertificate != nil:
			h.TLS = "verify-ca"
		default:
			h.TLS = "unverified"
		}
		hosts = append(hosts, h)
	}
	return hosts
}
