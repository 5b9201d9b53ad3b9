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
// Spans never hold values: no arguments, filter values, URLs or tokens, and no
// server's message, which may quote them. A request that isn't sampled costs
// next to nothing: no span and no attribute is made for it.
//
// Sentry drops transactions with status 404 unless told otherwise. To see those
// of your handlers, initialize it with
//
//	sentry.ClientOptions{TraceIgnoreStatusCodes: [][]int{}, …}
package tracing
