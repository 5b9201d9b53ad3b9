package parity_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/postgresttest"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/dbaccess/rest"
)

// counted is PostgREST behind a handler that counts the requests and keeps their queries.
type counted struct {
	handler  *postgresttest.Handler
	requests atomic.Int64
	last     atomic.Pointer[http.Request]
}

func (c *counted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.requests.Add(1)
	c.last.Store(r)
	c.handler.ServeHTTP(w, r)
}

// fieldSides are both paths to one database, with db-max-rows on both.
func fieldSides(t *testing.T, script string, maxRows int64) ([]*side, *counted) {
	t.Helper()
	database := fixture(t, script)
	handler, err := postgresttest.NewHandler(postgresttest.Config{DSN: database.DirectDSN, MaxRows: maxRows})
	if err != nil {
		t.Fatal(err)
	}
	c := &counted{handler: handler}
	srv := httptest.NewServer(c)
	t.Cleanup(func() {
		srv.Close()
		handler.Close()
	})
	overREST, err := rest.New(rest.Config{URL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	straight, err := direct.New(direct.Config{DSN: database.PoolerDSN, MaxRows: maxRows})
	if err != nil {
		t.Fatal(err)
	}
	return []*side{
		{dbaccess.REST, facade(t, dbaccess.Config{REST: overREST, Default: &anon}), database},
		{dbaccess.Direct, facade(t, dbaccess.Config{Direct: straight, Default: &anon}), database},
	}, c
}

type numbered struct {
	ID int `db:"id"`
}

const many = `create table public.numbered (id int primary key, age int not null);
insert into public.numbered select n, n % 100 from generate_series(1, 1200) n;
grant select, insert, update, delete on public.numbered to anon;`

// More rows exist than arrive.
//
// Sources: mem0ai/mem0#6694, #6695; supabase/supabase#4544; LegendApp/legend-state#408.
// Must: detect it, and page or fail; never hand out a result that was cut short silently.
func TestFieldCaseO17(t *testing.T) {
	t.Parallel()
	both, _ := fieldSides(t, many, 1000)
	q := query.From("numbered").OrderBy(query.Asc("id"))
	for _, s := range both {
		ctx := t.Context()
		if rows, err := dbaccess.All[numbered](ctx, s.db, q); !errors.Is(err, dbaccess.ErrTruncated) || rows != nil {
			t.Errorf("%s: All: %d rows, error %v; want ErrTruncated", s.path, len(rows), err)
		}
		if b, err := dbaccess.JSON(ctx, s.db, q); !errors.Is(err, dbaccess.ErrTruncated) || b != nil {
			t.Errorf("%s: JSON: %d bytes, error %v; want ErrTruncated", s.path, len(b), err)
		}
		if rows, err := dbaccess.All[numbered](ctx, s.db, q.Limit(1100)); !errors.Is(err, dbaccess.ErrTruncated) {
			t.Errorf("%s: a limit beyond the cap: %d rows, error %v; want ErrTruncated", s.path, len(rows), err)
		}
		rows, total, err := dbaccess.Page[numbered](ctx, s.db, q.Limit(999))
		if err != nil || len(rows) != 999 || total != 1200 {
			t.Errorf("%s: Page: %d rows of %d, error %v; want 999 of 1200", s.path, len(rows), total, err)
		}
		n := 0
		for row, err := range dbaccess.Each[numbered](ctx, s.db, query.From("numbered"), "id") {
			if err != nil {
				t.Fatalf("%s: Each: %v", s.path, err)
			}
			if n++; row.ID != n {
				t.Fatalf("%s: Each: id %d as row %d", s.path, row.ID, n)
			}
		}
		if n != 1200 {
			t.Errorf("%s: Each: %d rows, want 1200", s.path, n)
		}
	}

	// A cap lower than the one the facade knows of shows wherever rows are counted.
	both, _ = fieldSides(t, many, 500)
	for _, s := range both {
		if rows, total, err := dbaccess.Page[numbered](t.Context(), s.db, q.Limit(600)); !errors.Is(err, dbaccess.ErrTruncated) || rows != nil {
			t.Errorf("%s: Page of 600 with a cap of 500: %d rows of %d, error %v; want ErrTruncated", s.path, len(rows), total, err)
		}
		if rows, total, err := dbaccess.Page[numbered](t.Context(), s.db, q.Limit(600).Offset(900)); err != nil || len(rows) != 300 || total != 1200 {
			t.Errorf("%s: the last page: %d rows of %d, error %v; want 300 of 1200", s.path, len(rows), total, err)
		}
		n := 0
		for _, err := range dbaccess.Each[numbered](t.Context(), s.db, query.From("numbered"), "id") {
			if err != nil {
				t.Fatalf("%s: Each with a cap of 500: %v", s.path, err)
			}
			n++
		}
		if n != 1200 {
			t.Errorf("%s: Each with a cap of 500: %d rows, want 1200", s.path, n)
		}
	}
}

// A page past the end.
//
// Sources: PostgREST/postgrest#2470, #4455, #2824; supabase/supabase-js#1571; supabase/postgrest-js#324.
// Must: an empty page, as over the direct path, with the total where it is known; the status
// survives a body that can't be read.
func TestFieldCaseO18(t *testing.T) {
	t.Parallel()
	both, _ := fieldSides(t, many, 0)
	q := query.From("numbered").OrderBy(query.Asc("id")).Limit(10).Offset(2000)
	for _, s := range both {
		if rows, err := dbaccess.All[numbered](t.Context(), s.db, q); err != nil || rows == nil || len(rows) != 0 {
			t.Errorf("%s: All: %v, error %v; want an empty list", s.path, rows, err)
		}
		if rows, total, err := dbaccess.Page[numbered](t.Context(), s.db, q); err != nil || rows == nil || len(rows) != 0 || total != 1200 {
			t.Errorf("%s: Page: %v of %d, error %v; want an empty page of 1200", s.path, rows, total, err)
		}
	}
	for _, body := range []string{`{"`, `[]`, ``, `{"code":"PGRST103","details":"An offset of 2000 was requested, but there are only 1200 rows.","hint":null,"message":"Requested range not satisfiable"}`} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			w.Header().Set("Content-Range", "*/1200")
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			_, _ = io.WriteString(w, body)
		}))
		backend, err := rest.New(rest.Config{URL: srv.URL})
		if err != nil {
			t.Fatal(err)
		}
		db := facade(t, dbaccess.Config{REST: backend, Default: &anon})
		if rows, total, err := dbaccess.Page[numbered](t.Context(), db, q); err != nil || rows == nil || len(rows) != 0 || total != 1200 {
			t.Errorf("body %q: Page: %v of %d, error %v; want an empty page of 1200", body, rows, total, err)
		}
		_, err = dbaccess.All[numbered](t.Context(), db, q)
		if e, ok := errors.AsType[*dbaccess.Error](err); !ok || e.HTTPStatus != 416 {
			t.Errorf("body %q: All: error %v, want one of status 416", body, err)
		}
		srv.Close()
	}
}

// A column exists, and the API says that it doesn't.
//
// Sources: sculptdotfun/viberank#126; dmadan86/waves#115; PostgREST/postgrest#2791, #3361;
// mortise-org/mortise#100.
// Must: a typed "schema cache stale or object missing"; no fail-over that hides it; a read is repeated
// once at most; a hint on reloading.
func TestFieldCaseO19(t *testing.T) {
	t.Parallel()
	both, requests := fieldSides(t, many, 0)
	insert := func(ctx context.Context, db *dbaccess.DB, id int) error {
		_, err := dbaccess.Exec(ctx, db, query.Insert("numbered", map[string]any{"id": id, "age": 1, "born": 1}))
		return err
	}
	for _, s := range both { // which makes both paths read the schema
		if _, err := dbaccess.Exec(t.Context(), s.db, query.Update("numbered", map[string]any{"age": 3}).Where(query.Eq("id", 1))); err != nil {
			t.Fatal(err)
		}
	}
	both[0].database.Exec(t, `alter table public.numbered add column born int;
		create table public.later (id int); grant select on public.later to anon;
		create function public.fresh() returns int language sql as 'select 1';`)

	for i, ask := range []struct {
		code string
		ask  func(ctx context.Context, db *dbaccess.DB) error
	}{
		{"PGRST204", func(ctx context.Context, db *dbaccess.DB) error { return insert(ctx, db, 5001) }},
		{"PGRST205", func(ctx context.Context, db *dbaccess.DB) error {
			_, err := dbaccess.All[numbered](ctx, db, query.From("later"))
			return err
		}},
		{"PGRST202", func(ctx context.Context, db *dbaccess.DB) error {
			_, err := dbaccess.One[int](ctx, db, query.Call("fresh", nil))
			return err
		}},
	} {
		before := requests.requests.Load()
		err := ask.ask(t.Context(), both[0].db)
		e, ok := errors.AsType[*dbaccess.Error](err)
		if !ok || !errors.Is(err, dbaccess.ErrNotFound) || e.Code != ask.code || e.Path != dbaccess.REST || e.OutcomeUnknown {
			t.Fatalf("case %d over REST: error %v, want ErrNotFound with %s", i, err, ask.code)
		}
		if !strings.Contains(err.Error(), "schema cache stale or object missing") || !strings.Contains(err.Error(), "notify pgrst, 'reload schema'") {
			t.Errorf("case %d: %v, want a hint on reloading", i, err)
		}
		if n := requests.requests.Load() - before; n != 1 {
			t.Errorf("case %d: %d requests, want 1", i, n)
		}
		// The direct path needs no reload by hand: what it remembers is thrown away where a query
		// finds it wrong, and loaded anew, though not more often than every five seconds.
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
			err := ask.ask(t.Context(), both[1].db)
			if err == nil {
				break
			}
			if !errors.Is(err, dbaccess.ErrNotFound) || time.Now().After(deadline) {
				t.Fatalf("case %d over direct: %v", i, err)
			}
		}
	}
	requests.handler.ReloadSchema()
	if err := insert(t.Context(), both[0].db, 5002); err != nil {
		t.Errorf("after the reload: %v", err)
	}
}

// The second filter on a column replaces the first.
//
// Sources: supabase-community/postgrest-go#53, #58, #84; supabase-community/supabase-go#13.
// Must: both conditions on the wire; N filters give N terms; an update or a delete without a filter
// is refused.
func TestFieldCaseO20(t *testing.T) {
	t.Parallel()
	both, requests := fieldSides(t, many, 0)
	grown := []query.Expr{query.Gte("age", 18), query.Lt("age", 65)}
	const found = 12 * (65 - 18)
	for _, s := range both {
		rows, err := dbaccess.All[numbered](t.Context(), s.db, query.From("numbered").Where(grown...))
		if err != nil || len(rows) != found {
			t.Errorf("%s: %d rows, error %v; want %d", s.path, len(rows), err, found)
		}
	}
	for i, s := range both {
		if n, err := dbaccess.Exec(t.Context(), s.db, query.Update("numbered", map[string]any{"age": 70 + i}).Where(query.Gte("age", 62+i), query.Lt("age", 63+i))); err != nil || n != 12 {
			t.Errorf("%s: %d rows updated, error %v; want 12", s.path, n, err)
		}
		if n, err := dbaccess.Exec(t.Context(), s.db, query.Delete("numbered").Where(query.Gte("age", 20+i), query.Lt("age", 21+i), query.Gte("id", 500))); err != nil || n != 7 {
			t.Errorf("%s: %d rows deleted, error %v; want 7", s.path, n, err)
		}
		before := requests.requests.Load()
		for _, q := range []query.Query{query.Delete("numbered"), query.Update("numbered", map[string]any{"age": 1})} {
			if n, err := dbaccess.Exec(t.Context(), s.db, q); !errors.Is(err, dbaccess.ErrUnsupported) {
				t.Errorf("%s: %v without a filter: %d rows, error %v; want ErrUnsupported", s.path, q, n, err)
			}
		}
		if requests.requests.Load() != before {
			t.Errorf("%s: a write without a filter was sent", s.path)
		}
		if n, err := dbaccess.Count(t.Context(), s.db, query.From("numbered")); err != nil || n < 1180 {
			t.Errorf("%s: %d rows are left, error %v", s.path, n, err)
		}
	}

	// Any number of filters, on as few columns as there are.
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // repeatable
	for n := 1; n <= 40; n++ {
		var where []query.Expr
		var terms []string
		for range n {
			column, v := []string{"age", "id"}[random.IntN(2)], random.IntN(100)
			switch random.IntN(3) {
			case 0:
				where, terms = append(where, query.Gte(column, -v)), append(terms, fmt.Sprintf(`%s.gte."%d"`, column, -v))
			case 1:
				where, terms = append(where, query.Lt(column, 2000+v)), append(terms, fmt.Sprintf(`%s.lt."%d"`, column, 2000+v))
			default:
				where, terms = append(where, query.Neq(column, 3000+v)), append(terms, fmt.Sprintf(`%s.neq."%d"`, column, 3000+v))
			}
		}
		for name, q := range map[string]query.Query{
			"select": query.From("numbered").Where(where...),
			"update": query.Update("numbered", map[string]any{"age": 1}).Where(append(where, query.Eq("id", -1))...),
			"delete": query.Delete("numbered").Where(append(where, query.Eq("id", -1))...),
		} {
			want := slices.Clone(terms)
			var err error
			if name == "select" {
				_, err = dbaccess.Count(t.Context(), both[0].db, q)
			} else {
				want = append(want, `id.eq."-1"`)
				_, err = dbaccess.Exec(t.Context(), both[0].db, q)
			}
			if err != nil {
				t.Fatal(err)
			}
			tree := requests.last.Load().URL.Query()["and"]
			if len(tree) != 1 {
				t.Fatalf("%s: %d trees of filters", name, len(tree))
			}
			got := strings.Split(strings.TrimSuffix(strings.TrimPrefix(tree[0], "("), ")"), ",")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s with %d filters (-want +got):\n%s", name, n, diff)
			}
		}
	}
}

const shelved = `create table public.parcels (id uuid primary key, n int not null);
insert into public.parcels select md5(n::text)::uuid, n from generate_series(1, 900) n;
grant select, insert, update, delete on public.parcels to anon;`

type parcel struct {
	N int `db:"n"`
}

// Too many values for one URL.
//
// Sources: supabase/postgrest-js#393, #423; supabase/postgrest-py#365; supabase/supabase#11857.
// Must: split below a length of URL that can be configured, and put together; the same result as over
// the direct path; an update or delete is never split silently but refused.
func TestFieldCaseO24(t *testing.T) {
	t.Parallel()
	both, requests := fieldSides(t, shelved, 0)
	ids := uuids(t, both[1], 800)
	q := query.From("parcels").Where(query.In("id", ids...))
	var answers [2][]int
	for i, s := range both {
		before := requests.requests.Load()
		rows, err := dbaccess.All[parcel](t.Context(), s.db, q)
		if err != nil {
			t.Fatalf("%s: %v", s.path, err)
		}
		if n := requests.requests.Load() - before; s.path == dbaccess.REST && (n < 2 || n > 10) {
			t.Errorf("%d requests", n)
		}
		for _, r := range rows {
			answers[i] = append(answers[i], r.N)
		}
		slices.Sort(answers[i]) // the query has no order
		total, err := dbaccess.Count(t.Context(), s.db, q)
		if err != nil || total != 800 {
			t.Errorf("%s: %d counted, error %v; want 800", s.path, total, err)
		}
	}
	if len(answers[0]) != 800 {
		t.Errorf("%d rows, want 800", len(answers[0]))
	}
	if diff := cmp.Diff(answers[0], answers[1]); diff != "" {
		t.Errorf("rows (-rest +direct):\n%s", diff)
	}

	sent := requests.requests.Load()
	for _, w := range []query.Query{
		query.Delete("parcels").Where(query.In("id", ids...)), query.Update("parcels", map[string]any{"n": 0}).Where(query.In("id", ids...)),
		query.From("parcels").Where(query.In("id", ids...)).OrderBy(query.Asc("n")), // whose parts could not be put together
	} {
		err := func() error {
			if w.Spec().Op.Writes() {
				_, err := dbaccess.Exec(t.Context(), both[0].db, w)
				return err
			}
			_, err := dbaccess.All[parcel](t.Context(), both[0].db, w)
			return err
		}()
		if u, ok := errors.AsType[*query.UnsupportedError](err); !ok || !strings.Contains(u.Reason, "function") {
			t.Errorf("%v: error %v, want an UnsupportedError that says what else to do", w.Spec().Op, err)
		}
	}
	if n := requests.requests.Load(); n != sent {
		t.Errorf("%d requests were sent of what is refused", n-sent)
	}
	if n, err := dbaccess.Count(t.Context(), both[1].db, query.From("parcels").Where(query.Gt("n", 0))); err != nil || n != 900 {
		t.Errorf("%d parcels are left, error %v; want all 900", n, err)
	}
}

// uuids are the keys of the first parcels.
func uuids(t *testing.T, s *side, n int) []any {
	t.Helper()
	rows, err := dbaccess.All[struct {
		ID string `db:"id"`
	}](auth.With(t.Context(), anon), s.db, query.From("parcels").OrderBy(query.Asc("n")).Limit(n))
	if err != nil {
		t.Fatal(err)
	}
	var list []any
	for _, r := range rows {
		list = append(list, r.ID)
	}
	return list
}
