package direct_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// loudness counts what an app's own tracer is told inside and outside of calls.
type loudness struct{ inside, outside atomic.Int64 }

func (l *loudness) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	l.count(ctx)
	return ctx
}

func (l *loudness) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (l *loudness) TraceCopyFromStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceCopyFromStartData) context.Context {
	l.count(ctx)
	return ctx
}

func (l *loudness) TraceCopyFromEnd(context.Context, *pgx.Conn, pgx.TraceCopyFromEndData) {}

func (l *loudness) TraceAcquireStart(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireStartData) context.Context {
	l.count(ctx)
	return ctx
}

func (l *loudness) TraceAcquireEnd(context.Context, *pgxpool.Pool, pgxpool.TraceAcquireEndData) {}

func (l *loudness) count(ctx context.Context) {
	if dbaccess.InCall(ctx) {
		l.inside.Add(1)
	} else {
		l.outside.Add(1)
	}
}

// A transaction means the same on an app's own pool, whatever its mode, and is all
// part of a call for the app's tracer.
func TestTxOnAppsPool(t *testing.T) {
	t.Parallel()
	pg := pgtest.Golden(t)
	pg.Exec(t, things)
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec,
		pgx.QueryExecModeSimpleProtocol,
	} {
		cfg, err := pgxpool.ParseConfig(pg.PoolerDSN)
		if err != nil {
			t.Fatal(err)
		}
		var loud loudness
		cfg.ConnConfig.DefaultQueryExecMode, cfg.ConnConfig.Tracer, cfg.MaxConns = mode, &loud, 1
		pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		db := txDB(t, direct.Config{Pool: pool})
		for range 3 {
			err := direct.Tx(auth.With(t.Context(), alice), db, direct.TxOptions{}, func(ctx context.Context, tx direct.Transaction) error {
				if _, err := tx.CopyFrom(ctx, pgx.Identifier{"things"}, []string{"id", "name"}, pgx.CopyFromRows([][]any{{1, "a"}})); err != nil {
					return err
				}
				if _, err := tx.Exec(ctx, "update things set meta = $1, tags = $2", map[string]int{"n": 7}, []string{"x"}); err != nil {
					return err
				}
				var n int
				var tags []string
				if err := tx.QueryRow(ctx, "select meta->'n', tags from things where id = $1", 1).Scan(&n, &tags); err != nil {
					return err
				}
				if n != 7 || len(tags) != 1 {
					t.Errorf("%v: %d, %v", mode, n, tags)
				}
				var b pgx.Batch
				b.Queue("delete from things where id = $1", 1)
				if err := tx.SendBatch(ctx, &b).Close(); err != nil {
					return err
				}
				_, err := dbaccess.JSON(ctx, db, query.From("things"))
				return err
			})
			if err != nil {
				t.Errorf("%v: %v", mode, err)
			}
		}
		checkUnchanged(t, db, 1)
		if loud.inside.Load() == 0 || loud.outside.Load() != 0 {
			t.Errorf("%v: the tracer was told of %d things inside and %d outside of calls", mode, loud.inside.Load(), loud.outside.Load())
		}
	}
}

// The isolation level and the other settings of the caller's role apply, and what
// the pre-request function makes of the caller stays.
func TestTxRoleAndPreRequest(t *testing.T) {
	t.Parallel()
	pg := pgtest.Golden(t)
	role := "tx_" + strings.TrimPrefix(pg.Name, "twinpath_test_")
	pg.Exec(t, things+`
create role `+role+` nologin noinherit;
grant `+role+` to authenticator;
alter role `+role+` set default_transaction_isolation = 'repeatable read';
alter role `+role+` set statement_timeout = '7s';
grant usage on schema public to `+role+`;
grant select on public.seen to `+role+`;
create schema hooks;
grant usage on schema hooks to public;
create function hooks.before() returns void language plpgsql as $$ begin
  if current_setting('request.path') = '/rpc/refuse' then
    raise insufficient_privilege using message = 'not you';
  end if;
  if current_setting('request.path') = '/rpc/other' then
    perform set_config('role', 'anon', true), set_config('request.jwt.claims', '{"role":"anon","via":"hook"}', true);
  end if;
end $$;`)
	defer pg.Exec(t, `drop owned by `+role+`; drop role `+role)
	db := txDB(t, direct.Config{DSN: pg.PoolerDSN, MaxConns: 1, PreRequest: "hooks.before"})
	const sql = "select current_user || ' ' || current_setting('transaction_isolation') || ' ' || current_setting('statement_timeout')" +
		" || ' ' || coalesce(current_setting('request.jwt.claims')::json->>'via', '')"
	for _, tt := range []struct {
		name, want string
		opts       direct.TxOptions
	}{
		{"the role's level", role + " repeatable read 7s ", direct.TxOptions{}},
		{"again", role + " repeatable read 7s ", direct.TxOptions{}},
		{"another level", role + " serializable 7s ", direct.TxOptions{Isolation: pgx.Serializable}},
		{"another role", "anon repeatable read 7s hook", direct.TxOptions{Name: "other"}},
	} {
		var got string
		err := direct.Tx(auth.With(t.Context(), auth.Identity{Role: role}), db, tt.opts, func(ctx context.Context, tx direct.Transaction) error {
			if err := tx.QueryRow(ctx, sql).Scan(&got); err != nil {
				return err
			}
			_, err := dbaccess.JSON(ctx, db, query.From("seen"))
			return err
		})
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%s: error %v (-want +got):\n%s", tt.name, err, diff)
		}
	}
	err := direct.Tx(auth.With(t.Context(), alice), db, direct.TxOptions{Name: "refuse"}, func(context.Context, direct.Transaction) error {
		t.Error("the function runs")
		return nil
	})
	if !errors.Is(err, dbaccess.ErrPermission) {
		t.Errorf("refused by the hook: %v, want ErrPermission", err)
	}
	checkUnchanged(t, db, 1)
}

// An identity that can't be had fails before the function runs, at no connection's
// cost.
func TestTxRefusedIdentities(t *testing.T) {
	t.Parallel()
	pg := pgtest.Golden(t)
	pg.Exec(t, things)
	db := txDB(t, direct.Config{DSN: pg.PoolerDSN, MaxConns: 1})
	for name, tt := range map[string]struct {
		id   auth.Identity
		want error
	}{
		"no such role":   {auth.Identity{Role: "nobody_at_all"}, dbaccess.ErrInvalid},
		"not granted":    {auth.Identity{Role: "pg_monitor"}, dbaccess.ErrPermission},
		"the login role": {auth.Identity{Role: pgtest.LoginRole}, dbaccess.ErrPermission},
		"none":           {none, nil},
	} {
		err := direct.Tx(auth.With(t.Context(), tt.id), db, direct.TxOptions{}, func(context.Context, direct.Transaction) error {
			t.Errorf("%s: the function runs", name)
			return nil
		})
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%s: error %v, want %v", name, err, tt.want)
		}
	}
	checkUnchanged(t, db, 1)
}

// Queries is what sqlc makes of a query file with sql_package: pgx/v5.
type Queries struct{ db DBTX }

type DBTX interface {
	Exec(context.Context, string, ...any) (pgconn.CommandTag, error)
	Query(context.Context, string, ...any) (pgx.Rows, error)
	QueryRow(context.Context, string, ...any) pgx.Row
	CopyFrom(ctx context.Context, tableName pgx.Identifier, columnNames []string, rowSrc pgx.CopyFromSource) (int64, error)
	SendBatch(context.Context, *pgx.Batch) pgx.BatchResults
}

var _ DBTX = direct.Transaction(nil)

func (q *Queries) AddThing(ctx context.Context, id int32, name string, at time.Time) (int32, error) {
	const sql = "-- name: AddThing :one\ninsert into things (id, name, at) values ($1, $2, $3) returning id"
	var out int32
	err := q.db.QueryRow(ctx, sql, id, name, at).Scan(&out)
	return out, err
}

func (q *Queries) ListThings(ctx context.Context, names []string) ([]string, error) {
	const sql = "-- name: ListThings :many\nselect name from things where name = any($1::text[]) order by id"
	rows, err := q.db.Query(ctx, sql, names)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var items []string
	for rows.Next() {
		var i string
		if err := rows.Scan(&i); err != nil {
			return nil, err
		}
		items = append(items, i)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return items, nil
}

func TestTxSqlc(t *testing.T) {
	t.Parallel()
	pg := pgtest.Golden(t)
	pg.Exec(t, things)
	rec := &events{}
	db := txDB(t, direct.Config{DSN: pg.PoolerDSN}, rec)
	err := direct.Tx(auth.With(t.Context(), alice), db, direct.TxOptions{}, func(ctx context.Context, tx direct.Transaction) error {
		q := &Queries{db: tx}
		for i, name := range []string{"a", "b"} {
			if id, err := q.AddThing(ctx, int32(i), name, time.Now()); err != nil || id != int32(i) {
				t.Errorf("%d, error %v", id, err)
			}
		}
		names, err := q.ListThings(ctx, []string{"a", "b", "c"})
		if diff := cmp.Diff([]string{"a", "b"}, names); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range rec.take() {
		got = append(got, e.Name+" "+e.Summary())
	}
	if diff := cmp.Diff([]string{"AddThing insert things", "AddThing insert things", "ListThings select things", " transaction"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
