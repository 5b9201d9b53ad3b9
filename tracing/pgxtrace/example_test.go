package pgxtrace_test

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/twinpath/twinpath/tracing/pgxtrace"
)

func ExampleNew() {
	cfg, err := pgxpool.ParseConfig("postgres://app@127.0.0.1:6543/postgres")
	if err != nil {
		fmt.Println(err)
		return
	}
	cfg.ConnConfig.Tracer = pgxtrace.New()
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg) // connects when first used
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	fmt.Println(pool.Stat().TotalConns(), "connections")
	// Output: 0 connections
}
