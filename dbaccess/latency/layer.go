package latency

import (
	"strings"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
)

// Layers is a call's time, or that of several calls, by what took it. The layers
// add up to the whole.
type Layers struct {
	// App is the facade, the compiler and the decoder, and phases of a backend that
	// is neither rest nor direct. A first query on direct that has to wait for the
	// schema to be read, over a connection that may have to be made, waits here:
	// it is the compiler that waits. So does an application's function in a
	// transaction, whose statements are calls of their own.
	App time.Duration
	// Pool is coming by a connection: the wait for one, and making one (names, TCP,
	// TLS, authentication).
	Pool time.Duration
	// Network is the way there and back: on direct the pooler's queue is part of it,
	// and the round trips that begin a transaction, describe a statement of it, or
	// roll it back.
	Network time.Duration
	// PostgREST is its own account of checking the token, parsing, planning and
	// writing the answer. Where it gives none (Server-Timing is off, or PostgREST is
	// older than 14.2), it is all that passed between the request and the answer,
	// the network and the database included.
	PostgREST time.Duration
	// Database is, on direct, the time between the first and the last statement by
	// the server's clock, and the round trip that commits a transaction. On rest it
	// is PostgREST's account of its transaction, its trips to the database and its
	// wait for a connection included.
	Database time.Duration
}

// Sum is the whole.
func (l *Layers) Sum() time.Duration {
	return l.App + l.Pool + l.Network + l.PostgREST + l.Database
}

// LayersOf divides the time of phases. A phase whose children don't fill it keeps
// the rest for itself.
func LayersOf(phases []dbaccess.Phase) Layers {
	var l Layers
	l.add(phases)
	return l
}

func (l *Layers) add(phases []dbaccess.Phase) {
	for i := range phases {
		p := &phases[i]
		own := p.Duration
		for j := range p.Children {
			own -= p.Children[j].Duration
		}
		l.add(p.Children)
		*l.of(p) += own
	}
}

// postgrest begins the names of the phases that PostgREST tells.
const postgrest = "postgrest."

func (l *Layers) of(p *dbaccess.Phase) *time.Duration {
	switch p.Name {
	case dbaccess.PhaseAcquire, dbaccess.PhaseQueue, dbaccess.PhaseDNS, dbaccess.PhaseConnect, dbaccess.PhaseTCP, dbaccess.PhaseTLS, dbaccess.PhaseStartup:
		return &l.Pool
	case dbaccess.PhaseNetwork, dbaccess.PhaseRows, dbaccess.PhaseSend, dbaccess.PhaseBody,
		dbaccess.PhaseBegin, dbaccess.PhaseRollback, dbaccess.PhaseDescribe:
		return &l.Network
	case dbaccess.PhaseDatabase, dbaccess.PhaseCommit, postgrest + "transaction":
		return &l.Database
	case dbaccess.PhaseWait:
		if len(p.Children) > 0 {
			return &l.Network // what PostgREST did not account for
		}
		return &l.PostgREST
	}
	if strings.HasPrefix(p.Name, postgrest) {
		return &l.PostgREST
	}
	return &l.App
}

func (l *Layers) plus(o *Layers) {
	l.App += o.App
	l.Pool += o.Pool
	l.Network += o.Network
	l.PostgREST += o.PostgREST
	l.Database += o.Database
}

// LayerMillis is [Layers] in milliseconds, in the order in which a call meets
// them.
type LayerMillis struct {
	App       float64 `json:"app"`
	Pool      float64 `json:"pool"`
	Network   float64 `json:"network+pooler"`
	PostgREST float64 `json:"postgrest"`
	Database  float64 `json:"database"`
}

func (l *Layers) millis() LayerMillis {
	return LayerMillis{App: millis(l.App), Pool: millis(l.Pool), Network: millis(l.Network), PostgREST: millis(l.PostgREST), Database: millis(l.Database)}
}

// millis is d in milliseconds, to the microsecond.
func millis(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond)) / float64(time.Millisecond)
}
