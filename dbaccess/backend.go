package dbaccess

import (
	"context"
	"net/http"
	"time"

	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// Backend is one path to the database. Packages rest and direct have the two
// that matter; tests may have their own.
type Backend interface {
	// Do runs one call. The error is an *[Error], or the context's. The result
	// is not nil when the error is, and may be not nil beside an error, to tell
	// the phases that led to it.
	Do(ctx context.Context, c *Call) (*Result, error)
	// Close gives up the backend's connections. It waits for running calls until
	// ctx ends.
	Close(ctx context.Context) error
}

// Starter is a [Backend] that has work to do before its first call, such as
// opening connections. [DB.Start] calls it.
type Starter interface {
	Start(ctx context.Context) error
}

// Checker is a [Backend] that can't send every query. The facade asks it about a
// call whichever path the call takes, so that both refuse the same.
type Checker interface {
	// Check returns an *query.UnsupportedError for a query that can't be sent.
	Check(s *query.Spec) error
}

// PoolReporter is a [Backend] that keeps connections and can count them.
type PoolReporter interface {
	PoolStats() PoolStats
}

// PoolStats tells what a backend's connections are doing, and have done since it
// was made. Counters only grow.
type PoolStats struct {
	Max        int // connections that the pool may have; 0 when it has no limit
	Idle       int // open, and free
	InUse      int // lent to a call
	Connecting int // in the making

	Acquired int64         // times a connection was lent
	Queued   int64         // times that a call had to wait for one
	Wait     time.Duration // all those waits together
	Canceled int64         // waits that ended without a connection
	New      int64         // connections made
	Replaced int64         // connections found dead and made anew without their call failing
	Closed   int64         // connections closed for their age, their idleness or an error
}

// Call is what a backend is asked to do.
type Call struct {
	Query    *query.Spec   // with an explicit select list where the verb wants one
	Identity auth.Identity // valid, see auth.Identity.Validate
	// Headers are those of the caller's own request that Config.ForwardHeaders
	// lets through, with canonical names, Cookie among them; nil for none. REST
	// sends them as headers of its request, direct puts them into request.headers
	// and request.cookies, where PostgREST would. Read-only.
	Headers http.Header
}

// Result is a backend's answer.
type Result struct {
	Body   []byte // rows as PostgREST writes them: a JSON array, or an object for a single row
	Rows   int64  // rows in Body; -1 when unknown
	Total  int64  // matching rows, when the query counts; -1 when not counted
	Status int    // the HTTP status that PostgREST answers, on both paths

	Phases []Phase   // contiguous, in order, from the call's start to the last byte
	Conn   ConnClass // how the call came by its connection
}

// Phase is a stretch of a call's time. The phases of a call follow each other
// without gaps, so that every delay is in exactly one.
type Phase struct {
	Name     string
	Start    time.Time
	Duration time.Duration
	// Placed marks a phase whose length was told by the other side without a
	// clock in common: its length is measured, its place is not.
	Placed   bool
	Children []Phase // a finer division of the phase, contiguous as well
}

// Names of phases. Which of them a call has depends on its path and on whether
// it made a connection.
const (
	PhasePrepare = "prepare" // facade and compiler, before anything is sent
	PhaseCatalog = "catalog" // direct: reading the database's schema, which the first queries that need it wait for
	PhaseAcquire = "acquire" // direct: coming by a connection; the parent of queue and connect where one is made
	PhaseQueue   = "queue"   // direct: waiting for a place in the pool
	PhaseDNS     = "dns"     // resolving the server's name
	PhaseConnect = "connect" // TCP handshake; on direct the parent of dns, tcp, tls, startup
	PhaseTCP     = "tcp"
	PhaseTLS     = "tls"
	PhaseStartup = "startup" // direct: authentication and session start

	PhaseNetwork  = "network+pooler" // direct: on the wire and queued in the pooler
	PhaseDatabase = "database"       // direct: between the first and the last statement, by the server's clock
	PhaseRows     = "rows"           // direct: from the first byte of the answer to its last

	PhaseSend = "send" // rest: writing the request
	PhaseWait = "wait" // rest: from the request's last byte to the answer's first
	PhaseBody = "body" // rest: from the answer's first byte to its last

	PhaseDecode = "decode" // JSON to Go values

	// Those of a transaction, and of the statements in it.
	PhaseDescribe = "describe" // asking for the types of a statement
	PhaseBegin    = "begin"    // BEGIN, with the caller's settings
	PhaseWork     = "work"     // the application's function
	PhaseCommit   = "commit"   // COMMIT, deferred constraints included
	PhaseRollback = "rollback" // ROLLBACK
	PhaseBackoff  = "backoff"  // before the function is run again
)

// ConnClass says how a call came by its connection.
type ConnClass string

// The classes.
const (
	ConnUnknown ConnClass = ""
	ConnIdle    ConnClass = "idle"   // one was free
	ConnQueued  ConnClass = "queued" // waited for another call to give one back
	ConnNew     ConnClass = "new"    // had to be made
)
