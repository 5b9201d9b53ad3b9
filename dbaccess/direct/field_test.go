package direct_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// measure is how often something is done in the field's own measure, and a part of that
// otherwise.
func measure(full, scaled int) int {
	if os.Getenv("FIELD") != "" {
		return full
	}
	return scaled
}

// shapes are five functions whose SQL differs, each with arguments of two types.
const shapes = `do $$ begin
	for k in 0..4 loop
		execute format('create function public.shape%s(a int4, b text) returns json language sql as ' ||
			'''select json_build_object(''''n'''', a + %s, ''''s'''', b)''', k, k);
	end loop;
end $$;`

// calledAtOnce runs 16 callers × runs through a pooler with two server connections, each with
// statements and arguments of its own, and fails for any answer that isn't its question's.
func calledAtOnce(t *testing.T, ask func(ctx context.Context, k, a int, b string) (string, error)) {
	t.Helper()
	const callers = 16
	runs := measure(200, 12)
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for i := range runs {
				k, a, b := (c+i)%5, 1000*c+i, fmt.Sprintf("%d/%d", c, i)
				got, err := ask(t.Context(), k, a, b)
				if err != nil {
					t.Errorf("caller %d, run %d: %v", c, i, err)
					return
				}
				if want := fmt.Sprintf(`{"n":%d,"s":"%s"}`, a+k, b); got != want {
					t.Errorf("caller %d, run %d: %s, want %s", c, i, got, want)
					return
				}
			}
		})
	}
	wg.Wait()
}

// byCall asks by a call of the facade.
func byCall(tb testing.TB, b *direct.Backend) func(ctx context.Context, k, a int, s string) (string, error) {
	return func(ctx context.Context, k, a int, s string) (string, error) {
		res, err := b.Do(ctx, call(query.Call(fmt.Sprint("shape", k), map[string]any{"a": a, "b": s}), anon))
		if err != nil {
			return "", err
		}
		return compact(tb, res.Body), nil
	}
}

// byTx asks by SQL of the application's own.
func byTx(db *dbaccess.DB) func(ctx context.Context, k, a int, s string) (string, error) {
	return func(ctx context.Context, k, a int, s string) (got string, err error) {
		err = direct.Tx(auth.With(ctx, anon), db, direct.TxOptions{Name: "shape"}, func(ctx context.Context, tx direct.Transaction) error {
			return tx.QueryRow(ctx, fmt.Sprintf(`select '{"n":' || $1::int4 + %d || ',"s":"' || $2::text || '"}'`, k), a, s).Scan(&got)
		})
		return got, err
	}
}

// Cached statement names collide behind the pooler.
//
// Sources: jackc/pgx#1847, #1561, #1590, #650; authzed/spicedb by way of pgbouncer/pgbouncer#1118.
// Must: never create a named statement on the server, unless the operator states that the pooler
// tracks them; the same input gives 3,200 right results.
func TestFieldCaseO01(t *testing.T) {
	t.Parallel()
	pg := pgtest.Golden(t)
	pg.Exec(t, shapes)
	pooler := pgtest.NewPooler(t, localpg.PoolerConfig{PoolSize: 2})
	dsn := pooler.DSN(pgtest.LoginRole, pgtest.LoginPassword, pg.Name)

	b, err := direct.New(direct.Config{DSN: dsn, MaxConns: 16})
	if err != nil {
		t.Fatal(err)
	}
	db, err := dbaccess.New(dbaccess.Config{Direct: b})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	calledAtOnce(t, byCall(t, b))
	calledAtOnce(t, byTx(db))
	for i, n := range namedStatements(t, dsn) {
		if n != "" {
			t.Errorf("server connection %d has the statements %s", i, n)
		}
	}

	// An app's own pool in pgx's default mode, which caches: the library does not use its cache.
	own, err := pgxpool.New(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	calledAtOnce(t, byCall(t, open(t, direct.Config{Pool: own})))
	for i, n := range namedStatements(t, dsn) {
		if n != "" {
			t.Errorf("an own pool: server connection %d has the statements %s", i, n)
		}
	}

	// Nor does a DSN that asks for the mode that caches make any.
	calledAtOnce(t, byCall(t, open(t, direct.Config{DSN: dsn + "&default_query_exec_mode=cache_statement"})))
	for i, n := range namedStatements(t, dsn) {
		if n != "" {
			t.Errorf("cache_statement: server connection %d has the statements %s", i, n)
		}
	}
}

// namedStatements are those on both server connections of a pooler, held by a transaction each.
func namedStatements(t *testing.T, dsn string) []string {
	t.Helper()
	var found []string
	for range 2 {
		cfg, err := pgx.ParseConfig(dsn)
		if err != nil {
			t.Fatal(err)
		}
		cfg.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
		conn, err := pgx.ConnectConfig(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		tx, err := conn.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var names string
		if err := tx.QueryRow(t.Context(), "select coalesce(string_agg(name, ','), '') from pg_prepared_statements").Scan(&names); err != nil {
			t.Fatal(err)
		}
		found = append(found, names)
	}
	return found
}

// The unnamed statement in two trips returns another query's rows.
//
// Sources: jackc/pgx#1355, #1635; pgbouncer/pgbouncer#1118, #203; diesel-rs/diesel#4539;
// oven-sh/bun#27952.
// Must: refuse the mode at construction when the route is a transaction pooler, through the DSN
// too; the error names the setting.
func TestFieldCaseO02(t *testing.T) {
	t.Parallel()
	pg := pgtest.Golden(t)
	pg.Exec(t, shapes)
	pooler := pgtest.NewPooler(t, localpg.PoolerConfig{PoolSize: 2})
	dsn := pooler.DSN(pgtest.LoginRole, pgtest.LoginPassword, pg.Name)
	for _, given := range []string{dsn + "&default_query_exec_mode=describe_exec", strings.Replace(dsn, "sslmode", "default_query_exec_mode=describe_exec&sslmode", 1)} {
		b, err := direct.New(direct.Config{DSN: given})
		if err == nil || b != nil || !strings.Contains(err.Error(), "default_query_exec_mode") || !strings.Contains(err.Error(), "describe_exec") {
			t.Errorf("error %v, want one that names the setting", err)
		}
	}
	// With an own pool in that mode calls are right all the same: they are one batch.
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeDescribeExec
	own, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	calledAtOnce(t, byCall(t, open(t, direct.Config{Pool: own})))
}

// Tenant A reads tenant B: settings stay on the server connection.
//
// Sources: rails-on-services/apartment#470; django-tenants/django-tenants#1112, #545, #732.
// Must: a SET for the session has no API on the pooled route; role, claims, path and timeout go
// in as settings of the transaction, in the batch of the query; after any outcome a neighbour sees
// the defaults.
func TestFieldCaseO22(t *testing.T) {
	t.Parallel()
	pg := pgtest.Golden(t)
	pg.Exec(t, `create view public.asleep as select 1 as id from pg_sleep(30); grant select on public.asleep to authenticated;`)
	pooler := pgtest.NewPooler(t, localpg.PoolerConfig{PoolSize: 1})
	dsn := pooler.DSN(pgtest.LoginRole, pgtest.LoginPassword, pg.Name)

	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	cfg.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	neighbour, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer neighbour.Close(context.Background())
	see := func() []string {
		t.Helper()
		var s [6]string
		err := neighbour.QueryRow(t.Context(), `select current_user::text, current_setting('search_path'), coalesce(current_setting('request.jwt.claims', true), ''),
			current_setting('statement_timeout'), current_setting('transaction_read_only'), coalesce(current_setting('request.method', true), '')`).
			Scan(&s[0], &s[1], &s[2], &s[3], &s[4], &s[5])
		if err != nil {
			t.Fatal(err)
		}
		return s[:]
	}
	defaults := see()

	b := open(t, direct.Config{DSN: dsn + "&search_path=private_api,public&statement_timeout=20s", Schemas: []string{"public", "private_api"}, Schema: "public"})
	for _, tt := range []struct {
		name string
		ctx  func() (context.Context, context.CancelFunc)
		q    query.Query
		want error
	}{
		{"a read", nil, lists, nil},
		{"a write", nil, query.Update("watchlists", map[string]any{"title": "x"}).Where(query.Eq("id", 1)), nil},
		{"no privilege", nil, query.From("secrets"), dbaccess.ErrPermission},
		{"a value that isn't one", nil, query.From("watchlists").Where(query.Eq("id", "x")), dbaccess.ErrInvalid},
		{"a deadline", func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), 300*time.Millisecond)
		}, query.From("asleep"), dbaccess.ErrTimeout},
		{"a caller that leaves", func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(200*time.Millisecond, cancel)
			return ctx, cancel
		}, query.From("asleep"), context.Canceled},
	} {
		ctx, cancel := t.Context(), context.CancelFunc(func() {})
		if tt.ctx != nil {
			ctx, cancel = tt.ctx()
		}
		_, err := b.Do(ctx, call(tt.q, alice))
		cancel()
		if tt.want == nil && err != nil || !errors.Is(err, tt.want) {
			t.Errorf("%s: error %v, want %v", tt.name, err, tt.want)
		}
		if diff := cmp.Diff(defaults, see()); diff != "" {
			t.Errorf("after %s the neighbour sees (-want +got):\n%s", tt.name, diff)
		}
	}
}

// A NOTIFY per row caps the whole database.
//
// Sources: agent-substrate/substrate#920; LFDT-Panurus/panurus#1934; factcast/factcast#3911;
// dbos-inc/dbos-transact-py#774.
// Must: signal outside of the writing transaction, coalesced and without duplicates; consumers poll
// as a fallback; a lost signal costs latency alone.
//
// The library has nothing that signals yet. What it must not do is held here: no write of its own
// sends a NOTIFY, and so none waits for the lock that each committing one takes
// (PreCommit_Notify in PostgreSQL's src/backend/commands/async.c).
func TestFieldCaseO25(t *testing.T) {
	t.Parallel()
	pg := pgtest.Golden(t)
	pg.Exec(t, `create table public.ticks (n int not null); grant select, insert, update, delete on public.ticks to anon`)
	wire := record(t, pg.PoolerAddr)
	b, err := direct.New(direct.Config{DSN: pgtest.At(t, pg.PoolerDSN, wire.addr)})
	if err != nil {
		t.Fatal(err)
	}
	db, err := dbaccess.New(dbaccess.Config{Direct: b})
	if err != nil {
		t.Fatal(err)
	}
	ctx := auth.With(t.Context(), anon)
	writers, each := measure(32, 8), measure(100, 10)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if _, err := dbaccess.Exec(ctx, db, query.Insert("ticks", map[string]any{"n": w*each + i})); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	for _, q := range []query.Query{
		query.Update("ticks", map[string]any{"n": -1}).Where(query.Eq("n", 1)), query.Delete("ticks").Where(query.Eq("n", 2)),
	} {
		if n, err := dbaccess.Exec(ctx, db, q); n != 1 || err != nil {
			t.Errorf("%v: %d rows, %v", q, n, err)
		}
	}
	err = direct.Tx(ctx, db, direct.TxOptions{Name: "tick"}, func(ctx context.Context, tx direct.Transaction) error {
		_, err := tx.Exec(ctx, "insert into ticks values ($1)", -2)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if n, err := dbaccess.Count(ctx, db, query.From("ticks")); err != nil || n != int64(writers*each) {
		t.Errorf("%d rows, %v; want %d", n, err, writers*each)
	}
	if err := db.Close(t.Context()); err != nil {
		t.Error(err)
	}
	sent := wire.sent()
	if !bytes.Contains(sent, []byte("INTO")) && !bytes.Contains(sent, []byte("into")) {
		t.Fatalf("%d bytes were recorded, and no insert: this would prove nothing", len(sent))
	}
	if bytes.Contains(bytes.ToLower(sent), []byte("notify")) {
		t.Error("a write sends a NOTIFY")
	}
}

// recorder passes connections on and keeps what the clients said.
type recorder struct {
	addr string
	mu   sync.Mutex
	data bytes.Buffer
}

func record(t *testing.T, target string) *recorder {
	t.Helper()
	r := &recorder{}
	r.addr = listen(t, func(client net.Conn) error {
		server, err := net.Dial("tcp", target)
		if err != nil {
			return err
		}
		defer server.Close()
		var back sync.WaitGroup
		back.Go(func() {
			_, _ = io.Copy(client, server)
			_ = client.Close()
		})
		defer back.Wait()
		defer server.Close()
		_, err = io.Copy(io.MultiWriter(server, r), client)
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		return err
	})
	return r
}

// Write keeps it.
func (r *recorder) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.data.Write(b)
}

func (r *recorder) sent() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Clone(r.data.Bytes())
}
