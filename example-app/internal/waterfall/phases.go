package waterfall

import (
	"strings"

	"github.com/twinpath/twinpath/dbaccess"
)

// phaseOp is the op of the spans that package tracing makes of phases.
const phaseOp = "twinpath.phase"

// phaseOf returns the phase that a span stands for, "" when it is none. A part of a phase has its
// own name: "tcp" for "connect: tcp".
func phaseOf(s Span) string {
	if s.Op != phaseOp {
		return ""
	}
	if _, part, ok := strings.Cut(s.Name, ": "); ok {
		return part
	}
	return s.Name
}

// Phases are the names of phases in the order in which legends show them. PostgREST's own account of
// its time goes under names that begin with "postgrest.".
func Phases() []string {
	return []string{
		dbaccess.PhasePrepare, dbaccess.PhaseCatalog, dbaccess.PhaseAcquire, dbaccess.PhaseQueue, dbaccess.PhaseDNS, dbaccess.PhaseConnect, dbaccess.PhaseTCP,
		dbaccess.PhaseTLS, dbaccess.PhaseStartup, dbaccess.PhaseSend, dbaccess.PhaseNetwork, dbaccess.PhaseWait,
		"postgrest.jwt", "postgrest.parse", "postgrest.plan", "postgrest.transaction", "postgrest.response",
		dbaccess.PhaseDatabase, dbaccess.PhaseRows, dbaccess.PhaseBody, dbaccess.PhaseDecode,
	}
}
