package rest

import (
	"strconv"
	"strings"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
)

// phasePrefix goes before the name of a phase that PostgREST told.
const phasePrefix = "postgrest."

// serverPhases are the phases that PostgREST tells, in the order in which they
// happen.
var serverPhases = [...]string{"jwt", "parse", "plan", "transaction", "response"}

// rounding is by how much PostgREST's five figures, in tenths of a millisecond,
// may exceed the truth together.
const rounding = len(serverPhases) * int(50*time.Microsecond)

// parseServerTiming reads PostgREST's header into the phases of wait. Their
// lengths are PostgREST's own; they are placed in the middle of wait, as if the
// way there took as long as the way back. It returns nil where the header is
// another server's, is malformed, or tells more time than there was.
//
// Source for the form: https://docs.postgrest.org/en/stable/references/observability.html#server-timing-header
func parseServerTiming(header string, wait dbaccess.Phase) []dbaccess.Phase {
	var durations [len(serverPhases)]time.Duration
	var seen [len(serverPhases)]bool
	var sum time.Duration
	found := false
	for metric := range strings.SplitSeq(header, ",") {
		name, params, _ := strings.Cut(metric, ";")
		i := serverPhase(strings.TrimSpace(name))
		if i < 0 {
			continue // a gateway's
		}
		d, ok := timingDuration(params)
		if !ok || seen[i] {
			return nil
		}
		durations[i], seen[i], found = d, true, true
		sum += d
	}
	if !found || sum > wait.Duration+time.Duration(rounding) {
		return nil
	}
	excess := max(0, sum-wait.Duration)
	at := wait.Start.Add(max(0, wait.Duration-sum) / 2)
	phases := make([]dbaccess.Phase, 0, len(serverPhases))
	for i, d := range durations {
		if !seen[i] {
			continue
		}
		cut := min(d, excess)
		d, excess = d-cut, excess-cut
		phases = append(phases, dbaccess.Phase{Name: phasePrefix + serverPhases[i], Start: at, Duration: d, Placed: true})
		at = at.Add(d)
	}
	return phases
}

func serverPhase(name string) int {
	for i, p := range serverPhases {
		if p == name {
			return i
		}
	}
	return -1
}

// timingDuration reads the parameter dur, in milliseconds.
func timingDuration(params string) (time.Duration, bool) {
	for p := range strings.SplitSeq(params, ";") {
		v, ok := strings.CutPrefix(strings.TrimSpace(p), "dur=")
		if !ok {
			continue
		}
		ms, err := strconv.ParseFloat(v, 64)
		if err != nil || !(ms >= 0 && ms < 1e9) { // NaN is refused too
			return 0, false
		}
		return time.Duration(ms * float64(time.Millisecond)), true
	}
	return 0, false
}
