package query_test

import (
	"fmt"
	"time"

	"github.com/twinpath/twinpath/dbaccess/query"
)

func ExampleFrom() {
	recent := query.From("insider_transactions").
		Named("recent_filings").
		OrderBy(query.Desc("filed_at")).
		Limit(50)

	since := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	q := recent.Where(query.Eq("ticker", "T05"), query.Gte("filed_at", since))

	fmt.Println(q)
	fmt.Println(recent)
	fmt.Println(q.Err())
	// Output:
	// select insider_transactions by ticker,filed_at
	// select insider_transactions
	// <nil>
}

func ExampleQuery_Err() {
	q := query.From("companies").Where(query.Eq("sector_id", nil)).Limit(-1)
	fmt.Println(q.Err())
	// Output:
	// query: eq on column "sector_id": nil compares with nothing: use query.IsNull
	// query: Limit must not be negative
}

func ExampleJSONText() {
	q := query.From("insiders").
		Select(query.Col("id"), query.Col(query.JSONText("contact", "address", "city")).As("town")).
		Where(query.Eq(query.JSONText("contact", "phones", 0), "3"))
	for _, it := range q.Spec().Select {
		fmt.Println(it.(query.Field).Name())
	}
	// Output:
	// id
	// town
}

func ExampleOr() {
	q := query.From("companies").Where(
		query.Or(query.In("ticker", "T01", "T02"), query.Not(query.IsNull("parent_ticker"))),
		query.Gt("market_cap", 1e9),
	)
	fmt.Println(q)
	// Output: select companies by ticker,parent_ticker,market_cap
}

func ExampleText() {
	for _, v := range []any{
		"as it is", 42, 1.5, true, time.Date(2026, 2, 28, 13, 0, 0, 0, time.FixedZone("KST", 9*3600)),
		[]string{"a", `b"c`}, []byte{0xde, 0xad}, map[string]int{"n": 1},
	} {
		s, err := query.Text(v)
		fmt.Println(s, err)
	}
	// Output:
	// as it is <nil>
	// 42 <nil>
	// 1.5 <nil>
	// true <nil>
	// 2026-02-28T04:00:00Z <nil>
	// {"a","b\"c"} <nil>
	// \xdead <nil>
	// {"n":1} <nil>
}
