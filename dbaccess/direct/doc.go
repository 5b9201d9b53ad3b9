// Package direct is the access path straight to Postgres: a small pgx pool,
// usually behind a transaction pooler such as PgBouncer or Supavisor.
//
//	path, err := direct.New(direct.Config{DSN: os.Getenv("POOLER_URL")})
//	db, err := dbaccess.New(dbaccess.Config{Direct: path, …})
//	if err := db.Start(ctx); err != nil { … } // opens the first connection
//	defer db.Close(ctx)
//
// A call is one round trip. It sends, in one batch that ends in one Sync, the
// settings that PostgREST would make for the same caller (search_path, the role's
// own settings, role, request.jwt.claims, method, path, forwarded headers and
// cookies, read-only for reads), [Config.PreRequest] and the statement.
// Without an explicit BEGIN the batch is a transaction of its own: the settings
// end with it, so the next user of the connection finds none of them, and when a
// setting fails, because the role doesn't exist for example, the statement is
// never run. The statement is compiled from the query, values are parameters, and
// nothing is prepared under a name, so it works on any pooler and on an app's own
// pgxpool in its default exec mode.
//
// Embeds, writes and function calls are compiled with what is known of the schema:
// tables, relationships, functions. The first query that needs it reads it from
// pg_catalog, as the login role and in a round trip of its own, and the rest find it
// there; [Config.SchemaCache] hands it to a process that must start fast. A query
// that finds it wrong, because there was a migration, has it read again.
//
// A write runs in one round trip too, guards included: where it would return another
// number of rows than one that was asked for, or change more than it may, the
// statement itself fails and nothing is changed. No write is ever sent twice. When
// the connection breaks before its commit is confirmed, the error says that
// nobody knows what became of it.
//
// What queries can't say, [Tx] runs: an application's own SQL in a transaction that
// acts as the caller, traced, and usable as sqlc's DBTX.
//
// The pool's login role must not be the role that callers act as. Use a role of
// its own, NOINHERIT, that was granted the callers' roles, as [SetupSQL] makes it: a
// mistake is then a refusal by Postgres. A call whose role is the login role fails
// inside of the server before its statement. The first call brings along, in its own
// round trip, a look at the login role, which is refused where it has privileges of
// its own: see [ErrPrivilegedLogin]. The settings that ALTER ROLE … SET has given the
// roles come with it. Both are looked at again every [LoginMaxAge], by one of the calls,
// and after [Backend.ReloadSchema].
//
// A deadline of the call's context also becomes a statement_timeout of a little
// less, unless a lower one is set already, so that the server gives up first and
// the connection stays usable.
//
// From [Backend.Start] or the first call on, the connections of a DSN's pool are
// pinged in the background before an idle limit meets them: see Config.KeepWarm. No call
// pays a ping for that. Before a connection is used, a look at its socket, which
// sends nothing, tells whether the other side has closed it; one that has been silent
// for longer than pings allow, because the process was frozen for example, has half a
// second to give a sign of life. A query of tables whose connection has died unseen
// is sent once more on another one; functions are not, nor are writes, unless not a
// byte of them has left. [Backend.PoolStats] counts all of it.
package direct
