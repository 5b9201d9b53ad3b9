package typeparity_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/internal/decode"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

func badNumber(s string) json.Number { return json.Number(s) }

func rawOf(s string) json.RawMessage { return json.RawMessage(s) }

// JSON arguments change meaning with the exec mode.
//
// Sources: jackc/pgx#2231, #514, #1763; riverqueue/river#629, #1155.
// Must: all six store the same jsonb in every mode that the library can run in, and as through
// PostgREST.
//
// Bytes are bytea here, which jsonb takes for a string: JSON is a json.RawMessage. That, too, is the
// same everywhere.
func TestFieldCaseO10(t *testing.T) {
	t.Parallel()
	p := open(t)
	modes := inEveryMode(t, p.database)
	for _, c := range []struct {
		value any
		want  string // as jsonb writes it
	}{
		{[]byte("{}"), `"\\x7b7d"`},
		{json.RawMessage("{}"), `{}`},
		{map[string]any{"n": int64(1)<<53 + 1, "a": []any{nil, 1.5}}, `{"a": [null, 1.5], "n": 9007199254740993}`},
		{[]string{"a", `b"c`}, `["a", "b\"c"]`},
		{struct {
			A int `json:"a"`
		}{1}, `{"a": 1}`},
		{nil, `null`},
	} {
		for _, path := range bothPaths {
			id := p.next()
			insert := query.Insert("all_types", map[string]any{"id": id, "c_jsonb": c.value}).Columns("c_jsonb")
			row, err := dbaccess.One[map[string]json.RawMessage](over(t, path), p.DB, insert)
			if err != nil {
				t.Fatalf("%T over %s: %v%s", c.value, path, err, serverWords(err))
			}
			if diff := cmp.Diff(c.want, string(row["c_jsonb"])); diff != "" {
				t.Errorf("%T over %s (-want +got):\n%s", c.value, path, diff)
			}
		}
		for mode, db := range modes {
			insert := query.Insert("all_types", map[string]any{"id": p.next(), "c_jsonb": c.value}).Columns("c_jsonb")
			row, err := dbaccess.One[map[string]json.RawMessage](t.Context(), db, insert)
			if err != nil {
				t.Fatalf("%T in mode %s: %v%s", c.value, mode, err, serverWords(err))
			}
			if diff := cmp.Diff(c.want, string(row["c_jsonb"])); diff != "" {
				t.Errorf("%T in mode %s (-want +got):\n%s", c.value, mode, diff)
			}
		}
	}
}

// inEveryMode are facades on pools of the application's own, one for each exec mode of pgx.
func inEveryMode(t *testing.T, database *pgtest.Database) map[pgx.QueryExecMode]*dbaccess.DB {
	t.Helper()
	dbs := map[pgx.QueryExecMode]*dbaccess.DB{}
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		cfg, err := pgxpool.ParseConfig(database.DirectDSN)
		if err != nil {
			t.Fatal(err)
		}
		cfg.ConnConfig.DefaultQueryExecMode, cfg.MaxConns = mode, 1
		pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		backend, err := direct.New(direct.Config{Pool: pool})
		if err != nil {
			t.Fatal(err)
		}
		if dbs[mode], err = dbaccess.New(dbaccess.Config{Direct: backend, Default: &auth.Identity{Role: "anon"}}); err != nil {
			t.Fatal(err)
		}
	}
	return dbs
}

// Timestamps without zone do not parse.
//
// Sources: jackc/pgx#2128, #2215, #2265.
// Must: identical Go values on both paths, what has no zone as the wall clock of UTC; 'infinity' is a
// typed error and no zero time.
func TestFieldCaseO11(t *testing.T) {
	t.Parallel()
	p := open(t)
	type times struct {
		TS   time.Time `db:"c_timestamp"`
		TSTZ time.Time `db:"c_timestamptz"`
		D    time.Time `db:"c_date"`
	}
	want := times{
		TS:   time.Date(2026, 2, 28, 13, 14, 15, 123456000, time.UTC),
		TSTZ: time.Date(2026, 2, 28, 4, 14, 15, 123456000, time.UTC),
		D:    day,
	}
	for _, path := range bothPaths {
		got, err := dbaccess.One[times](over(t, path), p.DB, query.From("all_types").Where(query.Eq("id", 1)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, same); diff != "" {
			t.Errorf("over %s (-want +got):\n%s", path, diff)
		}
		for _, column := range []string{"c_timestamp", "c_timestamptz", "c_date"} {
			id := p.next()
			if _, err := dbaccess.Exec(over(t, path), p.DB, query.Insert("all_types", map[string]any{"id": id, column: "infinity"})); err != nil {
				t.Fatal(err)
			}
			got, err := dbaccess.One[time.Time](over(t, path), p.DB, query.From("all_types").Columns(column).Where(query.Eq("id", id)))
			if !errors.Is(err, decode.ErrInfinity) || !got.IsZero() {
				t.Errorf("infinity in %s over %s: %v, error %v; want ErrInfinity", column, path, got, err)
			}
		}
	}
}

// 64-bit integers lose their last digits.
//
// Sources: dapr/dapr#5390; xataio/pgstream#686, #824; PostgREST/postgrest#498; jackc/pgx#289.
// Must: exact digits on both paths for every destination; a numeric of 30 digits, too.
func TestFieldCaseO12(t *testing.T) {
	t.Parallel()
	p := open(t)
	const big = 1234567890123456789
	type doc struct {
		N int64 `json:"n"`
	}
	type row struct {
		Int8    int64       `db:"c_int8"`
		Numeric json.Number `db:"c_numeric"`
		Doc     doc         `db:"c_jsonb"`
	}
	want := row{1<<53 + 1, thirtyDigits, doc{big}}
	for _, path := range bothPaths {
		ctx, id := over(t, path), p.next()
		values := map[string]any{"id": id, "c_int8": want.Int8, "c_numeric": want.Numeric, "c_jsonb": map[string]any{"n": big}}
		if _, err := dbaccess.Exec(ctx, p.DB, query.Insert("all_types", values)); err != nil {
			t.Fatal(err)
		}
		q := query.From("all_types").Columns("c_int8", "c_numeric", "c_jsonb").Where(query.Eq("id", id))
		got, err := dbaccess.One[row](ctx, p.DB, q)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("struct over %s (-want +got):\n%s", path, diff)
		}
		asMap, err := dbaccess.One[map[string]any](ctx, p.DB, q)
		if err != nil {
			t.Fatal(err)
		}
		wantMap := map[string]any{
			"c_int8": json.Number("9007199254740993"), "c_numeric": json.Number(thirtyDigits),
			"c_jsonb": map[string]any{"n": json.Number("1234567890123456789")},
		}
		if diff := cmp.Diff(wantMap, asMap); diff != "" {
			t.Errorf("map over %s (-want +got):\n%s", path, diff)
		}
		asAny, err := dbaccess.One[any](ctx, p.DB, q)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(any(wantMap), asAny); diff != "" {
			t.Errorf("any over %s (-want +got):\n%s", path, diff)
		}
	}
}
