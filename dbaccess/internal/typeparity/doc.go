// Package typeparity has no code, only the tests that hold both access paths to one meaning of every type: what a Go value
// becomes in Postgres, what Postgres' value becomes in Go, and that a filter with the same Go value finds it again.
//
// The cases are a table, one line for a Go type and a column, in the files cases_*_test.go. [TestRoundTrips] runs each of
// them over both paths and writes the table of docs/types.md from them, so that page can't promise what no test holds:
//
//	go test ./dbaccess/internal/typeparity -update
//
// [TestRoundTrips]: https://github.com/twinpath/twinpath/tree/main/dbaccess/internal/typeparity
package typeparity
