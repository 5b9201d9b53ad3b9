package latency_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/latency"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// end is a call of a query that took some time.
func end(name string, path dbaccess.Path, took time.Duration) dbaccess.CallEnd {
	start := time.Unix(1_700_000_000, 0)
	return dbaccess.CallEnd{
		CallStart: dbaccess.CallStart{Name: name, Query: &query.Spec{Name: name, From: "t"}, Start: start, Route: dbaccess.Routed{Path: path}},
		End:       start.Add(took), Conn: dbaccess.ConnIdle,
		Phases: []dbaccess.Phase{{Name: dbaccess.PhaseDatabase, Start: start, Duration: took}},
	}
}

func record(r *latency.Recorder, e dbaccess.CallEnd) {
	r.CallEnd(r.CallStart(context.Background(), e.CallStart), e)
}

func TestRecorderColdAndWarm(t *testing.T) {
	t.Parallel()
	r := latency.NewRecorder(latency.RecorderConfig{})
	ms := time.Millisecond
	record(r, end("a", dbaccess.REST, 90*ms)) // first call: cold
	for range 10 {
		record(r, end("a", dbaccess.REST, 10*ms))
	}
	fresh := end("a", dbaccess.REST, 50*ms)
	fresh.Conn = dbaccess.ConnNew
	record(r, fresh)
	record(r, end("a", dbaccess.Direct, 4*ms)) // first on this path: cold

	rep := r.Report()
	if len(rep.Queries) != 1 {
		t.Fatalf("%d queries", len(rep.Queries))
	}
	q := rep.Queries[0]
	ten := 10.0
	want := &latency.Series{
		N: 10, Min: 10, P50: &ten, Max: 10, Intervals: map[string][2]float64{"p50": {10, 10}},
		NotEnoughSamples: map[string]int{"p90": 36, "p99": 368}, Layers: latency.LayerMillis{Database: 100},
	}
	if diff := cmp.Diff(want, q.REST.Warm); diff != "" {
		t.Errorf("warm (-want +got):\n%s", diff)
	}
	want = &latency.Series{
		N: 2, Min: 50, Max: 90, NewConnections: 1,
		NotEnoughSamples: map[string]int{"p50": 6, "p90": 36, "p99": 368}, Layers: latency.LayerMillis{Database: 140},
	}
	if diff := cmp.Diff(want, q.REST.Cold); diff != "" {
		t.Errorf("cold (-want +got):\n%s", diff)
	}
	if q.Direct.Warm != nil || q.Direct.Cold == nil || q.Direct.Cold.N != 1 {
		t.Errorf("direct: %+v", q.Direct)
	}
}

// TestRecorderQuantiles compares a histogram with its samples.
func TestRecorderQuantiles(t *testing.T) {
	t.Parallel()
	r, random := latency.NewRecorder(latency.RecorderConfig{}), rand.New(rand.NewPCG(5, 6))
	record(r, end("q", dbaccess.Direct, time.Second)) // the cold one
	var samples []float64
	for i := range 5000 {
		if i == 367 || i == 368 {
			s := r.Report().Queries[0].Direct.Warm
			if s.N != int64(i) || (s.P99 != nil) != (i == 368) {
				t.Errorf("after %d samples n is %d and p99 %v", i, s.N, s.P99)
			}
		}
		took := time.Duration(math.Exp(random.NormFloat64()) * 20e6)
		samples = append(samples, float64(took)/1e6)
		record(r, end("q", dbaccess.Direct, took))
	}
	got := r.Report().Queries[0].Direct.Warm
	for _, tt := range []struct {
		name string
		q    float64
		got  *float64
	}{{"p50", 0.5, got.P50}, {"p90", 0.9, got.P90}, {"p99", 0.99, got.P99}} {
		want, err := latency.Quantile(samples, tt.q)
		if err != nil {
			t.Fatal(err)
		}
		near := func(a, b float64) bool { return math.Abs(a-b) <= 0.01*b+0.002 }
		if in := got.Intervals[tt.name]; !near(*tt.got, want.Value) || !near(in[0], want.Low) || !near(in[1], want.High) {
			t.Errorf("%s: got %.3f %v, want %.3f [%.3f %.3f]", tt.name, *tt.got, in, want.Value, want.Low, want.High)
		}
	}
	if want := slices.Min(samples); math.Abs(got.Min-want) > 0.001 {
		t.Errorf("min %v, want %v", got.Min, want)
	}
	if want := slices.Max(samples); math.Abs(got.Max-want) > 0.001 {
		t.Errorf("max %v, want %v", got.Max, want)
	}
}

func TestRecorderExtremes(t *testing.T) {
	t.Parallel()
	r := latency.NewRecorder(latency.RecorderConfig{})
	record(r, end("q", dbaccess.REST, time.Second))
	for _, d := range []time.Duration{0, -time.Second, 1, time.Hour, math.MaxInt64, 2 * latency.Highest} {
		record(r, end("q", dbaccess.REST, d))
	}
	s := r.Report().Queries[0].REST.Warm
	if s.N != 6 || s.Min != 0 || s.Max < 3.6e6 || s.P50 == nil {
		t.Errorf("got %+v", s)
	}
}

func TestRecorderFailures(t *testing.T) {
	t.Parallel()
	r := latency.NewRecorder(latency.RecorderConfig{})
	for _, err := range []error{
		&dbaccess.Error{Kind: dbaccess.ErrTimeout}, &dbaccess.Error{Kind: context.Canceled}, &dbaccess.Error{Kind: dbaccess.ErrPermission},
		errors.New(canary), &dbaccess.Error{Kind: dbaccess.ErrNoRows}, &dbaccess.Error{Kind: dbaccess.ErrMultipleRows},
	} {
		e := end("q", dbaccess.REST, time.Millisecond)
		e.Err = err
		record(r, e)
	}
	rep := r.Report()
	p := rep.Queries[0].REST
	if p.Failed != 4 || p.TimedOut != 1 || p.Canceled != 1 || p.Cold != nil || p.Warm == nil || p.Warm.N != 2 {
		t.Errorf("got %+v", p)
	}
	if text := textOf(t, &rep); !strings.Contains(text, "4 (1 timed out)") || strings.Contains(text, canary) {
		t.Errorf("the report:\n%s", text)
	}
	only := latency.NewRecorder(latency.RecorderConfig{})
	e := end("never", dbaccess.Direct, time.Second)
	e.Err = &dbaccess.Error{Kind: dbaccess.ErrUnavailable}
	record(only, e)
	rep = only.Report()
	if text := textOf(t, &rep); !strings.Contains(text, "never") {
		t.Errorf("a query that only failed is not in the report:\n%s", text)
	}
}

func textOf(t *testing.T, rep *latency.Report) string {
	t.Helper()
	var b strings.Builder
	if err := rep.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestRecorderIsBounded gives it more queries than it has room for, side by side.
func TestRecorderIsBounded(t *testing.T) {
	t.Parallel()
	r := latency.NewRecorder(latency.RecorderConfig{MaxQueries: 7})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				record(r, end(fmt.Sprintf("q%d", (i+g)%50), dbaccess.REST, time.Millisecond))
			}
		})
		wg.Go(func() {
			for range 20 {
				rep := r.Report()
				if len(rep.Queries) > 8 {
					t.Errorf("%d queries", len(rep.Queries))
				}
			}
		})
	}
	wg.Wait()
	rep, n := r.Report(), int64(0)
	for _, q := range rep.Queries {
		for _, s := range []*latency.Series{q.REST.Warm, q.REST.Cold} {
			if s != nil {
				n += s.N
			}
		}
	}
	if len(rep.Queries) != 8 || rep.Queries[7].Name != latency.Other || n != 1600 {
		t.Errorf("%d queries, the last %q, %d calls; want 8, %q, 1600", len(rep.Queries), rep.Queries[len(rep.Queries)-1].Name, n, latency.Other)
	}
	if other := rep.Queries[7].REST; other.Cold != nil {
		t.Errorf("among the others nobody knows a first call: %+v", other.Cold)
	}
}

func TestRecorderNames(t *testing.T) {
	t.Parallel()
	r := latency.NewRecorder(latency.RecorderConfig{})
	unnamed := end("", dbaccess.REST, time.Millisecond)
	spec := query.From("filings").Where(query.Eq("ticker", canary)).Spec()
	unnamed.Query = &spec
	record(r, unnamed)
	sql := end("", dbaccess.Direct, time.Millisecond)
	sql.SQL = &dbaccess.SQL{Operation: "select", Table: "prices"}
	record(r, sql)
	record(r, end(strings.Repeat("ü", 200), dbaccess.REST, time.Millisecond))
	record(r, end("tab\tand\nline", dbaccess.REST, time.Millisecond))
	rep := r.Report()
	var names []string
	for _, q := range rep.Queries {
		names = append(names, q.Name)
	}
	want := []string{"select filings by ticker", "select prices", "tab\tand\nline", strings.Repeat("ü", 100)}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if text := textOf(t, &rep); strings.Contains(text, canary) || !strings.Contains(text, "tab and line") {
		t.Errorf("the report:\n%s", text)
	}
	if s := fmt.Sprintf("%v %+v %#v", r, r, r); s != strings.Repeat("latency.Recorder{Queries: 4} ", 3)[:len(s)] || !strings.HasPrefix(s, "latency.Recorder{Queries: 4}") {
		t.Errorf("it prints as %s", s)
	}
}

func TestLayersOf(t *testing.T) {
	t.Parallel()
	start := time.Now()
	ms := time.Millisecond
	timed := chain(start, dbaccess.PhasePrepare, 1, dbaccess.PhaseAcquire, 2, dbaccess.PhaseSend, 3, dbaccess.PhaseWait, 50, dbaccess.PhaseBody, 4, dbaccess.PhaseDecode, 5)
	timed[3].Children = chain(start.Add(10*ms), "postgrest.jwt", 1, "postgrest.parse", 2, "postgrest.plan", 3, "postgrest.transaction", 20, "postgrest.response", 4)
	connecting := chain(start, dbaccess.PhasePrepare, 1, dbaccess.PhaseCatalog, 7, dbaccess.PhaseAcquire, 30, dbaccess.PhaseNetwork, 5, dbaccess.PhaseDatabase, 6, dbaccess.PhaseRows, 2)
	connecting[2].Children = chain(start, dbaccess.PhaseQueue, 10, dbaccess.PhaseConnect, 20)
	connecting[2].Children[1].Children = chain(start, dbaccess.PhaseDNS, 1, dbaccess.PhaseTCP, 4, dbaccess.PhaseTLS, 5, dbaccess.PhaseStartup, 10)
	for _, tt := range []struct {
		name   string
		phases []dbaccess.Phase
		want   latency.Layers
	}{
		{"none", nil, latency.Layers{}},
		{"rest, timed", timed, latency.Layers{App: 6 * ms, Pool: 2 * ms, Network: 27 * ms, PostgREST: 10 * ms, Database: 20 * ms}},
		{"rest, not timed", chain(start, dbaccess.PhaseConnect, 9, dbaccess.PhaseWait, 50), latency.Layers{Pool: 9 * ms, PostgREST: 50 * ms}},
		{"direct, connecting", connecting, latency.Layers{App: 8 * ms, Pool: 30 * ms, Network: 7 * ms, Database: 6 * ms}},
		{"transaction", chain(start, dbaccess.PhaseAcquire, 1, dbaccess.PhaseBegin, 1, dbaccess.PhaseDescribe, 1, dbaccess.PhaseWork, 30, dbaccess.PhaseRollback, 3, dbaccess.PhaseBackoff, 5,
			dbaccess.PhaseCommit, 7), latency.Layers{App: 35 * ms, Pool: ms, Network: 5 * ms, Database: 7 * ms}},
		{"another backend's", chain(start, "guesswork", 3), latency.Layers{App: 3 * ms}},
	} {
		got := latency.LayersOf(tt.phases)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		var whole time.Duration
		for _, p := range tt.phases {
			whole += p.Duration
		}
		if got.Sum() != whole {
			t.Errorf("%s: the layers add up to %s, the phases to %s", tt.name, got.Sum(), whole)
		}
	}
}

func TestReportJSON(t *testing.T) {
	t.Parallel()
	r := latency.NewRecorder(latency.RecorderConfig{})
	for range 7 {
		record(r, end("b", dbaccess.Direct, 2*time.Millisecond))
	}
	rep := r.Report()
	rep.Since, rep.Until = time.Time{}, time.Time{}
	b, err := json.Marshal(rep)
	if err != nil {
		t.Fatal(err)
	}
	layers := func(ms string) string {
		return `"layers_ms":{"app":0,"pool":0,"network+pooler":0,"postgrest":0,"database":` + ms + `}`
	}
	want := `{"since":"0001-01-01T00:00:00Z","until":"0001-01-01T00:00:00Z","queries":[{"name":"b","direct":{` +
		`"warm":{"n":6,"min_ms":2,"p50_ms":2,"p90_ms":null,"p99_ms":null,"max_ms":2,"intervals_ms":{"p50":[2,2]},` +
		`"not_enough_samples":{"p90":36,"p99":368},"new_connections":0,` + layers("12") + `},` +
		`"cold":{"n":1,"min_ms":2,"p50_ms":null,"p90_ms":null,"p99_ms":null,"max_ms":2,` +
		`"not_enough_samples":{"p50":6,"p90":36,"p99":368},"new_connections":0,` + layers("2") + `},` +
		`"failed":0,"timed_out":0,"canceled":0}}]}`
	if diff := cmp.Diff(want, string(b)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRecordAllocates nothing, once a query is known.
func TestRecordAllocates(t *testing.T) {
	r, e := latency.NewRecorder(latency.RecorderConfig{}), end("q", dbaccess.REST, time.Millisecond)
	ctx := context.Background()
	r.CallEnd(ctx, e)
	r.CallEnd(ctx, e)
	if n := testing.AllocsPerRun(100, func() { r.CallEnd(r.CallStart(ctx, e.CallStart), e) }); n != 0 {
		t.Errorf("%v allocations a call, want 0", n)
	}
}

func benchCall() dbaccess.CallEnd {
	e := end("recent_filings", dbaccess.REST, 12*time.Millisecond)
	e.Phases = chain(e.Start, dbaccess.PhasePrepare, 1, dbaccess.PhaseAcquire, 0, dbaccess.PhaseSend, 0, dbaccess.PhaseWait, 10, dbaccess.PhaseBody, 1, dbaccess.PhaseDecode, 0)
	e.Phases[3].Children = chain(e.Start, "postgrest.jwt", 1, "postgrest.parse", 1, "postgrest.plan", 1, "postgrest.transaction", 3, "postgrest.response", 1)
	return e
}

func BenchmarkRecord(b *testing.B) {
	r, e, ctx := latency.NewRecorder(latency.RecorderConfig{}), benchCall(), context.Background()
	b.ReportAllocs()
	for b.Loop() {
		r.CallEnd(r.CallStart(ctx, e.CallStart), e)
	}
}

func BenchmarkRecordParallel(b *testing.B) {
	r, e, ctx := latency.NewRecorder(latency.RecorderConfig{}), benchCall(), context.Background()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r.CallEnd(r.CallStart(ctx, e.CallStart), e)
		}
	})
}
