package dbaccess_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// pagesBackend answers one body a call.
type pagesBackend struct {
	fakeBackend
	bodies []string
}

func (b *pagesBackend) Do(ctx context.Context, c *dbaccess.Call) (*dbaccess.Result, error) {
	b.body = "[]"
	if len(b.bodies) > 0 {
		b.body, b.bodies = b.bodies[0], b.bodies[1:]
	}
	return b.fakeBackend.Do(ctx, c)
}

type priced struct {
	ID    int64    `db:"id"`
	Price *float64 `db:"price"`
}

func TestEach(t *testing.T) {
	t.Parallel()
	b := &pagesBackend{bodies: []string{
		`[{"id":1,"price":9},{"id":2,"price":8.50}]`,
		`[{"id":3,"price":8.50},{"id":4,"price":null}]`,
		`[{"id":5,"price":null}]`,
	}}
	db := mustNew(t, dbaccess.Config{REST: b, MaxRows: 2})
	ctx := asAnon(context.Background())
	own := query.Gt("id", 0)
	var ids []int64
	for row, err := range dbaccess.Each[priced](ctx, db, query.From("t").Where(own).OrderBy(query.Desc("price").NullsLast()), "id") {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, row.ID)
	}
	if diff := cmp.Diff([]int64{1, 2, 3, 4, 5}, ids); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	beyond := func(price string, id string) query.Expr {
		return query.Or(
			query.And(query.Or(query.Lt("price", price), query.IsNull("price"))),
			query.And(query.Eq("price", price), query.Or(query.Gt("id", id), query.IsNull("id"))),
		)
	}
	amongNulls := func(id string) query.Expr {
		return query.Or(query.And(query.IsNull("price"), query.Or(query.Gt("id", id), query.IsNull("id"))))
	}
	want := [][]query.Expr{{own}, {own, beyond("8.50", "2")}, {own, amongNulls("4")}, {own, amongNulls("5")}}
	var got [][]query.Expr
	for _, c := range b.calls {
		got = append(got, c.Where)
		if c.Limit != 2 || c.Offset != 0 || len(c.OrderBy) != 2 {
			t.Errorf("limit %d, offset %d, order %v", c.Limit, c.Offset, c.OrderBy)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}

func TestEachStopsAtTheLimitAndOnBreak(t *testing.T) {
	t.Parallel()
	pages := func() *pagesBackend {
		return &pagesBackend{bodies: []string{`[{"id":1,"price":1},{"id":2,"price":1}]`, `[{"id":3,"price":1}]`}}
	}
	ctx := asAnon(context.Background())
	b := pages()
	n := 0
	for range dbaccess.Each[priced](ctx, mustNew(t, dbaccess.Config{REST: b, MaxRows: 2}), query.From("t").Limit(3), "id") {
		n++
	}
	if n != 3 || len(b.calls) != 2 || b.calls[1].Limit != 1 {
		t.Errorf("%d rows in %d calls", n, len(b.calls))
	}
	b = pages()
	for range dbaccess.Each[priced](ctx, mustNew(t, dbaccess.Config{REST: b, MaxRows: 2}), query.From("t"), "id") {
		break
	}
	if len(b.calls) != 1 {
		t.Errorf("%d calls after a break in the first page, want 1", len(b.calls))
	}
}

func TestEachReadsItsSortKeys(t *testing.T) {
	t.Parallel()
	b := &pagesBackend{bodies: []string{`[{"id":1,"price":1,"filed_at":"2026-01-01T00:00:00+00:00"}]`}}
	for _, err := range dbaccess.Each[priced](asAnon(context.Background()), mustNew(t, dbaccess.Config{REST: b}), query.From("t").OrderBy(query.Asc("filed_at")), "id") {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := []query.Item{query.Col("id"), query.Col("price"), query.Col("filed_at")}
	if diff := cmp.Diff(want, b.calls[0].Select); diff != "" {
		t.Errorf("select list (-want +got):\n%s", diff)
	}
}

func TestEachRefuses(t *testing.T) {
	t.Parallel()
	b := &pagesBackend{}
	db := mustNew(t, dbaccess.Config{REST: b})
	q := query.From("t")
	for name, seq := range map[string]func(func(priced, error) bool){
		"no unique order": dbaccess.Each[priced](asAnon(context.Background()), db, q),
		"an offset":       dbaccess.Each[priced](asAnon(context.Background()), db, q.Offset(1), "id"),
		"a path":          dbaccess.Each[priced](asAnon(context.Background()), db, q.OrderBy(query.Asc(query.JSON("meta", "n"))), "id"),
		"a write":         dbaccess.Each[priced](asAnon(context.Background()), db, query.Delete("t").Where(query.AllRows()), "id"),
	} {
		n := 0
		for _, err := range seq {
			n++
			if _, ok := errors.AsType[*query.UnsupportedError](err); !ok {
				t.Errorf("%s: error %v, want an UnsupportedError", name, err)
			}
		}
		if n != 1 {
			t.Errorf("%s: yielded %d times, want the error once", name, n)
		}
	}
	if len(b.calls) != 0 {
		t.Error("something was sent")
	}
}

func TestEachPassesErrorsOn(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	for i := range 2 {
		fmt.Fprintf(&page, `%s{"id":%d,"price":1}`, map[bool]string{true: "[", false: ","}[i == 0], i)
	}
	b := &pagesBackend{bodies: []string{page.String() + "]", `[{"id":"x"}]`}}
	rows, errs := 0, 0
	for _, err := range dbaccess.Each[priced](asAnon(context.Background()), mustNew(t, dbaccess.Config{REST: b, MaxRows: 2}), query.From("t"), "id") {
		if err != nil {
			errs++
		} else {
			rows++
		}
	}
	if rows != 2 || errs != 1 {
		t.Errorf("%d rows and %d errors, want 2 and 1", rows, errs)
	}
}
