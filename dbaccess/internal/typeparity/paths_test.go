package typeparity_test

import (
	"context"
	"os"
	"sync/atomic"
	"testing"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/postgresttest"
	"github.com/twinpath/twinpath/dbaccess/rest"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// bothPaths are the names of the two paths, in the order that they are tested.
var bothPaths = []dbaccess.Path{dbaccess.REST, dbaccess.Direct}

// paths is a database of its own, reached over both paths.
type paths struct {
	*dbaccess.DB
	database *pgtest.Database
	id       atomic.Int64 // the last row made
}

// more gives all_types a column of each type that the fixture leaves out, and lets
// everybody write to it.
const more = `
create extension hstore;
create type pair as (a int, b text);
create domain positive as int check (value > 0);
alter table all_types add c_oid oid, add c_name name, add c_macaddr8 macaddr8, add c_hstore hstore, add c_pair pair, add c_pair_arr pair[],
  add c_domain positive, add c_jsonb_arr jsonb[], add c_circle circle, add c_range_arr int4range[];
update all_types set c_oid = 4294967295, c_name = 'pg_class', c_macaddr8 = '08:00:2b:01:02:03:04:05', c_hstore = 'a=>1,b=>NULL', c_pair = (1, 'x'),
  c_pair_arr = array[row(1, 'x')::pair, null], c_domain = 7, c_jsonb_arr = array['{"a": 1}', 'null']::jsonb[], c_circle = '<(1,2),3>',
  c_range_arr = array['[1,5)', 'empty']::int4range[]
where id = 1;
grant insert, update, delete on all_types to anon`

// open starts the stand-in on a copy of the golden fixture with more types, and
// both backends.
func open(t testing.TB) *paths {
	t.Helper()
	pg := pgtest.Golden(t)
	pg.Exec(t, more)
	srv, err := postgresttest.NewServer(postgresttest.Config{DSN: pg.DirectDSN})
	if err != nil {
		t.Fatal(err)
	}
	overREST, err := rest.New(rest.Config{URL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	straight, err := direct.New(direct.Config{DSN: pg.PoolerDSN})
	if err != nil {
		t.Fatal(err)
	}
	db, err := dbaccess.New(dbaccess.Config{REST: overREST, Direct: straight, Default: &auth.Identity{Role: "anon"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := srv.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	p := &paths{DB: db, database: pg}
	p.id.Store(1000)
	return p
}

// over returns a context whose calls take the path.
func over(t testing.TB, p dbaccess.Path) context.Context {
	return dbaccess.WithDecision(t.Context(), dbaccess.Decision{Path: p, Variant: string(p)})
}

// next is the key of a new row.
func (p *paths) next() int64 { return p.id.Add(1) }
