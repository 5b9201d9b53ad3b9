package measure_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/latency"
	"github.com/twinpath/twinpath/example-app/internal/measure"
)

// app is an app with probes that answer what they are told to.
type app struct {
	url string

	mu     sync.Mutex
	asked  map[string]int
	modes  []string // in the order in which they were asked
	answer func(mode string, n int) reply
}

// reply is one answer. n counts a mode's requests from 0.
type reply struct {
	result  latency.ProbeResult
	status  int // 0 for 200
	wait    time.Duration
	hangUp  bool // the connection is closed after the answer
	standIn bool
}

// probe is a warm answer of one query that took ms.
func probe(ms float64) reply {
	q := latency.QueryResult{Name: "q", Time: ms, Rows: 1, Conn: dbaccess.ConnIdle, Phases: map[string]float64{"network+pooler": ms / 2, "database": ms / 2}}
	return reply{result: latency.ProbeResult{
		ServerTotal: ms, Queries: []latency.QueryResult{q}, Layers: latency.LayerMillis{App: ms / 10, Network: ms / 2, Database: ms * 4 / 10}, Database: ms * 4 / 10, ProcessAge: 1000,
	}}
}

// connecting makes it cold, with one new connection.
func (r reply) connecting(ms float64) reply {
	r.result.Cold, r.result.NewConnections = true, 1
	r.result.ServerTotal += ms
	r.result.Layers.Pool = ms
	q := &r.result.Queries[0]
	q.Conn, q.Phases["acquire"], q.Phases["acquire/connect"] = dbaccess.ConnNew, ms, ms
	return r
}

func newApp(t *testing.T, answer func(mode string, n int) reply) *app {
	t.Helper()
	a := &app{asked: map[string]int{}, answer: answer}
	srv := httptest.NewServer(a)
	t.Cleanup(srv.Close)
	a.url = srv.URL
	return a
}

func (a *app) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	mode, ok := strings.CutPrefix(r.URL.Path, "/api/debug/latency/")
	if !ok || r.Method != http.MethodGet {
		http.NotFound(w, r)
		return
	}
	a.mu.Lock()
	n := a.asked[mode]
	a.asked[mode]++
	a.modes = append(a.modes, mode)
	a.mu.Unlock()
	re := a.answer(mode, n)
	time.Sleep(re.wait)
	if re.hangUp {
		w.Header().Set("Connection", "close")
	}
	if re.standIn {
		w.Header().Set(measure.StandInHeader, measure.StandIn)
	}
	if re.status != 0 {
		w.WriteHeader(re.status)
	}
	re.result.Mode = mode
	_ = json.NewEncoder(w).Encode(re.result)
}

// targets are probes of the app.
func (a *app) targets(t *testing.T, modes ...string) []measure.Target {
	t.Helper()
	list, err := measure.TargetsBelow(a.url, modes)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// run measures and fails the test when that fails.
func run(t *testing.T, cfg measure.Config) (*measure.Result, *measure.Report) {
	t.Helper()
	res, err := measure.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return res, res.Report()
}
