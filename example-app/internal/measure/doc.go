// Package measure compares ways to a database from outside the app, in the shape of traffic that the app
// has: it asks latency.Probes in rounds and works out where the time went and how sure that is.
//
//	targets, err := measure.TargetsBelow("http://127.0.0.1:8080", []string{"rest", "direct"})
//	res, err := measure.Run(ctx, measure.Config{Targets: targets, Shape: measure.Spaced})
//	err = res.Report().WriteText(os.Stdout)
//
// The command is example-app measure.
//
// # Rounds and shapes
//
// In each round every mode gets one request, all at the same time or one by one, in random order. What slows down
// a whole round slows down all of its modes, and leaves their ratio alone: modes are compared by the
// median of the rounds' ratios, with a distribution-free interval (latency.PairedRatio).
//
// A burst sends round after round. It shows one and the same time for a good pool and a bad one, as no
// connection is ever idle. Spaced traffic pauses before each round, longer than whatever closes idle
// connections, and shows what is different. Rate begins rounds at fixed times, whether or not earlier
// ones have ended: a closed loop waits for a slow answer and so asks less while the app is slow. When
// more rounds are due than may run at once, they wait, and this side's times count from the moment at
// which they were due (correction for coordinated omission).
//
// # What is measured
//
// The main figure is the app's own: server_total_ms of a probe's answer. It does not hold the way to the
// app, and begins when the request has arrived. This side's time is given beside it. Each mode has
// connections of its own, which are kept; the time it takes to make one (names, TCP, TLS) is subtracted.
// A server that closes idle connections before the next request comes, as many do after a minute or less,
// makes this side connect again: such rounds are left out of the comparison, unless too few would be left.
//
// An answer is cold when the app says so: it is the first of its mode in the process, or its queries had
// to make a connection. Cold and warm are never in one series. Warm-up rounds count nowhere. A client
// per request is cold always; what its new connections take stands under handshakes, a part of the
// layer pool. The layers are means, so that they add up.
//
// # When there is a verdict
//
// There is none when too many rounds failed, when there are fewer than six, when the interval holds 1.00,
// when the order within the rounds turns the result around, and when a stand-in answered in PostgREST's
// place. Quantiles of fewer samples than an interval takes (p50 6, p90 36, p99 368) are left out. The
// intervals assume that rounds are independent, which those of a burst are less than those with pauses.
//
// # JSON
//
// [Report] is stable: members may be added. Times are in milliseconds, and null where there are not
// enough samples. For each mode:
//
//	modes.<mode>.n                       answers that count: warm.n + cold.n
//	modes.<mode>.errors                  answers that don't; .failures says what they were
//	modes.<mode>.new_connections         that the app made for them, without the warm-up's
//	modes.<mode>.requests_with_new_connections
//	modes.<mode>.reconnects              that this side made
//	modes.<mode>.warmup                  n, errors, new_connections
//	modes.<mode>.warm, .cold             two series with the members
//	    n, min_ms, p50_ms, p90_ms, p99_ms, max_ms      server time
//	    intervals_ms.p50, .p90, .p99                    [low, high]
//	    client_min_ms … client_max_ms                   this side's time; for rate from when it was due
//	    handshakes_ms, layers_ms                        means; layers: client, app, pool, network+pooler,
//	                                                    postgrest, database
//
// and beside them shape, rounds, rounds_done, concurrency, gap_ms, rps, max_delay_ms, one_by_one, seed,
// started, took_ms, interrupted, stand_in, baseline, notices, and
//
//	comparisons[]   baseline, mode, rounds, failed_rounds, reconnected_rounds_left_out, decided, verdict,
//	                ratio, ratio_when_first, ratio_when_second: value, low, high, confidence
//	verdict         of direct against rest, else of the first comparison
//
// With --shape both the document is [Both]: burst and spaced hold two such reports, and
// modes.<mode>.pays_for_connections says never, in burst, in spaced or in both.
//
// # Other people's servers
//
// Whatever an address answers, it is bounded in bytes, nesting and time, its text is shown without
// control characters, and redirects are not followed.
package measure
