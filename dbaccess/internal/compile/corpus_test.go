package compile_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	"github.com/twinpath/twinpath/dbaccess/internal/parse"
	"github.com/twinpath/twinpath/dbaccess/internal/sqlstate"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// goldenRequest is a case of the golden corpus.
type goldenRequest struct {
	ID, As, Method, Path, Query string
	Headers                     map[string]string
	Body                        *string
	Status                      int
	ResponseHeaders             map[string]string `json:"response_headers"`
	Response                    string
	Volatile                    []string
}

func (c *goldenRequest) writesOrCalls() bool {
	return strings.HasPrefix(c.Path, "rpc/") || c.Method != http.MethodGet && c.Method != http.MethodHead
}

// corpus reads the cases that are wanted, and the claims of their callers.
func corpus(tb testing.TB, wanted func(*goldenRequest) bool) (cases []goldenRequest, claims map[string]string) {
	tb.Helper()
	const dir = "../../../testdata/golden/"
	f, err := os.Open(dir + "cases.jsonl")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		var c goldenRequest
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			tb.Fatal(err)
		}
		if wanted(&c) {
			cases = append(cases, c)
		}
	}
	text, err := os.ReadFile(dir + "tokens.json")
	if err != nil {
		tb.Fatal(err)
	}
	var tokens map[string]string
	if err := json.Unmarshal(text, &tokens); err != nil {
		tb.Fatal(err)
	}
	claims = map[string]string{"anon": `{"role":"anon"}`}
	for name, token := range tokens {
		payload, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
		if err != nil {
			tb.Fatal(err)
		}
		claims[name] = string(payload)
	}
	return cases, claims
}

// loadCatalog reads the catalog of a database.
func loadCatalog(tb testing.TB, db *pgtest.Database) *catalog.Catalog {
	tb.Helper()
	conn := connect(tb, db.SuperDSN)
	sql, args := catalog.SQL([]string{"public", "private_api"})
	c, err := catalog.Parse(run(tb, conn, compile.Statement{SQL: sql, Args: args})[0])
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// reply is an answer as a client sees it.
type reply struct {
	Status                 int
	Range, Type, Preferred string
	Body                   string // normalised JSON, or of an error its fields
}

// asks runs a query as the caller in a transaction that is rolled back, in one
// round trip, as the direct path does.
func (a *asker) asks(p *parse.Parsed, guard bool) reply {
	a.tb.Helper()
	opts := compile.SQLOptions{Schema: "public", Catalog: a.catalog, Guard: guard, Clock: true}
	program, err := compile.SQL(&p.Spec, opts)
	if err != nil {
		return a.refusal(err)
	}
	claims := a.claims[a.as]
	var role struct{ Role string }
	if err := json.Unmarshal([]byte(claims), &role); err != nil {
		a.tb.Fatal(err)
	}
	batch := &pgconn.Batch{}
	batch.ExecParams("select set_config('role', $1, true), set_config('request.jwt.claims', $2, true), set_config('transaction_read_only', $3, true)",
		[][]byte{[]byte(role.Role), []byte(claims), []byte(strconv.FormatBool(program.ReadOnly))}, nil, nil, nil)
	enqueue(batch, &program)
	batch.ExecParams("set constraints all immediate", nil, nil, nil, nil)
	batch.ExecParams("rollback", nil, nil, nil, nil)
	results, err := a.conn.ExecBatch(a.tb.Context(), batch).ReadAll()
	for _, r := range results {
		err = errors.Join(err, r.Err)
	}
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok {
		if r, ok := compile.GuardFailure(pgErr.Code, pgErr.Message); ok {
			return failed(r.Status, r.Failure)
		}
		return failed(sqlstate.HTTPStatus(pgErr.Code, pgErr.Message, a.as == "anon"),
			&compile.Failure{Code: pgErr.Code, Message: pgErr.Message, Details: pgErr.Detail, Hint: pgErr.Hint})
	}
	if err != nil {
		a.tb.Fatal(err)
	}
	return a.answer(p, &program, results[1].Rows[0])
}

func (a *asker) answer(p *parse.Parsed, program *compile.Program, row [][]byte) reply {
	a.tb.Helper()
	number := func(column int) int64 {
		if row[column] == nil {
			return compile.NotCounted
		}
		n, err := strconv.ParseInt(string(row[column]), 10, 64)
		if err != nil {
			a.tb.Fatal(err)
		}
		return n
	}
	r := compile.Respond(&p.Spec, compile.Outcome{
		Rows:     number(compile.ColumnRows),
		Total:    compile.Total(&p.Spec, number(compile.ColumnTotal), compile.NotCounted, 0),
		Inserted: number(compile.ColumnInserted), Void: program.Void,
	})
	if r.Failure != nil {
		return failed(r.Status, r.Failure)
	}
	out := reply{Status: r.Status, Range: r.ContentRange, Preferred: p.Prefer.Applied()}
	if !r.Empty {
		out.Type, out.Body = p.ContentType, normalized(a.tb, string(row[compile.ColumnBody]), a.volatile)
	}
	return out
}

type asker struct {
	tb       testing.TB
	conn     *pgconn.PgConn
	catalog  *catalog.Catalog
	claims   map[string]string
	as       string
	volatile []string
}

func (a *asker) refusal(err error) reply {
	a.tb.Helper()
	if e, ok := errors.AsType[*catalog.Error](err); ok {
		details, _ := e.Details.(string)
		return failed(e.Status, &compile.Failure{Code: e.Code, Message: e.Message, Details: details, Hint: e.Hint})
	}
	if e, ok := errors.AsType[*compile.RefusedError](err); ok {
		return failed(e.Status, &e.Failure)
	}
	if e, ok := errors.AsType[*parse.Error](err); ok {
		return failed(e.Status, &compile.Failure{Code: e.Code, Message: e.Message, Details: e.Details, Hint: e.Hint})
	}
	a.tb.Fatal(err)
	return reply{}
}

func failed(status int, f *compile.Failure) reply {
	return reply{Status: status, Type: parse.ContentArray, Body: strings.Join([]string{f.Code, f.Message, f.Details, f.Hint}, "\n")}
}

// normalized writes JSON in one form: numbers keep their text, blanks and the order
// of members don't.
func normalized(tb testing.TB, text string, volatile []string) string {
	tb.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		tb.Fatalf("%q: %v", text, err)
	}
	if rows, ok := v.([]any); ok {
		for _, row := range rows {
			for _, name := range volatile {
				delete(row.(map[string]any), name)
			}
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

// wanted is the recorded answer.
func (c *goldenRequest) wanted(tb testing.TB) reply {
	tb.Helper()
	h := c.ResponseHeaders
	r := reply{Status: c.Status, Range: h["content-range"], Type: h["content-type"], Preferred: h["preference-applied"]}
	if c.Status >= 300 {
		var e struct{ Code, Message, Details, Hint string }
		if err := json.Unmarshal([]byte(c.Response), &e); err != nil {
			tb.Fatal(err)
		}
		r.Body = strings.Join([]string{e.Code, e.Message, e.Details, e.Hint}, "\n")
	} else if c.Response != "" {
		r.Body = normalized(tb, c.Response, c.Volatile)
	}
	return r
}

// Every request of the golden corpus that writes or calls has the answer that a
// real PostgREST gave: when the caller checks what came back and rolls back, when
// the statement guards itself, and when the request has been through the REST
// compiler and the parser once more.
func TestGoldenWritesAndCalls(t *testing.T) {
	t.Parallel()
	cases, claims := corpus(t, (*goldenRequest).writesOrCalls)
	db := pgtest.Golden(t)
	a := &asker{tb: t, conn: connect(t, db.DirectDSN), catalog: loadCatalog(t, db), claims: claims}
	if len(cases) < 70 {
		t.Errorf("only %d cases write or call", len(cases))
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			a.tb, a.as, a.volatile = t, c.As, c.Volatile
			want := c.wanted(t)
			p, err := parse.Request(c.Method, (&url.URL{Path: c.Path}).EscapedPath(), c.Query, c.header(), c.body())
			if err != nil {
				if diff := cmp.Diff(want, a.refusal(err)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				return
			}
			for _, guard := range []bool{false, true} {
				if diff := cmp.Diff(want, a.asks(p, guard)); diff != "" {
					t.Errorf("guard %v (-want +got):\n%s", guard, diff)
				}
			}
			again := resent(t, p)
			if want.Preferred != "" {
				// The same preferences, in PostgREST's order; minimal is said aloud.
				again.Prefer.Handling = p.Prefer.Handling
			}
			if diff := cmp.Diff(want, a.asks(again, true)); diff != "" {
				t.Errorf("sent again (-want +got):\n%s", diff)
			}
		})
	}
}

func (c *goldenRequest) header() http.Header {
	h := http.Header{}
	for k, v := range c.Headers {
		h.Set(k, v)
	}
	return h
}

func (c *goldenRequest) body() []byte {
	if c.Body == nil {
		return nil
	}
	return []byte(*c.Body)
}

// resent compiles a request for PostgREST and parses it.
func resent(tb testing.TB, p *parse.Parsed) *parse.Parsed {
	tb.Helper()
	r, err := compile.REST(&p.Spec)
	if err != nil {
		tb.Fatal(err)
	}
	h := http.Header{"Accept": {r.Accept}}
	for name, value := range map[string]string{"Prefer": r.Prefer, "Content-Type": r.ContentType, r.ProfileHeader(): r.Profile} {
		if value != "" {
			h.Set(name, value)
		}
	}
	again, err := parse.Request(r.Method, r.Path, r.RawQuery, h, slices.Clone(r.Body))
	if err != nil {
		tb.Fatalf("%s %s?%s: %v", r.Method, r.Path, r.RawQuery, err)
	}
	return again
}
