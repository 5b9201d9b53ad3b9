package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
)

// document is a saved catalog of the stock and insider-trading fixture.
func document() []byte {
	b, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		panic(err)
	}
	return b
}

func Example() {
	cat, err := catalog.Parse(document())
	if err != nil {
		fmt.Println(err)
		return
	}
	table, _ := cat.Table("public", "prices")
	for _, c := range table.Columns {
		fmt.Println(c.Name, c.Type)
	}
	fmt.Println(table.PrimaryKey)
	// Output:
	// ticker text
	// day date
	// close numeric(12,4)
	// volume bigint
	// [ticker day]
}

func ExampleCatalog_Relationship() {
	cat, err := catalog.Parse(document())
	if err != nil {
		fmt.Println(err)
		return
	}
	rel, err := cat.Relationship("public", "insider_transactions", "insiders", "approved_by")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(rel.Cardinality, rel.Constraint, rel.Columns, rel.ToOne())

	_, err = cat.Relationship("public", "insider_transactions", "insiders", "")
	var ambiguous *catalog.Error
	if errors.As(err, &ambiguous) {
		fmt.Println(ambiguous.Status, ambiguous.Hint)
	}
	// Output:
	// many-to-one insider_transactions_approver_fkey [{approved_by id}] true
	// 300 Try changing 'insiders' to one of the following: 'insiders!insider_transactions_approver_fkey', 'insiders!insider_transactions_insider_id_fkey'. Find the desired relationship in the 'details' key.
}

func ExampleCatalog_Function() {
	cat, err := catalog.Parse(document())
	if err != nil {
		fmt.Println(err)
		return
	}
	fn, err := cat.Function("public", "add_them", catalog.Call{Args: []string{"a"}, Body: catalog.BodyJSON})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range fn.Args {
		fmt.Println(a.Name, a.Cast(), a.Optional)
	}
	fmt.Println(fn.Returns.Kind, fn.Returns.Type, fn.ReadOnly())
	// Output:
	// a integer false
	// b integer true
	// scalar integer true
}

func ExampleSource() {
	source, err := catalog.NewSource(catalog.Config{
		// Runs the statement on the database; here it answers a saved document.
		Query:   func(context.Context, string, []string) ([]byte, error) { return document(), nil },
		Schemas: []string{"public", "private_api"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	defer func() { _ = source.Close(ctx) }()

	cat, err := source.Get(ctx) // loads
	if err != nil {
		fmt.Println(err)
		return
	}
	_, found := cat.Table("public", "dividends")
	fmt.Println(found)

	source.Invalidate() // perhaps it is new
	again, err := source.Get(ctx)
	fmt.Println(again == cat, err)
	// Output:
	// false
	// true <nil>
}
