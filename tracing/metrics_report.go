package tracing

import (
	"context"
	"time"

	"github.com/getsentry/sentry-go"
	"github.com/getsentry/sentry-go/attribute"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/tracing/internal/spans"
)

// Flush reports what was counted since the last report, to Sentry's client: what is
// left for its Flush is to send it. A function that is frozen between requests calls
// both at the end of each; elsewhere [Metrics.Start] does it.
func (m *Metrics) Flush() {
	m.flushing.Lock()
	defer m.flushing.Unlock()
	ctx := context.Background()
	if m.cfg.Hub != nil {
		ctx = sentry.SetHubOnContext(ctx, m.cfg.Hub)
	}
	// A new one each time: made before sentry.Init it would send nothing for ever.
	meter := sentry.NewMeter(ctx)
	m.book.take(func(key seriesKey, c *counts) { reportCalls(meter, key, c) })
	for name, p := range m.cfg.Pools {
		now := p.PoolStats()
		reportPool(meter, name, now, m.pools[name])
		m.pools[name] = now
	}
}

func reportCalls(meter sentry.Meter, key seriesKey, c *counts) {
	of := sentry.WithAttributes(attribute.String("query", key.query), attribute.String("path", string(key.path)), attribute.Bool("cold", key.cold))
	gauge := func(name string, d time.Duration) {
		meter.Gauge(name, spans.Milliseconds(d), of, sentry.WithUnit(sentry.UnitMillisecond))
	}
	meter.Count("twinpath.calls", c.calls, of)
	if c.errors > 0 {
		meter.Count("twinpath.call.errors", c.errors, of)
	}
	if c.rows > 0 {
		meter.Count("twinpath.call.rows", c.rows, of)
	}
	meter.Count("twinpath.call.time", c.sum.Microseconds(), of, sentry.WithUnit(sentry.UnitMicrosecond))
	gauge("twinpath.call.min", c.min)
	gauge("twinpath.call.p50", c.quantile(.5))
	gauge("twinpath.call.p95", c.quantile(.95))
	gauge("twinpath.call.max", c.max)
}

func reportPool(meter sentry.Meter, name string, now, before dbaccess.PoolStats) {
	of := sentry.WithAttributes(attribute.String("pool", name))
	gauge := func(name string, v int) { meter.Gauge("twinpath.pool."+name, float64(v), of) }
	count := func(name string, v int64, opts ...sentry.MeterOption) {
		if v > 0 { // less than before it can only be where the pool is another one
			meter.Count("twinpath.pool."+name, v, append(opts, of)...)
		}
	}
	gauge("max", now.Max)
	gauge("idle", now.Idle)
	gauge("in_use", now.InUse)
	gauge("connecting", now.Connecting)
	count("acquired", now.Acquired-before.Acquired)
	count("queued", now.Queued-before.Queued)
	count("wait", (now.Wait - before.Wait).Microseconds(), sentry.WithUnit(sentry.UnitMicrosecond))
	count("canceled", now.Canceled-before.Canceled)
	count("made", now.New-before.New)
	count("replaced", now.Replaced-before.Replaced)
	count("closed", now.Closed-before.Closed)
}
