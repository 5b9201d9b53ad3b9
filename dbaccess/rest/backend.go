package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/supabase-community/postgrest-go"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// Backend runs calls through PostgREST. It is safe for concurrent use.
type Backend struct {
	cfg    *Config // a pointer, behind which fmt does not look
	base   *url.URL
	client string // the server without a path, which postgrest-go would unescape
	parent http.RoundTripper
	own    *http.Transport // parent, when the backend made it
	roles  roleCache       // of tokens

	mu      sync.Mutex
	running int
	closed  bool
	drained chan struct{} // closed when the last call ends after Close
}

var _ dbaccess.Backend = (*Backend)(nil)

// New makes a backend. It opens no connection. Its error names everything that
// is wrong with the config.
func New(cfg Config) (*Backend, error) {
	base, err := cfg.validate()
	if err != nil {
		return nil, err
	}
	cfg = cfg.WithDefaults()
	b := &Backend{cfg: &cfg, base: base, client: (&url.URL{Scheme: base.Scheme, Host: base.Host}).String(), parent: cfg.Transport, drained: make(chan struct{}), roles: newRoleCache(cfg.RoleClaim)}
	if b.parent == nil {
		b.own = newTransport()
		b.parent = b.own
	}
	return b, nil
}

// Do runs one call, in one request unless its URL would be too long: see
// Config.MaxURLBytes. No write is sent twice. The result is not nil beside an error either, once the
// request has been made: it tells the phases, the status and, for a window
// past the end, the total.
func (b *Backend) Do(ctx context.Context, c *dbaccess.Call) (*dbaccess.Result, error) {
	res, err := b.do(ctx, c)
	if e, ok := errors.AsType[*dbaccess.Error](err); ok {
		e.Op, e.Query = c.Query.Op.String(), c.Query.Name
		if e.Query == "" {
			e.Query = c.Query.Summary()
		}
	}
	return res, err
}

func (b *Backend) do(ctx context.Context, c *dbaccess.Call) (*dbaccess.Result, error) {
	start := time.Now()
	if !b.enter() {
		return nil, closedError()
	}
	defer b.leave()

	req, err := compile.REST(c.Query)
	if err != nil {
		return nil, compileError(err)
	}
	parts, err := b.split(c.Query, &req)
	if err != nil {
		return nil, compileError(err)
	}
	how := sending{start: start, forwarded: c.Headers}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, b.cfg.Timeout)
		defer cancel()
		how.bounded = true
	}
	if how.authorization, err = b.authorize(ctx, c.Identity); err != nil {
		return nil, err
	}
	if parts != nil {
		return b.parts(ctx, how, c.Query, parts)
	}
	return b.send(ctx, how, c.Query, req)
}

// send sends one request and reads its answer. The result is never nil.
func (b *Backend) send(ctx context.Context, how sending, q *query.Spec, req compile.Request) (*dbaccess.Result, error) {
	if req.Profile == "" {
		req.Profile = b.cfg.Schema
	}
	if !isHeaderValue(req.Profile) {
		return &dbaccess.Result{Rows: -1, Total: -1}, schemaError()
	}
	x := &exchange{backend: b, ctx: ctx, sending: how, request: req, query: q, writes: mayWrite(q)}
	x.timeline.start = how.start
	client := postgrest.NewClient(b.client, req.Profile, nil)
	client.Transport.Parent = x
	// The exchange sends its own method, path, query, headers and body: the builder
	// is given nothing that it could mangle.
	_, _, err := client.From(placeholder).Select("", "", q.Head).Execute()
	res := x.result(q)
	switch {
	case x.err != nil:
		return res, x.err
	case err != nil: // postgrest-go refused before it came to the exchange
		return res, clientError(err)
	}
	return res, nil
}

// placeholder stands for the table in postgrest-go's builder.
const placeholder = "x"

// String names the backend, without its key.
func (b *Backend) String() string { return "rest.Backend(" + b.base.String() + ")" }

// Format leaves out the key for every verb, %+v and %#v included.
func (b *Backend) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, b.String()) }

func (b *Backend) enter() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.running++
	return true
}

func (b *Backend) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running--
	if b.closed && b.running == 0 {
		close(b.drained)
	}
}

// Close waits for running calls until ctx ends, and closes the idle connections
// of the backend's own transport. Calls that run on keep theirs, at most until
// their deadline; Close then returns the context's error. Calls made afterwards
// fail with dbaccess.ErrClosed. Closing again waits again.
func (b *Backend) Close(ctx context.Context) error {
	b.mu.Lock()
	if !b.closed {
		b.closed = true
		if b.running == 0 {
			close(b.drained)
		}
	}
	b.mu.Unlock()

	var err error
	select {
	case <-b.drained:
	case <-ctx.Done():
		select {
		case <-b.drained: // a ctx that had ended before still finds nothing to wait for
		default:
			err = ctx.Err()
		}
	}
	if b.own != nil {
		b.own.CloseIdleConnections()
	}
	return err
}
