// Package typeparity has no code, only the tests that hold both access paths to one meaning of every type: what a Go value
// becomes in Postgres, what Postgres' value becomes in Go, and that a filter with the same Go value finds it again.
//
// The cases are a table, a line for a Go type and a column, in the files cases_*_test.go. TestRoundTrips runs each of them
// over both paths. TestPage holds the table of docs/types.md to them, so that the page promises nothing that no test
// shows; this writes it:
//
//	go test ./dbaccess/internal/typeparity -run Page -update
package typeparity
