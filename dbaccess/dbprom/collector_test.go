package dbprom_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"go.uber.org/goleak"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/dbprom"
	"github.com/twinpath/twinpath/dbaccess/query"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const canary = "canary-4d1a"

type fixedPool dbaccess.PoolStats

func (p fixedPool) PoolStats() dbaccess.PoolStats { return dbaccess.PoolStats(p) }

func collector(tb testing.TB, cfg dbprom.Config) *dbprom.Collector {
	tb.Helper()
	c, err := dbprom.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// text is what Prometheus would scrape, without comments and without the lines
// that end in a zero.
func text(tb testing.TB, c *dbprom.Collector) string {
	tb.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(c)
	families, err := r.Gather()
	if err != nil {
		tb.Fatal(err)
	}
	var b strings.Builder
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			line := func(suffix string, v float64, more ...string) {
				if v != 0 {
					fmt.Fprintf(&b, "%s%s{%s} %v\n", f.GetName(), suffix, strings.Join(append(labels, more...), ","), v)
				}
			}
			h := m.GetHistogram()
			for _, bucket := range h.GetBucket() {
				line("_bucket", float64(bucket.GetCumulativeCount()), fmt.Sprintf("le=%q", fmt.Sprint(bucket.GetUpperBound())))
			}
			line("_sum", h.GetSampleSum())
			line("_count", float64(h.GetSampleCount()))
			line("", m.GetCounter().GetValue()+m.GetGauge().GetValue())
		}
	}
	return b.String()
}

// call is a call of a query by name, or without one by shape.
func call(name string, path dbaccess.Path, took time.Duration) dbaccess.CallEnd {
	spec := query.From("companies").Named(name).Where(query.Eq("ticker", canary)).Spec()
	start := time.Now()
	return dbaccess.CallEnd{
		CallStart: dbaccess.CallStart{Verb: "All", Query: &spec, Name: name, Start: start, Route: dbaccess.Routed{Path: path}},
		End:       start.Add(took), Rows: 3, Conn: dbaccess.ConnIdle,
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	c := collector(t, dbprom.Config{
		Buckets: []float64{.01, .1},
		Pools: map[string]dbaccess.PoolReporter{"direct": fixedPool{
			Max: 4, Idle: 1, InUse: 2, Connecting: 1, Acquired: 10, Queued: 3, Wait: 1500 * time.Millisecond, Canceled: 1, New: 5, Replaced: 2, Closed: 4,
		}},
	})
	observe := func(e dbaccess.CallEnd) { c.CallEnd(c.CallStart(t.Context(), e.CallStart), e) }
	observe(call("list", dbaccess.Direct, 50*time.Millisecond)) // the first of its path
	observe(call("list", dbaccess.Direct, 5*time.Millisecond))
	observe(call("", dbaccess.REST, 500*time.Millisecond))
	e := call("list", dbaccess.Direct, 5*time.Millisecond)
	e.Conn, e.Rows = dbaccess.ConnNew, -1
	e.Err = &dbaccess.Error{Kind: dbaccess.ErrConflict, Code: "23505"}
	observe(e)
	for _, err := range []error{context.Canceled, dbaccess.ErrNoRows, errors.New(canary), context.DeadlineExceeded} {
		e := call("list", dbaccess.REST, 5*time.Millisecond)
		e.Rows, e.Err = -1, err
		observe(e)
	}
	const want = `twinpath_call_duration_seconds_bucket{cold="false",path="direct",query="list",le="0.01"} 1
twinpath_call_duration_seconds_bucket{cold="false",path="direct",query="list",le="0.1"} 1
twinpath_call_duration_seconds_sum{cold="false",path="direct",query="list"} 0.005
twinpath_call_duration_seconds_count{cold="false",path="direct",query="list"} 1
twinpath_call_duration_seconds_bucket{cold="false",path="rest",query="list",le="0.01"} 4
twinpath_call_duration_seconds_bucket{cold="false",path="rest",query="list",le="0.1"} 4
twinpath_call_duration_seconds_sum{cold="false",path="rest",query="list"} 0.02
twinpath_call_duration_seconds_count{cold="false",path="rest",query="list"} 4
twinpath_call_duration_seconds_bucket{cold="true",path="direct",query="list",le="0.01"} 1
twinpath_call_duration_seconds_bucket{cold="true",path="direct",query="list",le="0.1"} 2
twinpath_call_duration_seconds_sum{cold="true",path="direct",query="list"} 0.055
twinpath_call_duration_seconds_count{cold="true",path="direct",query="list"} 2
twinpath_call_duration_seconds_sum{cold="true",path="rest",query="select companies by ticker"} 0.5
twinpath_call_duration_seconds_count{cold="true",path="rest",query="select companies by ticker"} 1
twinpath_call_errors_total{kind="conflict",path="direct",query="list"} 1
twinpath_call_errors_total{kind="other",path="rest",query="list"} 1
twinpath_call_errors_total{kind="timeout",path="rest",query="list"} 1
twinpath_call_rows_total{path="direct",query="list"} 6
twinpath_call_rows_total{path="rest",query="select companies by ticker"} 3
twinpath_pool_acquires_total{pool="direct"} 10
twinpath_pool_canceled_total{pool="direct"} 1
twinpath_pool_connections{pool="direct",state="connecting"} 1
twinpath_pool_connections{pool="direct",state="idle"} 1
twinpath_pool_connections{pool="direct",state="in_use"} 2
twinpath_pool_connections_closed_total{pool="direct"} 4
twinpath_pool_connections_made_total{pool="direct"} 5
twinpath_pool_connections_replaced_total{pool="direct"} 2
twinpath_pool_max_connections{pool="direct"} 4
twinpath_pool_queued_total{pool="direct"} 3
twinpath_pool_wait_seconds_total{pool="direct"} 1.5
`
	if diff := cmp.Diff(want, text(t, c)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLint(t *testing.T) {
	t.Parallel()
	c := collector(t, dbprom.Config{Namespace: "shop", Pools: map[string]dbaccess.PoolReporter{"direct": fixedPool{}}})
	e := call("list", dbaccess.Direct, time.Millisecond)
	e.Err = dbaccess.ErrTimeout
	c.CallEnd(t.Context(), e)
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(c)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(families) != 12 {
		t.Errorf("%d metrics, want all 12", len(families))
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "shop_") {
			t.Errorf("%s is not in the namespace", f.GetName())
		}
	}
}

func TestQueriesAreBounded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ max, want int }{{3, 4}, {-1, 1}, {0, dbprom.DefaultMaxQueries + 1}} {
		c := collector(t, dbprom.Config{MaxQueries: tt.max})
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				for i := range 200 {
					c.CallEnd(t.Context(), call(fmt.Sprintf("q%d-%d", g, i), dbaccess.Direct, time.Millisecond))
				}
			})
		}
		wg.Wait()
		queries := map[string]bool{}
		for line := range strings.Lines(text(t, c)) {
			if _, rest, ok := strings.Cut(line, `query="`); ok {
				name, _, _ := strings.Cut(rest, `"`)
				queries[name] = true
			}
		}
		if len(queries) != tt.want || !queries["other"] {
			t.Errorf("MaxQueries %d: %d queries, want %d, other among them", tt.max, len(queries), tt.want)
		}
	}
}

// TestSQL: not every event is one of a query of the facade.
func TestSQL(t *testing.T) {
	t.Parallel()
	c := collector(t, dbprom.Config{})
	e := call("", dbaccess.Direct, time.Millisecond)
	e.Verb, e.SQL = "Exec", &dbaccess.SQL{Operation: "truncate", Table: "companies"}
	c.CallEnd(t.Context(), e)
	if got := text(t, c); !strings.Contains(got, `query="truncate companies"`) {
		t.Errorf("got %s", got)
	}
}

func TestConfigErrors(t *testing.T) {
	t.Parallel()
	_, err := dbprom.New(dbprom.Config{
		Namespace: "1 shop", Buckets: []float64{2, 1}, MaxQueries: -2, Pools: map[string]dbaccess.PoolReporter{"none": nil},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, field := range []string{"Namespace", "Buckets", "MaxQueries", `Pools["none"]`} {
		if !strings.Contains(err.Error(), "Config."+field) {
			t.Errorf("the error does not name %s: %v", field, err)
		}
	}
}

func TestCallEndAllocatesNothing(t *testing.T) {
	c := collector(t, dbprom.Config{})
	e := call("list", dbaccess.Direct, time.Millisecond)
	c.CallEnd(t.Context(), e)
	c.CallEnd(t.Context(), e)
	if n := testing.AllocsPerRun(100, func() { c.CallEnd(t.Context(), e) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
