package catalog_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// query runs the statement as the direct path does, with untyped text parameters.
func query(ctx context.Context, dsn, before, sql string, args []string) (_ []byte, err error) {
	conn, err := pgconn.Connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if before != "" {
		if _, err := conn.Exec(ctx, before).ReadAll(); err != nil {
			return nil, err
		}
	}
	values := make([][]byte, len(args))
	for i, a := range args {
		values[i] = []byte(a)
	}
	res := conn.ExecParams(ctx, sql, values, nil, nil, nil).Read()
	if res.Err != nil {
		return nil, res.Err
	}
	if len(res.Rows) != 1 || len(res.Rows[0]) != 1 {
		return nil, fmt.Errorf("the statement returned %d rows, want one of one column", len(res.Rows))
	}
	return res.Rows[0][0], nil
}

// load reads a database's catalog.
func load(t *testing.T, dsn, before string, schemas []string, extra ...string) *catalog.Catalog {
	t.Helper()
	sql, args := catalog.SQL(schemas, extra...)
	body, err := query(t.Context(), dsn, before, sql, args)
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Parse(body)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// goldenSchemas are those that the corpus was recorded with.
var goldenSchemas = []string{"public", "private_api"}

// goldenCatalog is the golden fixture's, read once for all tests of it.
var goldenCatalog = sync.OnceValues(func() (_ *catalog.Catalog, err error) {
	ctx := context.Background()
	db, drop, err := pgtest.OpenGolden(ctx)
	if err != nil {
		return nil, err
	}
	sql, args := catalog.SQL(goldenSchemas)
	body, err := query(ctx, db.DirectDSN, "", sql, args)
	if dropErr := drop(); err == nil {
		err = dropErr
	}
	if err != nil {
		return nil, err
	}
	return catalog.Parse(body)
})

func golden(tb testing.TB) *catalog.Catalog {
	tb.Helper()
	c, err := goldenCatalog()
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// shapes loads testdata/shapes.sql into a database of the test's own.
func shapes(t *testing.T) *catalog.Catalog {
	t.Helper()
	return load(t, pgtest.NewDatabase(t, "testdata/shapes.sql").SuperDSN, "", []string{"public"}, "extra")
}

// describe writes a relationship on one line.
func describe(r *catalog.Relationship) string {
	joins := func(js []catalog.Join) string {
		var out []string
		for _, j := range js {
			out = append(out, j.From+"="+j.To)
		}
		return strings.Join(out, ",")
	}
	var b strings.Builder
	b.WriteString(r.Target.Name)
	if r.TargetIsView {
		b.WriteString(" (view)")
	}
	switch {
	case r.Function != nil:
		fmt.Fprintf(&b, " computed by %s, to one: %v", r.Function, r.ToOne())
	case r.Junction != nil:
		fmt.Fprintf(&b, " %s %s(%s: %s; %s: %s)", r.Cardinality, r.Junction.Table.Name,
			r.Junction.OriginConstraint, joins(r.Junction.Origin), r.Junction.TargetConstraint, joins(r.Junction.Target))
	default:
		fmt.Fprintf(&b, " %s %s(%s)", r.Cardinality, r.Constraint, joins(r.Columns))
	}
	if r.Parent {
		b.WriteString(" parent")
	}
	return b.String()
}

func describeAll(rels []*catalog.Relationship) []string {
	out := []string{}
	for _, r := range rels {
		out = append(out, describe(r))
	}
	return out
}

// columnTypes lists a table's columns with their types.
func columnTypes(t *catalog.Table) []string {
	out := []string{}
	for i := range t.Columns {
		out = append(out, t.Columns[i].Name+" "+t.Columns[i].Type)
	}
	return out
}

// withoutVersion is a document without the version of the server that made it.
func withoutVersion(tb testing.TB, doc []byte) string {
	tb.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(doc, &m); err != nil {
		tb.Fatal(err)
	}
	delete(m, "server_version")
	out, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		tb.Fatal(err)
	}
	return string(out)
}

func mustJSON(tb testing.TB, c *catalog.Catalog) []byte {
	tb.Helper()
	b, err := c.JSON()
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func tables(c *catalog.Catalog) []*catalog.Table { return slices.Collect(c.Tables) }
