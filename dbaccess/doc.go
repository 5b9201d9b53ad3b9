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
// The columns read are the struct's: a field's column is its db tag, else its
// json tag, else an error.
//
// What happened is told to the [Observer]s: package tracing has one that makes
// Sentry spans.
package dbaccess
