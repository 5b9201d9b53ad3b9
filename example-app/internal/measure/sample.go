package measure

import (
	"time"

	"github.com/twinpath/twinpath/dbaccess/latency"
)

// Sample is one answer of a probe, or what came instead.
type Sample struct {
	Mode     string
	Round    int       // counted from 0, the warm-up's apart
	WarmUp   bool      // not counted in any statistics
	Position int       // in its round's random order, from 0
	Intended time.Time // when the request should have begun; what Start is, unless the shape is Rate
	Start    time.Time

	// Client is the time from a connection on to the answer's last byte, by this side's clock.
	Client time.Duration
	// Delay is how much later than intended the request began.
	Delay time.Duration
	// Connect is the time that this side took for a connection. Reconnected means that this was
	// after the warm-up, and that it had had one.
	Connect     time.Duration
	Reconnected bool

	Status int // HTTP status, 0 when there was none
	Err    *Failure

	Server, ClientCreate, ClientClose float64 // ms; Server is the main figure
	Layers                            latency.LayerMillis
	// Handshakes is the time the app took to make connections to the database's side, in ms.
	Handshakes     float64
	NewConnections int // that the app made
	Cold           bool
	Idle           *float64 // ms that the mode had not been probed
	ProcessAge     float64  // ms
	StandIn        bool     // the answer came from a stand-in for PostgREST
}

// OK says whether it counts.
func (s *Sample) OK() bool { return s.Err == nil }

// Corrected is the client's time from the moment on at which the request should have begun: what waits
// behind a slow answer pays for it (the correction for coordinated omission).
func (s *Sample) Corrected() time.Duration { return s.Client + s.Delay }

// Failure is why a sample doesn't count. Its text is for people and holds nothing that could be taken
// for a terminal's commands.
type Failure struct {
	Kind FailureKind
	Text string
}

// Error implements error.
func (f *Failure) Error() string { return f.Text }

// FailureKind is a kind of failure.
type FailureKind string

// Kinds of failures.
const (
	NoAnswer    FailureKind = "no answer"    // refused, reset, timed out
	NotAProbe   FailureKind = "not a probe"  // what came is no probe's answer
	UnknownMode FailureKind = "unknown mode" // the app has no such mode
	Busy        FailureKind = "busy"         // 429
	Failed      FailureKind = "failed"       // the probe says that a query failed
)
