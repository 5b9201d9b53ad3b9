package direct_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// scan returns the one value of a superuser's query, "" for NULL.
func scan(t *testing.T, db *pgtest.Database, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), db.SuperDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var s *string
	if err := conn.QueryRow(t.Context(), sql).Scan(&s); err != nil {
		t.Fatal(err)
	}
	if s == nil {
		return ""
	}
	return *s
}

// known returns what a backend knows of the database's schema.
func known(t *testing.T, db *pgtest.Database) []byte {
	t.Helper()
	cache, err := open(t, direct.Config{DSN: db.PoolerDSN}).SchemaCache(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return cache
}

func names(phases []dbaccess.Phase) string {
	var all []string
	for _, p := range phases {
		all = append(all, p.Name)
	}
	return strings.Join(all, " ")
}

// The schema is read when it is first needed, and not again.
func TestSchemaIsReadOnce(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	embed := query.From("companies").Select(query.Col("ticker"), query.Rel("sectors", query.Col("name"))).Where(query.Eq("ticker", "T01"))
	b := open(t, direct.Config{DSN: db.PoolerDSN})
	const want = `[{"ticker":"T01","sectors":{"name":"Sector 2"}}]`
	for _, tt := range []struct {
		q      query.Query
		phases string
		body   string
	}{
		{lists, "prepare acquire network+pooler database rows", `[{"id":2,"title":"Alice public"}]`},
		{embed, "prepare catalog acquire network+pooler database rows", want},
		{embed, "prepare acquire network+pooler database rows", want},
	} {
		res, err := b.Do(t.Context(), call(tt.q, anon))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.phases, names(res.Phases)); diff != "" {
			t.Errorf("phases of %v (-want +got):\n%s", tt.q, diff)
		}
		if diff := cmp.Diff(tt.body, compact(t, res.Body)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.q, diff)
		}
	}

	cached := open(t, direct.Config{DSN: db.PoolerDSN, SchemaCache: known(t, db)})
	res, err := cached.Do(t.Context(), call(embed, anon))
	if err != nil || compact(t, res.Body) != want || strings.Contains(names(res.Phases), "catalog") {
		t.Errorf("with a cache: %s, error %v, phases %s", res.Body, err, names(res.Phases))
	}
}

func TestSchemaCacheIsChecked(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	for name, cfg := range map[string]direct.Config{
		"damaged":       {DSN: db.PoolerDSN, SchemaCache: []byte("{")},
		"other schemas": {DSN: db.PoolerDSN, SchemaCache: known(t, db), Schemas: []string{"public", "private_api"}},
	} {
		if _, err := direct.New(cfg); err == nil || !strings.Contains(err.Error(), "Config.SchemaCache") {
			t.Errorf("%s: error %v, want one about Config.SchemaCache", name, err)
		}
	}
}

// After a migration queries find out by themselves: those that name what is new
// before anything is sent, and reads that the server refuses by a second try.
// Writes that were sent are not.
func TestSchemaChanges(t *testing.T) {
	t.Parallel()
	embed := query.From("companies").Select(query.Col("ticker"), query.Rel("sectors", query.Col("name"))).Where(query.Eq("ticker", "T01"))
	const sector = `[{"ticker":"T01","sectors":{"name":"Sector 2"}}]`
	for name, tt := range map[string]struct {
		change string
		q      query.Query
		want   string
		code   string // of an error; the next call succeeds
		phases string
	}{
		"a new column to write": {
			change: "alter table shelf add colour text",
			q:      returning(query.Insert("shelf", fields{"id": 3, "colour": "red"})).Columns("colour"),
			want:   `[{"colour":"red"}]`, phases: "prepare catalog acquire network+pooler database rows",
		},
		"a new table": {
			change: "create table lamp (id int primary key, shelf int references shelf); grant all on lamp to anon",
			q:      query.From("lamp").Select(query.Rel("shelf")),
			want:   `[]`, phases: "prepare catalog acquire network+pooler database rows",
		},
		"a new function": {
			change: "create function nine() returns int immutable language sql as 'select 9'",
			q:      query.Call("nine", nil),
			want:   `9`, phases: "prepare catalog acquire network+pooler database rows",
		},
		"a key that has another name": {
			change: "alter table companies rename sector_id to sector",
			q:      embed, want: sector, phases: "prepare acquire network+pooler prepare catalog acquire network+pooler database rows",
		},
		"nothing, for a read": {
			change: "select 1",
			q:      embed.Where(query.Eq("nope", 1)), code: "42703", phases: "prepare acquire network+pooler prepare catalog",
		},
		"a written column that has another name": {
			change: "alter table shelf rename title to name; alter table shelf add title text generated always as ('x') stored; alter table shelf drop title",
			q:      query.Insert("shelf", fields{"id": 3, "title": "three"}), code: "42703", phases: "prepare acquire network+pooler",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := pgtest.Golden(t)
			db.Exec(t, shelf)
			// What came from a cache is loaded anew at once.
			b := open(t, direct.Config{DSN: db.PoolerDSN, SchemaCache: known(t, db)})
			db.Exec(t, tt.change)
			res, err := b.Do(t.Context(), call(tt.q, anon))
			if tt.code != "" {
				if e, ok := errors.AsType[*dbaccess.Error](err); !ok || e.Code != tt.code {
					t.Errorf("error %v, want code %s", err, tt.code)
				}
			} else if err != nil {
				t.Fatal(err)
			} else if diff := cmp.Diff(tt.want, compact(t, res.Body)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.phases, names(res.Phases)); diff != "" {
				t.Errorf("phases (-want +got):\n%s", diff)
			}
			for i := 1; i < len(res.Phases); i++ {
				if p := res.Phases[i-1]; !res.Phases[i].Start.Equal(p.Start.Add(p.Duration)) {
					t.Errorf("a gap before phase %d", i)
				}
			}
		})
	}
}

// Queries for what doesn't exist can't keep the database busy with its catalog.
func TestReloadsAreLimited(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	b := open(t, direct.Config{DSN: db.PoolerDSN})
	if _, err := b.Do(t.Context(), call(query.Call("noop", nil), anon)); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		res, err := b.Do(t.Context(), call(query.Call("nope", nil), anon))
		if e, ok := errors.AsType[*dbaccess.Error](err); !ok || e.Code != "PGRST202" || !errors.Is(err, dbaccess.ErrNotFound) {
			t.Fatalf("error %v, want PGRST202", err)
		}
		if got := names(res.Phases); strings.Contains(got, "catalog") {
			t.Fatalf("phases %s: the schema was read again", got)
		}
	}
}

func TestReloadSchema(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	b := open(t, direct.Config{DSN: db.PoolerDSN, SchemaCache: known(t, db)})
	db.Exec(t, shelf)
	b.ReloadSchema()
	res, err := b.Do(t.Context(), call(query.Call("add_leaf", fields{"shelf": 1}), anon))
	if err != nil || !strings.Contains(names(res.Phases), "catalog") {
		t.Errorf("error %v, phases %s, want one that read the schema", err, names(res.Phases))
	}
}

// A schema that can't be read is an outage, and a closed backend is closed.
func TestSchemaCantBeRead(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	nobody := open(t, direct.Config{DSN: "postgres://app@127.0.0.1:1/db?sslmode=disable"})
	_, err := nobody.Do(t.Context(), call(query.Call("noop", nil), anon))
	if e, ok := errors.AsType[*dbaccess.Error](err); !ok || e.Code != "PGRST000" || !errors.Is(err, dbaccess.ErrUnavailable) || e.Op != "call" {
		t.Errorf("nobody there: %v, want PGRST000", err)
	}
	if _, err := nobody.SchemaCache(t.Context()); !errors.Is(err, dbaccess.ErrUnavailable) {
		t.Errorf("SchemaCache: %v, want ErrUnavailable", err)
	}
	b, err := direct.New(direct.Config{DSN: db.PoolerDSN})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Do(t.Context(), call(query.Call("noop", nil), anon)); !errors.Is(err, dbaccess.ErrClosed) {
		t.Errorf("after Close: %v, want ErrClosed", err)
	}
}
