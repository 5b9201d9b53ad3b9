// Package pgdsn reads the connection string of the direct path and settles what
// it means behind a transaction pooler:
//
//	s, err := pgdsn.Parse("postgres://app:…@pooler:6543/db?connection_limit=2&statement_timeout=5s")
//	// s.Pool: what pgxpool connects with, s.MaxConns: 2, s.StatementTimeout: 5 s
//
// A pooler refuses most startup parameters, or worse, accepts them and gives one
// client's settings to another. So only application_name and client_encoding are
// ever sent. What has a meaning is translated ([Settings]), and everything else
// is refused by name before anything is dialled, whether it came from the string
// itself, from its options, from a service file or from a PG* environment
// variable. All that is wrong is reported at once, in an [Error].
//
// sslmode=prefer, the default, and sslmode=allow make libpq dial a second time
// when the first try fails for any reason. Here they dial once: without TLS to a
// loopback address, with TLS (unverified, as prefer is) everywhere else.
//
// No error of this package holds the string, a value of it, or the password.
package pgdsn
