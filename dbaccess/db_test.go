package dbaccess_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/query"
)

type company struct {
	Ticker string `db:"ticker"`
	Name   string `json:"name"`
}

func TestNewReportsEveryProblem(t *testing.T) {
	t.Parallel()
	_, err := dbaccess.New(dbaccess.Config{
		MaxRows:   -2,
		Default:   &auth.Identity{Role: "none"},
		Observers: []dbaccess.Observer{nil},
	})
	if err == nil {
		t.Fatal("New accepted a config with four problems")
	}
	for _, field := range []string{"Config.REST", "Config.Direct", "Config.MaxRows", "Config.Default", "Config.Observers[0]"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("the error does not name %s: %v", field, err)
		}
	}
}

func TestDecisionIsPinned(t *testing.T) {
	t.Parallel()
	rest, direct := &fakeBackend{body: "[]"}, &fakeBackend{body: "[]"}
	router := &countingRouter{paths: []dbaccess.Path{dbaccess.Direct, dbaccess.REST}}
	db := mustNew(t, dbaccess.Config{REST: rest, Direct: direct, Router: router})
	call := func(ctx context.Context) {
		t.Helper()
		if _, err := dbaccess.All[company](asAnon(ctx), db, query.From("companies").Named("list")); err != nil {
			t.Fatal(err)
		}
	}

	ctx := dbaccess.Pin(dbaccess.WithSubject(context.Background(), "visitor-1"))
	if _, decided := dbaccess.DecisionFrom(ctx); decided {
		t.Error("decided before the first call")
	}
	call(ctx)
	call(ctx)
	call(dbaccess.Pin(ctx)) // pinning again changes nothing
	if got := len(router.asked); got != 1 {
		t.Errorf("the router was asked %d times for one request, want 1", got)
	}
	if len(direct.calls) != 3 || len(rest.calls) != 0 {
		t.Errorf("calls: direct %d, rest %d; want 3 and 0", len(direct.calls), len(rest.calls))
	}
	if diff := cmp.Diff(dbaccess.RouteRequest{Subject: "visitor-1", Query: "list"}, router.asked[0]); diff != "" {
		t.Errorf("route request (-want +got):\n%s", diff)
	}

	call(context.Background()) // not pinned: asks for itself
	if len(rest.calls) != 1 {
		t.Errorf("an unpinned call did not ask the router")
	}
	call(dbaccess.WithDecision(context.Background(), dbaccess.Decision{Path: dbaccess.REST}))
	if len(rest.calls) != 2 || len(router.asked) != 2 {
		t.Errorf("WithDecision was not followed")
	}
}

func TestSubjectPrefersTheUser(t *testing.T) {
	t.Parallel()
	router := &countingRouter{paths: []dbaccess.Path{dbaccess.REST}}
	db := mustNew(t, dbaccess.Config{REST: &fakeBackend{body: "[]"}, Router: router})
	ctx := auth.With(dbaccess.WithSubject(context.Background(), "trace"), auth.Identity{Role: "authenticated", Claims: []byte(`{"sub":"user-7"}`)})
	if _, err := dbaccess.All[company](ctx, db, query.From("companies")); err != nil {
		t.Fatal(err)
	}
	if got := router.asked[0].Subject; got != "user-7" {
		t.Errorf("subject %q, want the user's", got)
	}
}

func TestFallbackToTheOtherPath(t *testing.T) {
	t.Parallel()
	direct, seen := &fakeBackend{body: "[]"}, &recorder{}
	db := mustNew(t, dbaccess.Config{
		Direct:    direct,
		Router:    &countingRouter{paths: []dbaccess.Path{dbaccess.REST}},
		Observers: []dbaccess.Observer{seen},
	})
	if _, err := dbaccess.All[company](asAnon(context.Background()), db, query.From("companies")); err != nil {
		t.Fatal(err)
	}
	got := seen.last(t).Route
	if got.Path != dbaccess.Direct || got.Reason != "fallback: rest is not configured" {
		t.Errorf("routed %s because %q", got.Path, got.Reason)
	}
	if got.Decision.Path != dbaccess.REST {
		t.Errorf("the decision itself was changed to %s", got.Decision.Path)
	}
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	service := auth.Identity{Role: "service_role"}
	tests := []struct {
		name     string
		def      *auth.Identity
		ctx      *auth.Identity
		wantRole string
		wantErr  error
	}{
		{name: "none at all", wantErr: dbaccess.ErrNoIdentity},
		{name: "default", def: &service, wantRole: "service_role"},
		{name: "context wins", def: &service, ctx: &auth.Identity{Role: "anon"}, wantRole: "anon"},
		{name: "an empty identity is no default", def: &service, ctx: &auth.Identity{}, wantErr: errAny},
		{name: "the login role", ctx: &auth.Identity{Role: "NONE"}, wantErr: errAny},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := &fakeBackend{body: "[]"}
			db := mustNew(t, dbaccess.Config{REST: b, Default: tt.def})
			ctx := context.Background()
			if tt.ctx != nil {
				ctx = auth.With(ctx, *tt.ctx)
			}
			_, err := dbaccess.All[company](ctx, db, query.From("companies"))
			if tt.wantErr != nil {
				if err == nil || tt.wantErr != errAny && !errors.Is(err, tt.wantErr) {
					t.Fatalf("error %v, want %v", err, tt.wantErr)
				}
				if len(b.calls) > 0 {
					t.Error("something was sent")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := b.ids[0].Role; got != tt.wantRole {
				t.Errorf("acted as %q, want %q", got, tt.wantRole)
			}
		})
	}
}

// errAny stands for an error of no particular kind.
var errAny = errors.New("any")

func TestObservedCall(t *testing.T) {
	t.Parallel()
	at := time.Now()
	b := &fakeBackend{
		body: `[{"ticker":"T01","name":"Company 1"}]`, rows: 1,
		phases: []dbaccess.Phase{
			{Name: dbaccess.PhasePrepare, Start: at, Duration: time.Millisecond},
			{Name: dbaccess.PhaseWait, Start: at.Add(time.Millisecond), Duration: time.Millisecond},
		},
	}
	first, second := &recorder{}, &recorder{}
	db := mustNew(t, dbaccess.Config{REST: b, Observers: []dbaccess.Observer{first, second}})
	if _, err := dbaccess.All[company](asAnon(context.Background()), db, query.From("companies").Where(query.Eq("ticker", "T01"))); err != nil {
		t.Fatal(err)
	}
	e := first.last(t)
	if e.Verb != "All" || e.Role != "anon" || e.Rows != 1 || e.Bytes != len(b.body) || e.Status != 200 || e.Conn != dbaccess.ConnIdle || e.Err != nil {
		t.Errorf("unexpected event: %+v", e)
	}
	if got, want := e.Query.Summary(), "select companies by ticker"; got != want {
		t.Errorf("summary %q, want %q", got, want)
	}
	if !b.inCall[0] {
		t.Error("the backend's context does not say that it is in a call")
	}
	var names []string
	end := e.Start
	for _, p := range e.Phases {
		names = append(names, p.Name)
		if !p.Start.Equal(end) {
			t.Errorf("phase %s starts %s after the one before it ended", p.Name, p.Start.Sub(end))
		}
		end = p.Start.Add(p.Duration)
	}
	if !end.Equal(e.End) {
		t.Errorf("the phases end %s before the call", e.End.Sub(end))
	}
	if diff := cmp.Diff([]string{"prepare", "wait", "decode"}, names); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
	if len(second.ends) != 1 {
		t.Error("the second observer was not told")
	}
}

func TestPhasesCoverAFailureBeforeSending(t *testing.T) {
	t.Parallel()
	seen := &recorder{}
	db := mustNew(t, dbaccess.Config{REST: &fakeBackend{err: context.DeadlineExceeded}, Observers: []dbaccess.Observer{seen}})
	_, err := dbaccess.All[company](asAnon(context.Background()), db, query.From("companies"))
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, dbaccess.ErrTimeout) {
		t.Errorf("error %v, want a timeout", err)
	}
	e := seen.last(t)
	if !errors.Is(e.Err, dbaccess.ErrTimeout) {
		t.Errorf("observed error %v", e.Err)
	}
	var sum time.Duration
	for _, p := range e.Phases {
		sum += p.Duration
	}
	if sum != e.Duration() {
		t.Errorf("phases add up to %s, the call took %s", sum, e.Duration())
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	rest, direct := &fakeBackend{body: "[]"}, &fakeBackend{body: "[]"}
	db, err := dbaccess.New(dbaccess.Config{REST: rest, Direct: direct})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := db.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if rest.closed != 1 || direct.closed != 1 {
		t.Errorf("backends closed %d and %d times, want once each", rest.closed, direct.closed)
	}
	_, err = dbaccess.All[company](asAnon(context.Background()), db, query.From("companies"))
	if !errors.Is(err, dbaccess.ErrClosed) {
		t.Errorf("error %v after Close, want ErrClosed", err)
	}
}

// asker is a router that looks at its context before it answers.
type asker struct {
	db    *dbaccess.DB
	found []bool
}

func (r *asker) Route(ctx context.Context, _ dbaccess.RouteRequest) dbaccess.Decision {
	_, decided := dbaccess.DecisionFrom(ctx)
	r.found = append(r.found, decided)
	if _, err := dbaccess.JSON(ctx, r.db, query.From("flags")); err != nil {
		return dbaccess.Decision{Path: dbaccess.Direct, Reason: "fallback: " + err.Error()}
	}
	return dbaccess.Decision{Path: dbaccess.Direct, Reason: "asked"}
}

func TestARouterMayAskTheDatabase(t *testing.T) {
	t.Parallel()
	r := &asker{}
	rest, direct := &fakeBackend{body: "[]"}, &fakeBackend{body: "[]"}
	r.db = mustNew(t, dbaccess.Config{REST: rest, Direct: direct, Router: r})
	ctx := dbaccess.Pin(asAnon(context.Background()))
	if _, err := dbaccess.All[company](ctx, r.db, query.From("companies")); err != nil {
		t.Fatal(err)
	}
	if d, ok := dbaccess.DecisionFrom(ctx); !ok || d.Reason != "asked" {
		t.Errorf("pinned to %v, %t", d, ok)
	}
	if len(rest.calls) != 1 || rest.calls[0].From != "flags" || len(direct.calls) != 1 {
		t.Errorf("REST %v, direct %v", rest.calls, direct.calls)
	}
	if diff := cmp.Diff([]bool{false}, r.found); diff != "" {
		t.Errorf("the router's context was decided (-want +got):\n%s", diff)
	}
}

func TestNilBackends(t *testing.T) {
	t.Parallel()
	var none *fakeBackend
	_, err := dbaccess.New(dbaccess.Config{REST: &fakeBackend{}, Direct: none})
	if err == nil || !strings.Contains(err.Error(), "Config.Direct") {
		t.Errorf("error %v, want one that names Config.Direct", err)
	}
}

// secretive is a backend with something to hide.
type secretive struct {
	fakeBackend
	Password string
}

func TestNothingOfABackendIsPrinted(t *testing.T) {
	t.Parallel()
	b := &secretive{Password: canary}
	cfg := dbaccess.Config{Direct: b}
	db := mustNew(t, cfg)
	for _, v := range []any{db, cfg, &cfg} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
			if s := fmt.Sprintf(verb, v); strings.Contains(s, canary) || strings.Contains(s, fmt.Sprintf("%x", canary)) {
				t.Errorf("%s of %T prints a secret: %s", verb, v, s)
			}
		}
	}
}

// picky is a REST path that can't send some queries.
type picky struct{ fakeBackend }

func (*picky) Check(s *query.Spec) error {
	if s.From == "long" {
		return &query.UnsupportedError{Node: "in", Reason: "too long"}
	}
	return nil
}

func TestBothPathsRefuseWhatRESTCantSend(t *testing.T) {
	t.Parallel()
	direct := &fakeBackend{body: "[]"}
	db := mustNew(t, dbaccess.Config{REST: &picky{}, Direct: direct, Router: &countingRouter{paths: []dbaccess.Path{dbaccess.Direct}}})
	ctx := asAnon(context.Background())
	_, err := dbaccess.JSON(ctx, db, query.From("long"))
	if _, ok := errors.AsType[*query.UnsupportedError](err); !ok || !errors.Is(err, dbaccess.ErrUnsupported) {
		t.Errorf("error %v, want an UnsupportedError", err)
	}
	if _, err := dbaccess.JSON(ctx, db, query.From("short")); err != nil {
		t.Error(err)
	}
	if len(direct.calls) != 1 {
		t.Errorf("%d calls were sent, want 1", len(direct.calls))
	}
}
