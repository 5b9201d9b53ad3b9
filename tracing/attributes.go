package tracing

import (
	"math"
	"strings"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/tracing/internal/outcome"
	"github.com/twinpath/twinpath/tracing/internal/spans"
)

// attributes describes a call by names and numbers. Those of the db namespace
// come in both generations, because different parts of Sentry read different
// ones.
// Source: https://getsentry.github.io/sentry-conventions/attributes/db/
func (o *Observer) attributes(e *dbaccess.CallEnd, summary string, out outcome.Outcome) map[string]any {
	const fixed = 24 // more than the fixed ones below
	m := make(map[string]any, fixed+len(e.Phases))
	m["db.system"] = "postgresql"
	m["db.system.name"] = "postgresql"
	op, table := operation(e)
	m["db.operation"] = op
	m["db.operation.name"] = op
	if table != "" {
		m["db.collection.name"] = table
	}
	m["db.query.summary"] = summary
	if e.Name != "" {
		m["db.query.name"] = e.Name
	}

	m["db.access_path"] = pathText(e.Route.Path)
	m["db.access_path.reason"] = reasonText(e.Route.Reason)
	if v := e.Route.Variant; v != "" {
		m["db.access_path.variant"] = pathText(dbaccess.Path(v)) // often a path's name
	}
	if f := e.Route.Flag; f != "" {
		// The flag asks whether to go direct; the call may have been told
		// otherwise, for its query or for want of a backend.
		m[o.flagKey(f)] = e.Route.Decision.Path == dbaccess.Direct
	}

	if e.Rows >= 0 {
		m["db.response.returned_rows"] = e.Rows
	}
	if e.Bytes > 0 {
		m["db.response.body.size"] = e.Bytes
	}
	if e.Status != 0 {
		m["http.response.status_code"] = e.Status
	}
	if out.Code != "" {
		m["db.response.status_code"] = out.Code
	}
	if out.ErrorType != "" {
		m["error.type"] = out.ErrorType
	}
	if e.Conn != dbaccess.ConnUnknown {
		m["db.connection"] = connText(e.Conn)
	}
	requests, retries := repeats(e)
	if requests > 0 {
		m["http.request.count"] = requests
	}
	if retries > 0 {
		m["db.retries"] = retries
	}
	for i := range e.Phases {
		p := &e.Phases[i]
		addPhase(m, phaseKey(p.Name), p.Duration)
		addParts(m, p)
	}
	return m
}

// operation is what a call does, and to which table or function.
func operation(e *dbaccess.CallEnd) (op any, table string) {
	switch {
	case e.SQL != nil:
		return e.SQL.Operation, e.SQL.Table
	case e.Query.Schema != "":
		return opText(e.Query.Op), e.Query.Schema + "." + e.Query.From
	}
	return opText(e.Query.Op), e.Query.From
}

// repeats counts the requests of a call that was sent in several, 0 for any other,
// and how often it was tried again: on the direct path because the schema had
// changed, on the other because a kept connection had died. The phases tell.
func repeats(e *dbaccess.CallEnd) (requests, retries int) {
	acquired := 0
	for i := range e.Phases {
		switch e.Phases[i].Name {
		case dbaccess.PhaseAcquire:
			acquired++
		case dbaccess.PhaseSend:
			requests++
		}
	}
	switch {
	case e.Route.Path == dbaccess.Direct:
		return 0, max(0, acquired-1)
	case requests > 1:
		return requests, 0
	case e.Conn == dbaccess.ConnQueued:
		return 0, 0 // it acquired for want of a connection
	}
	return 0, acquired
}

// addParts adds the durations of what a phase is divided into, under its name.
func addParts(m map[string]any, p *dbaccess.Phase) {
	if len(p.Children) == 0 {
		return
	}
	prefix := phasePrefix + keyText(p.Name) + "."
	for i := range p.Children {
		c := &p.Children[i]
		addPhase(m, prefix+keyText(c.Name)+phaseSuffix, c.Duration)
		addParts(m, c)
	}
}

// addPhase adds up the durations of phases of one name: a call that was tried
// again, or sent in parts, has several.
func addPhase(m map[string]any, key string, d time.Duration) {
	if before, ok := m[key].(float64); ok {
		// In microseconds, which is what Milliseconds keeps: sums of fractions drift.
		d += time.Duration(math.Round(before*1000)) * time.Microsecond
	}
	m[key] = spans.Milliseconds(d)
}

// flagKey is the attribute for a flag's value. A process has one flag for the
// path, as a rule, so the last key is kept.
func (o *Observer) flagKey(flag string) string {
	const prefix = "flag.evaluation."
	if k := o.lastFlagKey.Load(); k != nil && (*k)[len(prefix):] == flag {
		return *k
	}
	k := prefix + flag
	o.lastFlagKey.Store(&k)
	return k
}

// The functions below return constants where they can, which cost no allocation
// to put into an interface.

func opText(op query.Op) any {
	if op == query.OpSelect {
		return "select"
	}
	return op.String()
}

func connText(c dbaccess.ConnClass) any {
	switch c {
	case dbaccess.ConnIdle:
		return "idle"
	case dbaccess.ConnQueued:
		return "queued"
	case dbaccess.ConnNew:
		return "new"
	}
	return string(c)
}

func reasonText(reason string) any {
	switch reason {
	case "default":
		return "default"
	case "fixed":
		return "fixed"
	case "percent":
		return "percent"
	}
	return reason
}

func pathText(p dbaccess.Path) any {
	switch p {
	case dbaccess.REST:
		return "rest"
	case dbaccess.Direct:
		return "direct"
	}
	return string(p)
}

const (
	phasePrefix = "db.phase."
	phaseSuffix = "_ms"
)

// phaseKey is the attribute for a phase's duration in milliseconds.
func phaseKey(name string) string {
	switch name { // the usual ones without building a string
	case dbaccess.PhasePrepare:
		return phasePrefix + dbaccess.PhasePrepare + phaseSuffix
	case dbaccess.PhaseCatalog:
		return phasePrefix + dbaccess.PhaseCatalog + phaseSuffix
	case dbaccess.PhaseAcquire:
		return phasePrefix + dbaccess.PhaseAcquire + phaseSuffix
	case dbaccess.PhaseDNS:
		return phasePrefix + dbaccess.PhaseDNS + phaseSuffix
	case dbaccess.PhaseConnect:
		return phasePrefix + dbaccess.PhaseConnect + phaseSuffix
	case dbaccess.PhaseTLS:
		return phasePrefix + dbaccess.PhaseTLS + phaseSuffix
	case dbaccess.PhaseNetwork:
		return phasePrefix + "network_pooler" + phaseSuffix
	case dbaccess.PhaseDatabase:
		return phasePrefix + dbaccess.PhaseDatabase + phaseSuffix
	case dbaccess.PhaseRows:
		return phasePrefix + dbaccess.PhaseRows + phaseSuffix
	case dbaccess.PhaseSend:
		return phasePrefix + dbaccess.PhaseSend + phaseSuffix
	case dbaccess.PhaseWait:
		return phasePrefix + dbaccess.PhaseWait + phaseSuffix
	case dbaccess.PhaseBody:
		return phasePrefix + dbaccess.PhaseBody + phaseSuffix
	case dbaccess.PhaseDecode:
		return phasePrefix + dbaccess.PhaseDecode + phaseSuffix
	}
	return phasePrefix + keyText(name) + phaseSuffix
}

// keyText makes a phase's name fit for a key.
func keyText(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '.' {
			return r
		}
		return '_'
	}, name)
}
