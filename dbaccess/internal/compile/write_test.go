package compile_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	q "github.com/twinpath/twinpath/dbaccess/query"
)

// changed is a query's spec, changed as no builder method does.
func changed(query q.Query, change func(*q.Spec)) q.Spec {
	s := query.Spec()
	if s.Write != nil {
		w := *s.Write
		s.Write = &w
	}
	if s.Call != nil {
		c := *s.Call
		s.Call = &c
	}
	if change != nil {
		change(&s)
	}
	return s
}

func TestRespondWrite(t *testing.T) {
	t.Parallel()
	write := func(op q.Op, w q.Write, change func(*q.Spec)) q.Spec {
		s := q.Spec{Op: op, From: "t", Write: &w}
		if change != nil {
			change(&s)
		}
		return s
	}
	put := func(back bool) q.Spec {
		return write(q.OpInsert, q.Write{Conflict: q.ConflictMerge, Return: back}, func(s *q.Spec) { s.Where = []q.Expr{q.Eq("id", 1)} })
	}
	counted := func(s *q.Spec) { s.Count = q.CountExact }
	merge := q.Write{Conflict: q.ConflictMerge, Return: true}
	for name, tc := range map[string]struct {
		spec    q.Spec
		outcome compile.Outcome
		want    compile.Reply
	}{
		"insert":             {write(q.OpInsert, q.Write{}, nil), compile.Outcome{Rows: 3}, compile.Reply{Status: 201, ContentRange: "*/*", Empty: true}},
		"insert, back":       {write(q.OpInsert, q.Write{Return: true}, nil), compile.Outcome{Rows: 3}, compile.Reply{Status: 201, ContentRange: "*/*"}},
		"insert, counted":    {write(q.OpInsert, q.Write{}, counted), compile.Outcome{Rows: 3}, compile.Reply{Status: 201, ContentRange: "*/3", Empty: true}},
		"insert, none":       {write(q.OpInsert, q.Write{Return: true}, counted), compile.Outcome{}, compile.Reply{Status: 201, ContentRange: "*/0"}},
		"merge, some new":    {write(q.OpInsert, merge, nil), compile.Outcome{Rows: 2, Inserted: 1}, compile.Reply{Status: 201, ContentRange: "*/*"}},
		"merge, none new":    {write(q.OpInsert, merge, nil), compile.Outcome{Rows: 2}, compile.Reply{Status: 200, ContentRange: "*/*"}},
		"ignore":             {write(q.OpInsert, q.Write{Conflict: q.ConflictIgnore}, nil), compile.Outcome{}, compile.Reply{Status: 201, ContentRange: "*/*", Empty: true}},
		"put":                {put(false), compile.Outcome{Rows: 1, Inserted: 1}, compile.Reply{Status: 204, Empty: true}},
		"put, new":           {put(true), compile.Outcome{Rows: 1, Inserted: 1}, compile.Reply{Status: 201}},
		"put, over":          {put(true), compile.Outcome{Rows: 1}, compile.Reply{Status: 200}},
		"update":             {write(q.OpUpdate, q.Write{}, nil), compile.Outcome{Rows: 3}, compile.Reply{Status: 204, ContentRange: "0-2/*", Empty: true}},
		"update, back":       {write(q.OpUpdate, q.Write{Return: true}, nil), compile.Outcome{Rows: 1}, compile.Reply{Status: 200, ContentRange: "0-0/*"}},
		"update, none":       {write(q.OpUpdate, q.Write{Return: true}, nil), compile.Outcome{}, compile.Reply{Status: 200, ContentRange: "*/*"}},
		"update, counted":    {write(q.OpUpdate, q.Write{}, counted), compile.Outcome{Rows: 30}, compile.Reply{Status: 204, ContentRange: "0-29/30", Empty: true}},
		"update, none of 0":  {write(q.OpUpdate, q.Write{}, counted), compile.Outcome{}, compile.Reply{Status: 204, ContentRange: "*/0", Empty: true}},
		"update, at limit":   {write(q.OpUpdate, q.Write{MaxAffected: 3}, nil), compile.Outcome{Rows: 3}, compile.Reply{Status: 204, ContentRange: "0-2/*", Empty: true}},
		"delete":             {write(q.OpDelete, q.Write{}, counted), compile.Outcome{Rows: 2}, compile.Reply{Status: 204, ContentRange: "*/2", Empty: true}},
		"delete, back":       {write(q.OpDelete, q.Write{Return: true}, nil), compile.Outcome{Rows: 2}, compile.Reply{Status: 200, ContentRange: "*/*"}},
		"planner not asked":  {write(q.OpDelete, q.Write{}, func(s *q.Spec) { s.Count = q.CountPlanned }), compile.Outcome{Rows: 2}, compile.Reply{Status: 204, ContentRange: "*/*", Empty: true}},
		"call":               {q.Call("f", nil).Spec(), compile.Outcome{Rows: 1, Total: compile.NotCounted}, compile.Reply{Status: 200, ContentRange: "0-0/*"}},
		"call, void":         {q.Call("f", nil).Spec(), compile.Outcome{Rows: 1, Total: compile.NotCounted, Void: true}, compile.Reply{Status: 204, ContentRange: "0-0/*", Empty: true}},
		"call, part":         {q.Call("f", nil).Limit(2).Spec(), compile.Outcome{Rows: 2, Total: 5}, compile.Reply{Status: 206, ContentRange: "0-1/5"}},
		"call, past the end": {q.Call("f", nil).Offset(9).Spec(), compile.Outcome{Total: 5, Void: true}, compile.Reply{Status: 204, ContentRange: "*/5", Empty: true}},
		"read":               {q.From("t").Spec(), compile.Outcome{Rows: 2, Total: compile.NotCounted}, compile.Reply{Status: 200, ContentRange: "0-1/*"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, compile.Respond(&tc.spec, tc.outcome)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTotalOfWrites(t *testing.T) {
	t.Parallel()
	for count, want := range map[q.Count]int64{q.CountNone: compile.NotCounted, q.CountExact: 7, q.CountEstimated: 7} {
		s := q.Spec{Op: q.OpCall, Count: count}
		if got := compile.Total(&s, 7, 99, 3); got != want {
			t.Errorf("count %d: %d, want %d", count, got, want)
		}
	}
}

func TestIgnoresConflict(t *testing.T) {
	t.Parallel()
	keyless, keyed := &catalog.Table{}, &catalog.Table{PrimaryKey: []string{"id"}}
	merge := q.Insert("t", raw(`{}`)).Merge().Spec()
	on := q.Insert("t", raw(`{}`)).Merge("a").Spec()
	if !compile.IgnoresConflict(&merge, keyless) || compile.IgnoresConflict(&merge, keyed) || compile.IgnoresConflict(&on, keyless) {
		t.Error("a merge is ignored where there is neither a key nor a column to merge by, and there alone")
	}
}

func TestPayload(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]struct {
		payload string
		columns []string
	}{
		`{"b":1,"a":2}`:                   {"", []string{"a", "b"}},
		` { "a" : {"x":[1]} , "a" : 2 } `: {"", []string{"a"}},
		`{}`:                              {"", nil},
		`[]`:                              {"", nil},
		`[{}]`:                            {"", nil},
		`[{"b":1,"a":null},{"a":{},"b":[{"c":1}]}]`: {"", []string{"a", "b"}},
		"\n[{\"\\u00e9\":1}]":                       {"", []string{"é"}},
		`5`:                                         {"[]", nil},
		`"x"`:                                       {"[]", nil},
		`null`:                                      {"[]", nil},
	} {
		if want.payload == "" {
			want.payload = body
		}
		payload, columns, err := compile.Payload([]byte(body))
		if err != nil || string(payload) != want.payload || !slices.Equal(columns, want.columns) {
			t.Errorf("%s: %s, %q, %v; want %s, %q", body, payload, columns, err, want.payload, want.columns)
		}
	}
	for body, message := range map[string]string{
		``: "Empty or invalid json", ` `: "Empty or invalid json", `{"a":`: "Empty or invalid json", `{} {}`: "Empty or invalid json",
		"{\"\xff\":1}": "Empty or invalid json", `[1]`: "All object keys must match", `[{"a":1},[]]`: "All object keys must match",
		`[{"a":1},{"b":1}]`: "All object keys must match", `[{"a":1},{"a":1,"b":1}]`: "All object keys must match", `[{},null]`: "All object keys must match",
	} {
		_, _, err := compile.Payload([]byte(body))
		e, ok := errors.AsType[*compile.RefusedError](err)
		if !ok || e.Status != 400 || e.Failure.Code != "PGRST102" || e.Failure.Message != message {
			t.Errorf("%q: error %v, want %s", body, err, message)
		}
	}
}

// What is taken is JSON, and its columns are the members of every row.
func FuzzPayload(f *testing.F) {
	for _, body := range []string{`{"a":1}`, `[{"a":1},{"a":2}]`, `[]`, `5`, `[{"a":1},{"b":2}]`, `{"a":[{"b":{}}],"a":null}`, `["\ud800"]`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		payload, columns, err := compile.Payload(body)
		if err != nil {
			return
		}
		var rows []map[string]any
		if err := json.Unmarshal(payload, &rows); err != nil {
			var row map[string]any
			if err := json.Unmarshal(payload, &row); err != nil {
				t.Fatalf("%q is taken as %q: %v", body, payload, err)
			}
			rows = append(rows, row)
		}
		for _, row := range rows {
			if len(row) != len(columns) {
				t.Errorf("%q: columns %q", body, columns)
			}
			for _, c := range columns {
				if _, ok := row[c]; !ok {
					t.Errorf("%q: no member %q", body, c)
				}
			}
		}
	})
}

func TestOverride(t *testing.T) {
	t.Parallel()
	type result struct {
		Code   int
		Fields []compile.HeaderField
		Failed string
	}
	for _, tc := range []struct {
		status, headers string
		want            result
	}{
		{"", "", result{}},
		{"204", "", result{Code: 204}},
		{"299abc", "[]", result{Code: 299}},
		{"", `[{"A": "1"}, {"B": "2"}, {"A": "3"}]`, result{Fields: []compile.HeaderField{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}, {Name: "A", Value: "3"}}}},
		{"x", "", result{Failed: "PGRST112"}},
		{"-1", "", result{Failed: "PGRST112"}},
		{"99999999999999999999", "", result{Failed: "PGRST112"}},
		{"", `{"A": "1"}`, result{Failed: "PGRST111"}},
		{"", `[{"A": 1}]`, result{Failed: "PGRST111"}},
		{"", `[{"A": "1", "B": "2"}]`, result{Failed: "PGRST111"}},
		{"", `[{}]`, result{Failed: "PGRST111"}},
		{"", `null`, result{Failed: "PGRST111"}},
		{"200", `x`, result{Failed: "PGRST111"}},
	} {
		code, fields, failure := compile.Override(tc.status, tc.headers)
		got := result{Code: code, Fields: fields}
		if failure != nil {
			got.Failed = failure.Failure.Code
			if failure.Status != 500 {
				t.Errorf("%q, %q: status %d, want 500", tc.status, tc.headers, failure.Status)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%q, %q (-want +got):\n%s", tc.status, tc.headers, diff)
		}
	}
}

// A write or a call that one of the two sides can't say is refused by both.
func TestUnsupportedWrites(t *testing.T) {
	t.Parallel()
	insert, update, call := q.Insert("companies", raw(`{"ticker":"X"}`)), q.Update("companies", raw(`{"name":"x"}`)).Where(q.Eq("ticker", "X")), q.Call("add_them", raw(`{"a":1}`))
	for name, tc := range map[string]struct {
		query  q.Query
		change func(*q.Spec)
		node   string
	}{
		"no write":            {insert, func(s *q.Spec) { s.Write = nil }, "write"},
		"no call":             {call, func(s *q.Spec) { s.Call = nil }, "call"},
		"head":                {insert, func(s *q.Spec) { s.Head = true }, "head"},
		"head of a call":      {call, func(s *q.Spec) { s.Head = true }, "head"},
		"negative limit":      {update, func(s *q.Spec) { s.Write.MaxAffected = -1 }, "max-affected"},
		"limit of an insert":  {insert, func(s *q.Spec) { s.Write.MaxAffected = 1 }, "max-affected"},
		"limit of a call":     {call, func(s *q.Spec) { s.Call.MaxAffected = -1 }, "max-affected"},
		"unknown conflict":    {insert, func(s *q.Spec) { s.Write.Conflict = 99 }, "conflict"},
		"update that merges":  {update, func(s *q.Spec) { s.Write.Conflict = q.ConflictMerge }, "conflict"},
		"insert that filters": {insert.Where(q.Eq("ticker", "X")), nil, "filter"},
		"put with columns":    {insert.Merge().Where(q.Eq("ticker", "X")), func(s *q.Spec) { s.Write.Columns = []string{"ticker"} }, "filter"},
		"every in a logic":    {q.Delete("companies").Where(q.Or(q.AllRows(), q.Eq("ticker", "X"))), nil, "filter query.Every"},
		"not every":           {q.Delete("companies").Where(q.Not(q.AllRows())), nil, "filter query.Every"},
		"column named *":      {insert, func(s *q.Spec) { s.Write.Columns = []string{"*"} }, "column"},
		"column with zero":    {insert.Merge("a\x00"), nil, "column"},
		"argument named *":    {call, func(s *q.Spec) { s.Call.Columns = []string{"*"} }, "argument"},
		"both kinds":          {call, func(s *q.Spec) { s.Call.TextArgs = []q.TextArg{{Name: "a", Value: "1"}} }, "arguments"},
		"nameless argument":   {call, func(s *q.Spec) { s.Call.Args, s.Call.TextArgs = nil, []q.TextArg{{Value: "1"}} }, "argument"},
		"zero in an argument": {call, func(s *q.Spec) { s.Call.Args, s.Call.TextArgs = nil, []q.TextArg{{Name: "a", Value: "\x00"}} }, "argument"},
		"like a filter":       {q.Call("add_them", raw(`{"a":"eq.1"}`)).ReadOnly(), nil, "argument"},
		"like a negation":     {q.Call("add_them", raw(`{"a":"not.x"}`)).ReadOnly(), nil, "argument"},
		"like a text search":  {q.Call("add_them", raw(`{"a":"fts(english).x"}`)).ReadOnly(), nil, "argument"},
		"null, read-only":     {q.Call("add_them", raw(`{"a":null}`)).ReadOnly(), nil, "argument"},
		"whole, read-only":    {call.ReadOnly(), func(s *q.Spec) { s.Call.Whole = true }, "ReadOnly"},
		"whole of no type":    {call, func(s *q.Spec) { s.Call.Whole, s.Call.Type = true, "int" }, "argument"},
		"time zone":           {call, func(s *q.Spec) { s.TimeZone = "UTC, tx=rollback" }, "time zone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := changed(tc.query, tc.change)
			_, restErr := compile.REST(&s)
			_, sqlErr := compile.SQL(&s, compile.SQLOptions{Schema: "public", Catalog: fixture(t)})
			for side, err := range map[string]error{"REST": restErr, "SQL": sqlErr} {
				e, ok := errors.AsType[*q.UnsupportedError](err)
				if !ok || e.Node != tc.node {
					t.Errorf("%s: error %v, want an UnsupportedError of %s", side, err, tc.node)
				}
			}
		})
	}
}

// A condition that holds for every row is none, and makes no PUT of an insert.
func TestEveryIsNoCondition(t *testing.T) {
	t.Parallel()
	for name, query := range map[string]q.Query{
		"read": q.From("companies"), "delete": q.Delete("companies"),
		"insert": q.Insert("companies", raw(`{"ticker":"X"}`)).Merge(), "call": q.Call("top_traders", nil),
	} {
		plain, every := query.Spec(), query.Where(q.AllRows()).Spec()
		opts := compile.SQLOptions{Schema: "public", Catalog: fixture(t)}
		p1, err1 := compile.SQL(&plain, opts)
		p2, err2 := compile.SQL(&every, opts)
		r1, err3 := compile.REST(&plain)
		r2, err4 := compile.REST(&every)
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(p1.Main, p2.Main) + cmp.Diff(r1, r2); diff != "" {
			t.Errorf("%s (-without +with):\n%s", name, diff)
		}
	}
}

// What PostgREST refuses with the schema at hand, the SQL compiler does.
func TestRefusedWrites(t *testing.T) {
	t.Parallel()
	insert := q.Insert("companies", raw(`{"ticker":"X"}`)).Merge()
	for name, tc := range map[string]struct {
		query  q.Query
		change func(*q.Spec)
		status int
		code   string
	}{
		"no such table":    {q.Insert("nope", raw(`{}`)), nil, 404, "PGRST205"},
		"differing rows":   {q.Insert("nope", raw(`[{"a":1},{"b":1}]`)), nil, 400, "PGRST102"}, // before the table is looked for
		"no such column":   {q.Update("companies", raw(`{"nope":1}`)).Where(q.AllRows()), nil, 400, "PGRST204"},
		"columns":          {insert, func(s *q.Spec) { s.Write.Columns = []string{"ticker", "nope"} }, 400, "PGRST204"},
		"no JSON":          {insert, func(s *q.Spec) { s.Write.Payload = []byte(`{`) }, 400, "PGRST102"},
		"no payload":       {insert, func(s *q.Spec) { s.Write.Payload = nil }, 400, "PGRST102"},
		"rows that differ": {q.Insert("companies", raw(`[{"ticker":"X"},{}]`)), nil, 400, "PGRST102"},
		"put, other key":   {insert.Where(q.Eq("name", "X")), nil, 405, "PGRST105"},
		"put, more":        {insert.Where(q.Eq("ticker", "X"), q.Eq("name", "x")), nil, 405, "PGRST105"},
		"put, less":        {q.Insert("prices", raw(`{}`)).Merge().Where(q.Eq("ticker", "X")), nil, 405, "PGRST105"},
		"put, other op":    {insert.Where(q.Gt("ticker", "X")), nil, 405, "PGRST105"},
		"put, negation":    {insert.Where(q.Not(q.Eq("ticker", "X"))), nil, 405, "PGRST105"},
		"put, path":        {insert.Where(q.Eq(q.JSON("ticker", "a"), "X")), nil, 405, "PGRST105"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := changed(tc.query, tc.change)
			_, err := compile.SQL(&s, compile.SQLOptions{Schema: "public", Catalog: fixture(t)})
			var status int
			var code string
			if e, ok := errors.AsType[*catalog.Error](err); ok {
				status, code = e.Status, e.Code
			}
			if e, ok := errors.AsType[*compile.RefusedError](err); ok {
				status, code = e.Status, e.Failure.Code
			}
			if status != tc.status || code != tc.code {
				t.Errorf("error %v, want %d %s", err, tc.status, tc.code)
			}
		})
	}
}

func TestNeedsCatalog(t *testing.T) {
	t.Parallel()
	back := q.Delete("t").Where(q.Eq("a", 1)).Spec()
	back.Write.Return = true
	for name, tc := range map[string]struct {
		spec q.Spec
		want bool
	}{
		"insert":           {q.Insert("t", raw(`{}`)).Spec(), true},
		"update":           {q.Update("t", raw(`{}`)).Where(q.AllRows()).Spec(), true},
		"delete":           {q.Delete("t").Where(q.Eq("a", 1)).Spec(), false},
		"delete, back":     {back, true},
		"delete by a path": {q.Delete("t").Where(q.Eq(q.JSON("a", "b"), 1)).Spec(), true},
		"call":             {q.Call("f", nil).Spec(), true},
	} {
		if got := compile.NeedsCatalog(&tc.spec); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
		_, err := compile.SQL(&tc.spec, compile.SQLOptions{Schema: "public"})
		if needs := errors.Is(err, compile.ErrNeedsCatalog); needs != tc.want {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// Errors name no value of the query.
func TestRefusedErrorHasNoValues(t *testing.T) {
	t.Parallel()
	_, _, err := compile.Payload([]byte(`{"s3cret`))
	if got := err.Error(); got != "compile: PGRST102 (status 400): the payload must be a JSON object or an array of objects with the same members" {
		t.Errorf("got %q", got)
	}
}
