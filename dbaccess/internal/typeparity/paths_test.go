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
	id atomic.Int64 // the last row made
}

// open starts the stand-in on a copy of the golden fixture whose all_types everybody
// may write to, and both backends.
func open(t testing.TB) *paths {
	t.Helper()
	pg := pgtest.Golden(t)
	pg.Exec(t, "grant insert, update, delete on all_types to anon")
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
	p := &paths{DB: db}
	p.id.Store(1000)
	return p
}

// over returns a context whose calls take the path.
func over(t testing.TB, p dbaccess.Path) context.Context {
	return dbaccess.WithDecision(t.Context(), dbaccess.Decision{Path: p, Variant: string(p)})
}

// next is the key of a new row.
func (p *paths) next() int64 { return p.id.Add(1) }
