package authmatrix_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
)

// value is one and the same in the two forms that a person and a facade write it
// in.
type value struct {
	json any
	text string
}

func text(s string) value { return value{s, s} }

// sample has a valid value of every type that a column or an argument of the
// database has. Two of one type differ.
var sample = map[string][2]value{
	"boolean":                     {{true, "true"}, {false, "false"}},
	"smallint":                    {{71, "71"}, {72, "72"}},
	"integer":                     {{9007, "9007"}, {9008, "9008"}},
	"bigint":                      {{9007, "9007"}, {9008, "9008"}},
	"real":                        {{1.5, "1.5"}, {2.5, "2.5"}},
	"double precision":            {{1.5, "1.5"}, {2.5, "2.5"}},
	"numeric":                     {{900, "900"}, {901, "901"}},
	"text":                        {text("NEW"), text("OTHER")},
	"character varying":           {text("NEW"), text("OTHER")},
	"character":                   {text("NEW"), text("OTHER")},
	"bytea":                       {text(`\x0102`), text(`\x03`)},
	"uuid":                        {text("99999999-0000-0000-0000-000000000001"), text("99999999-0000-0000-0000-000000000002")},
	"date":                        {text("2031-01-02"), text("2031-01-03")},
	"time without time zone":      {text("01:02:03"), text("02:03:04")},
	"time with time zone":         {text("01:02:03+02"), text("02:03:04+02")},
	"timestamp without time zone": {text("2031-01-02T03:04:05"), text("2031-01-03T03:04:05")},
	"timestamp with time zone":    {text("2031-01-02T03:04:05Z"), text("2031-01-03T03:04:05Z")},
	"interval":                    {text("1 day"), text("2 days")},
	"json":                        {{map[string]any{"a": 1}, `{"a":1}`}, {map[string]any{"a": 2}, `{"a":2}`}},
	"jsonb":                       {{map[string]any{"a": 1}, `{"a":1}`}, {map[string]any{"a": 2}, `{"a":2}`}},
	"integer[]":                   {{[]any{1, 2}, "{1,2}"}, {[]any{3}, "{3}"}},
	"text[]":                      {{[]any{"x"}, "{x}"}, {[]any{"y"}, "{y}"}},
	"numeric[]":                   {{[]any{1.5}, "{1.5}"}, {[]any{2.5}, "{2.5}"}},
	"timestamp with time zone[]":  {{[]any{"2031-01-02T03:04:05Z"}, "{2031-01-02T03:04:05Z}"}, {[]any{}, "{}"}},
	"public.trade_kind":           {text("buy"), text("sell")},
	"public.trade_kind[]":         {{[]any{"buy"}, "{buy}"}, {[]any{"sell"}, "{sell}"}},
	"inet":                        {text("10.0.0.7"), text("10.0.0.8")},
	"cidr":                        {text("10.7.0.0/16"), text("10.8.0.0/16")},
	"macaddr":                     {text("08:00:2b:01:02:07"), text("08:00:2b:01:02:08")},
	"bit":                         {text("0101"), text("0110")},
	"bit varying":                 {text("01"), text("10")},
	"int4range":                   {text("[7,9)"), text("[8,9)")},
	"tstzrange":                   {text(`["2031-01-02 00:00:00+00",)`), text("empty")},
	"daterange":                   {text("[2031-01-02,2031-01-05)"), text("empty")},
	"nummultirange":               {text("{[7,9)}"), text("{}")},
	"point":                       {text("(7,8)"), text("(8,9)")},
	"tsvector":                    {text("'seven':1"), text("'eight':1")},
	"xml":                         {text("<a/>"), text("<b/>")},
}

// sampleOf is a value for a type; other picks the second one.
func sampleOf(tb testing.TB, typ string, other bool) value {
	tb.Helper()
	name := typ
	if i := strings.IndexByte(name, '('); i >= 0 { // varchar(20), but not the (3) without time zone
		j := strings.IndexByte(name, ')')
		name = name[:i] + name[j+1:]
	}
	pair, ok := sample[name]
	if !ok {
		tb.Fatalf("add a value of type %s to the samples: a column or an argument is of it", typ)
	}
	if other {
		return pair[1]
	}
	return pair[0]
}

// row is what to write into a table, in the order of its columns.
type row []field

type field struct {
	name, typ string
	value
}

// payload is the row as the facade takes it.
func (r row) payload() map[string]any {
	m := make(map[string]any, len(r))
	for _, f := range r {
		m[f.name] = f.json
	}
	return m
}

// reference is a foreign key of one column, which all of the database's are.
type reference struct{ column, table, key string }

// references reads the foreign keys of a table.
func references(tb testing.TB, super *pgconn.PgConn, t *catalog.Table) []reference {
	tb.Helper()
	var refs []reference
	for _, r := range must(tb, super, `select a.attname, c.confrelid::regclass::text, k.attname, cardinality(c.conkey)::text
		from pg_constraint c
		join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
		join pg_attribute k on k.attrelid = c.confrelid and k.attnum = c.confkey[1]
		where c.contype = 'f' and c.conrelid = $1::regclass order by c.conname`, ident(t)) {
		if r[3] != "1" {
			tb.Fatalf("%s has a foreign key of several columns, for which no row is made up yet", ident(t))
		}
		refs = append(refs, reference{r[0], r[1], r[2]})
	}
	return refs
}

// newRow makes up a row that the table has not, but for who is asked: it refers to
// the first rows of other tables, or with last to their last. Some belong to
// Alice, some to Bob.
func newRow(tb testing.TB, super *pgconn.PgConn, t *catalog.Table, last bool) row {
	tb.Helper()
	refs := references(tb, super, t)
	existing := referred(tb, super, t, refs, last)
	var r row
	for _, c := range t.Columns {
		if c.Generated != "" || c.Identity == "always" {
			continue
		}
		v, ok := existing[c.Name]
		switch {
		case ok:
		case c.Name == "owner": // without a foreign key
			v = text(aliceID)
			if last {
				v = text(bobID)
			}
		default:
			v = sampleOf(tb, typeOf(&c), last)
		}
		r = append(r, field{c.Name, c.Type, v})
	}
	return r
}

func typeOf(c *catalog.Column) string {
	if c.IsDomain() {
		return c.BaseType
	}
	return c.Type
}

// referred finds values of a table's foreign keys that no row of it has yet,
// where they are the whole primary key.
func referred(tb testing.TB, super *pgconn.PgConn, t *catalog.Table, refs []reference, last bool) map[string]value {
	tb.Helper()
	if len(refs) == 0 {
		return nil
	}
	var columns, from, same []string
	for i, r := range refs {
		alias := fmt.Sprintf("r%d", i)
		columns = append(columns, fmt.Sprintf("to_json(%s.%s), %[1]s.%[2]s::text", alias, name(r.key)))
		from = append(from, r.table+" "+alias)
		if slices.Contains(t.PrimaryKey, r.column) {
			same = append(same, fmt.Sprintf("t.%s = %s.%s", name(r.column), alias, name(r.key)))
		}
	}
	sql := "select " + strings.Join(columns, ", ") + " from " + strings.Join(from, " cross join ")
	if len(same) > 0 && len(same) == len(t.PrimaryKey) {
		sql += " where not exists (select from " + ident(t) + " t where " + strings.Join(same, " and ") + ")"
	}
	var order []string
	for i, r := range refs {
		order = append(order, fmt.Sprintf("r%d.%s", i, name(r.key)))
		if last {
			order[i] += " desc"
		}
	}
	found := must(tb, super, sql+" order by "+strings.Join(order, ", ")+" limit 1")
	if len(found) == 0 {
		tb.Fatalf("there are no rows that a new one of %s could refer to", ident(t))
	}
	values := map[string]value{}
	for i, r := range refs {
		var v any
		if err := json.Unmarshal([]byte(found[0][2*i]), &v); err != nil {
			tb.Fatal(err)
		}
		values[r.column] = value{v, found[0][2*i+1]}
	}
	return values
}

// changes are the ways to change all rows of a table: one that its constraints
// allow, where there is a column for it, and the foreign keys, by which a row may
// change hands.
func changes(tb testing.TB, super *pgconn.PgConn, t *catalog.Table) []row {
	tb.Helper()
	refs := references(tb, super, t)
	existing := referred(tb, super, t, refs, true)
	unique := slices.Clone(t.PrimaryKey)
	for _, k := range t.UniqueKeys {
		unique = append(unique, k.Columns...)
	}
	var rows []row
	var plain, key row // a column that is neither unique nor refers to anything, and one that is unique
	for _, c := range t.Columns {
		if c.Generated != "" || c.Identity != "" {
			continue
		}
		v, ok := existing[c.Name]
		switch {
		case ok:
			rows = append(rows, row{{c.Name, c.Type, v}})
		case c.Name == "owner":
			rows = append(rows, row{{c.Name, c.Type, text(bobID)}})
		case slices.Contains(unique, c.Name):
			key = row{{c.Name, c.Type, sampleOf(tb, typeOf(&c), true)}}
		case plain == nil:
			plain = row{{c.Name, c.Type, sampleOf(tb, typeOf(&c), true)}}
		}
	}
	if plain != nil {
		rows = append(rows, plain)
	}
	if len(rows) == 0 && key != nil {
		rows = append(rows, key)
	}
	return rows
}

// arguments are those of a function, by name.
func arguments(tb testing.TB, f *catalog.Function) row {
	tb.Helper()
	var r row
	for _, a := range f.Args {
		v, ok := chosen[f.Name+"."+a.Name]
		if !ok {
			v = sampleOf(tb, a.Type, false)
		}
		r = append(r, field{a.Name, a.Cast(), v})
	}
	return r
}

// chosen are arguments for which not any value will do.
var chosen = map[string]value{
	"fail_with.code":       text("P0001"),
	"company_stats.ticker": text("T03"),
	"pick.n":               {3, "3"},
	"become.whom":          text("service_role"),
}

// ident is a table's name as SQL takes it.
func ident(t *catalog.Table) string { return pgx.Identifier{t.Schema, t.Name}.Sanitize() }

func name(s string) string { return pgx.Identifier{s}.Sanitize() }
