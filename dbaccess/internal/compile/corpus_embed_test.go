package compile_test

import (
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	"github.com/twinpath/twinpath/dbaccess/internal/parse"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// Every recorded request with embeds, text searches or aggregates has the very
// bytes of the answer that a real PostgREST gave: on its own, and when it has been
// through the REST compiler and the parser once more.
func TestGoldenEmbeds(t *testing.T) {
	t.Parallel()
	cases, claims := corpus(t, func(c *goldenRequest) bool {
		return strings.Contains(c.ID, "embed") || strings.Contains(c.ID, "fts") || strings.Contains(c.ID, "aggregate") || c.ID == "rpc-setof-filter"
	})
	db := pgtest.Golden(t)
	conn, cat := connect(t, db.DirectDSN), loadCatalog(t, db)
	if len(cases) < 45 {
		t.Errorf("only %d cases are about embeds, text searches or aggregates", len(cases))
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			p, err := parse.Request(c.Method, (&url.URL{Path: c.Path}).EscapedPath(), c.Query, c.header(), c.body())
			if err != nil {
				t.Fatal(err)
			}
			for way, p := range map[string]*parse.Parsed{"as it is": p, "sent again": resent(t, p)} {
				program, err := compile.SQL(&p.Spec, compile.SQLOptions{Schema: "public", Catalog: cat, Arranged: true})
				if err != nil {
					checkRefusal(t, way, &c, err)
					continue
				}
				if c.Status >= 300 {
					t.Fatalf("%s: compiled, but PostgREST refused it with status %d", way, c.Status)
				}
				if diff := cmp.Diff(c.Response, bodyAs(t, conn, claims[c.As], program)); diff != "" {
					t.Errorf("%s: %s\n(-want +got):\n%s", way, program.Main.SQL, diff)
				}
			}
		})
	}
}

// checkRefusal compares a refusal with the recorded answer.
func checkRefusal(t *testing.T, way string, c *goldenRequest, err error) {
	t.Helper()
	body, status := any(nil), 0
	if e, ok := errors.AsType[*catalog.Error](err); ok {
		body, status = e, e.Status
	} else if e, ok := errors.AsType[*compile.RefusedError](err); ok {
		body, status = map[string]any{"code": e.Failure.Code, "message": e.Failure.Message, "details": nil, "hint": nil}, e.Status
	} else {
		t.Fatalf("%s: %v", way, err)
	}
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(normalized(t, c.Response, nil), normalized(t, string(text), nil)); diff != "" || status != c.Status {
		t.Errorf("%s: status %d, want %d; body (-want +got):\n%s", way, status, c.Status, diff)
	}
}

// bodyAs runs a statement as the caller, in a transaction that is rolled back.
func bodyAs(t *testing.T, conn *pgconn.PgConn, claims string, p compile.Program) string {
	t.Helper()
	var role struct{ Role string }
	if err := json.Unmarshal([]byte(claims), &role); err != nil {
		t.Fatal(err)
	}
	batch := &pgconn.Batch{}
	batch.ExecParams("select set_config('role', $1, true), set_config('request.jwt.claims', $2, true)", [][]byte{[]byte(role.Role), []byte(claims)}, nil, nil, nil)
	args := make([][]byte, len(p.Main.Args))
	for i, a := range p.Main.Args {
		args[i] = []byte(a)
	}
	batch.ExecParams(p.Main.SQL, args, nil, nil, nil)
	batch.ExecParams("rollback", nil, nil, nil, nil)
	results, err := conn.ExecBatch(t.Context(), batch).ReadAll()
	if i := slices.IndexFunc(results, func(r *pgconn.Result) bool { return r.Err != nil }); i >= 0 {
		err = results[i].Err
	}
	if err != nil {
		t.Fatalf("%s: %v", p.Main.SQL, err)
	}
	return string(results[1].Rows[0][compile.ColumnBody])
}
