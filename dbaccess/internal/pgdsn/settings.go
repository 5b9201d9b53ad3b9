package pgdsn

import (
	"maps"
	"slices"
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

	notes []string
}

// Explain tells what became of the parameters that are not simply sent, one
// sentence each, without values.
func (s *Settings) Explain() []string { return slices.Clone(s.notes) }

// Parse reads a connection string in URL or keyword form. An empty one stands
// for the PG* environment variables alone. The error is an *[Error].
func Parse(dsn string) (*Settings, error) {
	raw, err := pgconn.ParseConfig(dsn)
	if err != nil {
		return nil, &Error{Problems: []Problem{{Advice: syntaxAdvice(dsn, err)}}}
	}
	r := reader{dsn: dsn, sent: map[string]string{"application_name": DefaultApplicationName}}
	for _, name := range slices.Sorted(maps.Keys(raw.RuntimeParams)) {
		value := raw.RuntimeParams[name]
		r.param(name, value, r.source(name, value))
	}
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
		r.note("sslmode prefer or allow: dials once, without TLS to a loopback address and with TLS elsewhere")
	}
	s := r.settings
	s.Pool, s.notes = pool, r.notes
	return &s, nil
}
