package catalog_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// database stands for one: its schema has a table whose name changes.
type database struct {
	mu    sync.Mutex
	table string
	err   error
	delay time.Duration
	loads int
}

func (d *database) set(table string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.table, d.err = table, err
}

func (d *database) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.loads
}

func (d *database) query(ctx context.Context, sql string, args []string) ([]byte, error) {
	d.mu.Lock()
	d.loads++
	table, err, delay := d.table, d.err, d.delay // what is read at the start
	d.mu.Unlock()
	if sql == "" || len(args) != 2 {
		return nil, errors.New("not the statement of SQL")
	}
	select {
	case <-time.After(delay):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return []byte(`{"format": 1, "schemas": ["public"], "tables": [{"schema": "public", "name": "` + table + `", "kind": "table"}]}`), nil
}

func newSource(t *testing.T, cfg catalog.Config) *catalog.Source {
	t.Helper()
	s, err := catalog.NewSource(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// get returns the catalog and the name of its table.
func get(t *testing.T, s *catalog.Source) (*catalog.Catalog, string) {
	t.Helper()
	c, err := s.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c, tables(c)[0].Name
}

func TestSourceLoadsOnceWhenNeeded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &database{table: "a", delay: time.Second}
		s := newSource(t, catalog.Config{Query: db.query})
		if db.count() != 0 {
			t.Error("NewSource loaded")
		}
		var all sync.WaitGroup
		var first atomic.Pointer[catalog.Catalog]
		for range 50 {
			all.Go(func() {
				c, _ := get(t, s)
				if !first.CompareAndSwap(nil, c) && first.Load() != c {
					t.Error("two catalogs")
				}
			})
		}
		all.Wait()
		time.Sleep(1000 * time.Hour)
		get(t, s)
		if n := db.count(); n != 1 {
			t.Errorf("%d loads, want 1", n)
		}
	})
}

func TestSourceInvalidate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &database{table: "a"}
		s := newSource(t, catalog.Config{Query: db.query, MinInterval: time.Minute})
		old, _ := get(t, s)

		db.set("b", nil)
		s.Invalidate()
		if c, name := get(t, s); name != "a" || c != old {
			t.Errorf("table %s within the interval, want the old one", name)
		}
		if n := db.count(); n != 1 {
			t.Errorf("%d loads within the interval, want 1", n)
		}
		time.Sleep(time.Minute)
		if _, name := get(t, s); name != "b" {
			t.Errorf("table %s after the interval, want b", name)
		}
		get(t, s)
		if n := db.count(); n != 2 {
			t.Errorf("%d loads, want 2", n)
		}

		// The same schema is the same catalog: trying again would be of no use.
		time.Sleep(time.Minute)
		before, _ := get(t, s)
		s.Invalidate()
		if after, _ := get(t, s); after != before || db.count() != 3 {
			t.Errorf("%d loads, the same catalog: %v", db.count(), after == before)
		}
	})
}

// A change that comes while a load is under way may be missing from its answer.
func TestSourceInvalidateDuringLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &database{table: "a", delay: time.Second}
		s := newSource(t, catalog.Config{Query: db.query, MinInterval: -1})
		go func() {
			time.Sleep(time.Second / 2)
			db.set("b", nil)
			s.Invalidate()
		}()
		if _, name := get(t, s); name != "a" {
			t.Errorf("table %s, want a", name)
		}
		if _, name := get(t, s); name != "b" {
			t.Errorf("table %s after the change, want b", name)
		}
		if n := db.count(); n != 2 {
			t.Errorf("%d loads, want 2", n)
		}
	})
}

func TestSourceServesTheOldWhileLoadsFail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("down")
		var reported []error
		db := &database{err: down}
		s := newSource(t, catalog.Config{Query: db.query, MinInterval: time.Second, OnLoad: func(_ time.Duration, err error) {
			reported = append(reported, err)
		}})
		// There is nothing to serve, and nothing holds the next try back.
		for range 2 {
			if c, err := s.Get(t.Context()); c != nil || !errors.Is(err, down) {
				t.Errorf("catalog %v, error %v", c, err)
			}
		}
		db.set("a", nil)
		get(t, s)
		db.set("", down)
		time.Sleep(time.Second)
		s.Invalidate()
		for range 10 {
			if _, name := get(t, s); name != "a" {
				t.Errorf("table %s while the database is down, want a", name)
			}
		}
		if n := db.count(); n != 4 {
			t.Errorf("%d loads, want 4", n)
		}
		// The change is not forgotten.
		db.set("b", nil)
		time.Sleep(time.Second)
		if _, name := get(t, s); name != "b" {
			t.Errorf("table %s, want b", name)
		}
		failed := 0
		for _, err := range reported {
			if err != nil {
				failed++
			}
		}
		if len(reported) != 5 || failed != 3 {
			t.Errorf("%d loads reported, %d failed; want 5 and 3", len(reported), failed)
		}
	})
}

func TestSourceMaxAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &database{table: "a", delay: time.Second}
		s := newSource(t, catalog.Config{Query: db.query, MaxAge: time.Hour})
		get(t, s)
		db.set("b", nil)
		time.Sleep(time.Hour - 2*time.Second)
		if _, name := get(t, s); name != "a" || db.count() != 1 {
			t.Errorf("table %s after %d loads, before the age", name, db.count())
		}
		time.Sleep(2 * time.Second)
		start := time.Now()
		if _, name := get(t, s); name != "a" || time.Since(start) != 0 {
			t.Errorf("table %s after waiting %v, want the old one at once", name, time.Since(start))
		}
		time.Sleep(2 * time.Second)
		if _, name := get(t, s); name != "b" || db.count() != 2 {
			t.Errorf("table %s after %d loads, want b", name, db.count())
		}
	})
}

func TestSourceStatic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &database{table: "a"}
		body, err := db.query(t.Context(), "select", []string{"", ""})
		if err != nil {
			t.Fatal(err)
		}
		static, err := catalog.Parse(body)
		if err != nil {
			t.Fatal(err)
		}
		s := newSource(t, catalog.Config{Query: db.query, Static: static})
		if c, _ := get(t, s); c != static || db.count() != 1 {
			t.Errorf("the static catalog is not served: %d loads", db.count())
		}
		db.set("b", nil)
		s.Invalidate() // nothing holds the first load back
		if _, name := get(t, s); name != "b" {
			t.Errorf("table %s, want b", name)
		}

		fixed := newSource(t, catalog.Config{Static: static, MaxAge: time.Second})
		fixed.Invalidate()
		time.Sleep(time.Hour)
		if c, _ := get(t, fixed); c != static {
			t.Error("a source without Query changed its catalog")
		}
	})
}

// A caller that gives up does not end the load that others wait for.
func TestSourceCallersGiveUpAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &database{table: "a", delay: time.Minute}
		s := newSource(t, catalog.Config{Query: db.query, Timeout: time.Hour})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var other sync.WaitGroup
		other.Go(func() {
			time.Sleep(time.Millisecond)
			if _, name := get(t, s); name != "a" {
				t.Errorf("table %s, want a", name)
			}
		})
		if _, err := s.Get(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the deadline", err)
		}
		other.Wait()
		if n := db.count(); n != 1 {
			t.Errorf("%d loads, want 1", n)
		}
	})
}

func TestSourceTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &database{table: "a", delay: time.Hour}
		s := newSource(t, catalog.Config{Query: db.query})
		start := time.Now()
		if _, err := s.Get(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the deadline", err)
		}
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("the load took %v, want 10s", took)
		}
	})
}

func TestSourceClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &database{table: "a", delay: time.Second}
		s := newSource(t, catalog.Config{Query: db.query})
		var waiting sync.WaitGroup
		waiting.Go(func() {
			if _, err := s.Get(t.Context()); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v of the call that waited, want a cancelled load", err)
			}
		})
		synctest.Wait()
		start := time.Now()
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		waiting.Wait()
		if took := time.Since(start); took != 0 {
			t.Errorf("Close took %v", took)
		}
		if _, err := s.Get(t.Context()); !errors.Is(err, catalog.ErrClosed) {
			t.Errorf("error %v after Close", err)
		}
	})
}

func TestSourceCloseDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		s, err := catalog.NewSource(catalog.Config{Query: func(context.Context, string, []string) ([]byte, error) {
			<-hang // deaf to its context
			return nil, errors.New("too late")
		}})
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = s.Get(t.Context()) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the deadline", err)
		}
		close(hang)
		synctest.Wait()
	})
}

func TestNewSourceReportsEveryBadField(t *testing.T) {
	t.Parallel()
	_, err := catalog.NewSource(catalog.Config{
		Schemas: []string{""}, MaxAge: -1, MinInterval: -2, Timeout: -1,
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, field := range []string{"Query", "Schemas", "MaxAge", "MinInterval", "Timeout"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("the error does not name %s: %v", field, err)
		}
	}
	if _, err := catalog.NewSource(catalog.Config{Static: golden(t), Schemas: []string{"other"}}); err == nil {
		t.Error("a static catalog of other schemas was taken")
	}
}

// An answer about other schemas than asked for is refused.
func TestSourceChecksTheSchemas(t *testing.T) {
	t.Parallel()
	db := &database{table: "a"}
	s := newSource(t, catalog.Config{Query: db.query, Schemas: []string{"api"}})
	if c, err := s.Get(t.Context()); err == nil {
		t.Errorf("served %v", c.Schemas())
	}
}

// A source on a real database, with DDL in between.
func TestSourceOnPostgres(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	s := newSource(t, catalog.Config{
		Schemas: goldenSchemas, MinInterval: -1,
		Query: func(ctx context.Context, sql string, args []string) ([]byte, error) {
			return query(ctx, db.PoolerDSN, "", sql, args)
		},
	})
	c, err := s.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(mustJSON(t, golden(t))), string(mustJSON(t, c))); diff != "" {
		t.Errorf("through the pooler (-want +got):\n%s", diff)
	}
	if _, err := c.Relationship("public", "insiders", "sectors", ""); err == nil {
		t.Fatal("insiders and sectors are related already")
	}
	db.Exec(t, "alter table insiders add column sector_id int references sectors")
	s.Invalidate()
	if c, err = s.Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, err := c.Relationship("public", "insiders", "sectors", "")
	if err != nil {
		t.Fatal(err)
	}
	if want := "sectors many-to-one insiders_sector_id_fkey(sector_id=id)"; describe(r) != want {
		t.Errorf("%s, want %s", describe(r), want)
	}
}
