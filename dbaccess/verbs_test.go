package dbaccess_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/query"
)

func TestSelectListIsTheStructs(t *testing.T) {
	t.Parallel()
	b := &fakeBackend{body: `[]`}
	db := mustNew(t, dbaccess.Config{REST: b})
	ctx := asAnon(context.Background())
	tests := []struct {
		name string
		q    query.Query
		want []query.Item
		err  string
	}{
		{"none given", query.From("companies"), []query.Item{query.Col("ticker"), query.Col("name")}, ""},
		{"covers", query.From("companies").Columns("name", "ticker", "sector_id"), []query.Item{query.Col("name"), query.Col("ticker"), query.Col("sector_id")}, ""},
		{"renamed", query.From("companies").Select(query.Col("ticker"), query.Col("description").As("name")), []query.Item{query.Col("ticker"), query.Col("description").As("name")}, ""},
		{"star", query.From("companies").Select(query.Star{}), []query.Item{query.Star{}}, ""},
		{"lacks one", query.From("companies").Columns("ticker"), nil, "lacks columns of the struct: name"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := dbaccess.All[company](ctx, db, tt.q)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want one that says %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, b.last(t).Select); diff != "" {
				t.Errorf("select list (-want +got):\n%s", diff)
			}
		})
	}
}

func TestVerbsAskForWhatTheyNeed(t *testing.T) {
	t.Parallel()
	ctx := asAnon(context.Background())
	q := query.From("companies").OrderBy(query.Asc("ticker"))
	tests := []struct {
		name string
		run  func(db *dbaccess.DB) error
		body string
		want query.Spec
	}{
		{"All", func(db *dbaccess.DB) error { _, err := dbaccess.All[company](ctx, db, q); return err }, `[]`,
			query.Spec{Limit: 1000, HasLimit: true}},
		{"All, lower limit", func(db *dbaccess.DB) error { _, err := dbaccess.All[company](ctx, db, q.Limit(7)); return err }, `[]`,
			query.Spec{Limit: 7, HasLimit: true}},
		{"One", func(db *dbaccess.DB) error { _, err := dbaccess.One[company](ctx, db, q); return err }, `{"ticker":"T","name":"N"}`,
			query.Spec{Limit: 2, HasLimit: true, Single: true}},
		{"First", func(db *dbaccess.DB) error { _, err := dbaccess.First[company](ctx, db, q.Limit(9)); return err }, `[{"ticker":"T","name":"N"}]`,
			query.Spec{Limit: 1, HasLimit: true}},
		{"Page", func(db *dbaccess.DB) error {
			_, _, err := dbaccess.Page[company](ctx, db, q.Limit(10).Offset(20))
			return err
		}, `[]`,
			query.Spec{Limit: 10, HasLimit: true, Offset: 20, Count: query.CountExact}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := &fakeBackend{body: tt.body}
			if err := tt.run(mustNew(t, dbaccess.Config{REST: b})); err != nil {
				t.Fatal(err)
			}
			got := b.last(t)
			tt.want.From, tt.want.Select, tt.want.OrderBy = "companies", got.Select, got.OrderBy
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCountDropsTheWindow(t *testing.T) {
	t.Parallel()
	b := &fakeBackend{total: 42}
	n, err := dbaccess.Count(asAnon(context.Background()), mustNew(t, dbaccess.Config{REST: b}),
		query.From("companies").Where(query.IsNotNull("name")).OrderBy(query.Asc("ticker")).Limit(5).Offset(5))
	if err != nil || n != 42 {
		t.Fatalf("Count = %d, %v; want 42", n, err)
	}
	want := query.Spec{From: "companies", Where: []query.Expr{query.IsNotNull("name")}, Head: true, Count: query.CountExact}
	if diff := cmp.Diff(want, b.last(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTruncation(t *testing.T) {
	t.Parallel()
	three := `[{"ticker":"A","name":"a"},{"ticker":"B","name":"b"},{"ticker":"C","name":"c"}]`
	q := query.From("companies")
	tests := []struct {
		name    string
		maxRows int
		q       query.Query
		want    error
	}{
		{"reaches the limit", 3, q, dbaccess.ErrTruncated},
		{"higher limit of its own", 3, q.Limit(100), dbaccess.ErrTruncated},
		{"own limit at the limit", 3, q.Limit(3), nil},
		{"below", 4, q, nil},
		{"off", -1, q, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db := mustNew(t, dbaccess.Config{REST: &fakeBackend{body: three, rows: 3}, MaxRows: tt.maxRows})
			ctx := asAnon(context.Background())
			_, errAll := dbaccess.All[company](ctx, db, tt.q)
			_, errJSON := dbaccess.JSON(ctx, db, tt.q)
			_, _, errPage := dbaccess.Page[company](ctx, db, tt.q)
			for verb, err := range map[string]error{"All": errAll, "JSON": errJSON, "Page": errPage} {
				if !errors.Is(err, tt.want) || tt.want == nil && err != nil {
					t.Errorf("%s: error %v, want %v", verb, err, tt.want)
				}
			}
		})
	}
}

func TestPagePastTheEndIsEmpty(t *testing.T) {
	t.Parallel()
	refused := (dbaccess.Error{Code: "PGRST103", HTTPStatus: 416}).With(dbaccess.ServerText{}, nil)
	db := mustNew(t, dbaccess.Config{REST: &fakeBackend{err: refused, total: 12}})
	rows, total, err := dbaccess.Page[company](asAnon(context.Background()), db, query.From("companies").Limit(10).Offset(50))
	if err != nil || len(rows) != 0 || rows == nil || total != 12 {
		t.Errorf("Page = %v, %d, %v; want an empty page of 12", rows, total, err)
	}
}

func TestNoRows(t *testing.T) {
	t.Parallel()
	db := mustNew(t, dbaccess.Config{REST: &fakeBackend{body: `[]`}})
	_, err := dbaccess.First[company](asAnon(context.Background()), db, query.From("companies"))
	if !errors.Is(err, dbaccess.ErrNoRows) || !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("error %v, want ErrNoRows and sql.ErrNoRows", err)
	}
}

func TestFacadeRules(t *testing.T) {
	t.Parallel()
	b := &fakeBackend{body: `[]`}
	db := mustNew(t, dbaccess.Config{REST: b})
	ctx := asAnon(context.Background())

	for name, e := range map[string]query.Expr{
		"like":   query.Like("name", "100%*"),
		"nested": query.Or(query.Eq("a", 1), query.Not(query.ILike("name", "*"))),
	} {
		_, err := dbaccess.All[company](ctx, db, query.From("companies").Where(e))
		if _, ok := errors.AsType[*query.UnsupportedError](err); !ok {
			t.Errorf("%s with a literal *: error %v, want an UnsupportedError", name, err)
		}
	}
	if len(b.calls) != 0 {
		t.Fatal("a refused query was sent")
	}

	q := query.From("companies").Where(query.In("name", ""), query.Or(query.IsNull("name"), query.Not(query.In("name", ""))))
	if _, err := dbaccess.All[company](ctx, db, q); err != nil {
		t.Fatal(err)
	}
	empty := query.Eq("name", "")
	want := []query.Expr{empty, query.Or(query.IsNull("name"), query.Not(empty))}
	if diff := cmp.Diff(want, b.last(t).Where); diff != "" {
		t.Errorf("in (\"\") was not rewritten (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]query.Expr{query.In("name", "")}, q.Spec().Where[:1]); diff != "" {
		t.Errorf("the caller's query was changed (-want +got):\n%s", diff)
	}
}

func TestBadQueriesAreNotSent(t *testing.T) {
	t.Parallel()
	b := &fakeBackend{body: `[]`}
	db := mustNew(t, dbaccess.Config{REST: b})
	ctx := asAnon(context.Background())
	for name, q := range map[string]query.Query{
		"no table":       {},
		"nil value":      query.From("t").Where(query.Eq("a", nil)),
		"negative limit": query.From("t").Limit(-1),
		"zero byte":      query.From("t").Where(query.Eq("a", "x\x00"+canary)),
	} {
		_, err := dbaccess.All[company](ctx, db, q)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		assertSilent(t, err)
	}
	type untagged struct{ Ticker string }
	if _, err := dbaccess.All[untagged](ctx, db, query.From("t")); err == nil || !strings.Contains(err.Error(), "Ticker") {
		t.Errorf("a field without a tag: error %v, want one that names it", err)
	}
	if len(b.calls) != 0 {
		t.Error("something was sent")
	}
}

const canary = "CANARY-7f3a"

// assertSilent fails when any way of printing err shows the canary.
func assertSilent(t *testing.T, err error) {
	t.Helper()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if s := fmt.Sprintf(verb, err); strings.Contains(s, canary) {
			t.Errorf("%s prints a value: %s", verb, s)
		}
	}
}

func TestEmbedTruncation(t *testing.T) {
	t.Parallel()
	type list struct {
		ID    int64 `db:"id"`
		Items []struct {
			Ticker string `db:"ticker"`
		} `db:"items" embed:"watchlist_items"`
	}
	ctx := asAnon(context.Background())
	const two = `{"id":1,"items":[{"ticker":"A"},{"ticker":"B"}]}`
	own := query.From("watchlists").Select(query.Col("id"), query.Rel("watchlist_items", query.Col("ticker")).As("items").Top(2))
	for _, tt := range []struct {
		name    string
		maxRows int
		q       query.Query
		want    error
	}{
		{"reaches the limit", 2, query.From("watchlists"), dbaccess.ErrTruncated},
		{"below", 3, query.From("watchlists"), nil},
		{"limit of its own", 2, own, nil},
		{"higher limit of its own", 2, query.From("watchlists").Select(query.Col("id"), query.Rel("watchlist_items", query.Col("ticker")).As("items").Top(9)), dbaccess.ErrTruncated},
		{"off", -1, query.From("watchlists"), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db := mustNew(t, dbaccess.Config{REST: &fakeBackend{body: "[" + two + "]", rows: 1, total: 1}, MaxRows: tt.maxRows})
			one := mustNew(t, dbaccess.Config{REST: &fakeBackend{body: two, rows: 1}, MaxRows: tt.maxRows})
			_, errAll := dbaccess.All[list](ctx, db, tt.q)
			_, errFirst := dbaccess.First[list](ctx, db, tt.q)
			_, _, errPage := dbaccess.Page[list](ctx, db, tt.q)
			_, errOne := dbaccess.One[list](ctx, one, tt.q)
			var errEach error
			for _, errEach = range dbaccess.Each[list](ctx, db, tt.q, "id") {
				break
			}
			for verb, err := range map[string]error{"All": errAll, "First": errFirst, "Page": errPage, "One": errOne, "Each": errEach} {
				if !errors.Is(err, tt.want) || tt.want == nil && err != nil {
					t.Errorf("%s: error %v, want %v", verb, err, tt.want)
				}
			}
		})
	}
}

func TestJSONIsChecked(t *testing.T) {
	t.Parallel()
	ctx := asAnon(context.Background())
	for _, body := range []string{``, `null`, `{"id":1}`, `[{"id":1},{"id":`, "[\"\xff\"]", `zzz`, `[]x`} {
		db := mustNew(t, dbaccess.Config{REST: &fakeBackend{body: body, rows: -1}})
		if got, err := dbaccess.JSON(ctx, db, query.From("t")); err == nil {
			t.Errorf("%q: returned %s without an error", body, got)
		}
	}
	db := mustNew(t, dbaccess.Config{REST: &fakeBackend{body: `[1,2]`, rows: -1}, MaxRows: 2})
	if _, err := dbaccess.JSON(ctx, db, query.From("t")); !errors.Is(err, dbaccess.ErrTruncated) {
		t.Errorf("rows that the answer did not count: error %v, want ErrTruncated", err)
	}
	for _, body := range []string{``, `{"id":1}`, `5`, `[1]`} {
		db := mustNew(t, dbaccess.Config{REST: &fakeBackend{body: body}})
		if got, err := dbaccess.JSON(ctx, db, query.Call("f", nil)); err != nil || string(got) != body {
			t.Errorf("what a function returns: %s, %v; want %s", got, err, body)
		}
	}
}

func TestAnAnswerWithoutItsCount(t *testing.T) {
	t.Parallel()
	ctx := asAnon(context.Background())
	db := mustNew(t, dbaccess.Config{REST: &fakeBackend{body: `[]`, total: -1}})
	if n, err := dbaccess.Count(ctx, db, query.From("companies")); !errors.Is(err, dbaccess.ErrUnavailable) {
		t.Errorf("Count = %d, %v; want ErrUnavailable", n, err)
	}
	if _, n, err := dbaccess.Page[company](ctx, db, query.From("companies")); !errors.Is(err, dbaccess.ErrUnavailable) {
		t.Errorf("Page's total = %d, %v; want ErrUnavailable", n, err)
	}
	if n, err := dbaccess.Exec(ctx, db, query.Delete("companies").Where(query.AllRows())); n != -1 || err != nil {
		t.Errorf("Exec = %d, %v; want -1 for a write that was done", n, err)
	}
}
