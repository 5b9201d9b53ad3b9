package direct_test

import (
	"context"
	"fmt"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

func ExampleNew() {
	ctx := context.Background()
	server, drop, err := pgtest.OpenGolden(ctx) // a PgBouncer of the tests
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = drop() }()

	path, err := direct.New(direct.Config{DSN: server.PoolerDSN})
	if err != nil {
		fmt.Println(err)
		return
	}
	db, err := dbaccess.New(dbaccess.Config{Direct: path})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close(ctx)

	ctx = auth.With(ctx, auth.Identity{Role: "anon"})
	companies, err := dbaccess.JSON(ctx, db, query.From("companies").Columns("ticker", "name").OrderBy(query.Asc("ticker")).Limit(1))
	fmt.Println(string(companies), err)
	// Output: [{"ticker":"T01","name":"Company 1"}] <nil>
}

// A build step saves what the path has to know of the schema; a function that must
// start fast is given it.
func ExampleBackend_SchemaCache() {
	ctx := context.Background()
	server, drop, err := pgtest.OpenGolden(ctx) // a PgBouncer of the tests
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = drop() }()

	build, err := direct.New(direct.Config{DSN: server.PoolerDSN})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer build.Close(ctx)
	saved, err := build.SchemaCache(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}

	path, err := direct.New(direct.Config{DSN: server.PoolerDSN, SchemaCache: saved})
	if err != nil {
		fmt.Println(err)
		return
	}
	db, err := dbaccess.New(dbaccess.Config{Direct: path, Default: &auth.Identity{Role: "anon"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close(ctx)
	sum, err := dbaccess.One[int](ctx, db, query.Call("add_them", map[string]any{"a": 1, "b": 2}))
	fmt.Println(sum, err)
	// Output: 3 <nil>
}

func ExampleNew_refused() {
	_, err := direct.New(direct.Config{DSN: "postgres://app:secret@pooler.example:6543/db?timezone=Asia/Seoul"})
	fmt.Println(err)
	// Output: direct: Config.DSN: connection string: timezone: it would change the JSON of values on this path alone: remove it
}
