package dbaccess_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/query"
)

func TestTransactionScope(t *testing.T) {
	t.Parallel()
	rest, direct, within := &fakeBackend{body: "[]"}, &fakeBackend{body: "[]"}, &fakeBackend{body: "[]"}
	rec := &recorder{}
	router := &countingRouter{paths: []dbaccess.Path{dbaccess.REST}}
	db := mustNew(t, dbaccess.Config{REST: rest, Direct: direct, Router: router, Observers: []dbaccess.Observer{rec}})
	other := mustNew(t, dbaccess.Config{Direct: &fakeBackend{body: "[]"}})
	outside := dbaccess.Pin(asAnon(t.Context()))

	ctx, scope, err := db.BeginTransaction(outside, "move")
	if err != nil {
		t.Fatal(err)
	}
	if scope.Backend() != dbaccess.Backend(direct) || scope.Call().Identity.Role != "anon" || scope.Call().Query.From != "move" {
		t.Errorf("backend %v, call %v", scope.Backend(), scope.Call())
	}
	tx := dbaccess.WithTransaction(ctx, scope, within)
	if _, err := dbaccess.JSON(tx, db, query.From("t").Named("q")); err != nil {
		t.Fatal(err)
	}
	if len(rest.calls) != 0 || len(direct.calls) != 0 || len(within.calls) != 1 {
		t.Errorf("%d calls over REST, %d over direct, %d within; want the one within", len(rest.calls), len(direct.calls), len(within.calls))
	}
	e := rec.last(t)
	want := dbaccess.Routed{
		Decision: dbaccess.Decision{Path: dbaccess.REST, Variant: "rest", Reason: "counted"}, Path: dbaccess.Direct, Reason: dbaccess.ReasonTransaction,
	}
	if diff := cmp.Diff(want, e.Route); diff != "" {
		t.Errorf("route (-want +got):\n%s", diff)
	}
	if d, ok := dbaccess.DecisionFrom(outside); !ok || d.Path != dbaccess.REST || len(router.asked) != 1 {
		t.Errorf("the request's decision is %v, %v, after %d questions", d, ok, len(router.asked))
	}

	for name, tt := range map[string]struct {
		ctx  context.Context
		db   *dbaccess.DB
		says string
	}{
		"another DB":       {tx, other, "another DB"},
		"another identity": {auth.With(tx, auth.Identity{Role: "authenticated"}), db, "another identity"},
		"other claims":     {auth.With(tx, auth.Identity{Role: "anon", Claims: []byte(`{"sub":"x"}`)}), db, "another identity"},
	} {
		if _, err := dbaccess.JSON(tt.ctx, tt.db, query.From("t")); !errors.Is(err, dbaccess.ErrTransaction) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: error %v, want ErrTransaction", name, err)
		}
	}
	if err := scope.Allows(context.Background()); err != nil {
		t.Errorf("a context that says nothing: %v", err)
	}
	for name, ctx := range map[string]context.Context{
		"another identity": auth.With(context.Background(), auth.Identity{Role: "authenticated"}),
		"service":          auth.AsService(context.Background()),
	} {
		if scope.Allows(ctx) == nil {
			t.Errorf("%s is allowed", name)
		}
	}

	if _, _, err := db.BeginTransaction(tx, ""); !errors.Is(err, dbaccess.ErrTransaction) || !strings.Contains(err.Error(), "nested") {
		t.Errorf("nested: error %v, want ErrTransaction", err)
	}
	if _, err := dbaccess.JSON(outside, db, query.From("t")); err != nil || len(rest.calls) != 1 {
		t.Errorf("outside of the transaction: error %v, %d calls over REST; want one", err, len(rest.calls))
	}

	stmt, start := scope.StatementStart(tx, "Exec", "", dbaccess.SQL{Operation: "update", Table: "companies"})
	if !dbaccess.InCall(stmt) || dbaccess.InCall(tx) {
		t.Error("the statement's context is in a call, the function's isn't")
	}
	scope.End(stmt, dbaccess.CallEnd{CallStart: start, Rows: 2})
	if e := rec.last(t); e.Summary() != "update companies" || e.Role != "anon" || e.Route.Path != dbaccess.Direct {
		t.Errorf("observed %s as %s over %s", e.Summary(), e.Role, e.Route.Path)
	}
	scope.End(ctx, scope.Ended(nil, dbaccess.ConnIdle, nil))
	if e := rec.last(t); e.Verb != "Tx" || e.Name != "move" || e.Summary() != "transaction" || e.End.Before(e.Start) {
		t.Errorf("observed %s %s %s", e.Verb, e.Name, e.Summary())
	}
}

func TestBeginTransactionFails(t *testing.T) {
	t.Parallel()
	closed := mustNew(t, dbaccess.Config{Direct: &fakeBackend{}})
	if err := closed.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		db   *dbaccess.DB
		ctx  context.Context
		want error
	}{
		"closed":            {closed, asAnon(t.Context()), dbaccess.ErrClosed},
		"no direct path":    {mustNew(t, dbaccess.Config{REST: &fakeBackend{}}), asAnon(t.Context()), dbaccess.ErrUnsupported},
		"nobody":            {mustNew(t, dbaccess.Config{Direct: &fakeBackend{}}), t.Context(), dbaccess.ErrNoIdentity},
		"service, unnamed":  {mustNew(t, dbaccess.Config{Direct: &fakeBackend{}}), auth.AsService(t.Context()), dbaccess.ErrNoService},
		"an impossible one": {mustNew(t, dbaccess.Config{Direct: &fakeBackend{}}), auth.With(t.Context(), auth.Identity{Role: "none"}), nil},
	} {
		_, _, err := tt.db.BeginTransaction(tt.ctx, "move")
		e, ok := errors.AsType[*dbaccess.Error](err)
		if !ok || tt.want != nil && !errors.Is(err, tt.want) || e.Op != "transaction" || e.Query != "transaction move" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
