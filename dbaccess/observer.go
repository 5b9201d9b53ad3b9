package dbaccess

import (
	"context"
	"time"

	"github.com/twinpath/twinpath/dbaccess/query"
)

// Observer is told about every call. Spans, histograms and shadow comparison are
// observers of this one stream of events. Its methods are called on the caller's
// goroutine and must not block.
type Observer interface {
	// CallStart is called when the path is known and before anything is sent.
	// The context it returns is the call's from then on, and CallEnd's.
	CallStart(ctx context.Context, s CallStart) context.Context
	// CallEnd is called when the rows are decoded or the call failed.
	CallEnd(ctx context.Context, e CallEnd)
}

// CallStart describes a call that begins. But for what Query holds, there is no
// value in it.
type CallStart struct {
	Verb  string      // "All", "One", …; "Tx", "Exec", … of a transaction and of the SQL in it
	Query *query.Spec // read-only. Its filters hold values, which must not leave the process
	// SQL is not nil for what isn't a query of this package: a transaction, and each
	// statement that an application runs in it. Query then has no more than the name
	// and can't be sent.
	SQL   *SQL
	Name  string // the query's name, or "" when it has none: see Summary
	Route Routed
	Role  string // the Postgres role that the call acts as
	Start time.Time
}

// SQL is what may be told about SQL that this package did not write: words of the
// language and names, never its text.
type SQL struct {
	Operation string // "select", "create", "transaction", "batch", …; "other" if unknown
	Table     string // "" unless it is plain to see
}

// Summary says what the call does, free of values and the same for every call of
// one shape: "select filings by ticker". It can name spans and histograms.
func (s *CallStart) Summary() string {
	switch {
	case s.SQL == nil:
		return s.Query.Summary()
	case s.SQL.Table == "":
		return s.SQL.Operation
	}
	return s.SQL.Operation + " " + s.SQL.Table
}

// CallEnd describes a call that ended.
type CallEnd struct {
	CallStart
	End    time.Time
	Phases []Phase // contiguous from Start to End
	Rows   int64   // -1 when unknown
	Bytes  int     // length of the JSON body
	Status int     // HTTP status as PostgREST answers it, 0 when there was none
	Conn   ConnClass
	Err    error // what the caller gets; its text holds no values
}

// Duration is how long the call took, decoding included.
func (e *CallEnd) Duration() time.Duration { return e.End.Sub(e.Start) }
