package catalog_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

var update = flag.Bool("update", false, "write testdata/golden.json")

// The saved document of the golden fixture, which the examples and benchmarks
// read, is what the statement answers.
func TestGoldenDocument(t *testing.T) {
	t.Parallel()
	const path = "testdata/golden.json"
	got := withoutVersion(t, mustJSON(t, golden(t))) + "\n"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the document differs from %s; if that is right, run with -update (-want +got):\n%s", path, diff)
	}
}

func TestGoldenRelationships(t *testing.T) {
	t.Parallel()
	want := map[string][]string{
		"sectors": {
			"companies one-to-many companies_sector_id_fkey(id=sector_id)",
		},
		"companies": {
			"companies one-to-many companies_parent_ticker_fkey(ticker=parent_ticker)",
			"companies many-to-one companies_parent_ticker_fkey(parent_ticker=ticker)",
			"company_summary (view) many-to-one companies_parent_ticker_fkey(parent_ticker=ticker)",
			"index_members one-to-many index_members_ticker_fkey(ticker=ticker)",
			"indexes many-to-many index_members(index_members_ticker_fkey: ticker=ticker; index_members_code_fkey: code=code)",
			"insider_transactions one-to-many insider_transactions_ticker_fkey(ticker=ticker)",
			"prices one-to-many prices_ticker_fkey(ticker=ticker)",
			"sectors many-to-one companies_sector_id_fkey(sector_id=id)",
			"watchlist_items one-to-many watchlist_items_ticker_fkey(ticker=ticker)",
			"watchlists many-to-many watchlist_items(watchlist_items_ticker_fkey: ticker=ticker; watchlist_items_watchlist_id_fkey: id=watchlist_id)",
		},
		"insiders": {
			"insider_transactions one-to-many insider_transactions_approver_fkey(id=approved_by)",
			"insider_transactions one-to-many insider_transactions_insider_id_fkey(id=insider_id)",
		},
		"insider_transactions": {
			"companies many-to-one insider_transactions_ticker_fkey(ticker=ticker)",
			"company_summary (view) many-to-one insider_transactions_ticker_fkey(ticker=ticker)",
			"insiders many-to-one insider_transactions_approver_fkey(approved_by=id)",
			"insiders many-to-one insider_transactions_insider_id_fkey(insider_id=id)",
		},
		"prices": {
			"companies many-to-one prices_ticker_fkey(ticker=ticker)",
			"company_summary (view) many-to-one prices_ticker_fkey(ticker=ticker)",
		},
		"indexes": {
			"companies many-to-many index_members(index_members_code_fkey: code=code; index_members_ticker_fkey: ticker=ticker)",
			"company_summary (view) many-to-many index_members(index_members_code_fkey: code=code; index_members_ticker_fkey: ticker=ticker)",
			"index_members one-to-many index_members_code_fkey(code=code)",
		},
		"index_members": {
			"companies many-to-one index_members_ticker_fkey(ticker=ticker)",
			"company_summary (view) many-to-one index_members_ticker_fkey(ticker=ticker)",
			"indexes many-to-one index_members_code_fkey(code=code)",
		},
		"company_summary": {
			"companies one-to-many companies_parent_ticker_fkey(ticker=parent_ticker)",
			"index_members one-to-many index_members_ticker_fkey(ticker=ticker)",
			"indexes many-to-many index_members(index_members_ticker_fkey: ticker=ticker; index_members_code_fkey: code=code)",
			"insider_transactions one-to-many insider_transactions_ticker_fkey(ticker=ticker)",
			"prices one-to-many prices_ticker_fkey(ticker=ticker)",
			"watchlist_items one-to-many watchlist_items_ticker_fkey(ticker=ticker)",
			"watchlists many-to-many watchlist_items(watchlist_items_ticker_fkey: ticker=ticker; watchlist_items_watchlist_id_fkey: id=watchlist_id)",
		},
		"profiles": {
			"watchlists one-to-many watchlists_owner_fkey(id=owner)",
		},
		"watchlists": {
			"companies many-to-many watchlist_items(watchlist_items_watchlist_id_fkey: id=watchlist_id; watchlist_items_ticker_fkey: ticker=ticker)",
			"company_summary (view) many-to-many watchlist_items(watchlist_items_watchlist_id_fkey: id=watchlist_id; watchlist_items_ticker_fkey: ticker=ticker)",
			"profiles many-to-one watchlists_owner_fkey(owner=id)",
			"watchlist_items one-to-many watchlist_items_watchlist_id_fkey(id=watchlist_id)",
		},
		"watchlist_items": {
			"companies many-to-one watchlist_items_ticker_fkey(ticker=ticker)",
			"company_summary (view) many-to-one watchlist_items_ticker_fkey(ticker=ticker)",
			"watchlists many-to-one watchlist_items_watchlist_id_fkey(watchlist_id=id)",
		},
		"secrets": {}, "all_types": {}, "Odd Table": {}, "notes": {},
	}
	c := golden(t)
	got := map[string][]string{}
	for _, table := range tables(c) {
		got[table.Name] = describeAll(c.Relationships(table.Schema, table.Name))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("relationships (-want +got):\n%s", diff)
	}
}

func TestGoldenKeys(t *testing.T) {
	t.Parallel()
	type keys struct {
		Kind    catalog.Kind
		Primary []string
		Unique  []catalog.Key
	}
	want := map[string]keys{
		"prices":          {catalog.KindTable, []string{"ticker", "day"}, nil},
		"watchlist_items": {catalog.KindTable, []string{"watchlist_id", "ticker"}, nil},
		"company_summary": {catalog.KindView, []string{"ticker"}, nil},
		"watchlists":      {catalog.KindTable, []string{"id"}, []catalog.Key{{Name: "watchlists_owner_title_key", Columns: []string{"owner", "title"}}}},
		"Odd Table":       {catalog.KindTable, []string{"Id"}, nil},
	}
	c := golden(t)
	for name, want := range want {
		table, ok := c.Table("public", name)
		if !ok {
			t.Errorf("no table %s", name)
			continue
		}
		if diff := cmp.Diff(want, keys{table.Kind, table.PrimaryKey, table.UniqueKeys}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestGoldenTypes(t *testing.T) {
	t.Parallel()
	c := golden(t)
	table, ok := c.Table("public", "all_types")
	if !ok {
		t.Fatal("no table all_types")
	}
	want := strings.Split(strings.TrimSpace(`
id integer
c_bool boolean
c_int2 smallint
c_int4 integer
c_int8 bigint
c_float4 real
c_float8 double precision
c_numeric numeric
c_money_like numeric(20,4)
c_text text
c_varchar character varying(20)
c_char character(5)
c_bytea bytea
c_uuid uuid
c_date date
c_time time without time zone
c_timetz time with time zone
c_timestamp timestamp without time zone
c_timestamptz timestamp with time zone
c_interval interval
c_json json
c_jsonb jsonb
c_int_arr integer[]
c_text_arr text[]
c_num_arr numeric[]
c_ts_arr timestamp with time zone[]
c_matrix integer[]
c_enum public.trade_kind
c_enum_arr public.trade_kind[]
c_inet inet
c_cidr cidr
c_macaddr macaddr
c_bit bit(4)
c_varbit bit varying
c_int4range int4range
c_tstzrange tstzrange
c_daterange daterange
c_nummultirange nummultirange
c_point point
c_tsvector tsvector
c_xml xml`), "\n")
	if diff := cmp.Diff(want, columnTypes(table)); diff != "" {
		t.Errorf("types (-want +got):\n%s", diff)
	}
	for name, want := range map[string]catalog.Class{
		"c_text": catalog.ClassScalar, "c_json": catalog.ClassJSON, "c_jsonb": catalog.ClassJSONB, "c_matrix": catalog.ClassArray,
		"c_enum": catalog.ClassEnum, "c_enum_arr": catalog.ClassArray, "c_tsvector": catalog.ClassTSVector,
		"c_daterange": catalog.ClassRange, "c_nummultirange": catalog.ClassMultirange,
	} {
		column, ok := table.Column(name)
		if !ok || column.Class != want {
			t.Errorf("%s: class %v, want %q", name, column, want)
		}
	}
}

// Every error of the corpus that PostgREST makes of its schema cache.
func TestGoldenErrors(t *testing.T) {
	t.Parallel()
	c := golden(t)
	ask := map[string]func() error{
		"embed-ambiguous": func() error {
			_, err := c.Relationship("public", "insider_transactions", "insiders", "")
			return err
		},
		"embed-no-relationship": func() error {
			_, err := c.Relationship("public", "insiders", "sectors", "")
			return err
		},
		"embed-self-children": func() error {
			_, err := c.Relationship("public", "companies", "companies", "companies_parent_ticker_fkey")
			return err
		},
		"rpc-unknown-function": func() error {
			_, err := c.Function("public", "nope", catalog.Call{Body: catalog.BodyJSON})
			return err
		},
		"rpc-unknown-arg": func() error {
			_, err := c.Function("public", "add_them", catalog.Call{Args: []string{"c", "a"}, Body: catalog.BodyJSON})
			return err
		},
		"insert-unknown-column": func() error {
			table, _ := c.Table("public", "companies")
			return table.UnknownColumn("nope")
		},
		"select-unknown-table": func() error { return c.UnknownTable("public", "nopes") },
		"schema-unknown":       func() error { return c.Exposes("nope") },
	}
	path, err := pgtest.File("testdata/golden/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		var recorded struct {
			ID       string
			Status   int
			Response string
		}
		if err := json.Unmarshal(lines.Bytes(), &recorded); err != nil {
			t.Fatal(err)
		}
		fail, ok := ask[recorded.ID]
		if !ok {
			continue
		}
		delete(ask, recorded.ID)
		var got *catalog.Error
		if err := fail(); !errors.As(err, &got) {
			t.Errorf("%s: error %v, want a *catalog.Error", recorded.ID, err)
			continue
		}
		body, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(decode(t, recorded.Response), decode(t, string(body))); diff != "" {
			t.Errorf("%s: body (-want +got):\n%s", recorded.ID, diff)
		}
		if got.Status != recorded.Status {
			t.Errorf("%s: status %d, want %d", recorded.ID, got.Status, recorded.Status)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	for id := range ask {
		t.Errorf("the corpus has no case %s", id)
	}
}

func decode(t *testing.T, s string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// What the corpus's embeds resolve to.
func TestGoldenResolution(t *testing.T) {
	t.Parallel()
	c := golden(t)
	for _, tt := range []struct{ origin, target, hint, want string }{
		{"companies", "sectors", "", "sectors many-to-one companies_sector_id_fkey(sector_id=id)"},
		{"companies", "sector_id", "", "sectors many-to-one companies_sector_id_fkey(sector_id=id)"},
		{"companies", "companies_sector_id_fkey", "", "sectors many-to-one companies_sector_id_fkey(sector_id=id)"},
		{"companies", "parent_ticker", "", "companies many-to-one companies_parent_ticker_fkey(parent_ticker=ticker)"},
		{"companies", "companies", "", "companies one-to-many companies_parent_ticker_fkey(ticker=parent_ticker)"},
		{"companies", "companies", "parent_ticker", "companies one-to-many companies_parent_ticker_fkey(ticker=parent_ticker)"},
		{"companies", "prices", "", "prices one-to-many prices_ticker_fkey(ticker=ticker)"},
		{"insider_transactions", "insiders", "approved_by", "insiders many-to-one insider_transactions_approver_fkey(approved_by=id)"},
		{"insider_transactions", "insiders", "insider_transactions_insider_id_fkey", "insiders many-to-one insider_transactions_insider_id_fkey(insider_id=id)"},
		{"insider_transactions", "approved_by", "", "insiders many-to-one insider_transactions_approver_fkey(approved_by=id)"},
		{"insiders", "insider_transactions", "approved_by", "insider_transactions one-to-many insider_transactions_approver_fkey(id=approved_by)"},
		{"indexes", "companies", "", "companies many-to-many index_members(index_members_code_fkey: code=code; index_members_ticker_fkey: ticker=ticker)"},
		{"indexes", "companies", "index_members", "companies many-to-many index_members(index_members_code_fkey: code=code; index_members_ticker_fkey: ticker=ticker)"},
		{"company_summary", "insider_transactions", "", "insider_transactions one-to-many insider_transactions_ticker_fkey(ticker=ticker)"},
		{"watchlists", "watchlist_items", "", "watchlist_items one-to-many watchlist_items_watchlist_id_fkey(id=watchlist_id)"},
	} {
		r, err := c.Relationship("public", tt.origin, tt.target, tt.hint)
		if err != nil {
			t.Errorf("%s → %s!%s: %v", tt.origin, tt.target, tt.hint, err)
			continue
		}
		if got := describe(r); got != tt.want {
			t.Errorf("%s → %s!%s = %s, want %s", tt.origin, tt.target, tt.hint, got, tt.want)
		}
	}
}

func TestGoldenFunctions(t *testing.T) {
	t.Parallel()
	c := golden(t)
	for _, tt := range []struct {
		schema, name string
		args         []string
		body         catalog.Body
		returns      catalog.Returns
		resource     string
		readOnly     bool
	}{
		{"public", "add_them", []string{"a", "b"}, catalog.BodyJSON, catalog.Returns{Kind: "scalar", Type: "integer", Schema: "pg_catalog", Name: "int4"}, "public.add_them", true},
		{"public", "add_them", []string{"a"}, catalog.BodyNone, catalog.Returns{Kind: "scalar", Type: "integer", Schema: "pg_catalog", Name: "int4"}, "public.add_them", true},
		{"public", "top_traders", nil, catalog.BodyNone, catalog.Returns{Kind: "composite", Set: true, Type: "public.insider_transactions", Schema: "public", Name: "insider_transactions", Relation: true}, "public.insider_transactions", true},
		{"public", "company_stats", []string{"ticker"}, catalog.BodyJSON, catalog.Returns{Kind: "composite", Set: true, Type: "record", Schema: "pg_catalog", Name: "record"}, "public.record", true},
		{"public", "noop", nil, catalog.BodyJSON, catalog.Returns{Kind: "void", Type: "void", Schema: "pg_catalog", Name: "void"}, "public.noop", false},
		{"public", "touch_profile", []string{"new_handle"}, catalog.BodyJSON, catalog.Returns{Kind: "composite", Type: "public.profiles", Schema: "public", Name: "profiles", Relation: true}, "public.profiles", false},
		{"public", "pick", []string{"n"}, catalog.BodyJSON, catalog.Returns{Kind: "scalar", Set: true, Type: "integer", Schema: "pg_catalog", Name: "int4"}, "public.pick", true},
		{"private_api", "hidden", nil, catalog.BodyJSON, catalog.Returns{Kind: "scalar", Type: "integer", Schema: "pg_catalog", Name: "int4"}, "private_api.hidden", true},
	} {
		f, err := c.Function(tt.schema, tt.name, catalog.Call{Args: tt.args, Body: tt.body})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if diff := cmp.Diff(tt.returns, f.Returns); diff != "" {
			t.Errorf("%s returns (-want +got):\n%s", tt.name, diff)
		}
		if got := f.Resource().String(); got != tt.resource {
			t.Errorf("%s: resource %s, want %s", tt.name, got, tt.resource)
		}
		if f.ReadOnly() != tt.readOnly {
			t.Errorf("%s: read-only %v, want %v", tt.name, f.ReadOnly(), tt.readOnly)
		}
	}
}
