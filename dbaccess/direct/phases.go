package direct

import (
	"time"

	"github.com/twinpath/twinpath/dbaccess"
)

// timeline is when a call passed its steps, zero for those it didn't reach.
type timeline struct {
	start, catalog, prepared, acquired, answered, end time.Time
	database                                          time.Duration // by the server's clock
}

// phases closes the timeline and tells it, without gaps from start to end.
func (t *try) phases() []dbaccess.Phase {
	if t.end.IsZero() {
		t.end = time.Now()
	}
	p := t.room[:0:len(t.room)]
	at := t.start
	add := func(name string, until time.Time, placed bool) {
		p = append(p, dbaccess.Phase{Name: name, Start: at, Duration: until.Sub(at), Placed: placed})
		at = until
	}
	until := func(step time.Time) time.Time {
		if step.IsZero() {
			return t.end
		}
		return step
	}
	if t.catalog.IsZero() {
		add(dbaccess.PhasePrepare, until(t.prepared), false)
	} else {
		add(dbaccess.PhasePrepare, t.catalog, false)
		add(dbaccess.PhaseCatalog, until(t.prepared), false)
	}
	if t.prepared.IsZero() {
		return p
	}
	add(dbaccess.PhaseAcquire, until(t.acquired), false)
	if c := t.conn.connecting.Load(); c != nil {
		acquire := &p[len(p)-1]
		acquire.Children = connectPhases(acquire.Start, at, c.times())
	}
	if t.acquired.IsZero() {
		return p
	}
	answered := until(t.answered)
	database := min(max(t.database, 0), answered.Sub(t.acquired))
	add(dbaccess.PhaseNetwork, answered.Add(-database), false)
	if t.answered.IsZero() {
		return p
	}
	add(dbaccess.PhaseDatabase, answered, true)
	add(dbaccess.PhaseRows, t.end, false)
	return p
}

// connectPhases divides the stretch of an acquisition that made a connection.
// One that is not finished ends in the step that it is in.
func connectPhases(start, end time.Time, t connectTimes) []dbaccess.Phase {
	if t.start.After(end) {
		return nil
	}
	var p []dbaccess.Phase
	if t.start.Sub(start) > time.Millisecond {
		p = append(p, dbaccess.Phase{Name: dbaccess.PhaseQueue, Start: start, Duration: t.start.Sub(start)})
		start = t.start
	}
	connect := dbaccess.Phase{Name: dbaccess.PhaseConnect, Start: start, Duration: end.Sub(start)}
	at := start
	for _, s := range []struct {
		name string
		done time.Time
	}{
		{dbaccess.PhaseDNS, t.dns},
		{dbaccess.PhaseTCP, t.tcp},
		{dbaccess.PhaseTLS, t.tls},
	} {
		if s.done.IsZero() || s.done.After(end) || s.done.Before(at) {
			continue
		}
		connect.Children = append(connect.Children, dbaccess.Phase{Name: s.name, Start: at, Duration: s.done.Sub(at)})
		at = s.done
	}
	last := dbaccess.PhaseStartup
	if t.tcp.IsZero() || t.tcp.After(end) {
		last = dbaccess.PhaseTCP // still dialling, names included
	}
	connect.Children = append(connect.Children, dbaccess.Phase{Name: last, Start: at, Duration: end.Sub(at)})
	return append(p, connect)
}
