// Package dbprom counts database calls and pools for Prometheus.
//
// A [Collector] is both an observer of calls and a collector of metrics:
//
//	metrics, err := dbprom.New(dbprom.Config{Pools: map[string]dbaccess.PoolReporter{"direct": directPath}})
//	registry.MustRegister(metrics)
//	db, err := dbaccess.New(dbaccess.Config{
//		…
//		Observers: []dbaccess.Observer{metrics},
//	})
//
// It has, each with the prefix of Config.Namespace:
//
//	twinpath_call_duration_seconds{query,path,cold}   histogram, decoding included
//	twinpath_call_errors_total{query,path,kind}       calls whose caller got an error
//	twinpath_call_rows_total{query,path}              rows returned, where they are known
//	twinpath_pool_connections{pool,state}             idle, in_use and connecting
//	twinpath_pool_max_connections{pool}
//	twinpath_pool_acquires_total{pool}                and _queued_total, _canceled_total
//	twinpath_pool_wait_seconds_total{pool}            all waits for a place together
//	twinpath_pool_connections_made_total{pool}        and _replaced_total, _closed_total
//
// The label query is the query's name or, where it has none, its shape without
// values. There are at most Config.MaxQueries of them; what comes later is
// "other". A quantile per path is then, for example,
//
//	histogram_quantile(0.95, sum by (le, path) (rate(twinpath_call_duration_seconds_bucket{cold="false"}[5m])))
package dbprom
