package parse_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// object is JSON of an object with the members named.
func (r random) object(names []string) string {
	members := make([]string, len(names))
	for i, name := range names {
		k, _ := json.Marshal(name)
		v, _ := json.Marshal(r.text())
		if r.IntN(3) == 0 {
			v = []byte([]string{"null", "1.10", "1e400", "[1,{}]", `{"a":1,"a":2}`, "true"}[r.IntN(6)])
		}
		members[i] = string(k) + ":" + string(v)
	}
	r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return "{" + strings.Join(members, ",") + "}"
}

func (r random) names() []string {
	var names []string
	for range r.IntN(4) {
		names = append(names, r.name())
	}
	return names
}

// payload is JSON of an object, or of an array of objects with the same members.
func (r random) payload() []byte {
	names := r.names()
	if r.IntN(2) == 0 {
		return []byte(r.object(names))
	}
	rows := make([]string, r.IntN(4))
	for i := range rows {
		rows[i] = r.object(names)
	}
	return []byte("[" + strings.Join(rows, ", ") + "]")
}

// writeSpec is a query that writes.
func (r random) writeSpec() query.Spec {
	s := query.Spec{
		Op: []query.Op{query.OpInsert, query.OpUpdate, query.OpDelete}[r.IntN(3)], From: r.table(), Count: query.Count(r.IntN(4)),
		Single: r.IntN(4) == 0, Write: &query.Write{Return: r.IntN(2) == 0, Rollback: r.IntN(4) == 0},
	}
	w := s.Write
	if r.IntN(4) == 0 {
		s.Schema, s.TimeZone = r.name(), "Asia/Seoul"
	}
	if w.Return {
		s.Select = r.items(0)
		for range r.IntN(3) {
			s.OrderBy = append(s.OrderBy, r.order(s.Select))
		}
	}
	if s.Op != query.OpDelete {
		w.Payload = r.payload()
		if r.IntN(2) == 0 {
			w.Columns = r.names()
		}
		w.MissingDefault = r.IntN(3) == 0
	}
	if s.Op == query.OpInsert {
		if w.Conflict = query.Conflict(r.IntN(3)); w.Conflict != query.ConflictFail {
			w.ConflictOn = r.names()
		}
		return s
	}
	for range r.IntN(4) {
		s.Where = append(s.Where, r.expr(0))
	}
	if r.IntN(3) == 0 {
		w.MaxAffected = 1 + r.Int64N(9)
	}
	return s
}

// callSpec is a query that calls a function.
func (r random) callSpec() query.Spec {
	s := r.spec()
	s.Op, s.Head, s.Call = query.OpCall, false, &query.CallArgs{Rollback: r.IntN(4) == 0}
	c := s.Call
	if r.IntN(3) == 0 {
		c.MaxAffected = 1 + r.Int64N(9)
	}
	switch r.IntN(5) {
	case 0:
		c.Args = r.payload()
	case 1:
		c.Args, c.Columns = []byte(r.text()), append(r.names(), r.name())
	case 2:
		c.Whole, c.Type, c.Args = true, []string{"text", "xml", "bytea"}[r.IntN(3)], []byte(r.text())
	case 3:
		c.TextArgs = []query.TextArg{}
		for range r.IntN(4) {
			c.TextArgs = append(c.TextArgs, query.TextArg{Name: r.name(), Value: r.text()})
		}
	default:
		c.ReadOnly, s.Head = true, r.IntN(3) == 0
		for range r.IntN(4) {
			a := query.TextArg{Name: r.name(), Value: r.text()}
			if !strings.HasPrefix(a.Value, "not.") {
				c.TextArgs = append(c.TextArgs, a)
			}
		}
	}
	return s
}

// windowless leaves out the limits of embeds, which PostgREST ignores in a write.
func windowless(items []query.Item) []query.Item {
	var out []query.Item
	for _, it := range items {
		if e, ok := it.(query.Embed); ok {
			e.HasLimit, e.Limit, e.Offset = false, 0, 0
			e.Select = windowless(e.Select)
			it = e
		}
		out = append(out, it)
	}
	return out
}

// What the REST compiler writes of a write or a call, the parser reads back.
func TestRoundTripWrites(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3_000) {
		r := random{rand.New(rand.NewPCG(seed, 2))}
		want := r.writeSpec()
		if seed%2 == 0 {
			want = r.callSpec()
		}
		req, err := compile.REST(&want)
		if err != nil {
			t.Fatalf("seed %d: compile: %v", seed, err)
		}
		got, err := reparse(req)
		if err != nil {
			t.Fatalf("seed %d: parse %s %s?%s: %v", seed, req.Method, req.Path, req.RawQuery, err)
		}
		sent := want
		if want.Op.Writes() {
			sent.Select = windowless(sent.Select)
		}
		sent.Select = answered(sent.Select)
		if diff := cmp.Diff(sent, got.Spec, embedData); diff != "" {
			t.Fatalf("seed %d: %s %s?%s %s (-want +got):\n%s", seed, req.Method, req.Path, req.RawQuery, req.Body, diff)
		}
	}
}
