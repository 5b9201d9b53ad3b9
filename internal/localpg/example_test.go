package localpg_test

import (
	"context"
	"fmt"
	"log"

	"github.com/jackc/pgx/v5"

	"github.com/twinpath/twinpath/internal/localpg"
)

func ExampleStart() {
	ctx := context.Background()
	cluster, err := localpg.Start(ctx, localpg.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer cluster.Stop(ctx)

	if err := cluster.CreateDatabase(ctx, "shop", ""); err != nil {
		log.Fatal(err)
	}
	conn, err := pgx.Connect(ctx, cluster.SuperDSN("shop"))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close(ctx)

	var name string
	if err := conn.QueryRow(ctx, "select current_database()").Scan(&name); err != nil {
		log.Fatal(err)
	}
	fmt.Println(name)
	// Output: shop
}

func ExampleStartPooler() {
	ctx := context.Background()
	cluster, err := localpg.Start(ctx, localpg.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer cluster.Stop(ctx)
	if err := cluster.Exec(ctx, "postgres", "create role app login password 'secret'"); err != nil {
		log.Fatal(err)
	}

	pooler, err := localpg.StartPooler(ctx, localpg.PoolerConfig{
		Upstream: cluster.Addr(),
		Users:    map[string]string{"app": "secret"},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer pooler.Stop(ctx)

	conn, err := pgx.Connect(ctx, pooler.DSN("app", "secret", "postgres"))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close(ctx)
	fmt.Println(conn.PgConn().ParameterStatus("server_version") != "")
	// Output: true
}
