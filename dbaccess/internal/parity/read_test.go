package parity_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/query"
)

type sector struct {
	ID   int    `db:"id"`
	Name string `db:"name"`
}

type insider struct {
	ID       int64           `db:"id"`
	FullName string          `db:"full_name"`
	Title    *string         `db:"title"`
	Contact  json.RawMessage `db:"contact"`
}

// filing has embeds of every kind: one that must be there, one that may be, and
// two by the same table.
type filing struct {
	ID      int64     `db:"id"`
	Kind    string    `db:"kind"`
	Shares  float64   `db:"shares"`
	FiledAt time.Time `db:"filed_at"`
	Tags    []string  `db:"tags"`
	Company struct {
		Ticker string  `db:"ticker"`
		Name   string  `db:"name"`
		Sector *sector `embed:"sectors"`
	} `embed:"companies!inner"`
	Insider  insider `db:"insider" embed:"insiders!insider_transactions_insider_id_fkey"`
	Approver *struct {
		FullName string `db:"full_name"`
	} `db:"approver" embed:"insiders!insider_transactions_approver_fkey"`
}

type company struct {
	Ticker  string   `db:"ticker"`
	Name    string   `db:"name"`
	Filings []filed  `db:"filings" embed:"insider_transactions"`
	Indexes []member `db:"indexes" embed:"indexes"`
	Sector  *sector  `db:"sector" embed:"sectors"`
}

type filed struct {
	ID    int64    `db:"id"`
	Price *float64 `db:"price"`
}

type member struct {
	Code string `db:"code"`
}

type list struct {
	ID    int64  `db:"id"`
	Title string `db:"title"`
}

// question is something to ask a facade. What it returns must be the same on both
// paths.
type question struct {
	as  auth.Identity
	ask func(ctx context.Context, db *dbaccess.DB) (any, error)
}

func all[T any](as auth.Identity, q query.Query) question {
	return question{as, func(ctx context.Context, db *dbaccess.DB) (any, error) { return dbaccess.All[T](ctx, db, q) }}
}

func one[T any](as auth.Identity, q query.Query) question {
	return question{as, func(ctx context.Context, db *dbaccess.DB) (any, error) { return dbaccess.One[T](ctx, db, q) }}
}

func first[T any](as auth.Identity, q query.Query) question {
	return question{as, func(ctx context.Context, db *dbaccess.DB) (any, error) { return dbaccess.First[T](ctx, db, q) }}
}

func page[T any](as auth.Identity, q query.Query) question {
	return question{as, func(ctx context.Context, db *dbaccess.DB) (any, error) {
		rows, total, err := dbaccess.Page[T](ctx, db, q)
		return fmt.Sprintf("%+v of %d", rows, total), err
	}}
}

func each[T any](as auth.Identity, q query.Query, unique ...string) question {
	return question{as, func(ctx context.Context, db *dbaccess.DB) (any, error) {
		var rows []T
		for row, err := range dbaccess.Each[T](ctx, db, q, unique...) {
			if err != nil {
				return rows, err
			}
			rows = append(rows, row)
		}
		return rows, nil
	}}
}

func raw(as auth.Identity, q query.Query) question {
	return question{as, func(ctx context.Context, db *dbaccess.DB) (any, error) {
		b, err := dbaccess.JSON(ctx, db, q)
		return string(b), err
	}}
}

func count(as auth.Identity, q query.Query) question {
	return question{as, func(ctx context.Context, db *dbaccess.DB) (any, error) { return dbaccess.Count(ctx, db, q) }}
}

func exec(as auth.Identity, q query.Query) question {
	return question{as, func(ctx context.Context, db *dbaccess.DB) (any, error) { return dbaccess.Exec(ctx, db, q) }}
}

var (
	filings   = query.From("insider_transactions")
	companies = query.From("companies").OrderBy(query.Asc("ticker"))
	lists     = query.From("watchlists").OrderBy(query.Asc("id"))
)

func TestReads(t *testing.T) {
	t.Parallel()
	both := sides(t, "")
	for name, q := range map[string]question{
		"embeds":         all[filing](anon, filings.Where(query.Eq("kind", "buy")).OrderBy(query.Asc("id")).Limit(7)),
		"embeds of many": all[company](anon, companies.Limit(5)),
		"one":            one[filing](anon, filings.Where(query.Eq("id", 3))),
		"one of none":    one[filing](anon, filings.Where(query.Eq("id", 0))),
		"one of many":    one[filing](anon, filings.Where(query.Lt("id", 9))),
		"first":          first[company](anon, companies),
		"first of none":  first[company](anon, companies.Where(query.Eq("ticker", "nope"))),
		"page":           page[list](alice, lists.Limit(1)),
		"past the end":   page[list](alice, lists.Limit(1).Offset(99)),
		"each":           each[company](anon, query.From("companies"), "ticker"),
		"each, by two": each[struct {
			Ticker string    `db:"ticker"`
			Day    time.Time `db:"day"`
		}](anon, query.From("prices").OrderBy(query.Desc("day")), "ticker", "day"),
		"JSON":                   raw(anon, companies.Limit(3)),
		"JSON with embeds":       raw(anon, companies.Select(query.Col("ticker"), query.Rel("sectors", query.Star{}).As("s"), query.Rel("insider_transactions", query.Col("id")).Sort(query.Asc("id")).Top(2)).Limit(3)),
		"embed's conditions":     raw(anon, companies.Select(query.Col("ticker"), query.Rel("sectors", query.Col("name")).InnerJoin().Filter(query.Eq("id", 2)))),
		"count":                  count(anon, filings.Where(query.Eq("kind", "gift"))),
		"count with an embed":    count(anon, companies.Select(query.Rel("sectors").InnerJoin().Filter(query.Eq("id", 2)))),
		"alice's":                all[list](alice, lists),
		"bob's":                  all[list](bob, lists),
		"anonymous":              all[list](anon, lists),
		"service":                all[list](service, lists),
		"no privilege":           raw(alice, query.From("secrets")),
		"no privilege, anon":     raw(anon, query.From("secrets")),
		"no table":               raw(anon, query.From("nopes")),
		"no column":              raw(anon, companies.Where(query.Eq("nope", 1))),
		"no relationship":        raw(anon, companies.Select(query.Rel("nopes", query.Star{}))),
		"ambiguous relationship": raw(anon, filings.Select(query.Rel("insiders", query.Star{}))),
		"value of another type":  raw(anon, filings.Where(query.Eq("id", "x"))),
		"full text":              raw(anon, companies.Where(query.PlainTSQuery("description", "cats")).Limit(3)),
		"a long list":            all[list](alice, query.From("watchlists").Where(query.In("id", numbers(3000)...))),
		"NULL into a value": all[struct {
			Title string `db:"title"`
		}](anon, query.From("insiders")),
		"scalar":             one[int](anon, query.Call("add_them", map[string]any{"a": 1})),
		"scalars":            all[int](anon, query.Call("pick", map[string]any{"n": 4})),
		"rows of a function": all[filed](anon, query.Call("top_traders", map[string]any{"min_shares": 900}).OrderBy(query.Asc("id"))),
		"table of a function": one[struct {
			Filings int64   `db:"filings"`
			Total   float64 `db:"total"`
		}](anon, query.Call("company_stats", map[string]any{"ticker": "T03"})),
		"embeds of a function":  raw(anon, query.Call("top_traders", map[string]any{"min_shares": 990}).Select(query.Col("id"), query.Rel("companies", query.Col("name"))).OrderBy(query.Asc("id"))),
		"function that is none": raw(anon, query.Call("nope", nil)),
		"argument that is none": raw(anon, query.Call("add_them", map[string]any{"c": 1})),
		"who":                   raw(bob, query.Call("who_am_i", nil)),
		"raised":                exec(anon, query.Call("fail_with", map[string]any{"code": "P0001", "msg": "no", "det": "d", "hnt": "h"})),
		"raised with a status":  exec(anon, query.Call("fail_with", map[string]any{"code": "PT418", "msg": "teapot"})),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compare(t, both, q)
		})
	}
}

func numbers(n int) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// compare asks both sides, and returns how the first answered.
func compare(t *testing.T, both []*side, q question) (any, *failure) {
	t.Helper()
	var answers []any
	var failures []*failure
	for _, s := range both {
		got, err := q.ask(auth.With(t.Context(), q.as), s.db)
		answers, failures = append(answers, got), append(failures, failureOf(t, err))
	}
	if diff := cmp.Diff(failures[0], failures[1]); diff != "" {
		t.Errorf("error (-%s +%s):\n%s", both[0].path, both[1].path, diff)
	}
	if diff := cmp.Diff(answers[0], answers[1]); diff != "" {
		t.Errorf("answer (-%s +%s):\n%s", both[0].path, both[1].path, diff)
	}
	return answers[0], failures[0]
}
