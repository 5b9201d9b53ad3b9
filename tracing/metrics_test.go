package tracing_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getsentry/sentry-go"
	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/internal/sentrytest"
	"github.com/twinpath/twinpath/tracing"
)

// sent are the metrics that a client would send, by name and attributes.
type sent struct {
	mu     sync.Mutex
	values map[string]float64
	units  map[string]string
}

func (s *sent) hook(m *sentry.Metric) *sentry.Metric {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := strings.TrimPrefix(m.Name, "twinpath.")
	for _, name := range []string{"query", "path", "cold", "pool"} {
		if v, ok := m.Attributes[name]; ok {
			key += fmt.Sprintf(" %v", v.AsInterface())
		}
	}
	v, ok := m.Value.Float64()
	if n, isInt := m.Value.Int64(); isInt {
		v, ok = float64(n), true
	}
	if !ok {
		v = math.NaN()
	}
	s.values[key] += v
	s.units[key] = m.Unit
	return m
}

func (s *sent) take() map[string]float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.values
	s.values = map[string]float64{}
	return v
}

func metrics(t *testing.T, cfg tracing.MetricsConfig) (*tracing.Metrics, *sent) {
	t.Helper()
	s := &sent{values: map[string]float64{}, units: map[string]string{}}
	r := sentrytest.New(t, func(o *sentry.ClientOptions) { o.BeforeSendMetric = s.hook })
	cfg.Hub = r.Hub
	m, err := tracing.NewMetrics(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m, s
}

// mutablePool is a pool whose numbers the test sets.
type mutablePool struct{ stats dbaccess.PoolStats }

func (p *mutablePool) PoolStats() dbaccess.PoolStats { return p.stats }

func TestMetrics(t *testing.T) {
	t.Parallel()
	pool := &mutablePool{dbaccess.PoolStats{Max: 4, Idle: 2, InUse: 1, Acquired: 10, Queued: 2, Wait: 3 * time.Millisecond}}
	m, s := metrics(t, tracing.MetricsConfig{Pools: map[string]dbaccess.PoolReporter{"direct": pool}})
	observe := func(e dbaccess.CallEnd) { m.CallEnd(m.CallStart(t.Context(), e.CallStart), e) }
	for i := range 101 { // the first one is cold
		observe(callEnd(dbaccess.Direct, time.Duration(i)*time.Millisecond))
	}
	for _, err := range []error{context.Canceled, dbaccess.ErrNoRows, dbaccess.ErrTimeout, errors.New(canary)} {
		e := callEnd(dbaccess.REST, 10*time.Millisecond)
		e.Conn, e.Err, e.Rows = dbaccess.ConnNew, err, -1
		observe(e)
	}
	m.Flush()
	got := s.take()
	for key, want := range map[string]float64{"call.p50 recent_filings direct false": 50, "call.p95 recent_filings direct false": 95} {
		if math.Abs(got[key]/want-1) > .05 {
			t.Errorf("%s is %v, want about %v", key, got[key], want)
		}
		delete(got, key)
	}
	want := map[string]float64{
		"calls recent_filings direct false": 100, "call.rows recent_filings direct false": 5000, "call.time recent_filings direct false": 5050_000,
		"call.min recent_filings direct false": 1, "call.max recent_filings direct false": 100,
		"calls recent_filings direct true": 1, "call.rows recent_filings direct true": 50, "call.time recent_filings direct true": 0,
		"call.min recent_filings direct true": 0, "call.p50 recent_filings direct true": 0, "call.p95 recent_filings direct true": 0, "call.max recent_filings direct true": 0,
		"calls recent_filings rest true": 4, "call.errors recent_filings rest true": 2, "call.time recent_filings rest true": 40_000,
		"call.min recent_filings rest true": 10, "call.p50 recent_filings rest true": 10, "call.p95 recent_filings rest true": 10, "call.max recent_filings rest true": 10,
		"pool.max direct": 4, "pool.idle direct": 2, "pool.in_use direct": 1, "pool.connecting direct": 0,
		"pool.acquired direct": 10, "pool.queued direct": 2, "pool.wait direct": 3000,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for key, unit := range map[string]string{"call.time recent_filings rest true": "microsecond", "call.max recent_filings rest true": "millisecond"} {
		if s.units[key] != unit {
			t.Errorf("%s is in %s", key, s.units[key])
		}
	}

	// The next interval has what is new.
	pool.stats.Acquired, pool.stats.Idle = 15, 0
	e := callEnd(dbaccess.Direct, 7*time.Millisecond)
	e.Rows = 0
	observe(e)
	m.Flush()
	want = map[string]float64{
		"calls recent_filings direct false": 1, "call.time recent_filings direct false": 7000, "call.min recent_filings direct false": 7,
		"call.p50 recent_filings direct false": 7, "call.p95 recent_filings direct false": 7, "call.max recent_filings direct false": 7,
		"pool.max direct": 4, "pool.idle direct": 0, "pool.in_use direct": 1, "pool.connecting direct": 0, "pool.acquired direct": 5,
	}
	if diff := cmp.Diff(want, s.take()); diff != "" {
		t.Errorf("second interval (-want +got):\n%s", diff)
	}
}

func TestMetricsAreBounded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ max, want int }{{3, 4}, {-1, 1}} {
		m, s := metrics(t, tracing.MetricsConfig{MaxSeries: tt.max})
		first := callEnd(dbaccess.Direct, time.Millisecond)
		first.Conn = dbaccess.ConnIdle
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				for i := range 100 {
					e := callEnd(dbaccess.Direct, time.Millisecond)
					e.Name, e.Conn = fmt.Sprintf("q%d-%d", g, i), dbaccess.ConnNew
					m.CallEnd(t.Context(), e)
				}
			})
		}
		wg.Wait()
		m.Flush()
		got, calls := s.take(), 0.0
		var names []string
		for key, v := range got {
			if rest, ok := strings.CutPrefix(key, "calls "); ok {
				names = append(names, rest)
				calls += v
			}
		}
		if len(names) != tt.want || calls != 400 || got["calls other direct true"] == 0 {
			t.Errorf("MaxSeries %d: %v calls in %v", tt.max, calls, slices.Sorted(maps.Keys(got)))
		}
	}
}

func TestMetricsLifecycle(t *testing.T) {
	t.Parallel()
	m, s := metrics(t, tracing.MetricsConfig{Interval: time.Millisecond})
	if err := m.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m.Start(t.Context()) == nil {
		t.Error("started twice")
	}
	m.CallEnd(t.Context(), callEnd(dbaccess.REST, time.Millisecond))
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if s.take()["calls recent_filings rest true"] == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing was reported")
		}
	}
	m2, s2 := metrics(t, tracing.MetricsConfig{})
	m2.CallEnd(t.Context(), callEnd(dbaccess.REST, time.Millisecond))
	for _, m := range []*tracing.Metrics{m, m2} {
		for range 2 {
			if err := m.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if m.Start(t.Context()) == nil {
			t.Error("started after Close")
		}
	}
	if s2.take()["calls recent_filings rest true"] != 1 {
		t.Error("Close left out what was not reported yet")
	}
}

func TestMetricsConfigErrors(t *testing.T) {
	t.Parallel()
	_, err := tracing.NewMetrics(tracing.MetricsConfig{Interval: -1, MaxSeries: -2, Pools: map[string]dbaccess.PoolReporter{"none": nil}})
	if err == nil {
		t.Fatal("no error")
	}
	for _, field := range []string{"Interval", "MaxSeries", `Pools["none"]`} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("the error does not name %s: %v", field, err)
		}
	}
}

func TestMetricsAllocateNothing(t *testing.T) {
	m, _ := metrics(t, tracing.MetricsConfig{})
	e := callEnd(dbaccess.Direct, time.Millisecond)
	m.CallEnd(t.Context(), e)
	m.CallEnd(t.Context(), e)
	if n := testing.AllocsPerRun(100, func() { m.CallEnd(t.Context(), e) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkMetrics(b *testing.B) {
	m, err := tracing.NewMetrics(tracing.MetricsConfig{})
	if err != nil {
		b.Fatal(err)
	}
	e := callEnd(dbaccess.Direct, time.Millisecond)
	b.ReportAllocs()
	for b.Loop() {
		m.CallEnd(context.Background(), e)
	}
}

func ExampleNewMetrics() {
	metrics, err := tracing.NewMetrics(tracing.MetricsConfig{Interval: 30 * time.Second}) // Pools: the direct path's
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := metrics.Start(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	observers := []dbaccess.Observer{tracing.NewObserver(), metrics} // for dbaccess.Config.Observers
	fmt.Println(len(observers), "observers")
	if err := metrics.Close(context.Background()); err != nil { // and then sentry.Flush
		fmt.Println(err)
	}
	// Output: 2 observers
}
