package dbaccess_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// echoContext is as much of Echo's context as the example needs: echo itself is
// for package middleware to import.
type echoContext interface {
	Request() *http.Request
	Param(name string) string
	QueryParam(name string) string
	JSON(status int, v any) error
}

type handlerContext struct{ ctx context.Context }

func (c handlerContext) Request() *http.Request {
	return (&http.Request{}).WithContext(c.ctx)
}
func (handlerContext) Param(string) string      { return "ACME" }
func (handlerContext) QueryParam(string) string { return "2026-01-01" }
func (handlerContext) JSON(status int, v any) error {
	b, err := json.Marshal(v)
	fmt.Println(status, string(b))
	return err
}

type Filing struct {
	ID      int64     `db:"id" json:"id"`
	Ticker  string    `db:"ticker" json:"ticker"`
	FiledAt time.Time `db:"filed_at" json:"filed_at"`
}

// A handler of docs/migrating.md.
func ExampleAll_handler() {
	db, err := dbaccess.New(dbaccess.Config{REST: canned(`[{"id":7,"ticker":"ACME","filed_at":"2026-03-01T18:00:00+09:00"}]`, 1)})
	if err != nil {
		log.Fatal(err)
	}

	filings := func(c echoContext) error {
		rows, err := dbaccess.All[Filing](c.Request().Context(), db, query.From("insider_transactions").
			Where(query.Eq("ticker", c.Param("ticker")), query.Gte("filed_at", c.QueryParam("since"))).
			OrderBy(query.Desc("filed_at")).
			Limit(50))
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, rows)
	}

	c := handlerContext{auth.With(context.Background(), auth.Identity{Role: "anon"})}
	if err := filings(c); err != nil {
		log.Fatal(err)
	}
	// Output: 200 [{"id":7,"ticker":"ACME","filed_at":"2026-03-01T09:00:00Z"}]
}
