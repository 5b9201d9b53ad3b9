// Package oracle has no code but tests: those that ask both access paths the
// same question and hold the answers against each other, and against answers
// from elsewhere.
//
//	TestRandomQueries       queries made of the golden fixture's catalog: the stand-in over HTTP, through the REST
//	                        path, and the direct path through PgBouncer answer the same
//	TestHandWrittenReads,   the two share a compiler, so a second oracle: SQL that people wrote, of reads and
//	TestHandWrittenWrites   calls, and of writes that are carried out in three databases side by side
//	TestBadRequests         malformed and hostile requests: refused, and nothing has run
//	TestHostileQueries      the same through the verbs of package dbaccess, on both paths
//
// A random query that the paths answer differently is made as small as it gets,
// and printed as the Go expression that builds it, as a request, and as SQL.
//
// Environment:
//
//	POSTGREST_URL   a real PostgREST that serves a database with the golden fixture; it takes the
//	                stand-in's place
//	ORACLE_QUERIES  number of random queries; defaults to 10000
//	ORACLE_SEED     seed of the first random query; defaults to 0
package oracle
