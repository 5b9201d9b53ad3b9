package stock_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/twinpath/twinpath/example-app/internal/stock"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// texts returns the first column of a query's rows.
func texts(t *testing.T, conn *pgx.Conn, sql string) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return list
}

func TestLoad(t *testing.T) {
	t.Parallel()
	db := pgtest.NewDatabase(t)
	state, err := stock.Load(t.Context(), db.SuperDSN)
	if err != nil || state != stock.Loaded {
		t.Fatalf("Load() = %v, %v; want Loaded", state, err)
	}
	if state, err = stock.Load(t.Context(), db.SuperDSN); err != nil || state != stock.Present {
		t.Fatalf("Load() again = %v, %v; want Present", state, err)
	}

	conn := connect(t, db.SuperDSN)
	if _, err := conn.Exec(t.Context(), "set search_path to "+stock.Schema); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, sql, want string }{
		{"companies", "select count(*)::text from companies", "50"},
		{"transactions", "select count(*)::text from insider_transactions", "100000"},
		{"ids have no gaps", "select max(id) - min(id) + 1 || '' from insider_transactions", "100000"},
		{"ids in order of filing", "select count(*)::text from (select filed_at < lag(filed_at) over (order by id) as back from insider_transactions) x where back", "0"},
		{"insiders file for their company", "select count(*)::text from insider_transactions t join insiders i on i.id = t.insider_id where i.ticker <> t.ticker", "0"},
		{"filed after the trade", "select count(*)::text from insider_transactions where filed_at < traded_on", "0"},
		{"gifts alone have no price", "select string_agg(distinct kind::text, ',') from insider_transactions where price is null", "gift"},
		{"last day", "select max(day)::text from prices", stock.AsOf},
		{"last filing", "select max(filed_at at time zone 'UTC')::date::text from insider_transactions", stock.AsOf},
		{"plausible prices", "select (min(close) > 1 and max(close) < 2000 and max(abs(change_pct)) < 15)::text from prices", "true"},
		{"no helper functions stay", "select count(*)::text from pg_proc where pronamespace = 'twinpath_demo'::regnamespace", "0"},
		{"the same data everywhere", "select sum(length(insider_name) * insider_id) || ' ' || count(*) filter (where kind = 'buy') || ' ' || sum(extract(doy from traded_on)::int) from insider_transactions", "226687190 21711 18301638"},
	} {
		if got := texts(t, conn, tt.sql); len(got) != 1 || got[0] != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestLoadRefusesAForeignSchema(t *testing.T) {
	t.Parallel()
	db := pgtest.NewDatabase(t)
	db.Exec(t, "create schema "+stock.Schema+"; create table "+stock.Schema+".precious (id int)")
	if _, err := stock.Load(t.Context(), db.SuperDSN); !errors.Is(err, stock.ErrForeignSchema) {
		t.Fatalf("Load() = %v, want ErrForeignSchema", err)
	}
	got := texts(t, connect(t, db.SuperDSN), "select relname::text from pg_class where relnamespace = '"+stock.Schema+"'::regnamespace and relkind = 'r'")
	if diff := cmp.Diff([]string{"precious"}, got); diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}
}

func TestRowLevelSecurityAndIndexes(t *testing.T) {
	t.Parallel()
	db := pgtest.NewDatabase(t)
	if _, err := stock.Load(t.Context(), db.SuperDSN); err != nil {
		t.Fatal(err)
	}
	login := stock.Login{Name: "stock_test_login", Password: "it's secret", Roles: []string{stock.RoleAnon, stock.RoleAuthenticated}}
	for range 2 { // the second time it exists
		if err := stock.CreateLogin(t.Context(), db.SuperDSN, login); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { // roles outlive the database
		conn, err := pgx.Connect(context.Background(), db.SuperDSN)
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := conn.Exec(context.Background(), "drop role stock_test_login"); err != nil {
			t.Error(err)
		}
		_ = conn.Close(context.Background())
	})
	cfg, err := pgx.ParseConfig(db.SuperDSN)
	if err != nil {
		t.Fatal(err)
	}
	cfg.User, cfg.Password = login.Name, login.Password
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })

	if _, err := conn.Exec(t.Context(), "select from "+stock.Schema+".companies"); err == nil {
		t.Error("the login role itself may read, want a permission error")
	}
	for _, tt := range []struct {
		name, role, sub string
		want            []string
	}{
		{"anonymous", stock.RoleAnon, "", []string{"Editors' picks"}},
		{"alice", stock.RoleAuthenticated, stock.Alice, []string{"Dividend candidates", "Editors' picks", "Semis and software"}},
		{"bob", stock.RoleAuthenticated, stock.Bob, []string{"Editors' picks", "Energy transition"}},
		{"nobody in particular", stock.RoleAuthenticated, "", []string{"Editors' picks"}},
	} {
		act(t, conn, tt.role, tt.sub)
		got := texts(t, conn, "select title from watchlists order by title")
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s sees watchlists (-want +got):\n%s", tt.name, diff)
		}
		orphans := texts(t, conn, "select ticker from watchlist_items where watchlist_id not in (select id from watchlists)")
		if len(orphans) > 0 {
			t.Errorf("%s sees items of lists of others: %v", tt.name, orphans)
		}
	}
	for _, sql := range []string{
		"select * from insider_transactions where ticker = 'NRVA' order by filed_at desc, id desc limit 9",
		"select * from insider_transactions order by filed_at desc, id desc limit 1",
		"select * from insider_transactions where value >= 20000000 order by value desc, id limit 8",
		"select count(*) from insider_transactions where filed_at >= '2026-05-31' and meta -> 'flags' ->> 'late' = 'true'",
		"select day, close from prices where ticker = 'NRVA' and day > '2026-01-01' order by day",
	} {
		if plan := strings.Join(texts(t, conn, "explain "+sql), "\n"); strings.Contains(plan, "Seq Scan") {
			t.Errorf("no index serves %s:\n%s", sql, plan)
		}
	}
}

// act makes the session a caller's, as both access paths do it.
func act(t *testing.T, conn *pgx.Conn, role, sub string) {
	t.Helper()
	claims := `{"role":"` + role + `"}`
	if sub != "" {
		claims = `{"role":"` + role + `","sub":"` + sub + `"}`
	}
	if _, err := conn.Exec(t.Context(), "reset role"); err != nil {
		t.Fatal(err)
	}
	_, err := conn.Exec(t.Context(),
		"select set_config('role', $1, false), set_config('request.jwt.claims', $2, false), set_config('search_path', $3, false)", role, claims, stock.Schema)
	if err != nil {
		t.Fatal(err)
	}
}
