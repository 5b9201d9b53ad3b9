package compile_test

import (
	"fmt"

	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	"github.com/twinpath/twinpath/dbaccess/query"
)

func ExampleREST() {
	s := query.From("companies").Columns("ticker").Where(query.Eq("name", `Fish & "Chips"`)).Limit(10).Spec()
	r, err := compile.REST(&s)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Method, r.Path)
	fmt.Println(r.RawQuery)
	// Output:
	// GET companies
	// select=ticker&and=(name.eq.%22Fish%20%26%20%5C%22Chips%5C%22%22)&limit=10
}

func ExampleSQL() {
	s := query.From("companies").Columns("ticker").Where(query.Eq("name", `Fish & "Chips"`)).Limit(10).Spec()
	p, err := compile.SQL(&s, compile.SQLOptions{Schema: "public"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Main.SQL)
	fmt.Printf("%q\n", p.Main.Args)
	// Output:
	// select coalesce(pg_catalog.json_agg(_t.*),'[]')::text b, pg_catalog.count(*) n, null::int8 t from (select "companies"."ticker" from "public"."companies" where "companies"."name" = $1 limit $2) _t
	// ["Fish & \"Chips\"" "10"]
}

func ExampleAnswer() {
	s := query.From("companies").Limit(10).Offset(20).Spec()
	fmt.Printf("%+v\n", compile.Answer(&s, 10, 57))
	// Output: {Status:206 ContentRange:20-29/57 Empty:false Failure:<nil>}
}
