package tracing

import (
	"context"

	"github.com/getsentry/sentry-go"

	"github.com/twinpath/twinpath/tracing/internal/spans"
)

// DefaultMaxSpans is how many spans this module puts under one transaction.
// Sentry loses a transaction as a whole when it has too many or becomes too big,
// and does so for the slow requests of all.
const DefaultMaxSpans = 200

// Transaction is a Sentry transaction that calls may run under side by side and
// even outlive. middleware.Sentry makes one for each request; jobs make their
// own:
//
//	tx := tracing.NewTransaction(sentry.StartTransaction(ctx, "nightly import"), tracing.DefaultMaxSpans)
//	defer tx.Finish()
//	rows, err := dbaccess.All[Row](tx.Context(), db, q)
type Transaction struct{ t *spans.Transaction }

// NewTransaction takes over a root span. At most limit spans of this module are
// put under it; the rest is counted and summed up in the root's attributes
// db.spans_dropped and db.spans_dropped_ms. A limit below zero means none.
func NewTransaction(root *sentry.Span, limit int) *Transaction {
	return &Transaction{spans.NewTransaction(root, limit)}
}

// TransactionFrom returns the transaction that ctx belongs to, and whether there
// is one.
func TransactionFrom(ctx context.Context) (*Transaction, bool) {
	if t := spans.From(ctx); t != nil {
		return &Transaction{t}, true
	}
	return nil, false
}

// Context is the context for what belongs to the transaction.
func (t *Transaction) Context() context.Context { return t.t.Context() }

// Root is the transaction's root span. It must not be changed after Finish.
func (t *Transaction) Root() *sentry.Span { return t.t.Root() }

// Sampled says whether the transaction is going to be sent.
func (t *Transaction) Sampled() bool { return t.t.Sampled() }

// Finish ends the transaction and sends it. Calls that end later are left out of
// it. Finishing again does nothing.
func (t *Transaction) Finish() { t.t.Finish() }
