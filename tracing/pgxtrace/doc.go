// Package pgxtrace shows the queries of any pgx connection or pool as Sentry
// spans, without package dbaccess:
//
//	cfg, err := pgxpool.ParseConfig(dsn)
//	pgxtrace.Configure(cfg)
//	pool, err := pgxpool.NewWithConfig(ctx, cfg)
//
// with middleware.Sentry, or any other transaction, in the contexts that the
// queries are given. Whatever hooks and tracer the config has already are kept.
// A config whose hooks are not to be touched can have [New] as its tracer, which
// then can't divide the making of a connection, nor see pings.
//
// A span shows what a statement does and to which table ("select companies"),
// and the name that sqlc gave it, as far as that can be told from the statement;
// never its text, whose literals may be values, and never arguments.
//
// Where the time before a query went is told by attributes of the first query on
// a connection: db.connection (idle, queued or new), db.phase.acquire_ms and its
// parts, db.phase.acquire.queue_ms for a place in the pool, .ping_ms for the
// question whether a connection that was idle is alive, .connect_ms for making
// one, and the parts of that: db.phase.connect.dns_ms, .tcp_ms, .tls_ms (with the
// question whether the server has TLS) and .startup_ms (login and settings). The
// time of a query itself is db.phase.prepare_ms and db.phase.query_ms. A long or
// futile wait for a connection, and making one, are also spans, which Sentry does
// not list among the queries; see [Slow].
//
// BEGIN, COMMIT, ROLLBACK and SAVEPOINT are not shown as queries. The statements
// between them have the attribute db.transaction, the first one also
// db.phase.begin_ms; a transaction that took long is a span beside them.
//
// pgx ends a query when its rows are closed, so a span includes the time in
// which the application reads them, and is missing where they never are. A
// connection that is made for a request which no longer waits for it is told as
// far as it had come.
//
// The tracer keeps silent for what package dbaccess does, which reports its calls
// itself, and costs next to nothing where no span is sampled.
package pgxtrace
