package latency

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// Names of modes, as [ProbesConfig] and the probes' addresses have them. There may
// be others.
const (
	ModeREST             = "rest"
	ModeDirect           = "direct"
	ModeDirectPerRequest = "direct-per-request"
)

// Limits of [Probes].
const (
	DefaultMaxConcurrent = 4
	DefaultProbeTimeout  = 10 * time.Second

	closeTimeout = 2 * time.Second
)

// Mode is a way to the database that a probe takes. Give one of Backend and Open.
type Mode struct {
	// Backend serves all requests and is closed by whoever made it: the
	// application's own, to see what its requests see. Optional.
	Backend dbaccess.Backend
	// Open makes a backend for one request, which is closed when its queries are
	// done: what code does that connects per request. Optional.
	Open func(ctx context.Context) (dbaccess.Backend, error)
	// Path is the path that the backend is. Defaults to the path that the mode is
	// named for, else to dbaccess.Direct.
	Path dbaccess.Path
}

// ProbesConfig makes [Probes].
type ProbesConfig struct {
	// Modes are the ways to compare, by name: letters, digits and hyphens. Required.
	Modes map[string]Mode
	// Queries run in this order on each request. Each must read, and have a name of
	// its own. Required.
	Queries []query.Query
	// Health is the query of the health endpoint with a database call. Defaults to
	// the first of Queries, with a limit of one row.
	Health query.Query
	// Identity is who the queries act as, whoever asks. Required.
	Identity auth.Identity
	// Authorize says which requests are answered, for example AllowLoopback. All
	// others get 404. Optional: without it everybody does.
	Authorize func(r *http.Request) bool
	// MaxConcurrent is the number of requests that run at once. One more is answered
	// with status 429. Defaults to DefaultMaxConcurrent.
	MaxConcurrent int
	// Timeout bounds each request's queries together. Defaults to
	// DefaultProbeTimeout.
	Timeout time.Duration
	// MaxRows is the number of rows at which a query fails. Defaults to
	// dbaccess.DefaultMaxRows.
	MaxRows int
	// Observers are told about the probes' calls, too. Defaults to none: the
	// application's report and traces then show its own calls alone.
	Observers []dbaccess.Observer
	// Started is when the process started, for its age. Defaults to when the probes
	// were made.
	Started time.Time
}

// Probes are the handlers by which the paths can be measured from outside. They
// answer these addresses:
//
//	/latency/{mode}        runs all queries in that mode: see [ProbeResult]
//	/health/app            runs none
//	/health/db?path={mode} runs one, in one round trip: see [HealthResult]
//
// The difference between the last two is the cost of access: see
// [PairedDifference].
//
// Mount them below a prefix with http.StripPrefix. They answer GET only, hold
// nothing of what rows contain, and take nothing from the request but the mode.
type Probes struct {
	cfg     ProbesConfig
	modes   map[string]*mode
	names   []string
	queries []query.Query
	health  query.Query
	handler http.Handler
	slots   chan struct{}
}

// mode is a Mode at work.
type mode struct {
	name string
	Mode
	db *dbaccess.DB // over Backend, nil with Open

	mu   sync.Mutex
	last time.Time // when a request ended, zero before the first
}

// NewProbes checks the config and reports all that is wrong with it.
func NewProbes(cfg ProbesConfig) (*Probes, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("latency: %w", err)
	}
	if cfg.MaxConcurrent == 0 {
		cfg.MaxConcurrent = DefaultMaxConcurrent
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultProbeTimeout
	}
	if cfg.Started.IsZero() {
		cfg.Started = time.Now()
	}
	p := &Probes{
		cfg: cfg, modes: map[string]*mode{}, names: slices.Sorted(maps.Keys(cfg.Modes)), queries: slices.Clone(cfg.Queries),
		health: cfg.Health, slots: make(chan struct{}, cfg.MaxConcurrent),
	}
	if p.health.Spec().From == "" {
		p.health = p.queries[0].Limit(1)
	}
	for name, m := range cfg.Modes {
		w := &mode{name: name, Mode: m}
		if w.Path == "" {
			w.Path = dbaccess.Direct
			if name == ModeREST {
				w.Path = dbaccess.REST
			}
		}
		if m.Backend != nil {
			db, err := p.open(w, m.Backend)
			if err != nil {
				return nil, fmt.Errorf("latency: Config.Modes[%q]: %w", name, err)
			}
			w.db = db
		}
		p.modes[name] = w
	}
	p.handler = guarded(cfg.Authorize, p.serve)
	return p, nil
}

// open makes a DB over one backend, with the probes' observer.
func (p *Probes) open(m *mode, b dbaccess.Backend) (*dbaccess.DB, error) {
	cfg := dbaccess.Config{MaxRows: p.cfg.MaxRows, Observers: append(slices.Clone(p.cfg.Observers), probeObserver{})}
	if m.Path == dbaccess.REST {
		cfg.REST = b
	} else {
		cfg.Direct = b
	}
	return dbaccess.New(cfg)
}

// String names the modes.
func (p *Probes) String() string { return "latency.Probes(" + strings.Join(p.names, ", ") + ")" }

// Format names the modes: backends know secrets.
func (p *Probes) Format(s fmt.State, _ rune) { _, _ = fmt.Fprint(s, p.String()) }

// Format names the fields that are set: backends know secrets.
func (cfg ProbesConfig) Format(s fmt.State, _ rune) {
	_, _ = fmt.Fprintf(s, "latency.ProbesConfig{Modes: %q, Queries: %d, Authorize: %t}",
		slices.Sorted(maps.Keys(cfg.Modes)), len(cfg.Queries), cfg.Authorize != nil)
}

func (cfg *ProbesConfig) validate() error {
	var errs []error
	if len(cfg.Modes) == 0 {
		errs = append(errs, errors.New("Config.Modes is empty: name at least one, such as latency.ModeDirect"))
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Modes)) {
		m := cfg.Modes[name]
		if !isModeName(name) {
			errs = append(errs, fmt.Errorf("Config.Modes has the name %q: use letters, digits and hyphens", name))
		}
		if (m.Backend == nil) == (m.Open == nil) {
			errs = append(errs, fmt.Errorf("Config.Modes[%q] needs either Backend or Open", name))
		}
		if m.Path != "" && !m.Path.Valid() {
			errs = append(errs, fmt.Errorf("Config.Modes[%q].Path is neither dbaccess.REST nor dbaccess.Direct", name))
		}
	}
	if len(cfg.Queries) == 0 {
		errs = append(errs, errors.New("Config.Queries is empty: give at least one"))
	}
	seen := map[string]bool{}
	for i, q := range cfg.Queries {
		name := q.Spec().Name
		if name == "" || seen[name] {
			errs = append(errs, fmt.Errorf("Config.Queries[%d] needs a name that no other has: see query.Query.Named", i))
		}
		seen[name] = true
		errs = append(errs, check(fmt.Sprintf("Config.Queries[%d]", i), q))
	}
	if cfg.Health.Spec().From != "" {
		errs = append(errs, check("Config.Health", cfg.Health))
	}
	if err := cfg.Identity.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("Config.Identity: %w", err))
	}
	if cfg.MaxConcurrent < 0 {
		errs = append(errs, errors.New("Config.MaxConcurrent must be positive, or 0 for the default"))
	}
	if cfg.Timeout < 0 {
		errs = append(errs, errors.New("Config.Timeout must be positive, or 0 for the default: it can't be turned off"))
	}
	if cfg.MaxRows < 0 {
		errs = append(errs, errors.New("Config.MaxRows must be positive, or 0 for the default: it can't be turned off"))
	}
	for i, o := range cfg.Observers {
		if o == nil {
			errs = append(errs, fmt.Errorf("Config.Observers[%d] is nil", i))
		}
	}
	return errors.Join(errs...)
}

// check refuses what is not a query, or may change something.
func check(field string, q query.Query) error {
	s := q.Spec()
	switch {
	case q.Err() != nil:
		return fmt.Errorf("%s: %w", field, q.Err())
	case s.Op == query.OpCall && s.Call != nil && s.Call.ReadOnly:
		return nil
	case s.Op != query.OpSelect:
		return fmt.Errorf("%s must only read: a probe can be asked for by mistake", field)
	}
	return nil
}

func isModeName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return s != "" && len(s) <= 40
}

// ServeHTTP answers a probe.
func (p *Probes) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.handler.ServeHTTP(w, r) }

func (p *Probes) serve(w http.ResponseWriter, r *http.Request) {
	switch path := strings.TrimPrefix(r.URL.Path, "/"); path {
	case "health/app":
		p.healthApp(w)
	case "health/db":
		if m := p.modes[r.URL.Query().Get("path")]; m != nil {
			p.bounded(w, r, func(ctx context.Context) { p.healthDB(ctx, w, m) })
			return
		}
		answerError(w, http.StatusBadRequest, "bad_parameter", "path must be one of "+strings.Join(p.names, ", "))
	default:
		name, ok := strings.CutPrefix(path, "latency/")
		m := p.modes[name]
		if !ok || m == nil {
			answerError(w, http.StatusNotFound, "not_found", "there are latency/ with one of "+strings.Join(p.names, ", ")+", health/app and health/db?path=")
			return
		}
		p.bounded(w, r, func(ctx context.Context) { p.probe(ctx, w, m) })
	}
}

// bounded runs do if there is a slot for it, with a deadline. The context keeps
// nothing of the request but its end and its trace: the identity and the path are
// the probe's.
func (p *Probes) bounded(w http.ResponseWriter, r *http.Request, do func(context.Context)) {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	default:
		w.Header().Set("Retry-After", "1")
		answerError(w, http.StatusTooManyRequests, "busy", fmt.Sprintf("%d probes are running, which is all that may", cap(p.slots)))
		return
	}
	ctx, cancel := context.WithTimeout(auth.With(r.Context(), p.cfg.Identity), p.cfg.Timeout)
	defer cancel()
	do(ctx)
}
