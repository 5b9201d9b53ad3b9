// Package pgtest gives tests real databases: one private PostgreSQL cluster per test binary,
// started when the first test asks for it, with a fresh database for every test, and a PgBouncer
// in transaction mode in front of it.
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }
//
//	func TestSomething(t *testing.T) {
//		t.Parallel()
//		db := pgtest.Golden(t)          // a copy of the golden fixture, this test's own
//		conn, err := pgx.Connect(t.Context(), db.PoolerDSN)
//		…
//	}
//
// [Run] stops everything when the tests are over and then fails the binary if goroutines are left.
// [Golden] and [NewDatabase] copy a template that the SQL files are loaded into once, which takes some
// tens of milliseconds; the database is dropped when the test ends. Roles belong to the whole cluster,
// not to a database: SQL files must create them only if they do not exist.
//
// If TWINPATH_TEST_DATABASE_URL is set, it names a running server, as superuser, and no cluster is
// started. A missing program fails the test, with what to install; nothing is skipped.
package pgtest
