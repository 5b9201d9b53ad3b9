package typeparity_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

var update = flag.Bool("update", false, "rewrite the table of docs/types.md")

// pageRow is a line of the page.
type pageRow struct {
	column   string
	name     string // of the Postgres type
	examples []int  // the rows of the fixture whose JSON is shown
	notes    string
}

var pageRows = []pageRow{
	{"c_bool", "boolean", []int{1}, ""},
	{"c_int2", "smallint", []int{1}, ""},
	{"c_int4", "integer", []int{1}, "a fraction is an error both ways"},
	{"c_int8", "bigint", []int{1}, "every digit, also in `any` and in documents; `uint64` beyond the range is refused"},
	{"c_float4", "real", []int{1, 2}, "shortest digits that read back"},
	{"c_float8", "double precision", []int{1, 2}, "NaN and infinities are strings"},
	{"c_numeric", "numeric", []int{1, 2}, "as `string`, `json.Number` and decimals every digit; `float64` rounds; only strings, floats and `pgtype.Numeric` hold NaN"},
	{"c_money_like", "numeric(20,4)", []int{4}, "comes with the column's scale"},
	{"c_text", "text", []int{4}, "no zero bytes"},
	{"c_varchar", "varchar(20)", []int{2}, "too long is refused"},
	{"c_char", "char(5)", []int{1}, "padded with blanks"},
	{"c_bytea", "bytea", []int{1}, "a nil slice is NULL"},
	{"c_uuid", "uuid", []int{1}, "`[]byte` is bytea and refused"},
	{"c_date", "date", []int{1, 2, 4}, "the UTC date of a `time.Time`; `pgtype.Date` its own"},
	{"c_time", "time", []int{1, 2}, "`time.Time` is refused"},
	{"c_timetz", "timetz", []int{1}, ""},
	{"c_timestamp", "timestamp", []int{1, 4}, "the UTC wall clock of a `time.Time`; `pgtype.Timestamp` its own; rounded to microseconds"},
	{"c_timestamptz", "timestamptz", []int{1, 4}, "read in UTC; rounded to microseconds"},
	{"c_interval", "interval", []int{1, 2}, "years, months and days don't fit a `time.Duration`"},
	{"c_json", "json", []int{1}, "kept as sent; has no `=`"},
	{"c_jsonb", "jsonb", []int{1}, "`[]byte` is bytea, a string here: use `json.RawMessage`. A filter takes JSON: strings and slices as `json.RawMessage`"},
	{"c_int_arr", "integer[]", []int{1}, "NULL elements need an element that holds NULL"},
	{"c_text_arr", "text[]", []int{1}, ""},
	{"c_num_arr", "numeric[]", []int{1, 4}, ""},
	{"c_ts_arr", "timestamptz[]", []int{1}, "as `timestamptz`"},
	{"c_matrix", "integer[][]", []int{1}, "must be rectangular; lower bounds are lost"},
	{"c_enum", "an enum", []int{1}, ""},
	{"c_enum_arr", "an enum's array", []int{1}, ""},
	{"c_inet", "inet", []int{1, 4}, "`netip.Addr` and `net.IP` hold hosts only"},
	{"c_cidr", "cidr", []int{1}, ""},
	{"c_macaddr", "macaddr", []int{1}, ""},
	{"c_bit", "bit(4)", []int{1}, "the length must fit"},
	{"c_varbit", "varbit", []int{1}, ""},
	{"c_int4range", "int4range", []int{1, 2}, "comes in canonical form, `[)`"},
	{"c_tstzrange", "tstzrange", []int{1}, "infinite bounds need a `T` that holds them, such as `pgtype.Timestamptz`"},
	{"c_daterange", "daterange", []int{1}, ""},
	{"c_nummultirange", "nummultirange", []int{1}, ""},
	{"c_point", "point", []int{1}, "has no `=`"},
	{"c_tsvector", "tsvector", []int{1}, "comes sorted and quoted"},
	{"c_xml", "xml", []int{1}, "has no `=`"},
	{"c_oid", "oid", []int{1}, "quoted in JSON"},
	{"c_name", "name, citext", []int{1}, ""},
	{"c_macaddr8", "macaddr8", []int{1}, ""},
	{"c_domain", "a domain", []int{1}, "as its base type"},
	{"c_pair", "a composite type", []int{1}, "can't be filtered by"},
	{"c_pair_arr", "its array", []int{1}, ""},
	{"c_hstore", "hstore", []int{1}, ""},
	{"c_jsonb_arr", "jsonb[]", []int{1}, "a JSON null element and a NULL look alike"},
	{"c_range_arr", "int4range[]", []int{1}, "a `pgtype.Multirange` is no array"},
	{"c_circle", "circle, box, path, …", []int{1}, "`pgtype` has a type for each"},
}

const tableBegin, tableEnd = "<!-- types:begin, written by go test ./dbaccess/internal/typeparity -run Page -update -->\n", "<!-- types:end -->\n"

// TestPage holds the table of docs/types.md to the cases and to what the server
// sends.
func TestPage(t *testing.T) {
	t.Parallel()
	file, err := pgtest.File("docs/types.md")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, begins := bytes.Cut(page, []byte(tableBegin))
	got, tail, ends := bytes.Cut(rest, []byte(tableEnd))
	if !begins || !ends {
		t.Fatalf("%s has no lines %q and %q", file, tableBegin, tableEnd)
	}
	want := table(t, open(t))
	if *update {
		page = slices.Concat(head, []byte(tableBegin), []byte(want), []byte(tableEnd), tail)
		if err := os.WriteFile(file, page, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("the table is not what the tests say: run them with -update (-want +got):\n%s", diff)
	}
}

func table(t *testing.T, p *paths) string {
	t.Helper()
	seen := map[string]bool{"id": true}
	var b strings.Builder
	b.WriteString("| Postgres | JSON | read into | written from | notes |\n|---|---|---|---|---|\n")
	for _, r := range pageRows {
		seen[r.column] = true
		into, from := goTypes(t, r.column)
		if len(into) == 0 || len(from) == 0 {
			t.Errorf("no case reads and writes %s", r.column)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.name, strings.Join(examples(t, p, r), ", "), strings.Join(into, "; "), writtenFrom(into, from), r.notes)
	}
	raw, err := dbaccess.First[map[string]json.RawMessage](over(t, dbaccess.Direct), p.DB, query.From("all_types").Where(query.Eq("id", 1)))
	if err != nil {
		t.Fatal(err)
	}
	for column := range raw {
		if !seen[column] {
			t.Errorf("the page has no line for %s", column)
		}
	}
	if text := b.String(); strings.Contains(text, "typeparity") {
		t.Error("a type of the tests has no name for the page")
	}
	return b.String()
}

// examples are the JSON of some rows of the fixture.
func examples(t *testing.T, p *paths, r pageRow) []string {
	t.Helper()
	var all []string
	for _, id := range r.examples {
		row, err := dbaccess.One[map[string]json.RawMessage](over(t, dbaccess.REST), p.DB, query.From("all_types").Columns(r.column).Where(query.Eq("id", id)))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, "`"+strings.ReplaceAll(string(row[r.column]), "|", `\|`)+"`")
	}
	return all
}

// goTypes are the Go types of a column's cases, without those that stand for
// NULL beside every type.
func goTypes(t *testing.T, column string) (into, from []string) {
	t.Helper()
	add := func(list []string, name string) []string {
		if name == "" || slices.Contains(list, name) || strings.HasPrefix(name, "`*") || strings.HasPrefix(name, "pointers to") || strings.HasPrefix(name, "`sql.Null[") ||
			strings.HasPrefix(name, "`sql.Null` of") {
			return list
		}
		return append(list, name)
	}
	for _, c := range allCases() {
		if c.column == column {
			into, from = add(into, c.into), add(from, c.from)
		}
	}
	return into, from
}

// writtenFrom names what is written but not read, and what is read but not
// written.
func writtenFrom(into, from []string) string {
	only := func(a, b []string) []string {
		return slices.DeleteFunc(slices.Clone(a), func(name string) bool { return slices.Contains(b, name) })
	}
	if len(only(from, into)) == len(from) {
		return strings.Join(from, "; ")
	}
	text := "the same"
	if missing := only(into, from); len(missing) > 0 {
		text += " but " + strings.Join(missing, "; ")
	}
	if more := only(from, into); len(more) > 0 {
		text += "; and " + strings.Join(more, "; ")
	}
	return text
}
