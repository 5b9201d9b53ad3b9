// Package authmatrix has no code but tests: those that hold the promise that the
// access path never changes what a caller may see or do, and that no call leaves
// anything behind for the next one on the same server connection.
//
//	TestAuthorizationMatrix   every caller, on every table and function that the database has, does everything; both
//	                          paths answer what the SQL that people write for it answers
//	TestIsolationSoak         many callers at once on few server connections, with errors, cancels and timeouts: no row
//	                          of another, no setting left, no connection lost
//
// The database is the golden fixture and testdata/policies.sql. Tables and functions
// are read from its catalog: what is added there is tested without a line here.
//
// Environment:
//
//	SOAK        1 makes TestIsolationSoak take a minute instead of five seconds
//	SOAK_SEED   the seed that a failed TestIsolationSoak printed
package authmatrix
