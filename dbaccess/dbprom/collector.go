package dbprom

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/twinpath/twinpath/dbaccess"
)

// other is the label of what has no label of its own.
const other = "other"

// Collector observes calls and hands over what it counted whenever Prometheus
// asks. It is safe for concurrent use, starts nothing and needs no closing.
type Collector struct {
	cfg      Config
	duration *prometheus.HistogramVec
	errs     *prometheus.CounterVec
	rows     *prometheus.CounterVec
	pools    pools

	called struct{ rest, direct atomic.Bool }

	mu      sync.RWMutex
	queries map[string]bool
	series  map[seriesKey]*series
}

// series are the metrics of one combination of labels, looked up once.
type series struct {
	duration prometheus.Observer
	rows     prometheus.Counter
}

type seriesKey struct {
	query string
	path  dbaccess.Path
	cold  bool
}

var (
	_ dbaccess.Observer    = (*Collector)(nil)
	_ prometheus.Collector = (*Collector)(nil)
)

// New makes a Collector, to be registered by its caller. Its error names
// everything that is wrong with the config.
func New(cfg Config) (*Collector, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg = cfg.WithDefaults()
	return &Collector{
		cfg: cfg,
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: cfg.Namespace, Subsystem: "call", Name: "duration_seconds", Buckets: cfg.Buckets,
			Help: "Time of database calls from the query's compilation to the decoded rows.",
		}, []string{"query", "path", "cold"}),
		errs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: cfg.Namespace, Subsystem: "call", Name: "errors_total",
			Help: "Database calls that failed, those that their caller canceled left out.",
		}, []string{"query", "path", "kind"}),
		rows: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: cfg.Namespace, Subsystem: "call", Name: "rows_total",
			Help: "Rows that database calls returned.",
		}, []string{"query", "path"}),
		pools:   newPools(cfg.Namespace),
		queries: make(map[string]bool),
		series:  make(map[seriesKey]*series),
	}, nil
}

// CallStart does nothing.
func (c *Collector) CallStart(ctx context.Context, _ dbaccess.CallStart) context.Context { return ctx }

// CallEnd counts a call.
func (c *Collector) CallEnd(_ context.Context, e dbaccess.CallEnd) {
	key := seriesKey{query: c.query(&e), path: e.Route.Path, cold: c.cold(&e)}
	s := c.of(key)
	s.duration.Observe(e.Duration().Seconds())
	if e.Rows > 0 {
		s.rows.Add(float64(e.Rows))
	}
	if kind := kindOf(e.Err); kind != "" {
		c.errs.WithLabelValues(key.query, string(key.path), kind).Inc()
	}
}

// cold says whether a call made a connection or was the first on its path.
func (c *Collector) cold(e *dbaccess.CallEnd) bool {
	called := &c.called.direct
	if e.Route.Path == dbaccess.REST {
		called = &c.called.rest
	}
	first := !called.Load() && !called.Swap(true)
	return first || e.Conn == dbaccess.ConnNew
}

// query is the label for a call's query.
func (c *Collector) query(e *dbaccess.CallEnd) string {
	name := e.Name
	if name == "" {
		name = e.Summary()
	}
	c.mu.RLock()
	known, full := c.queries[name], len(c.queries) >= c.cfg.MaxQueries
	c.mu.RUnlock()
	switch {
	case known:
		return name
	case full:
		return other
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.queries[name] && len(c.queries) >= c.cfg.MaxQueries {
		return other
	}
	c.queries[name] = true
	return name
}

func (c *Collector) of(key seriesKey) *series {
	c.mu.RLock()
	s := c.series[key]
	c.mu.RUnlock()
	if s != nil {
		return s
	}
	cold := "false"
	if key.cold {
		cold = "true"
	}
	s = &series{
		duration: c.duration.WithLabelValues(key.query, string(key.path), cold),
		rows:     c.rows.WithLabelValues(key.query, string(key.path)),
	}
	c.mu.Lock()
	c.series[key] = s // twice, at worst: both stand for the same metrics
	c.mu.Unlock()
	return s
}

// Describe tells Prometheus which metrics there are.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	c.duration.Describe(ch)
	c.errs.Describe(ch)
	c.rows.Describe(ch)
	c.pools.describe(ch)
}

// Collect hands over what was counted.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	c.duration.Collect(ch)
	c.errs.Collect(ch)
	c.rows.Collect(ch)
	for name, p := range c.cfg.Pools {
		c.pools.collect(ch, name, p.PoolStats())
	}
}
