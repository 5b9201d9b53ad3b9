package authmatrix_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/postgresttest"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/dbaccess/rest"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

const (
	secret  = "a-secret-for-tests-of-at-least-32-bytes!"
	anon    = "anon"
	auditor = "twinpath_auditor"
	aliceID = "11111111-1111-1111-1111-111111111111"
	bobID   = "22222222-2222-2222-2222-222222222222"
)

// schemas are those that requests may name, the default one first.
func schemas() []string { return []string{"public", "private_api"} }

// caller is somebody who asks.
type caller struct {
	name string
	auth.Identity
	// settings are those that ALTER ROLE gave the caller's role, as a person who
	// writes the SQL must know.
	settings [][2]string
}

// callers are all five of them. Alice and Bob are two users of one role.
func callers(tb testing.TB) []caller {
	tb.Helper()
	tokens, err := jwt.NewHS256(jwt.Config{Secret: []byte(secret), Lifetime: time.Hour})
	if err != nil {
		tb.Fatal(err)
	}
	// As at a request: who asks is what the token proves.
	known := func(role, claims string) auth.Identity {
		token, err := tokens.Sign(tb.Context(), auth.Identity{Role: role, Claims: json.RawMessage(claims)})
		if err != nil {
			tb.Fatal(err)
		}
		id, err := tokens.Verify(tb.Context(), token)
		if err != nil {
			tb.Fatal(err)
		}
		return id
	}
	return []caller{
		{name: "anon", Identity: auth.Identity{Role: anon}},
		{name: "alice", Identity: known("authenticated", `{"sub":"`+aliceID+`","app_metadata":{"org":"acme","tags":["admin","x"]}}`)},
		{name: "bob", Identity: known("authenticated", `{"sub":"`+bobID+`","app_metadata":{"org":"umbrella"}}`)},
		{name: "service", Identity: known("service_role", `{}`)},
		{name: "auditor", Identity: known(auditor, `{"sub":"33333333-3333-3333-3333-333333333333"}`), settings: [][2]string{
			{"lock_timeout", "3s"}, {"TimeZone", "Asia/Seoul"},
		}},
	}
}

// newDatabase makes a database with the fixture and the policies.
func newDatabase(tb testing.TB) *pgtest.Database {
	tb.Helper()
	fixture, err := pgtest.File("testdata/golden/fixture.sql")
	if err != nil {
		tb.Fatal(err)
	}
	return pgtest.NewDatabase(tb, fixture, "testdata/policies.sql")
}

// newREST makes the facade on the REST path, in front of a stand-in.
func newREST(tb testing.TB, db *pgtest.Database, wrap func(dbaccess.Backend) dbaccess.Backend) *dbaccess.DB {
	tb.Helper()
	srv, err := postgresttest.NewServer(postgresttest.Config{
		DSN: db.DirectDSN, JWTSecret: secret, Schemas: schemas(), AllowRollback: true,
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := srv.Close(); err != nil {
			tb.Errorf("close the stand-in: %v", err)
		}
	})
	backend, err := rest.New(rest.Config{URL: srv.URL})
	if err != nil {
		tb.Fatal(err)
	}
	return facade(tb, dbaccess.Config{REST: wrap(backend)})
}

// newDirect makes the facade on the direct path. The config lacks schemas only.
func newDirect(tb testing.TB, cfg direct.Config, wrap func(dbaccess.Backend) dbaccess.Backend) *dbaccess.DB {
	tb.Helper()
	cfg.Schema, cfg.Schemas = schemas()[0], schemas()
	backend, err := direct.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return facade(tb, dbaccess.Config{Direct: wrap(backend)})
}

func facade(tb testing.TB, cfg dbaccess.Config) *dbaccess.DB {
	tb.Helper()
	db, err := dbaccess.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := db.Close(ctx); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return db
}

// undone is a backend that undoes everything it does, once it is done.
type undone struct{ dbaccess.Backend }

func undo(b dbaccess.Backend) dbaccess.Backend { return undone{b} }

func (u undone) Do(ctx context.Context, c *dbaccess.Call) (*dbaccess.Result, error) {
	call, spec := *c, *c.Query
	if spec.Write != nil {
		w := *spec.Write
		w.Rollback, spec.Write = true, &w
	}
	if spec.Call != nil {
		args := *spec.Call
		args.Rollback, spec.Call = true, &args
	}
	call.Query = &spec
	return u.Backend.Do(ctx, &call)
}

// Check asks the backend itself.
func (u undone) Check(s *query.Spec) error {
	if c, ok := u.Backend.(dbaccess.Checker); ok {
		return c.Check(s)
	}
	return nil
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

// run runs a statement with text arguments. What is NULL is "" in its rows.
func run(ctx context.Context, conn *pgconn.PgConn, sql string, args ...string) (rows [][]string, affected int64, err error) {
	values := make([][]byte, len(args))
	for i, a := range args {
		values[i] = []byte(a)
	}
	res := conn.ExecParams(ctx, sql, values, nil, nil, nil).Read()
	for _, r := range res.Rows {
		row := make([]string, len(r))
		for i, v := range r {
			row[i] = string(v)
		}
		rows = append(rows, row)
	}
	return rows, res.CommandTag.RowsAffected(), res.Err
}

// must is run for statements that can't fail.
func must(tb testing.TB, conn *pgconn.PgConn, sql string, args ...string) [][]string {
	tb.Helper()
	rows, _, err := run(tb.Context(), conn, sql, args...)
	if err != nil {
		tb.Fatalf("%s: %v", sql, err)
	}
	return rows
}

// sqlState returns the SQLSTATE of an error of the server's, "" for another.
func sqlState(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}
