// Package tracing shows database calls as Sentry spans.
//
// An [Observer] among dbaccess.Config.Observers makes one span a call:
//
//	db, err := dbaccess.New(dbaccess.Config{
//		…
//		Observers: []dbaccess.Observer{tracing.NewObserver()},
//	})
//
// with middleware.Sentry in front for the transaction that it belongs to. Where
// there is no request, [NewTransaction] gives a job's transaction the same care.
//
// The span has the same op ("db") and the same description (the query's shape,
// "select insider_transactions by ticker,filed_at") on both access paths, so
// that Sentry puts them side by side; the attribute db.access_path tells them
// apart. Where the time went is in the attributes db.phase.<name>_ms, which
// leave no gap; a phase that a call has twice, for it was tried again or sent in
// parts, is added up there. Calls that were slow or had to make a connection also get a
// child span a phase, and so become a waterfall; see [Slow].
//
// # What is cold
//
// A call that made a connection, or was the first one on its path, has the
// attribute cold, with cold.reason (new_connection or first_call) and
// process.age_ms, the time since the observer was made. A call that was tried again
// has db.retries, one whose list was split over several requests
// http.request.count.
//
// # Code without the facade
//
// Queries on a pgx pool of one's own are shown by package pgxtrace. HTTP clients are
// shown by [NewTransport], and those whose requests have no context, postgrest-go
// among them, by [BindTransport].
//
// # Metrics
//
// Traces explain a call; how the paths compare is told by counts of all calls,
// whether or not their traces are sampled: [Metrics] reports them to Sentry, and
// package dbprom has them for Prometheus.
//
// # What is never told
//
// Spans never hold values: no arguments, filter values, URLs or tokens, and no
// server's message, which may quote them. A request that isn't sampled costs
// next to nothing: no span and no attribute is made for it.
package tracing
