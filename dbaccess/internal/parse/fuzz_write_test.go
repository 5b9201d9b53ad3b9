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
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	"github.com/twinpath/twinpath/dbaccess/internal/parse"
	q "github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// seedWrites adds the golden corpus's writes and calls.
func seedWrites(f *testing.F) {
	f.Helper()
	file, err := os.Open("../../../testdata/golden/cases.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c struct {
			Method, Path, Query, Body string
			Headers                   map[string]string
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			f.Fatal(err)
		}
		if c.Method != "GET" && c.Method != "HEAD" || c.Path[:3] == "rpc" {
			f.Add(c.Method, c.Path, c.Query, c.Headers["Content-Type"], c.Headers["Prefer"], []byte(c.Body))
		}
	}
	if err := lines.Err(); err != nil {
		f.Fatal(err)
	}
	const strict = "handling=strict,max-affected=1,return=representation,resolution=merge-duplicates,missing=default"
	for _, c := range []struct{ method, path, query, media, body string }{
		{"PUT", "companies", "ticker=eq.X", "", `{"ticker":"X"}`},
		{"POST", "companies", "columns=ticker,%22a%5C%22b%22&on_conflict=%22a%27%22", "", `[{"ticker":"X"}]`},
		{"PATCH", "companies", "columns=name&ticker=eq.X", formType, `name=x`},
		{"POST", "rpc/add_them", "select=pgrst_scalar::text", formType, `a=1&b=2`},
		{"POST", "rpc/echo_json", "columns=_", "application/json", `[1,2]`},
		{"POST", "rpc/echo_json", "", "text/plain", `x`},
		{"GET", "rpc/echo_array", "xs={1,2}&%22order%22=x&a=fts(x", "", ``},
		{"DELETE", "Odd Table", "Id=eq.1&select=%22quote%5C%22col%22", "", ``},
	} {
		f.Add(c.method, c.path, c.query, c.media, strict, []byte(c.body))
	}
}

// acceptedWrite parses a request that writes or calls and, if it is taken, compiles
// it both ways. Neither may fail, but for what only the catalog knows.
func acceptedWrite(t *testing.T, cat *catalog.Catalog, method, path, query, media, prefer string, body []byte) (compile.Program, bool) {
	t.Helper()
	h := http.Header{"Prefer": {prefer}}
	if media != "" {
		h.Set("Content-Type", media)
	}
	p, err := parse.Request(method, path, query, h, body)
	if err != nil {
		if e, ok := errors.AsType[*parse.Error](err); !ok || e.Status < 400 {
			t.Fatalf("%s %s?%s: error %v", method, path, query, err)
		}
		return compile.Program{}, false
	}
	r, err := compile.REST(&p.Spec)
	refused, unsupported, schema := (*compile.RefusedError)(nil), (*q.UnsupportedError)(nil), (*catalog.Error)(nil)
	if errors.As(err, &refused) || errors.As(err, &unsupported) {
		return compile.Program{}, false // a name or an argument that only one side has a form for
	}
	if err != nil {
		t.Fatalf("%s %s?%s is taken, but not compiled to a request: %v", method, path, query, err)
	}
	again, err := reparse(r)
	if tooLong(err) {
		return compile.Program{}, false
	}
	if err != nil {
		t.Fatalf("%s %s?%s became %s %s?%s: %v", method, path, query, r.Method, r.Path, r.RawQuery, err)
	}
	sent := p.Spec
	switch {
	case sent.Op == q.OpSelect:
		return compile.Program{}, false // FuzzRequest's
	case sent.Op.Writes() && !sent.Write.Return:
		sent.Select, sent.OrderBy = nil, nil
	case sent.Op.Writes():
		sent.Select = windowless(sent.Select)
	}
	sent.Select = answered(sent.Select)
	if diff := cmp.Diff(normalized(sent), normalized(again.Spec), embedData, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s %s?%s became %s %s?%s (-first +second):\n%s", method, path, query, r.Method, r.Path, r.RawQuery, diff)
	}
	program, err := compile.SQL(&p.Spec, compile.SQLOptions{Schema: "public", Clock: true, Guard: true, Catalog: cat, Aggregates: true})
	if errors.As(err, &refused) || errors.As(err, &schema) || errors.As(err, &unsupported) || cat == nil && errors.Is(err, compile.ErrNeedsCatalog) {
		return compile.Program{}, false
	}
	if err != nil {
		t.Fatalf("%s %s?%s is taken, but not compiled to SQL: %v", method, path, query, err)
	}
	return program, true
}

func FuzzWriteRequest(f *testing.F) {
	seedWrites(f)
	f.Fuzz(func(t *testing.T, method, path, query, media, prefer string, body []byte) {
		acceptedWrite(t, nil, method, path, query, media, prefer, body)
	})
}

// FuzzWriteSQL lets a server parse the SQL of every write and call that is taken. A
// syntax error means that something got out of its quotes.
func FuzzWriteSQL(f *testing.F) {
	seedWrites(f)
	conn, err := pgconn.Connect(f.Context(), pgtest.Golden(f).SuperDSN)
	if err != nil {
		f.Fatal(err)
	}
	cat := loadCatalog(f, conn)
	f.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil {
			f.Error(err)
		}
	})
	f.Fuzz(func(t *testing.T, method, path, query, media, prefer string, body []byte) {
		program, ok := acceptedWrite(t, cat, method, path, query, media, prefer, body)
		if !ok {
			return
		}
		_, err := conn.Prepare(t.Context(), "", program.Main.SQL, nil)
		pgErr, ok := errors.AsType[*pgconn.PgError](err)
		if ok && pgErr.Code == "42601" || err != nil && !ok {
			t.Errorf("%s %s?%s: %s: %v", method, path, query, program.Main.SQL, err)
		}
	})
}
