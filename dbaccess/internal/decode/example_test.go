package decode_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/twinpath/twinpath/dbaccess/internal/decode"
)

// InsiderTx is a row: each field names its column.
type InsiderTx struct {
	ID      int64      `db:"id"`
	Ticker  string     `json:"ticker"`
	Price   string     `json:"price"` // a numeric, digit by digit
	FiledAt time.Time  `json:"filed_at"`
	Amended *time.Time `json:"amended_at"` // can be NULL
}

func Example() {
	var plans decode.Cache // one for the program
	plan, err := decode.PlanFor[InsiderTx](&plans)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range plan.Columns() {
		fmt.Println("select", c.Name)
	}

	body := []byte(`[{"id":9007199254740993,"ticker":"ACME","price":1.10,"filed_at":"2026-02-28T13:14:15+09:00","amended_at":null}]`)
	txs, err := decode.Rows[InsiderTx](plan, body, decode.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(txs[0].ID, txs[0].Ticker, txs[0].Price, txs[0].FiledAt, txs[0].Amended)
	// Output:
	// select id
	// select ticker
	// select price
	// select filed_at
	// select amended_at
	// 9007199254740993 ACME 1.10 2026-02-28 04:14:15 +0000 UTC <nil>
}

func ExampleRow() {
	plan, err := decode.PlanFor[int64](new(decode.Cache))
	if err != nil {
		fmt.Println(err)
		return
	}
	one, err := decode.Row[int64](plan, []byte(`{"count":42}`), decode.Options{})
	fmt.Println(one, err)
	bare, err := decode.Row[int64](plan, []byte(`42`), decode.Options{})
	fmt.Println(bare, err)
	// Output:
	// 42 <nil>
	// 42 <nil>
}

func ExampleTypeError() {
	plan, err := decode.PlanFor[InsiderTx](new(decode.Cache))
	if err != nil {
		fmt.Println(err)
		return
	}
	body := []byte(`[{"id":1,"ticker":null,"price":1.10,"filed_at":"2026-02-28T13:14:15+09:00","amended_at":null}]`)
	_, err = decode.Rows[InsiderTx](plan, body, decode.Options{})
	fmt.Println(err)
	fmt.Println(errors.Is(err, decode.ErrNull))
	// Output:
	// decode: column "ticker" of row 0: cannot read a JSON null into string: SQL NULL has no value of this type: use *string or sql.Null[string], or set NullAsZero
	// true
}

func ExampleCache_Plan() {
	_, err := decode.PlanFor[struct {
		ID     int64 `db:"id"`
		Ticker string
	}](new(decode.Cache))
	fmt.Println(err)
	// Output:
	// decode: rows cannot be read into struct { ID int64 "db:\"id\""; Ticker string }: field Ticker: no column: tag it `db:"column"` or `json:"column"`, or `db:"-"` to leave it out
}
