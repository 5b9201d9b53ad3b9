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
	Verb  string      // "All", "One", …
	Query *query.Spec // read-only. Its filters hold values, which must not leave the process
	Name  string      // the query's name, or "" when it has none: see query.Spec.Summary
	Route Routed
	Role  string // the Postgres role that the call acts as
	Start time.Time
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
