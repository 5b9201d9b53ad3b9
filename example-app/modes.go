package main

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/latency"
	"github.com/twinpath/twinpath/dbaccess/rest"
	"github.com/twinpath/twinpath/example-app/internal/stack"
	"github.com/twinpath/twinpath/example-app/internal/stock"
)

// paths are the backends of the site's own calls.
type paths struct {
	rest   *rest.Backend
	direct *direct.Backend
}

// modeNaivePool is the mode for comparison: a pool as many services have it.
const modeNaivePool = "direct-naive-pool"

const (
	naiveIdleLimit = 10 * time.Second // node-postgres' default
	// naiveIdleCheck is how often the pool looks. pgxpool's own interval, a minute, would let connections
	// outlive their limit by as much.
	naiveIdleCheck = time.Second
)

// probeModes are the ways that the probes compare. The function closes what they keep open.
//
// They differ in their connections alone: all know the schema from the start, as a process that makes
// a connection per request would, too.
func probeModes(ctx context.Context, st *stack.Stack, own paths, naiveIdle time.Duration) (map[string]latency.Mode, func(context.Context) error, error) {
	schema, err := own.direct.SchemaCache(ctx)
	if err != nil {
		return nil, nil, err
	}
	pool, err := naivePool(st.PoolerDSN, naiveIdle)
	if err != nil {
		return nil, nil, err
	}
	naive, err := direct.New(direct.Config{Pool: pool, Schema: stock.Schema, SchemaCache: schema})
	if err != nil {
		pool.Close()
		return nil, nil, err
	}
	modes := map[string]latency.Mode{
		latency.ModeREST:   {Backend: own.rest},
		latency.ModeDirect: {Backend: own.direct},
		latency.ModeDirectPerRequest: {Open: func(context.Context) (dbaccess.Backend, error) {
			return direct.New(direct.Config{DSN: st.PoolerDSN, Schema: stock.Schema, SchemaCache: schema, MaxConns: 1})
		}},
		modeNaivePool: {Backend: naive},
	}
	return modes, func(ctx context.Context) error {
		err := naive.Close(ctx) // waits for its calls
		pool.Close()
		return err
	}, nil
}

// naivePool makes a pool with pgxpool's defaults, no least number of connections and a short idle
// limit: it has none left when requests come further apart than that. It connects when it is used.
func naivePool(dsn string, idle time.Duration) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, errors.New("the pooler's DSN does not suit pgxpool") // err may quote it
	}
	cfg.MaxConnIdleTime, cfg.HealthCheckPeriod = idle, min(naiveIdleCheck, idle)
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		return nil, errors.New("pgxpool does not take the pooler's DSN")
	}
	return pool, nil
}
