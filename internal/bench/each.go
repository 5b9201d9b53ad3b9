package main

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
	"github.com/twinpath/twinpath/dbaccess/postgresttest"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/dbaccess/rest"
)

const (
	manyRows = 1_000_000
	fewRows  = 1_000

	manySQL = `create table if not exists public.many as
			select i::int8 as id, 'row ' || i as note from generate_series(1, 1000000) as i;
		alter table public.many add primary key (id);
		analyze public.many;
		grant select on public.many to authenticated;`

	secret = "a secret of the benchmark, of 32 bytes and more"
)

// many is a row of the large table.
type many struct {
	ID   int64  `db:"id"`
	Note string `db:"note"`
}

// eachRows reads a large table to its end, and a small part of it, on both paths. What is compared is the memory in use
// in the middle of it, garbage not counted: it must not grow with the table.
func eachRows(ctx context.Context, s *session) (budgets []budget, err error) {
	rig, err := s.rig(ctx)
	if err != nil {
		return nil, err
	}
	if err := rig.cluster.Exec(ctx, "postgres", manySQL); err != nil {
		return nil, err
	}
	direct, err := directDB(ctx, rig.dsn(rig.pooler.Addr()))
	if err != nil {
		return nil, err
	}
	defer closing(&err, direct.Close)
	overREST, stop, err := standInDB(ctx, rig)
	if err != nil {
		return nil, err
	}
	defer closing(&err, stop)

	for _, path := range []struct {
		name string
		db   *dbaccess.DB
	}{{"direct", direct}, {"rest", overREST}} {
		few, err := peak(ctx, path.db, fewRows)
		if err != nil {
			return nil, err
		}
		all, err := peak(ctx, path.db, manyRows)
		if err != nil {
			return nil, err
		}
		budgets = append(budgets, budget{
			name: "each/" + path.name + "/memory", what: "1,000,000 rows by Each, " + path.name, against: "1,000 rows", quantity: "memory in use",
			unit: "×", got: exactly(all / few), limit: 2,
		})
	}
	return budgets, nil
}

// peak is the most memory in use while so many rows are read.
func peak(ctx context.Context, db *dbaccess.DB, rows int) (most float64, err error) {
	ctx, cancel := context.WithTimeout(auth.With(ctx, caller), 10*time.Minute)
	defer cancel()
	n := 0
	for row, err := range dbaccess.Each[many](ctx, db, query.From("many").Limit(rows), "id") {
		if err != nil {
			return 0, err
		}
		if n++; row.ID != int64(n) {
			return 0, errRows
		}
		if n%(rows/10) == rows/20 { // ten times, in the middle of a page
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, float64(m.HeapAlloc))
		}
	}
	if n != rows {
		return 0, errRows
	}
	return most, nil
}

// standInDB is the facade with nothing but the REST path, to a stand-in for PostgREST.
func standInDB(ctx context.Context, rig *rig) (db *dbaccess.DB, stop func(context.Context) error, err error) {
	server, err := postgresttest.NewServer(postgresttest.Config{DSN: rig.cluster.DSN(loginRole, loginRole, "postgres"), JWTSecret: secret})
	if err != nil {
		return nil, nil, err
	}
	stop = func(context.Context) error { return server.Close() }
	tokens, err := jwt.NewHS256(jwt.Config{Secret: []byte(secret)})
	if err != nil {
		return nil, nil, errors.Join(err, stop(ctx))
	}
	path, err := rest.New(rest.Config{URL: server.URL, Signer: tokens})
	if err != nil {
		return nil, nil, errors.Join(err, stop(ctx))
	}
	db, err = dbaccess.New(dbaccess.Config{REST: path})
	if err != nil {
		return nil, nil, errors.Join(err, path.Close(ctx), stop(ctx))
	}
	return db, func(ctx context.Context) error { return errors.Join(db.Close(ctx), server.Close()) }, nil
}
