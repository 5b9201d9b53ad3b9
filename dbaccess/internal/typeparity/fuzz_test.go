package typeparity_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// server is a connection of its own, for what asks it often.
type server struct {
	mu   sync.Mutex
	conn *pgconn.PgConn
}

func connect(tb testing.TB) *server {
	tb.Helper()
	conn, err := pgconn.Connect(tb.Context(), pgtest.NewDatabase(tb).SuperDSN)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return &server{conn: conn}
}

// ask returns the one value of a statement with one argument.
func (s *server) ask(t *testing.T, sql, arg string) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.conn.ExecParams(context.Background(), sql, [][]byte{[]byte(arg)}, nil, nil, nil).Read()
	if r.Err != nil {
		t.Fatalf("%q: %v", arg, r.Err)
	}
	return string(r.Rows[0][0])
}

const (
	arrayBack = "select array_to_json($1::text[])"
	rowsBack  = `select json_build_object('s', s, 'd', d, 'a', a) from json_to_recordset($1::json) as t(s text, d jsonb, a text[])`
)

// fuzzTexts checks that Postgres reads an array literal as the strings that it was
// made of, and that strings, maps and slices go through a write unchanged.
func fuzzTexts(t *testing.T, s *server, texts []string) {
	t.Helper()
	storable := true
	for _, text := range texts {
		storable = storable && utf8.ValidString(text) && !strings.Contains(text, "\x00")
	}
	literal, err := query.Text(texts)
	if storable != (err == nil) {
		t.Fatalf("%q: %v", texts, err)
	}
	if !storable {
		return
	}
	var back []string
	if err := json.Unmarshal([]byte(s.ask(t, arrayBack, literal)), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(texts, back); diff != "" {
		t.Errorf("%s (-want +got):\n%s", literal, diff)
	}

	type row struct {
		S string            `json:"s"`
		D map[string]string `json:"d"`
		A []string          `json:"a"`
	}
	want := row{S: texts[0], D: map[string]string{}, A: texts}
	for i, text := range texts {
		want.D[text] = texts[len(texts)-1-i]
	}
	payload, err := query.Values([]row{want})
	if err != nil {
		t.Fatal(err)
	}
	var got row
	if err := json.Unmarshal([]byte(s.ask(t, rowsBack, string(payload))), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", payload, diff)
	}
}

func FuzzTexts(f *testing.F) {
	s := connect(f)
	for _, text := range append(odd, oddText, "\x7f\u0080\u2028\ufeff\U0010ffff", "\\u0041", `"\"`, "[]", "NULL", "\v\f\t", "\xff") {
		f.Add(text, "b")
		f.Add("", text)
	}
	f.Fuzz(func(t *testing.T, a, b string) { fuzzTexts(t, s, []string{a, b, a + b}) })
}

// TestRandomTexts is FuzzTexts for texts made of what is special anywhere.
func TestRandomTexts(t *testing.T) {
	t.Parallel()
	s := connect(t)
	alphabet := []string{`"`, `\`, `{`, `}`, `,`, `'`, " ", "\n", "\t", "NULL", "null", "a", "é", "🚀", "\u2028", "(", ")", "[", "]", "%", "*", ":", "\u007f", "<", "&", `\u0000`, "/"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		texts := make([]string, 1+random.IntN(4))
		for i := range texts {
			for range random.IntN(6) {
				texts[i] += alphabet[random.IntN(len(alphabet))]
			}
		}
		fuzzTexts(t, s, texts)
		if t.Failed() {
			t.Fatalf("%q", texts)
		}
	}
}
