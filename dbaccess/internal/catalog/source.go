package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// ErrClosed means that the Source has been closed.
var ErrClosed = errors.New("catalog: the source is closed")

// Config says how a [Source] gets its catalog.
type Config struct {
	// Query runs the statement with text parameters and returns the one column of
	// its one row. It may be called from any goroutine, but by one at a time. Its
	// context carries the values of the call that needed the catalog, but not its
	// deadline or cancellation. Required, unless Static is set: without it nothing
	// is ever loaded.
	Query func(ctx context.Context, sql string, args []string) ([]byte, error)

	// Schemas are the exposed schemas, the default one first. Defaults to Static's,
	// or else to public.
	Schemas []string

	// ExtraSchemas is PostgREST's db-extra-search-path. Defaults to none.
	ExtraSchemas []string

	// Static serves until the first Invalidate, so that nothing has to be loaded at
	// start. It must be of the same Schemas. Defaults to none.
	Static *Catalog

	// MaxAge is how old a catalog may get before it is loaded again. The old one
	// serves meanwhile. Defaults to 0, no limit.
	MaxAge time.Duration

	// MinInterval is the least time from the start of one load to that of the next,
	// so that requests for things that don't exist can't keep the database busy. The
	// old catalog serves meanwhile. It does not hold back loads while there is no
	// catalog at all. Defaults to 5 s; -1 means no limit.
	MinInterval time.Duration

	// Timeout bounds a load. Defaults to 10 s.
	Timeout time.Duration

	// OnLoad is told of every load: how long it took, and the error if it failed.
	// It must not call the Source. Defaults to nobody.
	OnLoad func(took time.Duration, err error)
}

const (
	defaultMinInterval = 5 * time.Second
	defaultTimeout     = 10 * time.Second
)

// Source loads a catalog when it is first needed and keeps it. It may be used from
// several goroutines.
type Source struct {
	cfg  Config
	sql  string
	args []string
	life context.Context // ends with Close
	end  context.CancelFunc

	fresh atomic.Pointer[snapshot] // nil if a Get has to look closer

	mu      sync.Mutex // guards what follows
	current *Catalog
	since   time.Time // when current was asked for
	started time.Time // when the last load began
	changes uint64    // counts calls of Invalidate
	seen    uint64    // changes that current includes
	load    *load     // in flight
	closed  bool
}

type snapshot struct {
	catalog *Catalog
	expires time.Time // zero: never
}

// load is one run of the statement that any number of calls wait for.
type load struct {
	done    chan struct{} // closed when catalog and err are set
	catalog *Catalog      // what serves now, perhaps the old one
	err     error         // set if nothing serves
}

// NewSource checks the configuration. It loads nothing.
func NewSource(cfg Config) (*Source, error) {
	var errs []error
	if cfg.Query == nil && cfg.Static == nil {
		errs = append(errs, errors.New("catalog: Config needs Query or Static"))
	}
	if len(cfg.Schemas) == 0 {
		cfg.Schemas = []string{"public"}
		if cfg.Static != nil {
			cfg.Schemas = cfg.Static.Schemas()
		}
	}
	for _, s := range slices.Concat(cfg.Schemas, cfg.ExtraSchemas) {
		if s == "" || strings.ContainsRune(s, 0) {
			errs = append(errs, errors.New("catalog: Config.Schemas and Config.ExtraSchemas must not contain empty names or zero bytes"))
			break
		}
	}
	if cfg.Static != nil && !slices.Equal(cfg.Static.doc.Schemas, cfg.Schemas) {
		errs = append(errs, errors.New("catalog: Config.Static was made for other schemas than Config.Schemas: make it again"))
	}
	if cfg.MaxAge < 0 {
		errs = append(errs, errors.New("catalog: Config.MaxAge must not be negative"))
	}
	if cfg.MinInterval < -1 {
		errs = append(errs, errors.New("catalog: Config.MinInterval must be positive, 0 for the default or -1 for no limit"))
	}
	if cfg.Timeout < 0 {
		errs = append(errs, errors.New("catalog: Config.Timeout must not be negative"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	switch cfg.MinInterval {
	case 0:
		cfg.MinInterval = defaultMinInterval
	case -1:
		cfg.MinInterval = 0
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	s := &Source{cfg: cfg, current: cfg.Static}
	s.sql, s.args = SQL(cfg.Schemas, cfg.ExtraSchemas...)
	s.life, s.end = context.WithCancel(context.Background())
	if cfg.Static != nil {
		s.since = time.Now()
		s.publish()
	}
	return s, nil
}

// Get returns the catalog. It waits for a load if there is none yet or if
// [Source.Invalidate] was called, unless the last load is too recent; then, and
// when the load fails, the old catalog serves. It fails only when there is no
// catalog to serve, when ctx ends while it waits, or after Close.
func (s *Source) Get(ctx context.Context) (*Catalog, error) {
	if p := s.fresh.Load(); p != nil && (p.expires.IsZero() || time.Now().Before(p.expires)) {
		return p.catalog, nil
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, ErrClosed
	}
	now := time.Now()
	current, stale := s.current, s.seen != s.changes
	if current != nil && (s.cfg.Query == nil || !stale && !s.aged(now) || s.load == nil && now.Sub(s.started) < s.cfg.MinInterval) {
		s.mu.Unlock()
		return current, nil
	}
	l := s.load
	if l == nil {
		l = s.begin(ctx, now)
	}
	s.mu.Unlock()
	if current != nil && !stale {
		return current, nil // merely old
	}
	select {
	case <-l.done:
		return l.catalog, l.err
	case <-ctx.Done():
		return nil, fmt.Errorf("catalog: waiting for the schema: %w", context.Cause(ctx))
	}
}

// Invalidate says that the schema has changed or seems to have: a statement changed
// it, or the database didn't know what the catalog promised. The next Get loads
// again, within the limits of Config. If nothing has changed, Get goes on
// returning the same *Catalog, which tells a caller that trying again is of no use.
func (s *Source) Invalidate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cfg.Query == nil {
		return
	}
	s.changes++
	s.fresh.Store(nil)
}

// Close ends a load in flight and waits for it, no longer than ctx allows. Get
// fails from then on.
func (s *Source) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.fresh.Store(nil)
	l := s.load
	s.mu.Unlock()
	s.end()
	if l == nil {
		return nil
	}
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("catalog: waiting for the load to end: %w", context.Cause(ctx))
	}
}

func (s *Source) aged(now time.Time) bool {
	return s.cfg.MaxAge > 0 && now.Sub(s.since) >= s.cfg.MaxAge
}

// publish lets Get take the short way. The caller holds s.mu, or is the only one to
// know s.
func (s *Source) publish() {
	if s.closed || s.seen != s.changes {
		return
	}
	p := &snapshot{catalog: s.current}
	if s.cfg.MaxAge > 0 && s.cfg.Query != nil {
		p.expires = s.since.Add(s.cfg.MaxAge)
	}
	s.fresh.Store(p)
}

// begin starts a load. The caller holds s.mu.
func (s *Source) begin(ctx context.Context, now time.Time) *load {
	l := &load{done: make(chan struct{})}
	s.load, s.started = l, now
	changes, old := s.changes, s.current
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Timeout)
	stop := context.AfterFunc(s.life, cancel)
	go func() {
		defer cancel()
		defer stop()
		c, err := s.run(ctx, old)
		if s.cfg.OnLoad != nil {
			s.cfg.OnLoad(time.Since(now), err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.load = nil
		if err == nil {
			s.current, s.since, s.seen = c, now, changes
			s.publish()
		}
		if l.catalog = s.current; l.catalog == nil {
			l.err = err
		}
		close(l.done)
	}()
	return l
}

// run loads a catalog, and returns the old one if it says the same.
func (s *Source) run(ctx context.Context, old *Catalog) (*Catalog, error) {
	body, err := s.cfg.Query(ctx, s.sql, s.args)
	if err != nil {
		return nil, fmt.Errorf("catalog: load the schema: %w", err)
	}
	c, err := Parse(body)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(c.doc.Schemas, s.cfg.Schemas) {
		return nil, errors.New("catalog: the answer is about other schemas than Config.Schemas: Query must pass the arguments on")
	}
	if old != nil && old.equal(c) {
		return old, nil
	}
	return c, nil
}

func (c *Catalog) equal(other *Catalog) bool {
	a, err := c.JSON()
	if err != nil {
		return false
	}
	b, err := other.JSON()
	return err == nil && bytes.Equal(a, b)
}
