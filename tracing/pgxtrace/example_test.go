package pgxtrace_test

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/twinpath/twinpath/tracing/pgxtrace"
)

func ExampleConfigure() {
	cfg, err := pgxpool.ParseConfig("postgres://app@127.0.0.1:6543/postgres")
	if err != nil {
		fmt.Println(err)
		return
	}
	pgxtrace.Configure(cfg)
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg) // connects when first used
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	fmt.Println(pool.Stat().TotalConns(), "connections")
	// Output: 0 connections
}

func ExampleConfigureConn() {
	cfg, err := pgx.ParseConfig("postgres://app@127.0.0.1:5432/postgres")
	if err != nil {
		fmt.Println(err)
		return
	}
	pgxtrace.ConfigureConn(cfg, pgxtrace.Slow(50*time.Millisecond))
	_, isTracer := cfg.Tracer.(*pgxtrace.Tracer)
	fmt.Println(isTracer)
	// Output: true
}
