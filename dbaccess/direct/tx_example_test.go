package direct_test

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// exampleDB is a DB on a PgBouncer of the tests.
func exampleDB(ctx context.Context) (db *dbaccess.DB, stop func(), err error) {
	server, drop, err := pgtest.OpenGolden(ctx)
	if err != nil {
		return nil, nil, err
	}
	path, err := direct.New(direct.Config{DSN: server.PoolerDSN})
	if err != nil {
		return nil, nil, err
	}
	if db, err = dbaccess.New(dbaccess.Config{Direct: path}); err != nil {
		return nil, nil, err
	}
	return db, func() { _ = db.Close(ctx); _ = drop() }, nil
}

// SQL of the application's own and the facade's verbs, in one transaction that acts
// as the user.
func ExampleTx() {
	ctx := context.Background()
	db, stop, err := exampleDB(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()

	ctx = auth.With(ctx, auth.Identity{Role: "authenticated", Claims: []byte(`{"sub":"11111111-1111-1111-1111-111111111111"}`)})
	opts := direct.TxOptions{Name: "publish_watchlist", Isolation: pgx.Serializable, Retries: 3}
	err = direct.Tx(ctx, db, opts, func(ctx context.Context, tx direct.Transaction) error {
		tag, err := tx.Exec(ctx, "update watchlists set is_public = true where id = any($1)", []int{1, 2, 3})
		if err != nil {
			return err
		}
		lists, err := dbaccess.All[watchlist](ctx, db, query.From("watchlists").OrderBy(query.Asc("id")))
		fmt.Println(tag, lists) // Bob's is not among them
		return err
	})
	fmt.Println(err)
	// Output:
	// UPDATE 2 [{Alice private true} {Alice public true}]
	// <nil>
}

type watchlist struct {
	Title  string `db:"title"`
	Public bool   `db:"is_public"`
}

// Watchlists is what sqlc generates (sql_package: pgx/v5), shortened.
type Watchlists struct{ db DBTX }

func NewWatchlists(db DBTX) *Watchlists { return &Watchlists{db: db} }

func (q *Watchlists) CountItems(ctx context.Context, list int32) (int64, error) {
	const sql = "-- name: CountItems :one\nselect count(*) from watchlist_items where watchlist_id = $1"
	var n int64
	err := q.db.QueryRow(ctx, sql, list).Scan(&n)
	return n, err
}

// Code that sqlc has generated takes a transaction for its DBTX.
func ExampleTransaction() {
	ctx := context.Background()
	db, stop, err := exampleDB(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()

	ctx = auth.With(ctx, auth.Identity{Role: "anon"})
	err = direct.Tx(ctx, db, direct.TxOptions{ReadOnly: true}, func(ctx context.Context, tx direct.Transaction) error {
		n, err := NewWatchlists(tx).CountItems(ctx, 2)
		fmt.Println(n)
		return err
	})
	fmt.Println(err)
	// Output:
	// 1
	// <nil>
}
