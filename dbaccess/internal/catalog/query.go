package catalog

import (
	_ "embed"
	"encoding/json"
)

//go:embed catalog.sql
var catalogSQL string

// SQL returns the statement that makes the catalog document of the exposed
// schemas, and its two text parameters. Extra are the schemas of PostgREST's
// db-extra-search-path: their views may stand between an exposed view and its
// tables.
//
// The statement reads pg_catalog alone, needs no privilege, works on PostgreSQL
// 13 and later whatever search_path says, and yields one row with one text
// column. It empties search_path while it runs and puts it back. Any search_path
// will do that does not shadow the operators of pg_catalog.
//
// The planner's cost grows with the schema, to about 30,000 for 300 tables, 600
// foreign keys and 100 views. Above jit_above_cost (100,000 by default) Postgres
// compiles the plan, which takes seconds: whoever runs the statement should turn
// jit off for its transaction.
func SQL(schemas []string, extra ...string) (sql string, args []string) {
	return catalogSQL, []string{jsonArray(schemas), jsonArray(extra)}
}

func jsonArray(names []string) string {
	if names == nil {
		names = []string{}
	}
	b, err := json.Marshal(names)
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(b)
}
