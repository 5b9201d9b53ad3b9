package main

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
)

// pair is one operation, done by this project and as an application would have written it.
type pair struct {
	ours, peer operation
	close      func(context.Context) error
}

// What the peers on pgx send: the same settings, and the same rows by name.
const (
	settingsSQL = `select set_config('transaction_read_only','on',true), set_config('search_path','"public", "public"',true),
		set_config('role',$1,true), set_config('request.jwt.claims',$2,true), set_config('request.method','GET',true),
		set_config('request.path',$3,true), set_config('request.headers','{}',true), set_config('request.cookies','{}',true)`
	rowsSQL = `select id, ref, title, price, tags, detail, filed_at, late, score, quantity
		from public.filings where id >= $1 order by id limit $2`
)

var errRows = errors.New("the number of rows is wrong")

// directPair reads so many rows through the pooler at addr.
func directPair(ctx context.Context, rig *rig, addr string, rows int, peer func(context.Context, *pgxpool.Pool, int) ([]filing, error)) (*pair, error) {
	db, err := directDB(ctx, rig.dsn(addr))
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.New(ctx, rig.dsn(addr)+"&default_query_exec_mode=exec&pool_max_conns=4") // direct.DefaultMaxConns
	if err != nil {
		return nil, errors.Join(err, db.Close(ctx))
	}
	ctx = auth.With(ctx, caller)
	check := func(found []filing, err error) error {
		if err == nil && (len(found) != rows || found[0].ID != 500) {
			err = errRows
		}
		return err
	}
	return &pair{
		ours: func() error { return check(dbaccess.All[filing](ctx, db, filingsFrom(500, rows))) },
		peer: func() error { return check(peer(ctx, pool, rows)) },
		close: func(ctx context.Context) error {
			pool.Close()
			return db.Close(ctx)
		},
	}, nil
}

// pgxBatch is pgx at its best: settings and statement in one batch, in one round trip.
func pgxBatch(ctx context.Context, pool *pgxpool.Pool, limit int) (_ []filing, err error) {
	var batch pgx.Batch
	batch.Queue(settingsSQL, caller.Role, claims, "/filings")
	batch.Queue(rowsSQL, 500, limit)
	results := pool.SendBatch(ctx, &batch)
	defer func() { err = errors.Join(err, results.Close()) }()
	if _, err := results.Exec(); err != nil {
		return nil, err
	}
	found, err := results.Query()
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, pgx.RowToStructByName[filing])
}

// pgxSteps is pgx as its documentation shows transactions: one statement after the other.
func pgxSteps(ctx context.Context, pool *pgxpool.Pool, limit int) (filings []filing, err error) {
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, settingsSQL, caller.Role, claims, "/filings"); err != nil {
			return err
		}
		found, err := tx.Query(ctx, rowsSQL, 500, limit)
		if err != nil {
			return err
		}
		filings, err = pgx.CollectRows(found, pgx.RowToStructByName[filing])
		return err
	})
	return filings, err
}

// directRows compares calls that return so many rows with hand-written pgx in the same batch.
func directRows(rows int) func(context.Context, *session) ([]budget, error) {
	return func(ctx context.Context, s *session) (budgets []budget, err error) {
		rig, err := s.rig(ctx)
		if err != nil {
			return nil, err
		}
		p, err := directPair(ctx, rig, rig.pooler.Addr(), rows, pgxBatch)
		if err != nil {
			return nil, err
		}
		defer closing(&err, p.close)
		return s.compare(p, comparison{
			name: "direct/" + countOf(rows), what: "direct path, " + plural(rows),
			against: "hand-written pgx, same batch, CollectRows", time: 1.35, objects: 0.4,
		})
	}
}

// countOf is a number of rows in a budget's name.
func countOf(rows int) string { return strings.ReplaceAll(plural(rows), " ", "") }

func plural(rows int) string {
	if rows == 1 {
		return "1 row"
	}
	return strconv.Itoa(rows) + " rows"
}

// link puts 5 ms between client and pooler.
func link(ctx context.Context, s *session) (budgets []budget, err error) {
	rig, err := s.rig(ctx)
	if err != nil {
		return nil, err
	}
	proxy, err := rig.proxy(2500 * time.Microsecond)
	if err != nil {
		return nil, err
	}
	defer closing(&err, proxy.Close)
	p, err := directPair(ctx, rig, proxy.Addr(), 50, pgxSteps)
	if err != nil {
		return nil, err
	}
	defer closing(&err, p.close)
	return s.compare(p, comparison{name: "direct/5ms", what: "direct path, 50 rows, 5 ms away", against: "pgx: BEGIN, SET, SELECT, COMMIT one by one", time: 1. / 3})
}
