package tracing

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/getsentry/sentry-go"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/tracing/internal/outcome"
)

// Defaults of MetricsConfig.
const (
	DefaultMetricsInterval = time.Minute
	DefaultMaxSeries       = 100
)

// MetricsConfig configures [NewMetrics].
type MetricsConfig struct {
	// Interval is the time between two reports to Sentry. Defaults to
	// DefaultMetricsInterval.
	Interval time.Duration
	// MaxSeries bounds the combinations of query, path and cold that are told apart,
	// and so what is sent; further queries are "other". Sentry's client keeps 1000
	// metrics at a time, and a series has up to eight. Defaults to DefaultMaxSeries;
	// -1 makes all queries "other".
	MaxSeries int
	// Pools are the pools to report, by name. Optional.
	Pools map[string]dbaccess.PoolReporter
	// Hub sends the metrics. Defaults to sentry.CurrentHub at the time of a report.
	Hub *sentry.Hub
}

// WithDefaults returns the config with every default filled in.
func (c MetricsConfig) WithDefaults() MetricsConfig {
	if c.Interval == 0 {
		c.Interval = DefaultMetricsInterval
	}
	switch c.MaxSeries {
	case 0:
		c.MaxSeries = DefaultMaxSeries
	case -1:
		c.MaxSeries = 0
	}
	return c
}

func (c MetricsConfig) validate() error {
	var wrong []string
	if c.Interval < 0 {
		wrong = append(wrong, "Interval must be positive, or 0 for the default")
	}
	if c.MaxSeries < -1 {
		wrong = append(wrong, "MaxSeries must be positive, 0 for the default or -1 for none")
	}
	for name, p := range c.Pools {
		if p == nil {
			wrong = append(wrong, fmt.Sprintf("Pools[%q] is nil", name))
		}
	}
	if wrong == nil {
		return nil
	}
	return errors.New("tracing: MetricsConfig: " + strings.Join(wrong, "; "))
}

// Metrics counts calls and reports the sums as Sentry metrics, every call, whether
// or not its trace is sampled: it is what to compare the paths by. Counting
// allocates nothing; what a report costs depends on the number of series alone.
//
// Counters, to be summed up: twinpath.calls, twinpath.call.errors,
// twinpath.call.rows, and twinpath.call.time in microseconds; time divided by calls
// is the exact mean over all instances. Gauges, one value an interval and instance:
// twinpath.call.min, .p50, .p95 and .max in milliseconds; their average or maximum
// is that of instances, not of calls, as percentiles can't be added up. The
// attributes are query, path and cold.
//
// Of each pool: the gauges twinpath.pool.max, .idle, .in_use and .connecting, and
// the counters .acquired, .queued, .wait in microseconds, .canceled, .made,
// .replaced and .closed, with the attribute pool.
type Metrics struct {
	cfg MetricsConfig

	called [2]atomic.Bool
	book   seriesBook

	flushing sync.Mutex // held during a report
	pools    map[string]dbaccess.PoolStats

	mu      sync.Mutex
	started bool
	closed  bool
	stop    chan struct{}
	done    chan struct{}
}

var _ dbaccess.Observer = (*Metrics)(nil)

// NewMetrics makes a Metrics, for dbaccess.Config.Observers. It counts from then
// on, and reports once it is started. Its error names everything that is wrong with
// the config.
func NewMetrics(cfg MetricsConfig) (*Metrics, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg = cfg.WithDefaults()
	return &Metrics{
		cfg: cfg, book: newSeriesBook(cfg.MaxSeries), pools: make(map[string]dbaccess.PoolStats),
		stop: make(chan struct{}), done: make(chan struct{}),
	}, nil
}

// CallStart does nothing.
func (m *Metrics) CallStart(ctx context.Context, _ dbaccess.CallStart) context.Context { return ctx }

// CallEnd counts a call.
func (m *Metrics) CallEnd(_ context.Context, e dbaccess.CallEnd) {
	key := seriesKey{query: e.Name, path: e.Route.Path, cold: coldnessOf(&m.called, &e) != warm}
	if key.query == "" {
		key.query = e.Summary()
	}
	failed := e.Err != nil && outcome.Of(e.Err).ErrorType != ""
	m.book.of(key).add(e.Duration(), max(0, e.Rows), failed)
}

// Start begins to report. Starting again, or after Close, is an error.
func (m *Metrics) Start(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.started || m.closed {
		return errors.New("tracing: Metrics.Start: it has been started or closed before")
	}
	m.started = true
	go m.run()
	return nil
}

func (m *Metrics) run() {
	defer close(m.done)
	ticker := time.NewTicker(m.cfg.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			m.Flush()
		case <-m.stop:
			return
		}
	}
}

// Close ends the reports, with a last one. It waits for one under way until ctx
// ends. Sentry's own client is to be flushed afterwards. Closing again does
// nothing.
func (m *Metrics) Close(ctx context.Context) error {
	m.mu.Lock()
	started, closed := m.started, m.closed
	m.closed = true
	m.mu.Unlock()
	if closed {
		return nil
	}
	close(m.stop)
	if started {
		select {
		case <-m.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	m.Flush()
	return nil
}
