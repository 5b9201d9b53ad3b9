package dbaccess_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/query"
)

func TestWritesReturnRowsOnlyWhenRead(t *testing.T) {
	t.Parallel()
	ctx := asAnon(context.Background())
	insert := query.Insert("companies", company{Ticker: "T", Name: "N"})
	tests := []struct {
		name       string
		run        func(db *dbaccess.DB) error
		body       string
		wantReturn bool
		wantSingle bool
		wantCount  query.Count
	}{
		{"Exec", func(db *dbaccess.DB) error {
			n, err := dbaccess.Exec(ctx, db, insert)
			if n != 3 {
				t.Errorf("affected %d, want 3", n)
			}
			return err
		}, ``, false, false, query.CountExact},
		{"All", func(db *dbaccess.DB) error { _, err := dbaccess.All[company](ctx, db, insert); return err }, `[]`, true, false, query.CountNone},
		{"One", func(db *dbaccess.DB) error { _, err := dbaccess.One[company](ctx, db, insert); return err }, `{"ticker":"T","name":"N"}`, true, true, query.CountNone},
		{"JSON", func(db *dbaccess.DB) error { _, err := dbaccess.JSON(ctx, db, insert); return err }, `[]`, true, false, query.CountNone},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := &fakeBackend{body: tt.body, total: 3}
			if err := tt.run(mustNew(t, dbaccess.Config{REST: b})); err != nil {
				t.Fatal(err)
			}
			got := b.last(t)
			if got.Write.Return != tt.wantReturn || got.Single != tt.wantSingle || got.Count != tt.wantCount || got.HasLimit {
				t.Errorf("return %t, single %t, count %d, limited %t", got.Write.Return, got.Single, got.Count, got.HasLimit)
			}
			if insert.Spec().Write.Return {
				t.Error("the caller's query was changed")
			}
		})
	}
}

func TestExecAsksForNoRows(t *testing.T) {
	t.Parallel()
	b := &fakeBackend{}
	q := query.Insert("companies", company{}).Select(query.Rel("sectors")).OrderBy(query.Asc("name"))
	if _, err := dbaccess.Exec(asAnon(context.Background()), mustNew(t, dbaccess.Config{REST: b}), q); err != nil {
		t.Fatal(err)
	}
	if got := b.last(t); got.Select != nil || got.OrderBy != nil {
		t.Errorf("asked for %v in the order of %v", got.Select, got.OrderBy)
	}
}

func TestExecOfACall(t *testing.T) {
	t.Parallel()
	b := &fakeBackend{total: -1}
	n, err := dbaccess.Exec(asAnon(context.Background()), mustNew(t, dbaccess.Config{REST: b}), query.Call("noop", nil))
	if n != 0 || err != nil {
		t.Errorf("Exec = %d, %v; want 0", n, err)
	}
	if got := b.last(t); got.Op != query.OpCall || string(got.Call.Args) != "{}" {
		t.Errorf("sent %v with %q", got.Op, got.Call.Args)
	}
}

func TestWriteRules(t *testing.T) {
	t.Parallel()
	b := &fakeBackend{body: "[]"}
	db := mustNew(t, dbaccess.Config{REST: b})
	ctx := asAnon(context.Background())
	exec := func(q query.Query) error { _, err := dbaccess.Exec(ctx, db, q); return err }
	change := map[string]any{"name": "N"}
	for name, err := range map[string]error{
		"update of everything":   exec(query.Update("companies", change)),
		"delete of everything":   exec(query.Delete("companies")),
		"limited delete":         exec(query.Delete("companies").Where(query.Eq("ticker", "T")).Limit(1)),
		"update with an offset":  exec(query.Update("companies", change).Where(query.Eq("ticker", "T")).Offset(1)),
		"condition on an insert": exec(query.Insert("companies", change).Where(query.Eq("ticker", "T"))),
		"Exec of a read":         exec(query.From("companies")),
		"First of a write": func() error {
			_, err := dbaccess.First[company](ctx, db, query.Delete("companies").Where(query.AllRows()))
			return err
		}(),
		"Count of a write": func() error {
			_, err := dbaccess.Count(ctx, db, query.Delete("companies").Where(query.AllRows()))
			return err
		}(),
		"an aggregate": func() error {
			_, err := dbaccess.JSON(ctx, db, query.From("companies").Select(query.Field{Aggregate: "count"}))
			return err
		}(),
		"a literal * inside an embed": func() error {
			_, err := dbaccess.JSON(ctx, db, query.From("companies").Select(query.Rel("sectors").Filter(query.Like("name", "*"))))
			return err
		}(),
	} {
		if _, ok := errors.AsType[*query.UnsupportedError](err); !ok {
			t.Errorf("%s: error %v, want an UnsupportedError", name, err)
		}
	}
	if len(b.calls) != 0 {
		t.Error("something was sent")
	}
	if err := exec(query.Delete("companies").Where(query.AllRows())); err != nil {
		t.Errorf("delete of all rows, meant so: %v", err)
	}
}

func TestEmbedTags(t *testing.T) {
	t.Parallel()
	type sector struct {
		Name string `db:"name"`
	}
	type filing struct {
		ID       int64 `db:"id"`
		Approver *struct {
			FullName string `db:"full_name"`
		} `db:"approver" embed:"insiders!insider_transactions_approver_fkey"`
		Company struct {
			Ticker string  `db:"ticker"`
			Sector *sector `embed:"sectors"`
		} `embed:"companies!inner"`
	}
	b := &fakeBackend{body: "[]"}
	if _, err := dbaccess.All[filing](asAnon(context.Background()), mustNew(t, dbaccess.Config{REST: b}), query.From("insider_transactions")); err != nil {
		t.Fatal(err)
	}
	// The limit is Config.MaxRows.
	want := []query.Item{
		query.Col("id"),
		query.Embed{Limit: 1000, HasLimit: true, Relation: "insiders", Hint: "insider_transactions_approver_fkey", Alias: "approver", Select: []query.Item{query.Col("full_name")}},
		query.Embed{Limit: 1000, HasLimit: true, Relation: "companies", Inner: true, Select: []query.Item{
			query.Col("ticker"),
			query.Embed{Limit: 1000, HasLimit: true, Relation: "sectors", Select: []query.Item{query.Col("name")}},
		}},
	}
	if diff := cmp.Diff(want, b.last(t).Select, cmp.AllowUnexported(query.Embed{})); diff != "" {
		t.Errorf("select list (-want +got):\n%s", diff)
	}
}
