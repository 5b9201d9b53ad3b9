package rest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/dbaccess/rest"
)

func ExampleNew() {
	// Stands for PostgREST. Package postgresttest has one that runs queries.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("asked for", r.URL.Path, r.URL.Query())
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		fmt.Fprint(w, `[{"ticker":"T05","shares":250},{"ticker":"T05","shares":120}]`)
	}))
	defer server.Close()

	restPath, err := rest.New(rest.Config{URL: server.URL + "/rest/v1", APIKey: "the project's key"})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	db, err := dbaccess.New(dbaccess.Config{REST: restPath, Default: &auth.Identity{Role: "anon"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close(ctx)

	type filing struct {
		Ticker string `db:"ticker"`
		Shares int64  `db:"shares"`
	}
	rows, err := dbaccess.All[filing](ctx, db, query.From("filings").Where(query.Eq("ticker", "T05"), query.Gte("shares", 100)))
	fmt.Println(rows, err)
	// Output:
	// asked for /rest/v1/filings map[and:[(ticker.eq."T05",shares.gte."100")] limit:[1000] select:[ticker,shares]]
	// [{T05 250} {T05 120}] <nil>
}

func ExampleBackend_Check() {
	restPath, err := rest.New(rest.Config{URL: "http://localhost:3000", MaxURLBytes: 100})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer restPath.Close(context.Background())

	tickers := make([]any, 40)
	for i := range tickers {
		tickers[i] = fmt.Sprintf("T%02d", i)
	}
	several := query.From("filings").Where(query.In("ticker", tickers...)).Spec()
	fmt.Println(restPath.Check(&several))
	ordered := query.From("filings").Where(query.In("ticker", tickers...)).OrderBy(query.Asc("id")).Spec()
	fmt.Println(restPath.Check(&ordered) != nil)
	// Output:
	// <nil>
	// true
}
