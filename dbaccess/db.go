package dbaccess

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/internal/decode"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// DB runs queries over one of its two paths. It is safe for concurrent use.
type DB struct {
	cfg     Config
	plans   decode.Cache
	selects sync.Map // *decode.Plan → []query.Item
	checker Checker  // of the REST path, nil when it can send everything
	forward []string // canonical
	closed  atomic.Bool
	close   sync.Once
	cerr    error
}

// Format prints which paths there are: backends know secrets.
func (db *DB) Format(s fmt.State, _ rune) {
	_, _ = fmt.Fprintf(s, "dbaccess.DB{REST: %t, Direct: %t}", db.cfg.REST != nil, db.cfg.Direct != nil)
}

// New makes a DB. It starts nothing and opens no connection: see [DB.Start].
func New(cfg Config) (*DB, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	db := &DB{cfg: cfg}
	db.checker, _ = cfg.REST.(Checker)
	db.forward, _ = forwardHeaders(cfg.ForwardHeaders)
	return db, nil
}

// Start does what the backends have to do before their first call. A DB works
// without it too; its first calls are then slower. So an error need not end the
// program: a path that can't connect tries again at its next call, and the other
// path works meanwhile.
func (db *DB) Start(ctx context.Context) error {
	for _, b := range []Backend{db.cfg.REST, db.cfg.Direct} {
		if s, ok := b.(Starter); ok {
			if err := s.Start(ctx); err != nil {
				return fmt.Errorf("dbaccess: start: %w", err)
			}
		}
	}
	return nil
}

// Close closes both backends, waiting for running calls until ctx ends. Calls
// made afterwards fail with ErrClosed. Closing again does nothing.
func (db *DB) Close(ctx context.Context) error {
	db.close.Do(func() {
		db.closed.Store(true)
		var errs []error
		for _, b := range []Backend{db.cfg.REST, db.cfg.Direct} {
			if b != nil {
				errs = append(errs, b.Close(ctx))
			}
		}
		db.cerr = errors.Join(errs...)
	})
	return db.cerr
}

// call is one verb at work.
type call struct {
	db    *DB
	verb  string
	spec  query.Spec
	start time.Time
	sent  Call
	// within is the context of what happens in the call.
	within callContext
}

// run routes the call, sends it and hands the result to decode, whose time is
// part of the call. Errors come back as an *Error that names path and query.
func (c *call) run(ctx context.Context, decode func(*Result) error) (*Result, error) {
	db := c.db
	if db.closed.Load() {
		return nil, c.fail("", ErrClosed)
	}
	id, err := db.identity(ctx)
	if err != nil {
		return nil, c.fail("", err)
	}
	headers, err := db.forwarded(ctx)
	if err != nil {
		return nil, c.fail("", err)
	}
	if db.checker != nil {
		if err := db.checker.Check(&c.spec); err != nil {
			return nil, c.fail("", err)
		}
	}
	var routed Routed
	var backend Backend
	if tx := transactionOf(ctx); tx == nil {
		routed, backend = db.route(ctx, id, c.spec.Name)
	} else if err := tx.allows(db, id); err != nil {
		return nil, c.fail("", err)
	} else {
		routed, backend = tx.routed, tx.backend
	}
	c.within.Context = ctx
	ctx = &c.within
	start := CallStart{Verb: c.verb, Query: &c.spec, Name: c.spec.Name, Route: routed, Role: id.Role, Start: c.start}
	ctx = db.tell(ctx, start)

	c.sent = Call{Query: &c.spec, Identity: id, Headers: headers}
	res, err := backend.Do(ctx, &c.sent)
	received := db.cfg.now()
	if err == nil && res == nil {
		err = errors.New("the backend answered nothing")
	}
	if err == nil && decode != nil {
		err = decode(res)
	}
	end := db.cfg.now()
	if err != nil {
		err = c.fail(routed.Path, err)
	}
	if len(db.cfg.Observers) > 0 {
		e := CallEnd{CallStart: start, End: end, Rows: -1, Err: err}
		var phases []Phase
		if res != nil {
			e.Rows, e.Bytes, e.Status, e.Conn = res.Rows, len(res.Body), res.Status, res.Conn
			phases = res.Phases
		}
		e.Phases = contiguous(phases, c.start, received, end)
		if ee, ok := errors.AsType[*Error](err); ok && e.Status == 0 {
			e.Status = ee.HTTPStatus
		}
		db.tellEnd(ctx, e)
	}
	return res, err
}

// contiguous makes a backend's phases cover the whole call: the facade's own work
// before them counts as preparing, whatever follows them as decoding.
func contiguous(phases []Phase, start, received, end time.Time) []Phase {
	all := make([]Phase, 0, len(phases)+2)
	sent := received
	if len(phases) > 0 {
		sent = phases[0].Start
	}
	if len(phases) > 0 && phases[0].Name == PhasePrepare {
		first := phases[0]
		first.Start, first.Duration = start, first.Duration+first.Start.Sub(start)
		all = append(append(all, first), phases[1:]...)
	} else {
		all = append(append(all, Phase{Name: PhasePrepare, Start: start, Duration: sent.Sub(start)}), phases...)
	}
	last := all[len(all)-1]
	received = last.Start.Add(last.Duration)
	return append(all, Phase{Name: PhaseDecode, Start: received, Duration: end.Sub(received)})
}

// identity returns who the call acts as.
func (db *DB) identity(ctx context.Context) (auth.Identity, error) {
	id, ok := auth.From(ctx)
	if !ok && auth.IsService(ctx) {
		if db.cfg.Service == nil {
			return auth.Identity{}, ErrNoService
		}
		return *db.cfg.Service, nil // validated by New
	}
	if !ok {
		if db.cfg.Default == nil {
			return auth.Identity{}, ErrNoIdentity
		}
		return *db.cfg.Default, nil // validated by New
	}
	return id, id.Validate()
}

// route picks the path and its backend, taking the other one where the path
// chosen isn't configured.
func (db *DB) route(ctx context.Context, id auth.Identity, name string) (Routed, Backend) {
	d := decide(ctx, db.cfg.Router, func() string {
		if s := id.Subject(); s != "" {
			return s
		}
		return SubjectFrom(ctx)
	}, name)
	r := Routed{Decision: d, Path: d.Path, Reason: d.Reason}
	if qr, ok := db.cfg.Router.(QueryRouter); ok && name != "" {
		if p, reason := qr.PathFor(d, name); p.Valid() && p != r.Path {
			r.Path, r.Reason = p, reason
		}
	}
	b := db.backend(r.Path)
	if b == nil {
		r.Reason = "fallback: " + string(r.Path) + " is not configured"
		r.Path = r.Path.other()
		b = db.backend(r.Path)
	}
	return r, b
}

func (db *DB) backend(p Path) Backend {
	if p == REST {
		return db.cfg.REST
	}
	return db.cfg.Direct
}

// fail gives err the call's names, keeping what a backend said.
func (c *call) fail(p Path, err error) error {
	name := c.spec.Name
	if name == "" {
		name = c.spec.Summary()
	}
	if e, ok := errors.AsType[*Error](err); ok {
		named := *e
		if u, ok := errors.AsType[*query.UnsupportedError](err); ok {
			named.Kind, named.Advice = ErrUnsupported, u.Node+": "+u.Reason
		}
		named.Path, named.Op, named.Query = p, c.spec.Op.String(), name
		return &named
	}
	e := Error{Path: p, Op: c.spec.Op.String(), Query: name}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		e.Kind = ErrTimeout
	case errors.Is(err, context.Canceled):
		e.Kind = context.Canceled
	default:
		for _, k := range []error{ErrClosed, ErrNoIdentity, ErrNoService, ErrTruncated} {
			if errors.Is(err, k) {
				e.Kind = k
			}
		}
		if e.Kind == ErrNoIdentity {
			e.Code, e.HTTPStatus = codeAnonymous, 401
		}
		if u, ok := errors.AsType[*query.UnsupportedError](err); ok {
			e.Kind, e.Advice = ErrUnsupported, u.Node+": "+u.Reason
		} else if e.Kind == nil {
			e.Advice = err.Error()
		}
	}
	return e.With(ServerText{}, err)
}

// codeAnonymous is PostgREST's code for a request without a token where anonymous
// access is off.
const codeAnonymous = "PGRST302"

// defaultRouter sends everything one way.
type defaultRouter struct{ path Path }

func (r defaultRouter) Route(context.Context, RouteRequest) Decision {
	return Decision{Path: r.path, Variant: string(r.path), Reason: "default"}
}
