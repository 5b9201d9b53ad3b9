package rest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/internal/parse"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/dbaccess/rest"
)

// shelf answers reads as PostgREST does from a table whose rows have the ids
// "00000-…" up to a number, and one with the empty id.
type shelf struct {
	rows int

	mu   sync.Mutex
	uris []string
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.uris = append(s.uris, r.RequestURI)
	s.mu.Unlock()
	p, err := parse.Request(r.Method, strings.TrimPrefix(r.URL.EscapedPath(), "/rest/v1"), r.URL.RawQuery, r.Header, nil)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"code":"PGRST100","message":"m"}`)
		return
	}
	var found []string
	for _, e := range p.Spec.Where {
		switch e := e.(type) {
		case query.InList:
			if len(e.Values) != 1 || e.Values[0] != "" { // which PostgREST takes for the empty list
				found = s.find(e.Values)
			}
		case query.Compare:
			if e.Column.Column == "id" {
				found = s.find([]string{e.Value})
			}
		}
	}
	total := len(found)
	if p.Spec.HasLimit {
		found = found[:min(len(found), int(p.Spec.Limit))]
	}
	window, of := "*", "*"
	if p.Spec.Count == query.CountExact {
		of = fmt.Sprint(total)
	}
	if len(found) > 0 {
		window = fmt.Sprintf("0-%d", len(found)-1)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Content-Range", window+"/"+of)
	if r.Method != http.MethodHead {
		_, _ = io.WriteString(w, "["+strings.Join(found, ", \n ")+"]")
	}
}

// find returns the rows with the ids, each once.
func (s *shelf) find(ids []string) []string {
	var rows []string
	seen := map[string]bool{}
	for _, id := range ids {
		low := strings.ToLower(id) // ids are of a type that doesn't tell cases apart
		if !seen[low] && (low == "" || low < fmt.Sprintf("%05d", s.rows)) {
			rows = append(rows, fmt.Sprintf("{\"id\":%q}", low))
		}
		seen[low] = true
	}
	return rows
}

// ids are those of the first rows, each 36 bytes long.
func ids(from, to int) []any {
	list := make([]any, 0, to-from)
	for i := from; i < to; i++ {
		list = append(list, fmt.Sprintf("%05d-aaaa-1111-1111-1111-1111111111", i))
	}
	return list
}

func TestLongListIsSplit(t *testing.T) {
	t.Parallel()
	all := query.From("t").Where(query.In("id", ids(0, 800)...), query.Eq("kind", "x"))
	counted := func(q query.Query, head bool) query.Query {
		s := q.Spec()
		s.Count, s.Head = query.CountExact, head
		return query.FromSpec(s)
	}
	twice := append(ids(0, 800), ids(0, 800)...)
	for _, id := range ids(0, 800) {
		twice = append(twice, strings.ToUpper(id.(string)))
	}
	for name, tt := range map[string]struct {
		query  query.Query
		rows   int // on the shelf
		want   int // found, from the first
		total  int64
		status int
		parts  int
	}{
		"short":                    {query.From("t").Where(query.In("id", ids(0, 50)...)), 800, 50, -1, 200, 1},
		"all":                      {all, 800, 800, -1, 200, 5},
		"some":                     {all, 300, 300, -1, 200, 5},
		"none":                     {all, 0, 0, -1, 200, 5},
		"the first":                {all.Limit(30), 800, 30, -1, 200, 1},
		"the first of two":         {all.Limit(200), 800, 200, -1, 200, 2},
		"up to a bound":            {all.Limit(1000), 800, 800, -1, 200, 5},
		"a page":                   {counted(all.Limit(30), false), 800, 30, 800, 206, 5},
		"a total":                  {counted(all, true), 800, 0, 800, 200, 5},
		"no row, and a total":      {counted(all, false), 0, 0, 0, 200, 5},
		"every value three times":  {query.From("t").Where(query.In("id", twice...)), 800, 800, -1, 200, 10},
		"an embed":                 {all.Select(query.Col("id"), query.Rel("kinds")), 800, 800, -1, 200, 5},
		"an embed with conditions": {query.From("t").Where(query.In("id", ids(0, 50)...)).Select(query.Rel("kinds").Filter(query.Eq("a", 1))), 800, 50, -1, 200, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := &shelf{rows: tt.rows}
			b := backend(t, srv.ServeHTTP)
			c := call(tt.query)
			if err := b.Check(c.Query); err != nil {
				t.Errorf("Check: %v", err)
			}
			start := time.Now()
			res, err := b.Do(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if int(res.Rows) != tt.want || res.Total != tt.total || res.Status != tt.status {
				t.Errorf("%d rows of %d, status %d; want %d of %d, status %d", res.Rows, res.Total, res.Status, tt.want, tt.total, tt.status)
			}
			if !c.Query.Head {
				var got []struct{ ID string }
				if err := json.Unmarshal(res.Body, &got); err != nil {
					t.Fatalf("%v: %.200s", err, res.Body)
				}
				want := make([]struct{ ID string }, tt.want)
				for i, id := range ids(0, tt.want) {
					want[i].ID = id.(string)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("rows (-want +got):\n%s", diff)
				}
			}
			if len(srv.uris) != tt.parts {
				t.Errorf("%d requests, want %d", len(srv.uris), tt.parts)
			}
			for _, uri := range srv.uris {
				if len(uri) > rest.DefaultMaxURLBytes {
					t.Errorf("a URL of %d bytes", len(uri))
				}
			}
			checkContiguous(t, res, start, time.Now())
		})
	}
}

// A part that has the empty string alone means it.
func TestEmptyValueOfASplitList(t *testing.T) {
	t.Parallel()
	srv := &shelf{rows: 800}
	b := backend(t, srv.ServeHTTP, func(c *rest.Config) { c.MaxURLBytes = 85 })
	res, err := b.Do(t.Context(), call(query.From("t").Where(query.In("id", ids(0, 1)[0], "", ids(1, 2)[0]))))
	if err != nil {
		t.Fatal(err)
	}
	if res.Rows != 3 || len(srv.uris) != 3 {
		t.Errorf("%d rows by %d requests, want 3 by 3: %s", res.Rows, len(srv.uris), res.Body)
	}
}

func TestTooLongIsRefused(t *testing.T) {
	t.Parallel()
	b := backend(t, func(http.ResponseWriter, *http.Request) { t.Error("something was sent") })
	long := query.In("id", ids(0, 800)...)
	all := query.From("t").Where(long)
	single := all.Spec()
	single.Single = true
	planned := all.Spec()
	planned.Count = query.CountPlanned
	for name, q := range map[string]query.Query{
		"ordered":           all.OrderBy(query.Asc("id")),
		"with an offset":    all.Offset(1),
		"a single row":      query.FromSpec(single),
		"a planned count":   query.FromSpec(planned),
		"an embed's filter": all.Select(query.Rel("kinds").Filter(query.Eq("a", 1))),
		"an aggregate":      all.Select(query.Field{Aggregate: "count"}),
		"two lists":         all.Where(query.In("kind", 1, 2)),
		"negated":           query.From("t").Where(query.Not(long)),
		"inside of an or":   query.From("t").Where(query.Or(long, query.Eq("id", 1))),
		"in an embed":       query.From("t").Select(query.Rel("kinds").Filter(long)),
		"one long value":    query.From("t").Where(query.In("id", strings.Repeat("x", 8000), "y")),
		"a long filter":     query.From("t").Where(query.Eq("id", strings.Repeat("x", 8000))),
		"an update":         query.Update("t", map[string]any{"a": 1}).Where(long),
		"a delete":          query.Delete("t").Where(long),
		"a call":            query.Call("f", nil).Where(long),
		"a long select":     query.From("t").Columns(strings.Repeat("x", 8000)),
	} {
		c := call(q)
		_, err := b.Do(t.Context(), c)
		u, ok := errors.AsType[*query.UnsupportedError](err)
		if !ok {
			t.Errorf("%s: error %v, want an UnsupportedError", name, err)
			continue
		}
		if u.Node == "" || strings.Contains(err.Error(), "1111") || strings.Contains(err.Error(), "xxx") {
			t.Errorf("%s: the error names no node, or tells values: %.200v", name, err)
		}
		if _, ok := errors.AsType[*query.UnsupportedError](b.Check(c.Query)); !ok {
			t.Errorf("%s: Check found nothing wrong", name)
		}
	}
	unbound := backend(t, rows, func(c *rest.Config) { c.MaxURLBytes = -1 })
	if _, err := unbound.Do(t.Context(), call(all.OrderBy(query.Asc("id")))); err != nil {
		t.Errorf("without a limit: %v", err)
	}
}
