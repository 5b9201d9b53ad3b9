package oracle_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twinpath/twinpath/dbaccess/internal/golden/corpus"
	"github.com/twinpath/twinpath/dbaccess/postgresttest"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// update writes what the requests are answered with into their file, for somebody
// to review.
var update = flag.Bool("update", false, "update testdata")

const badRequests = "testdata/bad-requests.txt"

// badRequest is a line of the file.
type badRequest struct {
	line                   int
	want                   string // status and code
	caller, method, target string
	headers                [][2]string
	body                   string
}

func (b *badRequest) String() string { return b.method + " " + b.target + " " + b.body }

func readBadRequests(t *testing.T) (lines []string, requests []badRequest) {
	t.Helper()
	b, err := os.ReadFile(badRequests)
	if err != nil {
		t.Fatal(err)
	}
	lines = strings.Split(string(b), "\n")
	for i, line := range lines {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line+" ", " |")
		if len(fields) < 4 || len(fields) > 5 {
			t.Fatalf("%s:%d has %d fields", badRequests, i+1, len(fields))
		}
		for j, f := range fields {
			f = strings.TrimPrefix(f, " ")
			if q, ok := strings.CutPrefix(strings.TrimSpace(f), "go:"); ok {
				if f, err = strconv.Unquote(q); err != nil {
					t.Fatalf("%s:%d: field %d: %v", badRequests, i+1, j+1, err)
				}
				fields[j] = f
				continue
			}
			fields[j] = strings.TrimSuffix(f, " ")
		}
		r := badRequest{line: i, want: fields[0], caller: fields[1]}
		r.method, r.target, _ = strings.Cut(fields[2], " ")
		if name, value, ok := strings.Cut(fields[3], ":"); ok {
			r.headers = append(r.headers, [2]string{name, strings.TrimPrefix(value, " ")})
		}
		if len(fields) == 5 {
			r.body = fields[4]
		}
		requests = append(requests, r)
	}
	return lines, requests
}

// send hands the request to a handler as it is: net/http would not let some of them
// through.
func (b *badRequest) send(t *testing.T, h http.Handler, tokens map[string]string) *httptest.ResponseRecorder {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/", strings.NewReader(b.body))
	if err != nil {
		t.Fatal(err)
	}
	r.Method = b.method
	path, query, _ := strings.Cut(b.target, "?")
	r.URL.RawPath, r.URL.RawQuery = path, query
	if r.URL.Path, err = url.PathUnescape(path); err != nil {
		r.URL.Path = path
	}
	if token, ok := tokens[b.caller]; ok {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for _, h := range b.headers {
		r.Header[http.CanonicalHeaderKey(h[0])] = []string{h[1]}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if ctx.Err() != nil {
		t.Errorf("line %d: no answer in time to %s", b.line+1, b)
	}
	return w
}

// Every malformed or hostile request gets an error that says what is wrong with it,
// or what it holds is nothing but a value or a name; and nothing runs.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	cases := golden(t)
	db := pgtest.Golden(t)
	trap := setTrap(t, db)
	h, err := postgresttest.NewHandler(postgresttest.Config{DSN: db.DirectDSN, JWTSecret: corpus.Secret, AnonRole: corpus.AnonRole, Schemas: corpus.Schemas()})
	if err != nil {
		t.Fatal(err)
	}
	lines, requests := readBadRequests(t)
	if len(requests) < 200 {
		t.Errorf("%d requests, want 200", len(requests))
	}
	seen := map[string]int{}
	for _, r := range requests {
		key := fmt.Sprint(r.caller, r.String(), r.headers)
		if seen[key]++; seen[key] > 1 {
			t.Errorf("line %d: the request is there twice", r.line+1)
		}
		w := r.send(t, h, cases.Tokens)
		got := strconv.Itoa(w.Code)
		if w.Code >= 300 {
			got += " " + judge(t, &r, w)
		} else if err := harmless(&r, w.Body.Bytes()); err != "" {
			t.Errorf("line %d: %s: %s", r.line+1, &r, err)
		}
		if *update {
			_, rest, _ := strings.Cut(lines[r.line], " |")
			lines[r.line] = got + " |" + rest
			continue
		}
		if got != r.want {
			t.Errorf("line %d: %s: %s, want %s: %s", r.line+1, &r, got, r.want, w.Body)
		}
	}
	h.Close()
	trap.check(t)
	if *update {
		if err := os.WriteFile(badRequests, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// judge returns the code of an error, which must be one that a client can
// understand.
func judge(t *testing.T, r *badRequest, w *httptest.ResponseRecorder) string {
	t.Helper()
	if r.method == http.MethodHead {
		return ""
	}
	var e struct{ Code, Message string }
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || e.Code == "" || e.Message == "" {
		t.Errorf("line %d: %s: status %d, and a body that is no error of PostgREST's: %q", r.line+1, r, w.Code, w.Body)
	}
	switch {
	case w.Code >= 500 && w.Code != http.StatusNotImplemented:
		t.Errorf("line %d: %s: status %d: %s", r.line+1, r, w.Code, w.Body)
	case e.Code == "42601" && strings.Contains(e.Message, " at or near ") && !strings.HasPrefix(e.Message, "zero-length delimited identifier "):
		t.Errorf("line %d: %s: something got into the SQL: %s", r.line+1, r, w.Body)
	}
	return e.Code
}

// harmless says what is wrong with an answer that is a success: it must be JSON, if
// anything, and be no use of the canary.
func harmless(r *badRequest, body []byte) string {
	switch {
	case len(body) == 0:
		return ""
	case !json.Valid(body):
		return "the answer is not JSON"
	case slices.Contains([]string{http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete}, r.method) && string(body) != "[]" && !strings.HasPrefix(r.target, "/rpc/"):
		return "something was written: " + string(body)
	}
	return ""
}
