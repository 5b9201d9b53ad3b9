package dbaccess_test

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// fakeBackend answers every call with the same result and remembers what it was
// asked.
type fakeBackend struct {
	body   string
	rows   int64
	total  int64
	err    error
	phases []dbaccess.Phase

	mu      sync.Mutex
	calls   []query.Spec
	ids     []auth.Identity
	headers []http.Header
	inCall  []bool
	closed  int
}

var _ dbaccess.Backend = (*fakeBackend)(nil)

func (b *fakeBackend) Do(ctx context.Context, c *dbaccess.Call) (*dbaccess.Result, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, *c.Query)
	b.ids = append(b.ids, c.Identity)
	b.headers = append(b.headers, c.Headers)
	b.inCall = append(b.inCall, dbaccess.InCall(ctx))
	res := &dbaccess.Result{Body: []byte(b.body), Rows: b.rows, Total: b.total, Status: 200, Phases: b.phases, Conn: dbaccess.ConnIdle}
	return res, b.err
}

func (b *fakeBackend) Close(context.Context) error {
	b.closed++
	return nil
}

func (b *fakeBackend) last(t *testing.T) query.Spec {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.calls) == 0 {
		t.Fatal("the backend was not called")
	}
	return b.calls[len(b.calls)-1]
}

// countingRouter sends calls along the paths given, one after the other.
type countingRouter struct {
	paths []dbaccess.Path
	asked []dbaccess.RouteRequest
}

func (r *countingRouter) Route(_ context.Context, req dbaccess.RouteRequest) dbaccess.Decision {
	p := r.paths[len(r.asked)%len(r.paths)]
	r.asked = append(r.asked, req)
	return dbaccess.Decision{Path: p, Variant: string(p), Reason: "counted"}
}

// recorder keeps the events of every call.
type recorder struct {
	mu     sync.Mutex
	starts []dbaccess.CallStart
	ends   []dbaccess.CallEnd
}

var _ dbaccess.Observer = (*recorder)(nil)

type recorderKey struct{}

func (r *recorder) CallStart(ctx context.Context, s dbaccess.CallStart) context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.starts = append(r.starts, s)
	return context.WithValue(ctx, recorderKey{}, len(r.starts))
}

func (r *recorder) CallEnd(ctx context.Context, e dbaccess.CallEnd) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Value(recorderKey{}) == nil {
		panic("CallEnd got another context than CallStart returned")
	}
	e.Phases = slices.Clone(e.Phases)
	r.ends = append(r.ends, e)
}

func (r *recorder) last(t *testing.T) dbaccess.CallEnd {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ends) == 0 {
		t.Fatal("no call was observed")
	}
	return r.ends[len(r.ends)-1]
}

func mustNew(t *testing.T, cfg dbaccess.Config) *dbaccess.DB {
	t.Helper()
	db, err := dbaccess.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := db.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return db
}

func asAnon(ctx context.Context) context.Context {
	return auth.With(ctx, auth.Identity{Role: "anon"})
}
