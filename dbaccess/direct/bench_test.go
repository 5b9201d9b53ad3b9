package direct_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// BenchmarkDo reads rows through PgBouncer as alice. Its peer is pgx as written by
// hand in the same shape: one batch of settings and statement, rows collected into
// structs.
func BenchmarkDo(b *testing.B) {
	db := pgtest.Golden(b)
	for _, rows := range []int{1, 50} {
		b.Run(fmt.Sprintf("direct/rows=%d", rows), func(b *testing.B) {
			path := open(b, direct.Config{DSN: db.PoolerDSN})
			if err := path.Start(b.Context()); err != nil {
				b.Fatal(err)
			}
			q := query.From("insider_transactions").Columns("id", "ticker", "kind", "shares", "price", "filed_at", "note").
				Where(query.Gte("id", 1)).OrderBy(query.Asc("id")).Limit(rows)
			c := call(q, alice)
			b.ReportAllocs()
			for b.Loop() {
				res, err := path.Do(b.Context(), c)
				if err != nil || res.Rows != int64(rows) {
					b.Fatalf("%d rows, error %v", res.Rows, err)
				}
			}
		})
		// What a call that looks at the login role, and takes the settings of the
		// caller's along, costs more.
		b.Run(fmt.Sprintf("direct/first/rows=%d", rows), func(b *testing.B) {
			path := open(b, direct.Config{DSN: db.PoolerDSN})
			c := call(query.From("insider_transactions").Columns("id").OrderBy(query.Asc("id")).Limit(rows), alice)
			b.ReportAllocs()
			for b.Loop() {
				path.ReloadSchema()
				if _, err := path.Do(b.Context(), c); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("pgx/rows=%d", rows), func(b *testing.B) { benchmarkPGX(b, db, rows) })
	}
}

func benchmarkPGX(b *testing.B, db *pgtest.Database, rows int) {
	type insiderTx struct {
		ID            int64
		Ticker        string
		Kind          string
		Shares, Price *float64
		FiledAt       time.Time
		Note          *string
	}
	pool, err := pgxpool.New(b.Context(), db.PoolerDSN+"&default_query_exec_mode=exec")
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	claims, err := json.Marshal(map[string]string{"sub": aliceID, "role": "authenticated"})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var batch pgx.Batch
		batch.Queue(`select set_config('transaction_read_only','on',true), set_config('search_path','"public"',true), set_config('role',$1,true),
			set_config('request.jwt.claims',$2,true), set_config('request.method','GET',true), set_config('request.path',$3,true),
			set_config('request.headers','{}',true), set_config('request.cookies','{}',true)`, "authenticated", string(claims), "/insider_transactions")
		batch.Queue(`select id, ticker, kind::text, shares::float8, price::float8, filed_at, note from public.insider_transactions
			where id >= $1 order by id limit $2`, 1, rows)
		results := pool.SendBatch(b.Context(), &batch)
		if _, err := results.Exec(); err != nil {
			b.Fatal(err)
		}
		found, err := results.Query()
		if err != nil {
			b.Fatal(err)
		}
		txs, err := pgx.CollectRows(found, pgx.RowToStructByPos[insiderTx])
		if err != nil || len(txs) != rows {
			b.Fatalf("%d rows, error %v", len(txs), err)
		}
		if err := results.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
