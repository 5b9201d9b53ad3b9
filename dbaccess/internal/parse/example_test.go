package parse_test

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	"github.com/twinpath/twinpath/dbaccess/internal/parse"
)

func ExampleRequest() {
	p, err := parse.Request("GET", "/companies", "select=ticker&sector_id=in.(1,2)&order=ticker", http.Header{}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	program, err := compile.SQL(&p.Spec, compile.SQLOptions{Schema: "public"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(program.Main.SQL)
	fmt.Println(program.Main.Args)
	// Output:
	// select coalesce(pg_catalog.json_agg(_t.*),'[]')::text b, pg_catalog.count(*) n, null::int8 t from (select "companies"."ticker" from "public"."companies" where "companies"."sector_id" = any($1) order by "companies"."ticker") _t
	// [{"1","2"}]
}

func ExampleError() {
	_, err := parse.Request("GET", "/companies", "sector_id=equals.1", http.Header{}, nil)
	if e, ok := errors.AsType[*parse.Error](err); ok {
		fmt.Println(e.Status, e.Code, e.Details)
	}
	fmt.Println(err)
	// Output:
	// 400 PGRST100 unexpected "e" expecting operator (eq, gt, ...)
	// parse: request refused with status 400 (PGRST100)
}
