package dbaccess_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// canned answers every call with one body, so that the examples need no server.
func canned(body string, total int64) *fakeBackend {
	return &fakeBackend{body: body, rows: total, total: total}
}

func ExampleNew() {
	db, err := dbaccess.New(dbaccess.Config{
		REST:   canned(`[]`, 0), // rest.New(…)
		Direct: canned(`[]`, 0), // direct.New(…)
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	if err := db.Start(ctx); err != nil {
		log.Fatal(err)
	}
	defer db.Close(ctx)

	_, err = dbaccess.JSON(ctx, db, query.From("companies"))
	fmt.Println(errors.Is(err, dbaccess.ErrNoIdentity))
	// Output: true
}

func ExampleAll() {
	type Filing struct {
		ID      int64     `db:"id"`
		Ticker  string    `db:"ticker"`
		FiledAt time.Time `db:"filed_at"`
	}
	db, err := dbaccess.New(dbaccess.Config{REST: canned(`[{"id":7,"ticker":"ACME","filed_at":"2026-03-01T18:00:00+09:00"}]`, 1)})
	if err != nil {
		log.Fatal(err)
	}
	ctx := auth.With(context.Background(), auth.Identity{Role: "anon"})

	recent := query.From("insider_transactions").Named("recent_filings").OrderBy(query.Desc("filed_at")).Limit(50)
	filings, err := dbaccess.All[Filing](ctx, db, recent.Where(query.Eq("ticker", "ACME")))
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range filings {
		fmt.Println(f.ID, f.Ticker, f.FiledAt)
	}
	// Output: 7 ACME 2026-03-01 09:00:00 +0000 UTC
}

func ExampleOne() {
	type Company struct {
		Ticker string `db:"ticker"`
		Name   string `db:"name"`
	}
	db, err := dbaccess.New(dbaccess.Config{REST: canned(`{"ticker":"ACME","name":"Acme Corp"}`, 1)})
	if err != nil {
		log.Fatal(err)
	}
	ctx := auth.With(context.Background(), auth.Identity{Role: "anon"})

	c, err := dbaccess.One[Company](ctx, db, query.From("companies").Where(query.Eq("ticker", "ACME")))
	fmt.Println(c.Name, err)
	// Output: Acme Corp <nil>
}

func ExampleFirst() {
	type Company struct {
		Name string `db:"name"`
	}
	db, err := dbaccess.New(dbaccess.Config{REST: canned(`[]`, 0)})
	if err != nil {
		log.Fatal(err)
	}
	ctx := auth.With(context.Background(), auth.Identity{Role: "anon"})

	_, err = dbaccess.First[Company](ctx, db, query.From("companies").Named("largest").OrderBy(query.Desc("market_cap").NullsLast()))
	fmt.Println(errors.Is(err, dbaccess.ErrNoRows), err)
	// Output: true dbaccess: largest over rest: no rows
}

func ExamplePage() {
	type Company struct {
		Name string `db:"name"`
	}
	db, err := dbaccess.New(dbaccess.Config{REST: canned(`[{"name":"Acme Corp"}]`, 50)})
	if err != nil {
		log.Fatal(err)
	}
	ctx := auth.With(context.Background(), auth.Identity{Role: "anon"})

	page, total, err := dbaccess.Page[Company](ctx, db, query.From("companies").OrderBy(query.Asc("name")).Limit(1))
	fmt.Println(len(page), total, err)
	// Output: 1 50 <nil>
}

func ExampleCount() {
	db, err := dbaccess.New(dbaccess.Config{REST: canned(``, 50)})
	if err != nil {
		log.Fatal(err)
	}
	ctx := auth.With(context.Background(), auth.Identity{Role: "anon"})

	n, err := dbaccess.Count(ctx, db, query.From("companies"))
	fmt.Println(n, err)
	// Output: 50 <nil>
}

func ExampleJSON() {
	db, err := dbaccess.New(dbaccess.Config{REST: canned(`[{"ticker":"ACME"}]`, 1)})
	if err != nil {
		log.Fatal(err)
	}
	ctx := auth.With(context.Background(), auth.Identity{Role: "anon"})

	rows, err := dbaccess.JSON(ctx, db, query.From("companies").Columns("ticker"))
	fmt.Println(string(rows), err)
	// Output: [{"ticker":"ACME"}] <nil>
}

func ExampleWithDecision() {
	db, err := dbaccess.New(dbaccess.Config{REST: canned(`[]`, 0), Direct: canned(`[{"path":"direct"}]`, 1)})
	if err != nil {
		log.Fatal(err)
	}
	ctx := auth.With(context.Background(), auth.Identity{Role: "service_role"})
	ctx = dbaccess.WithDecision(ctx, dbaccess.Decision{Path: dbaccess.Direct, Reason: "nightly job"})

	rows, err := dbaccess.JSON(ctx, db, query.From("companies"))
	fmt.Println(string(rows), err)
	// Output: [{"path":"direct"}] <nil>
}

func ExampleExec() {
	db, err := dbaccess.New(dbaccess.Config{REST: canned(``, 1)})
	if err != nil {
		log.Fatal(err)
	}
	ctx := auth.With(context.Background(), auth.Identity{Role: "authenticated"})

	type item struct {
		Watchlist int64  `db:"watchlist_id"`
		Ticker    string `db:"ticker"`
		Position  int    `db:"position,omitzero"` // 0 leaves it to the column's default
	}
	n, err := dbaccess.Exec(ctx, db, query.Insert("watchlist_items", item{Watchlist: 1, Ticker: "ACME"}).Ignore("watchlist_id", "ticker"))
	fmt.Println(n, err)

	_, err = dbaccess.Exec(ctx, db, query.Delete("watchlist_items"))
	fmt.Println(err)
	// Output:
	// 1 <nil>
	// dbaccess: delete watchlist_items: unsupported query: delete without a condition: it would touch every row: add Where, or Where(query.AllRows()) to mean that
}

func ExampleEach() {
	type Filing struct {
		ID int64 `db:"id"`
	}
	pages := &pagesBackend{bodies: []string{`[{"id":1},{"id":2}]`, `[{"id":3}]`}}
	db, err := dbaccess.New(dbaccess.Config{REST: pages, MaxRows: 2})
	if err != nil {
		log.Fatal(err)
	}
	ctx := auth.With(context.Background(), auth.Identity{Role: "service_role"})

	for filing, err := range dbaccess.Each[Filing](ctx, db, query.From("insider_transactions"), "id") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(filing.ID)
	}
	// Output:
	// 1
	// 2
	// 3
}

// Without middleware.AccessPath, which does so for each request.
func ExampleWithRequestHeaders() {
	backend := canned(`[]`, 0)
	db, err := dbaccess.New(dbaccess.Config{Direct: backend, ForwardHeaders: []string{"X-Tenant", "Cookie"}})
	if err != nil {
		log.Fatal(err)
	}
	request, err := http.NewRequest(http.MethodGet, "/api/filings", nil)
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("X-Tenant", "acme")
	request.Header.Set("X-Debug", "1")

	ctx := dbaccess.WithRequestHeaders(request.Context(), request.Header)
	ctx = auth.With(ctx, auth.Identity{Role: "anon"})
	_, err = dbaccess.JSON(ctx, db, query.From("filings"))
	fmt.Println(backend.headers[0], err)
	// Output: map[X-Tenant:[acme]] <nil>
}
