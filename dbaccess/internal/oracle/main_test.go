package oracle_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/internal/golden/corpus"
	"github.com/twinpath/twinpath/dbaccess/postgresttest"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/dbaccess/rest"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// envPostgREST names a real PostgREST to put in the stand-in's place.
const envPostgREST = "POSTGREST_URL"

// rig is a database with the golden fixture and both paths to it.
type rig struct {
	db      *pgtest.Database
	rest    dbaccess.Backend
	direct  dbaccess.Backend
	callers map[string]auth.Identity
}

// newRig makes a rig with a database of its own that ends with the test. maxRows is
// db-max-rows on both paths, 0 for none.
func newRig(tb testing.TB, maxRows int64) *rig {
	tb.Helper()
	return newRigOn(tb, pgtest.Golden(tb), maxRows)
}

func newRigOn(tb testing.TB, db *pgtest.Database, maxRows int64) *rig {
	tb.Helper()
	r := &rig{db: db, callers: callers(tb)}
	// What the planner thinks of a table must not change between two answers.
	r.db.Exec(tb, `do $$ declare t regclass; begin
		for t in select c.oid from pg_class c where relkind = 'r' and relnamespace in ('public'::regnamespace, 'private_api'::regnamespace) loop
			execute format('alter table %s set (autovacuum_enabled = false)', t);
		end loop; end $$`)
	url := os.Getenv(envPostgREST)
	if url == "" {
		srv, err := postgresttest.NewServer(postgresttest.Config{
			DSN: r.db.DirectDSN, JWTSecret: corpus.Secret, AnonRole: corpus.AnonRole, Schemas: corpus.Schemas(), AllowRollback: true, MaxRows: maxRows,
		})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() {
			if err := srv.Close(); err != nil {
				tb.Errorf("close the stand-in: %v", err)
			}
		})
		url = srv.URL
	}
	restPath, err := rest.New(rest.Config{URL: url, AnonRole: corpus.AnonRole, MaxURLBytes: -1})
	if err != nil {
		tb.Fatal(err)
	}
	directPath, err := direct.New(direct.Config{
		DSN: r.db.PoolerDSN, AnonRole: corpus.AnonRole, Schema: corpus.Schemas()[0], Schemas: corpus.Schemas(), MaxRows: maxRows,
	})
	if err != nil {
		tb.Fatal(err)
	}
	r.rest, r.direct = restPath, directPath
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := errors.Join(r.rest.Close(ctx), r.direct.Close(ctx)); err != nil {
			tb.Errorf("close the paths: %v", err)
		}
	})
	return r
}

// as returns a context whose calls act as one of the corpus's callers.
func (r *rig) as(ctx context.Context, caller string) context.Context {
	return auth.With(ctx, r.callers[caller])
}

// callers are the identities of the corpus's tokens, anon included.
func callers(tb testing.TB) map[string]auth.Identity {
	tb.Helper()
	v, err := jwt.NewHS256(jwt.Config{Secret: []byte(corpus.Secret), AnonRole: corpus.AnonRole})
	if err != nil {
		tb.Fatal(err)
	}
	ids := map[string]auth.Identity{corpus.AnonRole: {Role: corpus.AnonRole}}
	for _, name := range []string{"alice", "bob", "service"} {
		id, err := v.Verify(tb.Context(), golden(tb).Tokens[name])
		if err != nil {
			tb.Fatal(err)
		}
		ids[name] = id
	}
	return ids
}

func golden(tb testing.TB) *corpus.Corpus {
	tb.Helper()
	dir, err := pgtest.File("testdata/golden")
	if err != nil {
		tb.Fatal(err)
	}
	c, err := corpus.Load(dir)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// connect opens a plain connection that ends with the test.
func connect(tb testing.TB, dsn string) *pgconn.PgConn {
	tb.Helper()
	conn, err := pgconn.Connect(tb.Context(), dsn)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// rows runs a statement and returns its rows as text.
func rows(tb testing.TB, conn *pgconn.PgConn, sql string, args ...string) [][]*string {
	tb.Helper()
	values := make([][]byte, len(args))
	for i, a := range args {
		values[i] = []byte(a)
	}
	res := conn.ExecParams(tb.Context(), sql, values, nil, nil, nil).Read()
	if res.Err != nil {
		tb.Fatalf("%s: %v", sql, res.Err)
	}
	out := make([][]*string, len(res.Rows))
	for i, r := range res.Rows {
		for _, v := range r {
			if v == nil {
				out[i] = append(out[i], nil)
				continue
			}
			s := string(v)
			out[i] = append(out[i], &s)
		}
	}
	return out
}

// loadCatalog reads the schema as both paths do.
func loadCatalog(tb testing.TB, conn *pgconn.PgConn) *catalog.Catalog {
	tb.Helper()
	sql, args := catalog.SQL(corpus.Schemas())
	c, err := catalog.Parse([]byte(*rows(tb, conn, sql, args...)[0][0]))
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// answer is what a path said.
type answer struct {
	status  int
	total   int64
	body    []byte
	failure *dbaccess.Error // nil for a success
	refused bool            // nothing was sent, because the query has no form on some path
	broken  error           // no answer at all
}

// ask runs a query on a path.
func ask(ctx context.Context, b dbaccess.Backend, s *query.Spec, id auth.Identity) answer {
	res, err := b.Do(ctx, &dbaccess.Call{Query: s, Identity: id})
	a := answer{total: -1}
	if res != nil {
		a.status, a.total, a.body = res.Status, res.Total, res.Body
	}
	if err == nil {
		return a
	}
	e, ok := errors.AsType[*dbaccess.Error](err)
	_, unsupported := errors.AsType[*query.UnsupportedError](err)
	switch {
	case unsupported, ok && e.HTTPStatus == http.StatusNotImplemented:
		a.refused = true
	case !ok || e.HTTPStatus == 0 || e.HTTPStatus == http.StatusServiceUnavailable || e.HTTPStatus == http.StatusGatewayTimeout:
		a.broken = err
	default:
		a.status, a.failure, a.body = e.HTTPStatus, e, nil
	}
	return a
}
