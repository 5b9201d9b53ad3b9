package sqltext_test

import (
	"fmt"

	"github.com/twinpath/twinpath/internal/sqltext"
)

func ExampleParse() {
	s := sqltext.Parse("-- name: ListFilings :many\nselect * from filings where ticker = 'secret'")
	fmt.Println(s.Summary(), s.Name)
	// Output: select filings ListFilings
}
