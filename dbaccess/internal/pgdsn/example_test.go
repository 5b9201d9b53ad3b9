package pgdsn_test

import (
	"fmt"

	"github.com/twinpath/twinpath/dbaccess/internal/pgdsn"
)

func ExampleParse() {
	s, err := pgdsn.Parse("postgres://app:secret@localhost:6543/db?sslmode=disable&pgbouncer=true&connection_limit=2&statement_timeout=5s")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.MaxConns, s.StatementTimeout, s.Pooler)

	_, err = pgdsn.Parse("postgres://app:secret@localhost/db?timezone=UTC&default_query_exec_mode=describe_exec")
	fmt.Println(err)
	// Output:
	// 2 5s true
	// connection string: default_query_exec_mode: describe_exec returns other callers' rows behind a transaction pooler: remove it; timezone: it would change the JSON of values on this path alone: remove it
}
