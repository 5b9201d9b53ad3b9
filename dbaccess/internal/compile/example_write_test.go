package compile_test

import (
	"errors"
	"fmt"
	"os"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// exampleCatalog is that of the golden fixture.
func exampleCatalog() *catalog.Catalog {
	text, err := os.ReadFile("../catalog/testdata/golden.json")
	if err != nil {
		panic(err)
	}
	c, err := catalog.Parse(text)
	if err != nil {
		panic(err)
	}
	return c
}

func ExampleSQL_write() {
	s := query.Update("companies", map[string]any{"name": "N"}).Where(query.Eq("ticker", "T01")).Spec()
	_, err := compile.SQL(&s, compile.SQLOptions{Schema: "public"})
	fmt.Println(errors.Is(err, compile.ErrNeedsCatalog), compile.NeedsCatalog(&s))
	p, err := compile.SQL(&s, compile.SQLOptions{Schema: "public", Catalog: exampleCatalog()})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Main.SQL)
	fmt.Printf("%q\n", p.Main.Args)
	// Output:
	// true true
	// with pgrst_source as (update "public"."companies" set "name" = pgrst_body."name" from pg_catalog.json_to_record($1::json) as pgrst_body("name" text) where "companies"."ticker" = $2 returning 1) select ''::text b, pg_catalog.count(*) n, null::int8 t, nullif(pg_catalog.current_setting('response.status', true), '') s, nullif(pg_catalog.current_setting('response.headers', true), '') h, null::int8 i from (select 1 from pgrst_source "companies") _t
	// ["{\"name\":\"N\"}" "T01"]
}

func ExampleREST_call() {
	s := query.Call("add_them", map[string]int{"a": 1, "b": 2}).Spec()
	r, err := compile.REST(&s)
	fmt.Println(r.Method, r.Path, r.ContentType, string(r.Body), err)
	s = query.Call("add_them", map[string]int{"a": 1, "b": 2}).ReadOnly().Spec()
	r, err = compile.REST(&s)
	fmt.Println(r.Method, r.Path+"?"+r.RawQuery, err)
	// Output:
	// POST rpc/add_them application/json {"a":1,"b":2} <nil>
	// GET rpc/add_them?a=1&b=2 <nil>
}

func ExampleReadOnly() {
	c := exampleCatalog()
	for _, q := range []query.Query{
		query.Call("top_traders", nil), query.Call("touch_profile", map[string]string{"new_handle": "x"}), query.Delete("prices"),
	} {
		s := q.Spec()
		fmt.Println(q, compile.ReadOnly(&s, c))
	}
	// Output:
	// call top_traders true
	// call touch_profile false
	// delete prices false
}

func ExampleRespond() {
	s := query.Insert("prices", map[string]string{"ticker": "T01"}).Merge().Spec()
	for _, inserted := range []int64{1, 0} {
		r := compile.Respond(&s, compile.Outcome{Rows: 1, Total: compile.NotCounted, Inserted: inserted})
		fmt.Println(r.Status, r.ContentRange, r.Empty)
	}
	// Output:
	// 201 */* true
	// 200 */* true
}

func ExampleGuardFailure() {
	r, ok := compile.GuardFailure("22P02", `invalid input syntax for type bigint: "twinpath guard max-affected 7"`)
	fmt.Println(ok, r.Status, r.Failure.Code, r.Failure.Details)
	_, ok = compile.GuardFailure("22P02", `invalid input syntax for type bigint: "seven"`)
	fmt.Println(ok)
	// Output:
	// true 400 PGRST124 The query affects 7 rows
	// false
}

func ExampleOverride() {
	code, fields, failure := compile.Override("418", `[{"X-Tea": "pot"}]`)
	fmt.Println(code, fields, failure)
	// Output: 418 [{X-Tea pot}] <nil>
}

func ExamplePayload() {
	payload, columns, err := compile.Payload([]byte(`[{"b": 1, "a": 2}, {"a": 3, "b": 4}]`))
	fmt.Println(string(payload), columns, err)
	_, _, err = compile.Payload([]byte(`[{"a": 1}, {"b": 2}]`))
	fmt.Println(err)
	// Output:
	// [{"b": 1, "a": 2}, {"a": 3, "b": 4}] [a b] <nil>
	// compile: PGRST102 (status 400): the payload must be a JSON object or an array of objects with the same members
}
