// Package pgxtrace shows the queries of any pgx connection or pool as Sentry
// spans, without package dbaccess:
//
//	cfg, err := pgxpool.ParseConfig(dsn)
//	cfg.ConnConfig.Tracer = pgxtrace.New()
//	pool, err := pgxpool.NewWithConfig(ctx, cfg)
//
// with middleware.Sentry, or any other transaction, in the contexts that the
// queries are given. Another tracer can be kept beside it with pgx's
// multitracer.
//
// A span shows what a statement does and to which table ("select companies"),
// and the name that sqlc gave it, as far as that can be told from the statement;
// never its text, whose literals may be values, and never arguments. BEGIN,
// COMMIT, ROLLBACK and SAVEPOINT are left out.
//
// How a query came by its connection is told by attributes of the first query on
// it: db.connection (idle, queued or new) and db.phase.acquire_ms. Making a
// connection, and waiting long for one, are spans of their own, which Sentry
// does not list among the queries.
//
// pgx ends a query when its rows are closed, so a span includes the time in
// which the application reads them, and is missing where they never are.
//
// The tracer keeps silent for what package dbaccess does, which reports its calls
// itself, and costs next to nothing where no span is sampled.
package pgxtrace
