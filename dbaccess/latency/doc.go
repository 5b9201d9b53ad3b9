// Package latency says how long database calls take, on which path and in which
// layer, and how sure one can be of it.
//
// A [Recorder] is an observer that keeps a histogram for each query, path and
// temperature, and shows them as a report:
//
//	report := latency.NewRecorder(latency.RecorderConfig{})
//	db, err := dbaccess.New(dbaccess.Config{ …, Observers: []dbaccess.Observer{report}})
//	mux.Handle("/debug/report", report.Handler(latency.AllowLoopback))
//
// [Probes] are handlers that run a few fixed queries over one path and answer
// where the time went, so that the paths can be compared from outside, in the
// shape of traffic that the service really has. [Quantile], [PairedRatio] and
// [PairedDifference] turn such measurements into numbers with an interval, or say
// that there are not enough of them.
//
// A call is cold when it is the first of its query on its path, or had to make a
// connection, and warm otherwise. The two are never mixed: their common median
// would be that of neither.
//
// Every handler of this package answers 404 unless it has been given a function
// that lets the request in; [AllowLoopback] is one.
package latency
