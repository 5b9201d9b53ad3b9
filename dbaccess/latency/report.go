package latency

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/twinpath/twinpath/dbaccess"
)

// Report is what a [Recorder] knew at one moment. It holds names of queries and
// numbers, and no value of any query.
type Report struct {
	Since   time.Time     `json:"since"` // when the recorder was made
	Until   time.Time     `json:"until"`
	Queries []QueryReport `json:"queries"` // by name, [Other] last
}

// QueryReport is a query on the paths that it took.
type QueryReport struct {
	Name   string      `json:"name"`
	REST   *PathReport `json:"rest,omitempty"`
	Direct *PathReport `json:"direct,omitempty"`
}

// PathReport is a query on one path. Failed calls are in no series: how long a
// refusal took says nothing about the query. Calls that ended without a row
// where there should be one have been answered, and are.
type PathReport struct {
	Warm *Series `json:"warm,omitempty"`
	Cold *Series `json:"cold,omitempty"`

	Failed   int64 `json:"failed"`    // all that failed
	TimedOut int64 `json:"timed_out"` // of those, by a deadline. Each took longer than the callers would wait
	Canceled int64 `json:"canceled"`  // of those, by the caller
}

// Series is the times of a query on one path, cold or warm, in milliseconds.
type Series struct {
	N   int64   `json:"n"`
	Min float64 `json:"min_ms"`
	// P50, P90 and P99 are quantiles, nil where there are not enough samples for an
	// interval: see [MinSamples].
	P50 *float64 `json:"p50_ms"`
	P90 *float64 `json:"p90_ms"`
	P99 *float64 `json:"p99_ms"`
	Max float64  `json:"max_ms"`

	// Intervals are those of the quantiles above, by their names p50, p90 and p99.
	Intervals map[string][2]float64 `json:"intervals_ms,omitempty"`
	// NotEnoughSamples names the quantiles that are missing and how many samples
	// they take.
	NotEnoughSamples map[string]int `json:"not_enough_samples,omitempty"`

	NewConnections int64 `json:"new_connections"`
	// Layers is the time of all calls together, by layer, in milliseconds.
	Layers LayerMillis `json:"layers_ms"`
}

// Report returns what is known. It is safe to call while calls are recorded: each
// path of a query is consistent in itself.
func (r *Recorder) Report() Report {
	rep := Report{Since: r.since, Until: time.Now(), Queries: []QueryReport{}}
	for name, en := range *r.entries.Load() {
		if q, ok := en.report(name); ok {
			rep.Queries = append(rep.Queries, q)
		}
	}
	slices.SortFunc(rep.Queries, func(a, b QueryReport) int { return cmp.Compare(a.Name, b.Name) })
	if q, ok := r.other.report(Other); ok {
		rep.Queries = append(rep.Queries, q)
	}
	return rep
}

func (en *entry) report(name string) (QueryReport, bool) {
	q := QueryReport{Name: name, REST: en.rest.report(), Direct: en.direct.report()}
	return q, q.REST != nil || q.Direct != nil
}

func (t *track) report() *PathReport {
	t.mu.Lock()
	if !t.called {
		t.mu.Unlock()
		return nil
	}
	p := &PathReport{Failed: t.failed, TimedOut: t.timedOut, Canceled: t.canceled}
	warm, cold := t.warm.clone(), t.cold.clone()
	t.mu.Unlock()
	p.Warm, p.Cold = warm.report(), cold.report()
	return p
}

func (s *series) clone() *series {
	if s == nil {
		return nil
	}
	c := *s
	c.times = s.times.Clone()
	return &c
}

// quantiles are those of a series.
var quantiles = [...]struct {
	name string
	q    float64
}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}}

func (s *series) report() *Series {
	if s == nil || s.times.TotalCount() == 0 {
		return nil
	}
	n := s.times.TotalCount()
	out := &Series{N: n, Min: millis(s.min), Max: millis(s.max), NewConnections: s.newConns, Layers: s.layers.millis()}
	for i, to := range []**float64{&out.P50, &out.P90, &out.P99} {
		name, q := quantiles[i].name, quantiles[i].q
		low, high, ok := Ranks(int(n), q)
		if !ok {
			if out.NotEnoughSamples == nil {
				out.NotEnoughSamples = map[string]int{}
			}
			out.NotEnoughSamples[name] = MinSamples(q)
			continue
		}
		if out.Intervals == nil {
			out.Intervals = map[string][2]float64{}
		}
		v := s.at(rank(int(n), q))
		*to = &v
		out.Intervals[name] = [2]float64{s.at(low), s.at(high)}
	}
	return out
}

// at returns the r-th smallest time, in milliseconds, as exactly as the histogram
// has it and never beyond the smallest and the largest.
func (s *series) at(r int) float64 {
	d := time.Duration(valueAt(s.times, int64(r)))
	return millis(min(max(d, s.min), s.max))
}

func valueAt(h *hdrhistogram.Histogram, r int64) int64 {
	// The library rounds percent·n/100 to the nearest whole number: aim between.
	return h.ValueAtPercentile(100 * (float64(r) - 0.25) / float64(h.TotalCount()))
}

// WriteText writes the report as a table for people.
func (r *Report) WriteText(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "Database calls of %s, times in ms\n\n", r.Until.Sub(r.Since).Round(time.Second)); err != nil {
		return err
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(tw, "query\tpath\t\tn\tmin\tp50\tp90\tp99\tmax\tnew conns\tapp\tpool\tnetwork+pooler\tpostgrest\tdatabase\tfailed")
	for i := range r.Queries {
		q := &r.Queries[i]
		q.REST.writeText(tw, printable(q.Name), dbaccess.REST)
		q.Direct.writeText(tw, printable(q.Name), dbaccess.Direct)
	}
	if err := tw.Flush(); err != nil { // keeps the first error of any write
		return err
	}
	_, err := fmt.Fprintf(w, "\nThe layers are means. A quantile needs samples for a %.0f %% interval: p50 %d, p90 %d, p99 %d.\n",
		100*Confidence, MinSamples(0.5), MinSamples(0.9), MinSamples(0.99))
	return err
}

func (p *PathReport) writeText(w io.Writer, name string, path dbaccess.Path) {
	if p == nil {
		return
	}
	failed := fmt.Sprint(p.Failed)
	if p.TimedOut > 0 {
		failed += fmt.Sprintf(" (%d timed out)", p.TimedOut)
	}
	written := false
	for _, s := range []struct {
		temperature string
		*Series
	}{{"warm", p.Warm}, {"cold", p.Cold}} {
		if s.Series == nil {
			continue
		}
		n, l := float64(s.N), &s.Layers
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%.3f\t%s\t%s\t%s\t%.3f\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%s\n", name, path, s.temperature, s.N,
			s.Min, number(s.P50), number(s.P90), number(s.P99), s.Max, s.NewConnections,
			l.App/n, l.Pool/n, l.Network/n, l.PostgREST/n, l.Database/n, failed)
		failed, written = "", true // of both
	}
	if !written {
		_, _ = fmt.Fprintf(w, "%s\t%s\t\t0\t\t\t\t\t\t\t\t\t\t\t\t%s\n", name, path, failed)
	}
}

func number(ms *float64) string {
	if ms == nil {
		return ErrNotEnough.Error()
	}
	return fmt.Sprintf("%.3f", *ms)
}

// printable keeps a name from being taken for the table's own marks.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, name)
}
