// Package faults has the tests that break what is between the facade and the database:
// {PostgREST, the pooler, Postgres} × {refused, hang, RST, truncated, garbage, slow drip, restart} ×
// {read, write}.
//
// Whatever breaks, a call ends by its deadline with an error of the right kind; a read
// returns the rows that there are, or none at all; a write happens at most once, exactly once where it
// was reported done, and not at all where it was reported failed without OutcomeUnknown; the
// backend recovers by itself; and no goroutine and no file descriptor is left. Rows are
// counted over a connection that nothing breaks.
//
// PostgREST is the stand-in. Each path has a proxy of its own, see package wireproxy, and the
// poolers are the tests' own: PgBouncer 1.18 exits when the socket of a cancel
// request breaks (pgbouncer#846), which is told and mended, as a supervisor would.
package faults
