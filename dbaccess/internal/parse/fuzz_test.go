package parse_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	"github.com/twinpath/twinpath/dbaccess/internal/parse"
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
// may fail.
func accepted(t *testing.T, path, query, accept, prefer string) (compile.Program, bool) {
	t.Helper()
	p, err := parse.Request("GET", path, query, http.Header{"Accept": {accept}, "Prefer": {prefer}}, nil)
	if err != nil {
		if e, ok := errors.AsType[*parse.Error](err); !ok || e.Status < 400 {
			t.Fatalf("%s?%s: error %v", path, query, err)
		}
		return compile.Program{}, false
	}
	r, err := compile.REST(&p.Spec)
	if err != nil {
		t.Fatalf("%s?%s is taken, but not compiled to a request: %v", path, query, err)
	}
	again, err := reparse(r)
	if err != nil {
		t.Fatalf("%s?%s became %s?%s: %v", path, query, r.Path, r.RawQuery, err)
	}
	if diff := cmp.Diff(p.Spec, again.Spec); diff != "" {
		t.Fatalf("%s?%s became %s?%s (-first +second):\n%s", path, query, r.Path, r.RawQuery, diff)
	}
	program, err := compile.SQL(&p.Spec, compile.SQLOptions{Schema: "public", Clock: true})
	if err != nil {
		t.Fatalf("%s?%s is taken, but not compiled to SQL: %v", path, query, err)
	}
	return program, true
}

func FuzzRequest(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, path, query, accept, prefer string) {
		accepted(t, path, query, accept, prefer)
	})
}

// FuzzSQL lets a server parse the SQL of every request that is taken. The server
// may say that there is no such table or operator; a syntax error means that
// something got out of its quotes.
func FuzzSQL(f *testing.F) {
	seed(f)
	conn, err := pgconn.Connect(f.Context(), pgtest.Golden(f).SuperDSN)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil {
			f.Error(err)
		}
	})
	f.Fuzz(func(t *testing.T, path, query, accept, prefer string) {
		program, ok := accepted(t, path, query, accept, prefer)
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
