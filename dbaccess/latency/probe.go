package latency

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// ProbeResult is what a probe answers, as JSON. Times are in milliseconds. The
// status is 200 when every query was answered; else 504 for a timeout and 503 for
// any other failure, with what was measured until then and the member error.
type ProbeResult struct {
	Mode string `json:"mode"`
	// ServerTotal is the time of the whole probe in this process: making the client,
	// the queries one after the other, and closing the client.
	ServerTotal float64 `json:"server_total_ms"`
	// ClientCreate is the time that Mode.Open took, 0 without one. A client that
	// connects when it is first used, as those of rest and direct do, pays for its
	// handshakes in the first query, where they are phases of their own.
	ClientCreate float64 `json:"client_create_ms"`
	ClientClose  float64 `json:"client_close_ms"` // closing it again

	Queries []QueryResult `json:"queries"` // in the order in which they ran
	// Layers is the queries' time by layer.
	Layers LayerMillis `json:"layers_ms"`
	// Database is the database's own part of it: see [Layers].
	Database float64 `json:"database_ms"`

	// Cold is true when the mode had not been probed before in this process, or a
	// query had to make a connection.
	Cold           bool `json:"cold"`
	NewConnections int  `json:"new_connections"`
	// Idle is how long the mode had not been probed, null before the first probe.
	Idle       *float64 `json:"idle_ms"`
	ProcessAge float64  `json:"process_age_ms"`

	Error *problem `json:"error,omitempty"`
}

// QueryResult is one query of a probe.
type QueryResult struct {
	Name string  `json:"name"`
	Time float64 `json:"ms"`
	Rows int64   `json:"rows"` // -1 when unknown
	// Conn is how the query came by its connection: idle, queued or new.
	Conn dbaccess.ConnClass `json:"conn,omitempty"`
	// Phases are the times of the phases that package dbaccess names, a finer
	// division behind the name of what it divides: acquire, acquire/connect,
	// acquire/connect/tls. Those without a slash
	// add up to Time, but for rounding.
	Phases map[string]float64 `json:"phases"`
	Layers LayerMillis        `json:"layers_ms"`
}

// HealthResult is what the health endpoints answer, as JSON. The status is as for
// [ProbeResult].
type HealthResult struct {
	Status string `json:"status"`         // "ok" or "failed"
	Mode   string `json:"mode,omitempty"` // of the one with a database call
	// ServerTotal is the time that it took in this process, in milliseconds.
	ServerTotal    float64  `json:"server_total_ms"`
	Cold           bool     `json:"cold,omitempty"`
	NewConnections int      `json:"new_connections"`
	Error          *problem `json:"error,omitempty"`
}

// probeObserver gives a call's end to whoever waits for it.
type probeObserver struct{}

var _ dbaccess.Observer = probeObserver{}

type callEndKey struct{}

func (probeObserver) CallStart(ctx context.Context, _ dbaccess.CallStart) context.Context { return ctx }

func (probeObserver) CallEnd(ctx context.Context, e dbaccess.CallEnd) {
	if to, ok := ctx.Value(callEndKey{}).(*dbaccess.CallEnd); ok {
		*to = e
	}
}

// run is the queries of one request in a mode.
type run struct {
	res    ProbeResult
	layers Layers
	err    error
}

// run makes the mode's client where it has none, runs the queries until one fails
// and closes the client that it made.
func (p *Probes) run(ctx context.Context, m *mode, queries ...query.Query) *run {
	start := time.Now()
	r := &run{res: ProbeResult{Mode: m.name, Queries: make([]QueryResult, 0, len(queries)), ProcessAge: millis(start.Sub(p.cfg.Started))}}
	r.res.Cold = m.begin(start, &r.res.Idle)
	defer m.end()

	db := m.db
	if db == nil {
		b, err := m.Open(ctx)
		if err == nil && b == nil {
			err = errors.New("no backend")
		}
		if err == nil {
			db, err = p.open(m, b)
		}
		created := time.Now()
		r.res.ClientCreate = millis(created.Sub(start))
		if err != nil {
			r.fail(err)
			r.res.ServerTotal = r.res.ClientCreate
			return r
		}
		defer func() {
			closing := time.Now()
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
			defer cancel()
			_ = db.Close(ctx) // of what is given up: it tells nobody anything
			r.res.ClientClose = millis(time.Since(closing))
			r.res.ServerTotal = millis(time.Since(start))
		}()
	}
	for _, q := range queries {
		if err := r.query(ctx, db, m.Path, q); err != nil {
			r.fail(err)
			break
		}
	}
	r.res.Layers = r.layers.millis()
	r.res.Database = r.res.Layers.Database
	r.res.Cold = r.res.Cold || r.res.NewConnections > 0
	r.res.ServerTotal = millis(time.Since(start))
	return r
}

func (r *run) query(ctx context.Context, db *dbaccess.DB, path dbaccess.Path, q query.Query) error {
	var end dbaccess.CallEnd
	ctx = dbaccess.WithDecision(ctx, dbaccess.Decision{Path: path, Variant: string(path), Reason: "probe"})
	_, err := dbaccess.JSON(context.WithValue(ctx, callEndKey{}, &end), db, q)
	if end.Start.IsZero() {
		return err // nothing was sent
	}
	layers := LayersOf(end.Phases)
	r.layers.plus(&layers)
	if end.Conn == dbaccess.ConnNew {
		r.res.NewConnections++
	}
	res := QueryResult{
		Name: end.Name, Time: millis(end.Duration()), Rows: end.Rows, Conn: end.Conn, Phases: map[string]float64{}, Layers: layers.millis(),
	}
	addPhases(res.Phases, "", end.Phases)
	r.res.Queries = append(r.res.Queries, res)
	return err
}

func addPhases(to map[string]float64, above string, phases []dbaccess.Phase) {
	sums := map[string]time.Duration{} // a call that is tried again has phases twice
	for _, p := range phases {
		sums[above+p.Name] += p.Duration
		addPhases(to, above+p.Name+"/", p.Children)
	}
	for name, d := range sums {
		to[name] += millis(d)
	}
}

// fail says why, in words of this module's own: those of another backend, or of
// an Open, may hold anything.
func (r *run) fail(err error) {
	r.err = err
	text := problem{"failed", fmt.Sprintf("the mode's backend could not be made: its error is a %T", err)}
	if e, ok := errors.AsType[*dbaccess.Error](err); ok {
		shown := *e
		shown.Advice = "" // the facade's, but for a backend whose errors aren't as they should be
		text = problem{e.Code, shown.Error()}
	}
	r.res.Error = &text
}

// status is that of the answer.
func (r *run) status() int {
	switch {
	case r.err == nil:
		return http.StatusOK
	case errors.Is(r.err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout
	}
	return http.StatusServiceUnavailable
}

// begin says whether the mode has been probed before, and puts the time since then
// into idle.
func (m *mode) begin(now time.Time, idle **float64) (first bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last.IsZero() {
		return true
	}
	ms := millis(max(now.Sub(m.last), 0))
	*idle = &ms
	return false
}

func (m *mode) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = time.Now()
}

func (p *Probes) probe(ctx context.Context, w http.ResponseWriter, m *mode) {
	r := p.run(ctx, m, p.queries...)
	answerJSON(w, r.status(), &r.res)
}

func (p *Probes) healthApp(w http.ResponseWriter) {
	start := time.Now()
	res := HealthResult{Status: "ok"}
	res.ServerTotal = millis(time.Since(start))
	answerJSON(w, http.StatusOK, res)
}

func (p *Probes) healthDB(ctx context.Context, w http.ResponseWriter, m *mode) {
	r := p.run(ctx, m, p.health)
	res := HealthResult{
		Status: "ok", Mode: m.name, ServerTotal: r.res.ServerTotal, Cold: r.res.Cold, NewConnections: r.res.NewConnections, Error: r.res.Error,
	}
	if r.err != nil {
		res.Status = "failed"
	}
	answerJSON(w, r.status(), res)
}
