package dbprom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/twinpath/twinpath/dbaccess"
)

// pools describes the metrics of pools, which are read when they are asked for.
type pools struct {
	connections, limit                *prometheus.Desc
	acquires, queued, canceled, waits *prometheus.Desc
	made, replaced, closed            *prometheus.Desc
}

func newPools(namespace string) pools {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "pool", name), help, append([]string{"pool"}, labels...), nil)
	}
	return pools{
		connections: desc("connections", "Connections by what they are doing.", "state"),
		limit:       desc("max_connections", "Connections that the pool may have."),
		acquires:    desc("acquires_total", "Times a connection was lent."),
		queued:      desc("queued_total", "Times a call had to wait for a connection."),
		canceled:    desc("canceled_total", "Waits for a connection that ended without one."),
		waits:       desc("wait_seconds_total", "Time that calls have waited for a connection."),
		made:        desc("connections_made_total", "Connections made."),
		replaced:    desc("connections_replaced_total", "Connections found dead and made anew without their call failing."),
		closed:      desc("connections_closed_total", "Connections closed for their age, their idleness or an error."),
	}
}

func (p *pools) describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{p.connections, p.limit, p.acquires, p.queued, p.canceled, p.waits, p.made, p.replaced, p.closed} {
		ch <- d
	}
}

func (p *pools) collect(ch chan<- prometheus.Metric, pool string, s dbaccess.PoolStats) {
	gauge := func(d *prometheus.Desc, v int, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), append([]string{pool}, labels...)...)
	}
	counter := func(d *prometheus.Desc, v float64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, pool)
	}
	gauge(p.connections, s.Idle, "idle")
	gauge(p.connections, s.InUse, "in_use")
	gauge(p.connections, s.Connecting, "connecting")
	gauge(p.limit, s.Max)
	counter(p.acquires, float64(s.Acquired))
	counter(p.queued, float64(s.Queued))
	counter(p.canceled, float64(s.Canceled))
	counter(p.waits, s.Wait.Seconds())
	counter(p.made, float64(s.New))
	counter(p.replaced, float64(s.Replaced))
	counter(p.closed, float64(s.Closed))
}
