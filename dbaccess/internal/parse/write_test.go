package parse_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/internal/parse"
	q "github.com/twinpath/twinpath/dbaccess/query"
)

// headers makes a header of names and values in turn.
func headers(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

const formType = "application/x-www-form-urlencoded"

func TestWrites(t *testing.T) {
	t.Parallel()
	id := q.Eq("id", 1)
	for name, tc := range map[string]struct {
		method, query string
		header        http.Header
		body          string
		want          q.Spec
		applied       string
	}{
		"insert": {"POST", "", nil, `{"a":1}`, q.Spec{Op: q.OpInsert, Write: &q.Write{Payload: []byte(`{"a":1}`)}}, ""},
		"insert, all said": {
			"POST", "select=a&columns=a,%22b%20c%22&on_conflict=a,b&order=a&id=eq.1&and=(id.eq.1)&limit=3&offset=1",
			headers("Prefer", "return=representation,missing=default,resolution=merge-duplicates,count=exact,tx=rollback", "Content-Profile", "x", "Content-Type", "application/json; charset=utf-8"),
			`[{"a":1},{}]`,
			q.Spec{
				Op: q.OpInsert, Schema: "x", Select: []q.Item{q.Col("a")}, OrderBy: []q.Order{q.Asc("a")}, Count: q.CountExact,
				Write: &q.Write{
					Payload: []byte(`[{"a":1},{}]`), Columns: []string{"a", "b c"}, MissingDefault: true, Return: true, Rollback: true,
					Conflict: q.ConflictMerge, ConflictOn: []string{"a", "b"},
				},
			},
			"resolution=merge-duplicates, missing=default, return=representation, count=exact, tx=rollback",
		},
		"ignore":              {"POST", "", headers("Prefer", "resolution=ignore-duplicates"), `[]`, q.Spec{Op: q.OpInsert, Write: &q.Write{Payload: []byte(`[]`), Conflict: q.ConflictIgnore}}, "resolution=ignore-duplicates"},
		"conflict, but how":   {"POST", "on_conflict=a", nil, `[]`, q.Spec{Op: q.OpInsert, Write: &q.Write{Payload: []byte(`[]`)}}, ""},
		"first columns":       {"POST", "columns=a&columns=b", nil, `x`, q.Spec{Op: q.OpInsert, Write: &q.Write{Payload: []byte(`x`), Columns: []string{"a"}}}, ""},
		"no rows at all":      {"POST", "", nil, `5`, q.Spec{Op: q.OpInsert, Write: &q.Write{Payload: []byte(`[]`)}}, ""},
		"form":                {"POST", "", headers("Content-Type", formType), `b=1+2&a=%22&a=x`, q.Spec{Op: q.OpInsert, Write: &q.Write{Payload: []byte(`{"a":"x","b":"1 2"}`)}}, ""},
		"no limit for insert": {"POST", "", headers("Prefer", "handling=strict,max-affected=0"), `{}`, q.Spec{Op: q.OpInsert, Write: &q.Write{Payload: []byte(`{}`)}}, "handling=strict"},
		"update":              {"PATCH", "id=eq.1", headers("Prefer", "return=minimal"), `{"a":1}`, q.Spec{Op: q.OpUpdate, Where: []q.Expr{id}, Write: &q.Write{Payload: []byte(`{"a":1}`)}}, "return=minimal"},
		"update, limited": {
			"PATCH", "id=eq.1&columns=a&on_conflict=b", headers("Prefer", "max-affected=2, handling=strict,missing=default, resolution=merge-duplicates"), `{}`,
			q.Spec{Op: q.OpUpdate, Where: []q.Expr{id}, Write: &q.Write{Payload: []byte(`{}`), Columns: []string{"a"}, MissingDefault: true, MaxAffected: 2}},
			"missing=default, handling=strict, max-affected=2",
		},
		"not strict, no limit": {"PATCH", "", headers("Prefer", "max-affected=2"), `{}`, q.Spec{Op: q.OpUpdate, Write: &q.Write{Payload: []byte(`{}`)}}, ""},
		"limit of no number":   {"PATCH", "", headers("Prefer", "max-affected=two,handling=strict"), `{}`, q.Spec{Op: q.OpUpdate, Write: &q.Write{Payload: []byte(`{}`)}}, "handling=strict"},
		"update one": {"PATCH", "id=eq.1", headers("Accept", "application/vnd.pgrst.object+json"), `{}`,
			q.Spec{Op: q.OpUpdate, Where: []q.Expr{id}, Single: true, Write: &q.Write{Payload: []byte(`{}`)}}, ""},
		"delete": {"DELETE", "id=eq.1&columns=a&limit=2", headers("Prefer", "return=representation,missing=default,max-affected=5,handling=strict"), `ignored`,
			q.Spec{Op: q.OpDelete, Where: []q.Expr{id}, Write: &q.Write{Return: true, MaxAffected: 5}}, "return=representation, handling=strict, max-affected=5"},
		"delete all": {"DELETE", "", nil, ``, q.Spec{Op: q.OpDelete, Write: &q.Write{}}, ""},
		"put": {"PUT", "id=eq.1&columns=x&on_conflict=y&offset=0", headers("Prefer", "return=representation,resolution=ignore-duplicates,missing=default,max-affected=1,handling=strict"), `{"id":1}`,
			q.Spec{Op: q.OpInsert, Where: []q.Expr{id}, Write: &q.Write{Payload: []byte(`{"id":1}`), Conflict: q.ConflictMerge, Return: true}}, "return=representation, handling=strict"},
		"time zone": {"DELETE", "", headers("Prefer", "timezone=Asia/Seoul", "Accept-Profile", "not mine"), ``, q.Spec{Op: q.OpDelete, TimeZone: "Asia/Seoul", Write: &q.Write{}}, "timezone=Asia/Seoul"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := parse.Request(tc.method, "t", tc.query, tc.header, []byte(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			tc.want.From = "t"
			if diff := cmp.Diff(tc.want, p.Spec, embedData); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := p.Prefer.Applied(); got != tc.applied {
				t.Errorf("Preference-Applied %q, want %q", got, tc.applied)
			}
		})
	}
}

func TestCalls(t *testing.T) {
	t.Parallel()
	text := func(args ...string) []q.TextArg {
		out := []q.TextArg{}
		for i := 0; i < len(args); i += 2 {
			out = append(out, q.TextArg{Name: args[i], Value: args[i+1]})
		}
		return out
	}
	for name, tc := range map[string]struct {
		method, query string
		header        http.Header
		body          string
		want          q.Spec
		applied       string
	}{
		"get":            {"GET", "", nil, "", q.Spec{Call: &q.CallArgs{ReadOnly: true}}, ""},
		"head":           {"HEAD", "a=1", nil, "", q.Spec{Head: true, Call: &q.CallArgs{ReadOnly: true, TextArgs: text("a", "1")}}, ""},
		"args":           {"GET", "a=1&b=&a=x%20y&%22select%22=z&c.d=e", nil, "", q.Spec{Call: &q.CallArgs{ReadOnly: true, TextArgs: text("a", "1", "b", "", "a", "x y", "select", "z", "d", "e")}}, ""},
		"args, filters":  {"GET", "a=eq.1&b=eq&c=not&d=in&e=isdistinct&f=eq(any)&g=fts(x&or=(x.eq.1)", nil, "", q.Spec{Where: []q.Expr{q.Eq("a", 1), q.Or(q.Eq("x", 1))}, Call: &q.CallArgs{ReadOnly: true, TextArgs: text("b", "eq", "c", "not", "d", "in", "e", "isdistinct", "f", "eq(any)", "g", "fts(x")}}, ""},
		"read of result": {"GET", "a=1&select=x&order=x&limit=2&offset=1", nil, "", q.Spec{Select: []q.Item{q.Col("x")}, OrderBy: []q.Order{q.Asc("x")}, Limit: 2, HasLimit: true, Offset: 1, Call: &q.CallArgs{ReadOnly: true, TextArgs: text("a", "1")}}, ""},
		"range":          {"GET", "", headers("Range", "0-1"), "", q.Spec{Limit: 2, HasLimit: true, Call: &q.CallArgs{ReadOnly: true}}, ""},
		"post":           {"POST", "", nil, `{"a":1}`, q.Spec{Call: &q.CallArgs{Args: []byte(`{"a":1}`)}}, ""},
		"post, filtered": {"POST", "a=gt.1&limit=1", headers("Prefer", "count=exact,tx=rollback,return=minimal,missing=default,resolution=merge-duplicates"), `{}`,
			q.Spec{Where: []q.Expr{q.Gt("a", 1)}, Limit: 1, HasLimit: true, Count: q.CountExact, Call: &q.CallArgs{Args: []byte(`{}`), Rollback: true}}, "count=exact, tx=rollback"},
		"empty body":  {"POST", "", nil, ``, q.Spec{Call: &q.CallArgs{Args: []byte{}}}, ""},
		"no object":   {"POST", "", nil, `"x"`, q.Spec{Call: &q.CallArgs{Args: []byte(`[]`)}}, ""},
		"columns":     {"POST", "columns=a", nil, `[1,"x"]`, q.Spec{Call: &q.CallArgs{Args: []byte(`[1,"x"]`), Columns: []string{"a"}}}, ""},
		"form":        {"POST", "", headers("Content-Type", formType), `a=1&a=eq.2&%3F=+`, q.Spec{Call: &q.CallArgs{TextArgs: text("a", "1", "a", "eq.2", "?", " ")}}, ""},
		"empty form":  {"POST", "", headers("Content-Type", formType), ``, q.Spec{Call: &q.CallArgs{TextArgs: text()}}, ""},
		"text":        {"POST", "", headers("Content-Type", "text/plain;charset=utf-8"), `x`, q.Spec{Call: &q.CallArgs{Whole: true, Type: "text", Args: []byte(`x`)}}, ""},
		"xml":         {"POST", "", headers("Content-Type", "text/xml"), `<a/>`, q.Spec{Call: &q.CallArgs{Whole: true, Type: "xml", Args: []byte(`<a/>`)}}, ""},
		"bytes":       {"POST", "", headers("Content-Type", "application/octet-stream"), "\x00\xff", q.Spec{Call: &q.CallArgs{Whole: true, Type: "bytea", Args: []byte("\x00\xff")}}, ""},
		"limited":     {"POST", "", headers("Prefer", "handling=strict,max-affected=3"), `{}`, q.Spec{Call: &q.CallArgs{Args: []byte(`{}`), MaxAffected: 3}}, "handling=strict, max-affected=3"},
		"get, schema": {"GET", "", headers("Accept-Profile", "x", "Content-Profile", "y"), "", q.Spec{Schema: "x", Call: &q.CallArgs{ReadOnly: true}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := parse.Request(tc.method, "/rpc/my%20f", tc.query, tc.header, []byte(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			tc.want.Op, tc.want.From = q.OpCall, "my f"
			if diff := cmp.Diff(tc.want, p.Spec, embedData); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := p.Prefer.Applied(); got != tc.applied {
				t.Errorf("Preference-Applied %q, want %q", got, tc.applied)
			}
		})
	}
}

func TestWritesRefused(t *testing.T) {
	t.Parallel()
	const body = `{"a":1}`
	for name, tc := range map[string]struct {
		method, path, query string
		header              http.Header
		body                string
		status              int
		code, message       string
	}{
		"no body":             {"POST", "t", "", nil, "", 400, "PGRST102", "Empty or invalid json"},
		"broken body":         {"PATCH", "t", "", nil, `{"a"`, 400, "PGRST102", "Empty or invalid json"},
		"rows that differ":    {"POST", "t", "", nil, `[{"a":1},{"b":1}]`, 400, "PGRST102", "All object keys must match"},
		"rows of no objects":  {"POST", "rpc/f", "", nil, `[1]`, 400, "PGRST102", "All object keys must match"},
		"text":                {"POST", "t", "", headers("Content-Type", "text/plain"), body, 400, "PGRST102", "Content-Type not acceptable: text/plain"},
		"unknown type":        {"POST", "rpc/f", "", headers("Content-Type", "image/png; q=1"), body, 400, "PGRST102", "Content-Type not acceptable: image/png"},
		"bad form":            {"POST", "rpc/f", "", headers("Content-Type", formType), "a=%00", 400, "22021", ""},
		"columns":             {"POST", "t", "columns=", nil, body, 400, "PGRST100", ""},
		"on_conflict":         {"POST", "t", "on_conflict=a,", nil, body, 400, "PGRST100", ""},
		"filter":              {"DELETE", "t", "a=1", nil, "", 400, "PGRST100", ""},
		"filter of a post":    {"POST", "rpc/f", "a=1", nil, body, 400, "PGRST100", ""},
		"broken filter":       {"GET", "rpc/f", "a=not.x", nil, "", 400, "PGRST100", ""},
		"broken list":         {"GET", "rpc/f", "a=in.x", nil, "", 400, "PGRST100", ""},
		"broken state":        {"GET", "rpc/f", "a=is.x", nil, "", 400, "PGRST100", ""},
		"negative limit":      {"PATCH", "t", "limit=-1", nil, body, 416, "PGRST103", ""},
		"put, limit":          {"PUT", "t", "id=eq.1&limit=1", nil, body, 400, "PGRST114", "limit/offset querystring parameters are not allowed for PUT"},
		"put, offset":         {"PUT", "t", "id=eq.1&offset=1", nil, body, 400, "PGRST114", ""},
		"put, no filter":      {"PUT", "t", "", nil, body, 405, "PGRST105", "Filters must include all and only primary key columns with 'eq' operators"},
		"put, logic":          {"PUT", "t", "id=eq.1&and=(id.eq.1)", nil, body, 405, "PGRST105", ""},
		"strict":              {"PATCH", "t", "", headers("Prefer", "handling=strict,return=all,what=ever"), body, 400, "PGRST122", "Invalid preferences given with handling=strict"},
		"method":              {"PUT", "rpc/f", "", nil, body, 405, "PGRST101", "Cannot use the PUT method on RPC"},
		"schema":              {"POST", "t", "", headers("Content-Profile", "\x00"), body, 400, "22021", ""},
		"csv":                 {"POST", "t", "", headers("Content-Type", "text/csv"), "a\n1", 501, "", "a body of CSV"},
		"csv for a function":  {"POST", "rpc/f", "", headers("Content-Type", "text/csv"), "a\n1", 501, "", "a body of CSV"},
		"headers only":        {"POST", "t", "", headers("Prefer", "return=headers-only"), body, 501, "", "return=headers-only"},
		"limit of none":       {"DELETE", "t", "", headers("Prefer", "handling=strict,max-affected=0"), "", 501, "", "max-affected"},
		"limit of none, call": {"POST", "rpc/f", "", headers("Prefer", "handling=strict,max-affected=-1"), "", 501, "", "max-affected"},
		"body on a read":      {"GET", "rpc/f", "", nil, body, 501, "", "a body on a read"},
		"options":             {"OPTIONS", "rpc/f", "", nil, "", 501, "", "OPTIONS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parse.Request(tc.method, tc.path, tc.query, tc.header, []byte(tc.body))
			e, ok := errors.AsType[*parse.Error](err)
			if !ok {
				t.Fatalf("error %v, want a *parse.Error", err)
			}
			if e.Status != tc.status || e.Code != tc.code || !strings.Contains(e.Message, tc.message) {
				t.Errorf("got %+v, want %d %s %s", *e, tc.status, tc.code, tc.message)
			}
		})
	}
}
