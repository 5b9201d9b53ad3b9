// Command bench holds this project to its budgets: what a call may cost beside the code that an
// application would have written without it. Ours and the peer's run in the same process and in turns, over
// the same servers.
//
//	go run .                          all budgets; make bench does this and writes the README's table
//	go run . -quick                   fewer and shorter rounds
//	go run . -gates                   only what is counted, nothing by the clock
//	go run . -run '^direct'           only those groups: direct/trips, direct/5ms, direct/1row, …
//
// Each budget is a line
//
//	budget direct/50rows/allocs 0.14 0.40 ok
//
// with the name, what was measured, the most it may be, and ok, miss or noise. Most are ratios, ours to the
// peer's. A line that begins with "info" has no limit.
//
// # Counted and timed
//
// Round trips, connections, allocations and bytes are counted. They are gates: a miss is exit status 1.
// Allocations are those of the whole process, so the servers are other processes or allocate nothing, and
// the smallest of several rounds is taken, as what else goes on can only add.
//
// Times are told with an interval: that of the median over many short rounds, each of which runs both
// sides, at 95 % and without assuming a distribution. Where it spans the limit the verdict is noise. A
// missed time is reported, but does not change the exit status: the machine may be busy.
//
// # Profiles
//
// The operations that are compared are ordinary benchmarks too:
//
//	go test -run '^$' -bench Direct/ours -memprofile mem.out -memprofilerate 1
package main
