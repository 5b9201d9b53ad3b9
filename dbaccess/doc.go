// Package dbaccess runs a query over one of two paths to the same Postgres:
// through PostgREST, or directly on a connection pool behind a transaction
// pooler. A router picks the path for each request; the rows, the errors and the
// permissions are the same on both.
//
// A [DB] is made of up to two backends and a router:
//
//	db, err := dbaccess.New(dbaccess.Config{
//		REST:   restPath,   // from package rest
//		Direct: directPath, // from package direct
//		Router: rollout.Percent(10, "db-access-path"),
//	})
//
// Queries come from package query, identities from package auth, and the generic
// functions [All], [One], [First], [Page], [Count] and [JSON] run them:
//
//	txs, err := dbaccess.All[InsiderTx](ctx, db, recent.Where(query.Eq("ticker", t)))
//
// [Exec] runs writes and functions that nothing is wanted back from; the other
// functions return the rows that a write changed. [Each] reads more rows than fit
// into memory.
//
// The columns read are the struct's: a field's column is its db tag, else its
// json tag, else an error. Which Go types each Postgres type is read into and
// written from is a table in docs/types.md, which tests on both paths write.
//
// What happened is told to the [Observer]s: package tracing has one that makes
// Sentry spans.
package dbaccess
