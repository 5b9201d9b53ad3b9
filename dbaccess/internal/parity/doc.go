// Package parity has the tests that ask the facade the same over both access paths:
// the stand-in for PostgREST behind package rest, and PgBouncer behind package
// direct, each on a database of its own that began as the other's. Values, errors
// and what is in the tables afterwards must be the same.
//
// With POSTGREST_URL the golden corpus is run against a real PostgREST; these tests
// write, so they stay with the stand-in.
package parity
