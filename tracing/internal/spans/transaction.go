package spans

import (
	"context"
	"sync"
	"time"

	"github.com/getsentry/sentry-go"
)

// Transaction is a Sentry transaction with a bound on the spans that this
// module puts under it. It is safe for concurrent use, and calls that outlive it
// leave no trace in it.
type Transaction struct {
	root     *sentry.Span
	sampled  bool
	decision sentry.Sampled // root's, which the SDK may change at the end
	ctx      context.Context

	mu         sync.Mutex
	ended      bool
	left       int // spans that may still be made
	dropped    int
	droppedFor time.Duration
	onQuietHub context.Context // of the root, see quiet
	hub        *sentry.Hub
	headers    Headers // once made
}

type transactionKey struct{}

// NewTransaction takes over a root span. limit is the number of spans that may
// be put under it; below zero it is not limited.
func NewTransaction(root *sentry.Span, limit int) *Transaction {
	if limit < 0 {
		limit = int(^uint(0) >> 1)
	}
	t := &Transaction{root: root, sampled: root.Sampled == sentry.SampledTrue, decision: root.Sampled, left: limit}
	t.ctx = context.WithValue(root.Context(), transactionKey{}, t)
	return t
}

// Context is the context to work in: its spans become the transaction's.
func (t *Transaction) Context() context.Context { return t.ctx }

// Root is the transaction's root span. It must not be changed after Finish.
func (t *Transaction) Root() *sentry.Span { return t.root }

// Sampled says whether the transaction is going to be sent.
func (t *Transaction) Sampled() bool { return t.sampled }

// Finish ends the transaction and sends it. Spans of this module that end later
// are left out. Finishing again does nothing.
func (t *Transaction) Finish() {
	t.mu.Lock()
	ended := t.ended
	t.ended = true
	dropped, droppedFor := t.dropped, t.droppedFor
	t.mu.Unlock()
	if ended {
		return
	}
	if dropped > 0 {
		t.root.SetData("db.spans_dropped", dropped)
		t.root.SetData("db.spans_dropped_ms", Milliseconds(droppedFor))
	}
	t.root.Finish()
}

// room says what there is room for.
type room uint8

const (
	roomForAll room = iota
	roomForOne      // the span without its descendants
	roomForNone
)

// take takes a span and its n descendants out of the budget, all of them or none.
func (t *Transaction) take(n int) room {
	switch {
	case t.left <= 0:
		return roomForNone
	case t.left <= n:
		t.left--
		return roomForOne
	}
	t.left -= 1 + n
	return roomForAll
}

// quiet returns a context like ctx with a hub of the transaction's own. The SDK
// makes each started span the current one of the hub's scope, and on finish its
// parent: with calls running side by side the errors of one would be attached to
// another.
func (t *Transaction) quiet(ctx context.Context, parent *sentry.Span) context.Context {
	if t.hub == nil {
		client := sentry.CurrentHub().Client()
		if hub := sentry.GetHubFromContext(t.root.Context()); hub != nil {
			client = hub.Client()
		}
		t.hub = sentry.NewHub(client, sentry.NewScope())
		t.onQuietHub = sentry.SetHubOnContext(t.root.Context(), t.hub)
	}
	if parent == t.root {
		return t.onQuietHub
	}
	return sentry.SetHubOnContext(ctx, t.hub)
}

// From returns the transaction that ctx belongs to, nil when there is none.
func From(ctx context.Context) *Transaction { return from(ctx) }

func from(ctx context.Context) *Transaction {
	t, _ := ctx.Value(transactionKey{}).(*Transaction)
	return t
}

// Milliseconds is a duration as attributes have it, exact to the microsecond.
func Milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
