package direct

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/internal/pgdsn"
)

// Defaults of a [Config].
const (
	DefaultMaxConns       = 4
	DefaultAcquireTimeout = 10 * time.Second // as PostgREST's db-pool-acquisition-timeout
	DefaultConnectTimeout = 5 * time.Second
	DefaultTimeout        = 30 * time.Second
	DefaultKeepWarm       = 5 * time.Second // below the shortest idle limits in use, 10 s
	DefaultAnonRole       = "anon"
	DefaultSchema         = "public"
)

// Config makes a [Backend]. Exactly one of DSN and Pool is required. It prints
// without its DSN, unless it is in an unexported field of another struct, where fmt
// asks no value how to print: keep the Backend there.
type Config struct {
	// DSN is the connection string, URL or keyword form, best that of a
	// transaction pooler. PG* environment variables fill in what it leaves out.
	// Startup parameters that a pooler would refuse, or that would change results
	// on this path alone, are errors of [New]. Defaults to none: give Pool.
	//
	// sslmode=prefer, which an absent sslmode means, dials once: without TLS to a
	// loopback address, with TLS to any other. A server elsewhere that has no TLS
	// needs sslmode=disable.
	DSN string
	// Pool is an app's own pool, in whatever exec mode. It is never closed here,
	// and its size, timeouts and pings stay the app's. A timezone or DateStyle
	// that its connections set changes the JSON of this path. Defaults to none:
	// give DSN.
	Pool *pgxpool.Pool

	// Schema is that of queries that name none. Defaults to the first of the DSN's
	// search_path, else to DefaultSchema.
	Schema string
	// Schemas are all that queries may name, PostgREST's db-schemas. Any other is
	// refused as PostgREST refuses it. Defaults to Schema alone.
	Schemas []string
	// SearchPath follows the query's schema in the search path, PostgREST's
	// db-extra-search-path. Defaults to the rest of the DSN's search_path, else to
	// "public". An empty list that isn't nil means none.
	SearchPath []string
	// AnonRole is the role of callers that are not known, PostgREST's
	// db-anon-role: what it lacks a privilege for is answered with status 401
	// instead of 403. Defaults to DefaultAnonRole.
	AnonRole string
	// MaxRows bounds the rows of every read, of every embed in it and of every call,
	// without a word, PostgREST's db-max-rows: set it where PostgREST has one.
	// Defaults to 0, no bound.
	MaxRows int64
	// PreRequest is a function without arguments, as schema.name, that runs as the
	// caller's role before each query, in the same transaction and at no further
	// trip: PostgREST's db-pre-request. Set it where PostgREST has one. An error of
	// its ends the call, and what it sets response.status to is honoured.
	// Defaults to none.
	PreRequest string
	// AllowPrivilegedLogin lets connections log in as a role that has privileges of
	// its own, see [ErrPrivilegedLogin]. A function that a caller may call can give
	// itself these by RESET ROLE. Defaults to false: such a login is refused.
	AllowPrivilegedLogin bool
	// SchemaCache is what [Backend.SchemaCache] returned, for the same Schema, Schemas and
	// SearchPath: tables, relationships and functions as they were then. A process
	// that must start fast then has nothing to load before its first embed, write or
	// call. It serves until a query finds it wrong. Defaults to none: the first
	// query that needs it loads it, in a round trip of its own.
	SchemaCache []byte

	// MaxConns is the size of the pool that DSN makes. All instances' together
	// must stay below the pooler's limit of clients. There are never more than twice as
	// many sockets: beside each connection, closing ones included, one that cancels
	// the statement of a call that was given up. Defaults to the DSN's
	// connection_limit or pool_max_conns, else to DefaultMaxConns; never to the
	// number of CPUs.
	MaxConns int32
	// AcquireTimeout bounds the wait for a place in the pool; a call that waits
	// longer fails with dbaccess.ErrSaturated. The making of a connection, which
	// ConnectTimeout bounds, does not count, except in an app's own pool. Defaults to DefaultAcquireTimeout; -1
	// means that the call's context alone bounds it.
	AcquireTimeout time.Duration
	// ConnectTimeout bounds the making of a connection that DSN describes: name,
	// all addresses, TLS and authentication together. Defaults to the DSN's
	// connect_timeout, else to DefaultConnectTimeout.
	ConnectTimeout time.Duration
	// KeepWarm is how long a connection of DSN's pool may be silent. Before that it is
	// pinged in the background, from [Backend.Start] or the first call to
	// [Backend.Close], and replaced when it gives no answer; there is always one. So
	// sparse calls find a connection as well, at no further round trip: poolers, load
	// balancers and NATs drop or forget idle ones, some after 10 s (AWS and Azure
	// after 4 to 6 minutes). Defaults to DefaultKeepWarm; -1 means never, for a
	// database that scales to zero when nobody asks it anything.
	KeepWarm time.Duration
	// Timeout bounds calls whose context has no deadline, from their start to the
	// last byte of the answer: a server that has frozen says nothing, and closes
	// nothing either. The server is not told: a deadline of the caller's also becomes
	// the statement_timeout. It can't be turned off. Defaults to DefaultTimeout.
	Timeout time.Duration
}

// String leaves out the DSN.
func (c Config) String() string { return "direct.Config(hidden)" }

// Format leaves out the DSN for every verb, %+v and %#v included.
func (c Config) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, c.String()) }

// LogValue leaves out the DSN.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalText leaves out the DSN, for encoding/json among others.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// settled is a Config whose every field has its meaning.
type settled struct {
	Config
	dsn         *pgdsn.Settings   // nil with an app's own pool
	searchPaths map[string]string // by exposed schema, as search_path takes it
	schemasJSON string            // Schemas as a JSON array
	preRequest  string            // the statement, "" for none
	known       *catalog.Catalog  // of SchemaCache, nil without one
}

func (c Config) settle() (*settled, error) {
	s := &settled{Config: c}
	var errs []error
	switch {
	case c.DSN == "" && c.Pool == nil:
		errs = append(errs, errors.New("Config.DSN and Config.Pool are both empty: give one of them"))
	case c.DSN != "" && c.Pool != nil:
		errs = append(errs, errors.New("Config.DSN and Config.Pool are both set: give one of them"))
	case c.DSN != "":
		dsn, err := pgdsn.Parse(c.DSN)
		if err != nil {
			errs = append(errs, fmt.Errorf("Config.DSN: %w", err))
			dsn = &pgdsn.Settings{}
		}
		s.dsn = dsn
	case c.MaxConns != 0 || c.ConnectTimeout != 0 || c.KeepWarm > 0:
		errs = append(errs, errors.New("Config.MaxConns, Config.ConnectTimeout and Config.KeepWarm belong to Config.DSN: see to them on Config.Pool itself"))
	}
	if c.MaxConns < 0 {
		errs = append(errs, errors.New("Config.MaxConns must be 1 or more, or 0 for the default"))
	}
	if c.AcquireTimeout < -1 {
		errs = append(errs, errors.New("Config.AcquireTimeout must be positive, 0 for the default or -1 for none"))
	}
	if c.ConnectTimeout < 0 {
		errs = append(errs, errors.New("Config.ConnectTimeout must be positive, or 0 for the default"))
	}
	if c.KeepWarm < -1 {
		errs = append(errs, errors.New("Config.KeepWarm must be positive, 0 for the default or -1 for never"))
	}
	if c.Timeout < 0 {
		errs = append(errs, errors.New("Config.Timeout must be positive, or 0 for the default: it can't be turned off"))
	}
	if c.MaxRows < 0 {
		errs = append(errs, errors.New("Config.MaxRows must be positive, or 0 for no bound"))
	}
	if c.SchemaCache != nil {
		known, err := catalog.Parse(c.SchemaCache)
		if err != nil {
			errs = append(errs, fmt.Errorf("Config.SchemaCache: %w", err))
		}
		s.known = known
	}
	s.defaults()
	if !slices.Contains(s.Schemas, s.Schema) {
		errs = append(errs, errors.New("Config.Schemas must hold Config.Schema"))
	}
	for _, names := range [][]string{s.Schemas, s.SearchPath, {s.AnonRole}} {
		for _, n := range names {
			if n == "" || strings.IndexByte(n, 0) >= 0 {
				errs = append(errs, errors.New("Config.Schema, Schemas, SearchPath and AnonRole must hold names: one is empty or has a zero byte"))
			}
		}
	}
	if strings.IndexByte(c.PreRequest, 0) >= 0 || strings.HasPrefix(c.PreRequest, ".") || strings.HasSuffix(c.PreRequest, ".") {
		errs = append(errs, errors.New("Config.PreRequest must be the name of a function, schema.name"))
	}
	s.preRequest = preRequest(c.PreRequest)
	if len(errs) > 0 {
		return nil, fmt.Errorf("direct: %w", errors.Join(errs...))
	}
	names, err := json.Marshal(s.Schemas)
	if err != nil {
		return nil, fmt.Errorf("direct: Config.Schemas: %w", err)
	}
	s.schemasJSON = string(names)
	s.searchPaths = make(map[string]string, len(s.Schemas))
	for _, schema := range s.Schemas {
		s.searchPaths[schema] = searchPath(schema, s.SearchPath)
	}
	return s, nil
}

// defaults fills in what is not set, from the DSN where it says something.
func (s *settled) defaults() {
	var path []string
	if s.dsn != nil {
		path = s.dsn.SearchPath
		if s.MaxConns == 0 {
			s.MaxConns = s.dsn.MaxConns
		}
		if s.MaxConns == 0 {
			s.MaxConns = DefaultMaxConns
		}
		if s.ConnectTimeout == 0 && s.dsn.Pool != nil {
			s.ConnectTimeout = s.dsn.Pool.ConnConfig.ConnectTimeout
		}
		if s.ConnectTimeout == 0 {
			s.ConnectTimeout = DefaultConnectTimeout
		}
		if s.KeepWarm == 0 {
			s.KeepWarm = DefaultKeepWarm
		}
	}
	if s.Schema == "" && len(path) > 0 {
		s.Schema, path = path[0], path[1:]
		if s.SearchPath == nil {
			s.SearchPath = append([]string{}, path...)
		}
	}
	if s.Schema == "" {
		s.Schema = DefaultSchema
	}
	if s.SearchPath == nil {
		s.SearchPath = path
	}
	if s.SearchPath == nil {
		s.SearchPath = []string{DefaultSchema}
	}
	if len(s.Schemas) == 0 {
		s.Schemas = []string{s.Schema}
	}
	s.Schemas = slices.Clone(s.Schemas)
	if s.AnonRole == "" {
		s.AnonRole = DefaultAnonRole
	}
	if s.AcquireTimeout == 0 {
		s.AcquireTimeout = DefaultAcquireTimeout
	}
	if s.Timeout == 0 {
		s.Timeout = DefaultTimeout
	}
}
