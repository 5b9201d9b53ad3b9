package compile_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	"github.com/twinpath/twinpath/dbaccess/internal/parse"
	q "github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// catalogQueries makes queries of what a catalog has: its columns and, for embeds,
// every relationship that a request can name.
type catalogQueries struct {
	*rand.Rand
	catalog *catalog.Catalog
	tables  []*catalog.Table
	names   int // given so far
}

// name is one that nothing else has.
func (r *catalogQueries) name() string {
	r.names++
	return fmt.Sprint("n ", r.names)
}

func (r *catalogQueries) spec() q.Spec {
	t := r.tables[r.IntN(len(r.tables))]
	s := q.Spec{From: t.Name, Schema: t.Schema, Count: q.Count(r.IntN(4)), HasLimit: r.IntN(2) == 0, Offset: r.Int64N(2)}
	s.Select = r.items(t, 0)
	s.Where, s.OrderBy = r.filters(t, s.Select), r.orders(t, s.Select)
	if s.HasLimit {
		s.Limit = 1 + r.Int64N(5)
	}
	return s
}

func (r *catalogQueries) column(t *catalog.Table) *catalog.Column {
	return &t.Columns[r.IntN(len(t.Columns))]
}

// path is a column, or a way into one.
func (r *catalogQueries) path(t *catalog.Table) q.Path {
	c := r.column(t)
	switch r.IntN(4) {
	case 0:
		return q.JSON(c.Name, "k")
	case 1:
		return q.JSONText(c.Name, 0, "k")
	}
	return q.Path{Column: c.Name}
}

func (r *catalogQueries) items(t *catalog.Table, depth int) []q.Item {
	var items []q.Item
	for range r.IntN(3) {
		items = append(items, q.Col(r.path(t)).As(r.name()))
	}
	if r.IntN(4) == 0 {
		items = append(items, q.Star{})
	}
	for range r.IntN(3) {
		if e, ok := r.embed(t, depth+1); ok {
			items = append(items, e)
		}
	}
	return items
}

// embed takes a relationship by one of its names.
func (r *catalogQueries) embed(t *catalog.Table, depth int) (q.Embed, bool) {
	rels := r.catalog.Relationships(t.Schema, t.Name)
	if len(rels) == 0 || depth > 3 {
		return q.Embed{}, false
	}
	rel := rels[r.IntN(len(rels))]
	names := [][2]string{{rel.Target.Name, ""}, {rel.Target.Name, rel.Constraint}}
	if rel.Junction != nil {
		names = append(names, [2]string{rel.Target.Name, rel.Junction.Table.Name})
	}
	if rel.Function != nil {
		names = append(names, [2]string{rel.Function.Name, ""})
	}
	for _, j := range rel.Columns {
		names = append(names, [2]string{j.From, ""}, [2]string{rel.Target.Name, j.To})
	}
	name := names[r.IntN(len(names))]
	found, err := r.catalog.Relationship(t.Schema, t.Name, name[0], name[1])
	if err != nil {
		return q.Embed{}, false
	}
	target, ok := r.catalog.Table(found.Target.Schema, found.Target.Name)
	if !ok {
		return q.Embed{}, false
	}
	e := q.Embed{Relation: name[0], Hint: name[1], Inner: r.IntN(4) == 0, Spread: r.IntN(4) == 0, Select: r.items(target, depth)}
	if !e.Spread {
		e.Alias = r.name()
	}
	if e.Spread {
		// PostgREST looks for the fields of an embed that has none.
		e.Select = slices.DeleteFunc(e.Select, func(it q.Item) bool { e, ok := it.(q.Embed); return ok && shows(e) == 0 })
	}
	e.Where, e.OrderBy = r.filters(target, e.Select), r.orders(target, e.Select)
	if e.HasLimit = r.IntN(4) == 0; e.HasLimit {
		e.Limit = r.Int64N(3)
	}
	return e, true
}

// shows counts the fields of an embed and those in it.
func shows(e q.Embed) int {
	n := 0
	for _, it := range e.Select {
		if inner, ok := it.(q.Embed); ok {
			n += shows(inner)
		} else {
			n++
		}
	}
	return n
}

func (r *catalogQueries) filters(t *catalog.Table, items []q.Item) []q.Expr {
	var exprs []q.Expr
	for range r.IntN(3) {
		exprs = append(exprs, r.filter(t, items))
	}
	return exprs
}

func (r *catalogQueries) filter(t *catalog.Table, items []q.Item) q.Expr {
	e := q.IsNull(r.path(t))
	switch r.IntN(5) {
	case 0:
		e = q.Or(e, q.IsNotNull(r.path(t)))
	case 1:
		if c := r.column(t); c.Class == catalog.ClassTSVector || c.Type == "text" || c.IsJSON() {
			e = search(c.Name, q.OpWebTS, "cat", "english")
		}
	case 2:
		for _, it := range items {
			if rel, ok := it.(q.Embed); ok {
				e = q.Or(e, q.IsNull(rel.Name()))
			}
		}
	}
	if r.IntN(3) == 0 {
		return q.Not(e)
	}
	return e
}

func (r *catalogQueries) orders(t *catalog.Table, items []q.Item) []q.Order {
	keys := []q.Order{q.Asc(t.Columns[0].Name)}
	for _, it := range items {
		e, ok := it.(q.Embed)
		if !ok || e.Spread || len(e.Select) == 0 || r.IntN(2) == 0 {
			continue
		}
		if f, ok := e.Select[0].(q.Field); ok && r.toOne(t, e) {
			keys = append(keys, q.Desc(f.Alias).Of(e.Name()))
		}
	}
	return keys
}

func (r *catalogQueries) toOne(t *catalog.Table, e q.Embed) bool {
	rel, err := r.catalog.Relationship(t.Schema, t.Name, e.Relation, e.Hint)
	return err == nil && rel.ToOne()
}

// Whatever a query takes from the catalog, the server knows it: it finds every
// table, column and alias, and answers the same to the query that has been a
// PostgREST request meanwhile.
func TestServerKnowsWhatTheCatalogKnows(t *testing.T) {
	t.Parallel()
	for name, db := range map[string]func(testing.TB) *pgtest.Database{
		"golden": pgtest.Golden,
		"embeds": func(tb testing.TB) *pgtest.Database { return pgtest.NewDatabase(tb, "testdata/embeds.sql") },
		"shapes": func(tb testing.TB) *pgtest.Database {
			return pgtest.NewDatabase(tb, "../catalog/testdata/shapes.sql")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := db(t)
			cat, conn := loadCatalog(t, db), connect(t, db.SuperDSN)
			var tables []*catalog.Table
			for table := range cat.Tables {
				if table.Schema == "public" && table.Kind != catalog.KindForeignTable && len(table.Columns) > 0 {
					tables = append(tables, table)
				}
			}
			embedded, answered := 0, 0
			for seed := range uint64(200) {
				r := &catalogQueries{Rand: rand.New(rand.NewPCG(seed, 7)), catalog: cat, tables: tables}
				s := r.spec()
				if slices.ContainsFunc(s.Select, func(it q.Item) bool { _, ok := it.(q.Embed); return ok }) {
					embedded++
				}
				want, ok := answerTo(t, conn, cat, &s, false)
				if !ok {
					continue
				}
				answered++
				again, ok := sentAgain(t, &s)
				if !ok {
					t.Fatalf("seed %d: %+v: there is SQL for it, but no request", seed, s)
				}
				if got, _ := answerTo(t, conn, cat, again, true); got != want {
					t.Fatalf("seed %d: %+v\nas it is and as a request (-want +got):\n%s", seed, s, cmp.Diff(want, got))
				}
			}
			if embedded < 50 || answered < 100 {
				t.Errorf("of 200 queries only %d embed, %d are answered", embedded, answered)
			}
		})
	}
}

// answerTo runs a query. It fails the test unless the server understands the query;
// that a type can't be compared or sorted is no misunderstanding.
func answerTo(t *testing.T, conn *pgconn.PgConn, cat *catalog.Catalog, s *q.Spec, arranged bool) (string, bool) {
	t.Helper()
	p, err := compile.SQL(s, compile.SQLOptions{Schema: "public", Catalog: cat, MaxRows: 20, Arranged: arranged})
	if refused, ok := errors.AsType[*compile.RefusedError](err); ok && refused.Failure.Code == "42712" {
		return "", false // two spreads of one relation
	}
	if e, ok := errors.AsType[*q.UnsupportedError](err); ok && e.Node == "embed" {
		if _, sayable := sentAgain(t, s); sayable {
			t.Fatalf("%+v: %v, but there is a request for it", *s, err)
		}
		return "", false // a name that a request can't tell from another
	}
	if err != nil {
		t.Fatalf("%+v: %v", *s, err)
	}
	answer := ""
	statements := []compile.Statement{p.Main}
	if p.Plan != nil {
		statements = append(statements, *p.Plan)
	}
	for _, st := range statements {
		args := make([][]byte, len(st.Args))
		for i, a := range st.Args {
			args[i] = []byte(a)
		}
		r := conn.ExecParams(t.Context(), st.SQL, args, nil, nil, nil).Read()
		if e, ok := errors.AsType[*pgconn.PgError](r.Err); ok && (e.Code == "42883" || e.Code == "42702") {
			return "", false // no such operator; two columns of one name in a spread, as PostgREST has them
		}
		if r.Err != nil {
			t.Fatalf("%v\n%s", r.Err, st.SQL)
		}
		if len(r.Rows[0]) > 1 { // a plan has its own words
			answer = fmt.Sprintf("%s", r.Rows[0])
		}
	}
	return answer, true
}

// sentAgain makes a request of a query and parses it. An embed's table that is
// another embed's table too can't be named in one.
func sentAgain(t *testing.T, s *q.Spec) (*q.Spec, bool) {
	t.Helper()
	r, err := compile.REST(s)
	if e, ok := errors.AsType[*q.UnsupportedError](err); ok && e.Node == "embed" {
		return nil, false
	}
	if err != nil {
		t.Fatalf("%+v: %v", *s, err)
	}
	h := http.Header{"Accept": {r.Accept}, "Prefer": {r.Prefer}, "Accept-Profile": {r.Profile}}
	p, err := parse.Request(r.Method, r.Path, r.RawQuery, h, nil)
	if err != nil {
		t.Fatalf("%s?%s: %+v", r.Path, r.RawQuery, *err.(*parse.Error))
	}
	return &p.Spec, true
}
