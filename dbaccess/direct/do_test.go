package direct_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
	"github.com/twinpath/twinpath/internal/wireproxy"
)

func TestReads(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	b := open(t, direct.Config{DSN: db.PoolerDSN, Schemas: []string{"public", "private_api"}})
	tests := []struct {
		name   string
		q      query.Query
		id     auth.Identity
		status int
		total  int64
		want   string
	}{
		{"filter", query.From("insider_transactions").Columns("id").Where(query.Eq("ticker", "T05"), query.Lt("id", 20)).OrderBy(query.Asc("id")), anon, 200, -1, `[{"id":4},{"id":19}]`},
		{"none", query.From("companies").Where(query.Eq("ticker", "T99")), anon, 200, -1, `[]`},
		{"window", query.From("insiders").Columns("id").OrderBy(query.Asc("id")).Limit(2), anon, 200, -1, `[{"id":1},{"id":2}]`},
		{"anonymous rows", lists, anon, 200, -1, `[{"id":2,"title":"Alice public"}]`},
		{"alice's rows", lists, alice, 200, -1, `[{"id":1,"title":"Alice private"},{"id":2,"title":"Alice public"}]`},
		{"bob's rows", lists, bob, 200, -1, `[{"id":2,"title":"Alice public"},{"id":3,"title":"Bob private"}]`},
		{"service", lists.Limit(1), service, 200, -1, `[{"id":1,"title":"Alice private"}]`},
		{"other schema", query.From("notes").InSchema("private_api").Columns("id"), service, 200, -1, `[{"id":1}]`},
		{"odd names", query.From("Odd Table").Columns(`quote"col`).Where(query.Eq("Id", 2)), anon, 200, -1, `[{"quote\"col":"say \"hi\""}]`},
	}
	for _, tt := range tests {
		res, err := b.Do(t.Context(), call(tt.q, tt.id))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := compact(t, res.Body); got != tt.want || res.Status != tt.status || res.Total != tt.total {
			t.Errorf("%s: status %d, total %d, body %s; want %d, %d, %s", tt.name, res.Status, res.Total, got, tt.status, tt.total, tt.want)
		}
	}
}

func TestCounts(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	b := open(t, direct.Config{DSN: db.PoolerDSN})
	spec := query.From("insiders").Columns("id").Limit(2).Spec()
	for count, least := range map[query.Count]int64{query.CountExact: 12, query.CountPlanned: 1, query.CountEstimated: 12} {
		spec.Count = count
		res, err := b.Do(t.Context(), &dbaccess.Call{Query: &spec, Identity: anon})
		if err != nil {
			t.Fatal(err)
		}
		if res.Rows != 2 || res.Total < least || res.Status != 206 {
			t.Errorf("count %d: %d rows of %d, status %d; want 2 of %d or more, status 206", count, res.Rows, res.Total, res.Status, least)
		}
	}
	spec.Count, spec.Head = query.CountExact, true
	spec.HasLimit = false
	res, err := b.Do(t.Context(), &dbaccess.Call{Query: &spec, Identity: anon})
	if err != nil || res.Total != 12 || len(res.Body) != 0 {
		t.Errorf("head: total %d, body %q, error %v; want 12 and no body", res.Total, res.Body, err)
	}
}

func TestSingle(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	b := open(t, direct.Config{DSN: db.PoolerDSN})
	for ticker, want := range map[string]error{"T01": nil, "T99": dbaccess.ErrNoRows, "%": dbaccess.ErrMultipleRows} {
		spec := query.From("companies").Columns("ticker").Where(query.Like("ticker", ticker)).Spec()
		spec.Single = true
		res, err := b.Do(t.Context(), &dbaccess.Call{Query: &spec, Identity: anon})
		if !errors.Is(err, want) {
			t.Errorf("%s: error %v, want %v", ticker, err, want)
			continue
		}
		if want == nil {
			if got := compact(t, res.Body); got != `{"ticker":"T01"}` {
				t.Errorf("body %s, want one object", got)
			}
			continue
		}
		e := err.(*dbaccess.Error)
		if e.Code != "PGRST116" || e.HTTPStatus != 406 || e.Detail() == "" {
			t.Errorf("%s: code %s, status %d, detail %q", ticker, e.Code, e.HTTPStatus, e.Detail())
		}
	}
}

func TestPastEnd(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	b := open(t, direct.Config{DSN: db.PoolerDSN})
	spec := query.From("insiders").Columns("id").Offset(50).Spec()
	spec.Count = query.CountExact
	res, err := b.Do(t.Context(), &dbaccess.Call{Query: &spec, Identity: anon})
	e, ok := err.(*dbaccess.Error)
	if !ok || e.Code != "PGRST103" || e.HTTPStatus != 416 {
		t.Fatalf("error %v, want PGRST103 with status 416", err)
	}
	if res == nil || res.Total != 12 {
		t.Errorf("result %+v, want total 12 beside the error", res)
	}
	if want := "An offset of 50 was requested, but there are only 12 rows."; e.Detail() != want {
		t.Errorf("detail %q, want %q", e.Detail(), want)
	}
}

// seen is a view of what a statement finds itself running under.
const seen = `create view public.seen as select current_user::text as usr, session_user::text as login,
	current_setting('search_path') as path, current_setting('request.jwt.claims', true) as claims,
	current_setting('request.method', true) as method, current_setting('request.path', true) as req,
	current_setting('request.headers', true) as headers, current_setting('request.cookies', true) as cookies,
	current_setting('transaction_read_only') as ro, current_setting('statement_timeout') as timeout;
	grant select on public.seen to anon, authenticated;`

func TestSettings(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, seen)
	q := query.From("seen").Columns("usr", "login", "path", "claims", "method", "req", "headers", "cookies", "ro", "timeout")
	b := open(t, direct.Config{DSN: db.PoolerDSN, SearchPath: []string{`odd "one`, "auth"}})
	want := `[{"usr":"authenticated","login":"authenticator","path":"\"public\", \"odd \"\"one\", \"auth\"",` +
		`"claims":"{\"sub\":\"` + aliceID + `\",\"role\":\"authenticated\"}","method":"GET","req":"/seen","headers":"{}","cookies":"{}","ro":"on","timeout":"0"}]`
	if diff := cmp.Diff(want, body(t, b, q, alice)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want = `[{"usr":"anon","claims":"{\"role\":\"anon\"}"}]`
	if diff := cmp.Diff(want, body(t, b, query.From("seen").Columns("usr", "claims"), anon)); diff != "" {
		t.Errorf("anonymous (-want +got):\n%s", diff)
	}
}

// neighbour is another client of a pooler that has one connection to the server.
type neighbour struct {
	dsn  string
	pool *pgxpool.Pool
}

const cleanNeighbour = `authenticator|"$user", public||||off|0|` + `default`

func newNeighbour(t *testing.T, db *pgtest.Database) *neighbour {
	t.Helper()
	p := pgtest.NewPooler(t, localpg.PoolerConfig{PoolSize: 1})
	n := &neighbour{dsn: p.DSN(pgtest.LoginRole, pgtest.LoginPassword, db.Name)}
	var err error
	if n.pool, err = pgxpool.New(t.Context(), n.dsn+"&default_query_exec_mode=exec"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.pool.Close)
	return n
}

// look returns what it finds set.
func (n *neighbour) look(t *testing.T) string {
	t.Helper()
	var s string
	err := n.pool.QueryRow(t.Context(), `select concat_ws('|', current_user, current_setting('search_path'),
		current_setting('request.jwt.claims', true), coalesce(current_setting('response.status', true), ''), coalesce(current_setting('twinpath.inserted', true), ''),
		current_setting('transaction_read_only'), current_setting('statement_timeout'),
		case when current_setting('timezone') = 'Asia/Seoul' then 'Seoul' else 'default' end)`).Scan(&s)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A neighbour on the same server connection finds none of a call's settings,
// whatever became of the call.
func TestNothingIsLeftBehind(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	n := newNeighbour(t, db)
	b := open(t, direct.Config{DSN: n.dsn, MaxConns: 1})
	for _, q := range []query.Query{lists, query.From("nopes"), query.From("secrets"), lists.Where(query.Eq("id", "x"))} {
		_, _ = b.Do(t.Context(), call(q, alice))
		if got := n.look(t); got != cleanNeighbour {
			t.Errorf("after %v: %s, want %s", q, got, cleanNeighbour)
		}
	}
	if got := body(t, b, lists, anon); got != `[{"id":2,"title":"Alice public"}]` {
		t.Errorf("anonymous after alice: %s", got)
	}
}

func TestIsolationUnderLoad(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	p := pgtest.NewPooler(t, localpg.PoolerConfig{PoolSize: 2})
	b := open(t, direct.Config{DSN: p.DSN(pgtest.LoginRole, pgtest.LoginPassword, db.Name), MaxConns: 8})
	want := map[*auth.Identity]string{
		&anon:  `[{"id":2,"title":"Alice public"}]`,
		&alice: `[{"id":1,"title":"Alice private"},{"id":2,"title":"Alice public"}]`,
		&bob:   `[{"id":2,"title":"Alice public"},{"id":3,"title":"Bob private"}]`,
	}
	errs := make(chan error, 16)
	for i := range cap(errs) {
		go func() {
			errs <- func() error {
				for j := range 30 {
					who := []*auth.Identity{&anon, &alice, &bob}[(i+j)%3]
					if (i+j)%5 == 0 {
						_, _ = b.Do(t.Context(), call(query.From("nopes"), *who)) // an error in between
					}
					res, err := b.Do(t.Context(), call(lists, *who))
					if err != nil {
						return err
					}
					if got := strings.NewReplacer("\n", "", ", ", ",", " {", "{").Replace(string(res.Body)); got != want[who] {
						return fmt.Errorf("%v got %s, want %s", who, got, want[who])
					}
				}
				return nil
			}()
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestOneRoundTrip(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	proxy, err := wireproxy.Start(wireproxy.Config{Target: db.PoolerAddr, Delay: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close(t.Context())
	b := open(t, direct.Config{DSN: pgtest.At(t, db.PoolerDSN, proxy.Addr())})
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	counted := query.From("insiders").Columns("id").Limit(2).Spec()
	counted.Count = query.CountPlanned
	deadline, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for name, do := range map[string]func() error{
		"read with identity": func() error { _, err := b.Do(t.Context(), call(lists, alice)); return err },
		"with a deadline":    func() error { _, err := b.Do(deadline, call(lists, alice)); return err },
		"planned count": func() error {
			_, err := b.Do(t.Context(), &dbaccess.Call{Query: &counted, Identity: alice})
			return err
		},
		"refused by the server": func() error {
			if _, err := b.Do(t.Context(), call(query.From("secrets"), alice)); !errors.Is(err, dbaccess.ErrPermission) {
				return fmt.Errorf("error %v, want ErrPermission", err)
			}
			return nil
		},
	} {
		if err := proxy.Idle(t.Context()); err != nil {
			t.Fatal(err)
		}
		proxy.Reset()
		if err := do(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if s := proxy.Stats(); s.RoundTrips != 1 || s.Accepted != 0 {
			t.Errorf("%s: %d round trips on %d new connections, want 1 on none", name, s.RoundTrips, s.Accepted)
		}
	}
}

// An app's own pool serves as it is, in pgx's default exec mode, and stays open.
func TestAppsPool(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	pool, err := pgxpool.New(t.Context(), db.PoolerDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	b, err := direct.New(direct.Config{Pool: pool})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if got := body(t, b, lists, bob); got != `[{"id":2,"title":"Alice public"},{"id":3,"title":"Bob private"}]` {
			t.Fatalf("bob's rows: %s", got)
		}
	}
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Do(t.Context(), call(lists, bob)); !errors.Is(err, dbaccess.ErrClosed) {
		t.Errorf("after Close: %v, want ErrClosed", err)
	}
	if err := pool.Ping(t.Context()); err != nil {
		t.Errorf("the app's pool does not work any more: %v", err)
	}
}
