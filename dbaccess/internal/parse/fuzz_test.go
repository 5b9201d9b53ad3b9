package parse_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	"github.com/twinpath/twinpath/dbaccess/internal/parse"
	q "github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// seed adds the golden corpus's reads and some requests that break rules.
func seed(f *testing.F) {
	f.Helper()
	file, err := os.Open("../../../testdata/golden/cases.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	n := 0
	for lines.Scan() {
		var c struct {
			Method, Path, Query string
			Headers             map[string]string
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			f.Fatal(err)
		}
		if c.Method == "GET" || c.Method == "HEAD" {
			f.Add(c.Path, c.Query, c.Headers["Accept"], c.Headers["Prefer"])
			n++
		}
	}
	if err := lines.Err(); err != nil || n < 150 {
		f.Fatalf("%d requests in the golden corpus, error %v", n, err)
	}
	for _, query := range []string{
		"select=a::$$&b=eq.$$", "select=a::int array", "select=a::text) from t; --", `select="*":a&order="a""b"`,
		`"a"";drop table t;--"=eq.'`, "a->-1->>0=eq.x", "or=(a.eq.\"\\\\\",b.in.(\"\\\"\",c))", "limit=0&offset=1", "a=not.not.eq.1",
	} {
		f.Add("t", query, "*/*;q=0.1,application/vnd.pgrst.object+json", "count=estimated, handling=strict")
	}
}

// accepted parses a request and, if it is taken, compiles it both ways. Neither
// may fail, but for what only the catalog knows and for embeds whose names make
// PostgREST's paths ambiguous.
func accepted(t *testing.T, cat *catalog.Catalog, path, query, accept, prefer string) (compile.Program, bool) {
	t.Helper()
	p, err := parse.Request("GET", path, query, http.Header{"Accept": {accept}, "Prefer": {prefer}}, nil)
	if err != nil {
		if e, ok := errors.AsType[*parse.Error](err); !ok || e.Status < 400 {
			t.Fatalf("%s?%s: error %v", path, query, err)
		}
		return compile.Program{}, false
	}
	r, err := compile.REST(&p.Spec)
	if e, ok := errors.AsType[*q.UnsupportedError](err); ok && e.Node == "embed" && strings.Contains(query, "(") {
		return compile.Program{}, false
	}
	if err != nil {
		t.Fatalf("%s?%s is taken, but not compiled to a request: %v", path, query, err)
	}
	again, err := reparse(r)
	if tooLong(err) {
		return compile.Program{}, false
	}
	if err != nil {
		t.Fatalf("%s?%s became %s?%s: %v", path, query, r.Path, r.RawQuery, err)
	}
	sent := p.Spec
	sent.Select = answered(sent.Select)
	if diff := cmp.Diff(normalized(sent), normalized(again.Spec), embedData); diff != "" {
		t.Fatalf("%s?%s became %s?%s (-first +second):\n%s", path, query, r.Path, r.RawQuery, diff)
	}
	program, err := compile.SQL(&p.Spec, compile.SQLOptions{Schema: "public", Clock: true, Catalog: cat, Aggregates: true})
	refused, schema := (*compile.RefusedError)(nil), (*catalog.Error)(nil)
	if errors.As(err, &refused) || errors.As(err, &schema) || cat == nil && errors.Is(err, compile.ErrNeedsCatalog) {
		return compile.Program{}, false
	}
	if err != nil {
		t.Fatalf("%s?%s is taken, but not compiled to SQL: %v", path, query, err)
	}
	return program, true
}

// normalized is a spec in which a test for an embed's row has the one form that a
// request has for it.
func normalized(s q.Spec) q.Spec {
	s.Select, s.Where = normalizedItems(s.Select), normalizedFilters(s.Where, s.Select)
	return s
}

func normalizedItems(items []q.Item) []q.Item {
	var out []q.Item
	for _, it := range items {
		if e, ok := it.(q.Embed); ok {
			e.Where = normalizedFilters(e.Where, e.Select)
			e.Select = normalizedItems(e.Select)
			it = e
		}
		out = append(out, it)
	}
	return out
}

func normalizedFilters(exprs []q.Expr, items []q.Item) []q.Expr {
	var out []q.Expr
	for _, e := range exprs {
		out = append(out, normalizedFilter(e, items))
	}
	return out
}

func normalizedFilter(e q.Expr, items []q.Item) q.Expr {
	switch e := e.(type) {
	case q.Logic:
		e.Exprs = normalizedFilters(e.Exprs, items)
		return e
	case q.Negation:
		inner := normalizedFilter(e.Expr, items)
		if n, ok := inner.(q.Negation); ok {
			return n.Expr
		}
		return q.Negation{Expr: inner}
	case q.Is:
		for _, it := range items {
			if r, ok := it.(q.Embed); ok && r.Name() == e.Column.Column && len(e.Column.Steps) == 0 && e.State == q.NotNull {
				return q.Negation{Expr: q.Is{Column: e.Column}}
			}
		}
	}
	return e
}

func loadCatalog(f *testing.F, conn *pgconn.PgConn) *catalog.Catalog {
	f.Helper()
	sql, args := catalog.SQL([]string{"public", "private_api"})
	values := make([][]byte, len(args))
	for i, a := range args {
		values[i] = []byte(a)
	}
	r := conn.ExecParams(f.Context(), sql, values, nil, nil, nil).Read()
	if r.Err != nil {
		f.Fatal(r.Err)
	}
	c, err := catalog.Parse(r.Rows[0][0])
	if err != nil {
		f.Fatal(err)
	}
	return c
}

func FuzzRequest(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, path, query, accept, prefer string) {
		accepted(t, nil, path, query, accept, prefer)
	})
}

// FuzzSQL lets a server parse the SQL of every request that is taken. The server
// may say that there is no such table or operator; a syntax error means that
// something got out of its quotes.
func FuzzSQL(f *testing.F) {
	seed(f)
	db := pgtest.Golden(f)
	conn, err := pgconn.Connect(f.Context(), db.SuperDSN)
	if err != nil {
		f.Fatal(err)
	}
	cat := loadCatalog(f, conn)
	f.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil {
			f.Error(err)
		}
	})
	f.Fuzz(func(t *testing.T, path, query, accept, prefer string) {
		program, ok := accepted(t, cat, path, query, accept, prefer)
		if !ok {
			return
		}
		statements := []compile.Statement{program.Main}
		if program.Plan != nil {
			statements = append(statements, *program.Plan)
		}
		for _, s := range statements {
			_, err := conn.Prepare(t.Context(), "", s.SQL, nil)
			pgErr, ok := errors.AsType[*pgconn.PgError](err)
			if ok && pgErr.Code == "42601" || err != nil && !ok {
				t.Errorf("%s?%s: %s: %v", path, query, s.SQL, err)
			}
		}
	})
}
