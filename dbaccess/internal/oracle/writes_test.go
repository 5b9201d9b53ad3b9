package oracle_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// writable are the tables that a user may change.
var writable = []string{"watchlists", "watchlist_items", "companies", "insider_transactions", "prices", "Odd Table", "all_types"}

// write is a query that writes and undoes it.
func (r *random) write(q *question) {
	t := r.table(q.caller)
	for q.caller != "service" && !r.chance(12) && !slices.Contains(writable, t.Name) {
		t = one(r, r.world.tables)
	}
	s := &q.spec
	w := &query.Write{Return: !r.chance(3), Rollback: true}
	*s = query.Spec{Op: []query.Op{query.OpInsert, query.OpUpdate, query.OpDelete}[r.IntN(3)], From: t.Name, Write: w}
	if q.caller == "anon" && !r.chance(8) {
		q.caller = "service" // anon writes nothing
	}
	s.Count, s.Single = query.Count(r.IntN(4)*r.IntN(2)), r.chance(12)
	if w.Return {
		s.Select = r.items(t, 1)
	}
	switch s.Op {
	case query.OpInsert:
		r.insert(t, w)
		return
	case query.OpUpdate:
		w.Payload = []byte(r.object(t, r.some(t), false))
		if r.chance(6) {
			w.Columns = r.some(t)
		}
		w.MissingDefault = r.chance(6)
		if w.MissingDefault {
			w.Columns = slices.DeleteFunc(w.Columns, func(name string) bool { return slices.Contains(r.drawn(t), name) })
		}
	}
	s.Where = r.conditions(t, s.Select, 2)
	if r.chance(2) || len(s.Where) == 0 && !r.chance(4) {
		c, _ := t.Column(one(r, r.key(t)))
		s.Where = append(s.Where, query.Compare{Column: query.Path{Column: c.Name}, Op: query.OpEq, Value: r.value(r.column(t, c.Name))})
	}
	if r.chance(6) {
		w.MaxAffected = 1 + r.Int64N(4)
	}
}

func (r *random) column(t *table, name string) *column {
	i := slices.IndexFunc(t.columns, func(c *column) bool { return c.Name == name })
	return t.columns[i]
}

// some are columns that a write names.
func (r *random) some(t *table) []string {
	var names []string
	for _, c := range t.columns {
		if r.chance(2) {
			names = append(names, c.Name)
		}
	}
	if r.chance(30) {
		names = append(names, one(r, []string{"nope", `q"`, ""}))
	}
	return names
}

// insert makes rows, sometimes of those that are there.
func (r *random) insert(t *table, w *query.Write) {
	names := r.some(t)
	for _, c := range t.columns {
		// What has no default would only fail, and a sequence's next value is no answer to compare.
		if need := c.NotNull && (c.Default == "" || c.Identity != ""); need && !r.chance(25) && !slices.Contains(names, c.Name) || c.Identity != "" && !slices.Contains(names, c.Name) {
			names = append(names, c.Name)
		}
	}
	rows := make([]string, 1+r.IntN(3))
	for i := range rows {
		rows[i] = r.object(t, names, !r.chance(3))
	}
	w.Payload = []byte("[" + strings.Join(rows, ", ") + "]")
	if len(rows) == 1 && r.chance(2) {
		w.Payload = []byte(rows[0])
	}
	switch {
	case r.chance(20):
		w.Payload = []byte(one(r, []string{"[]", "{}", "[{}]", "[{},{}]", "5", "null", `"x"`, "[1]", `[{"a":1},{"b":2}]`}))
	case r.chance(4):
		w.Columns = names
		if r.chance(3) {
			w.Columns = append(r.some(t), r.drawn(t)...)
			slices.Sort(w.Columns)
			w.Columns = slices.Compact(w.Columns)
		}
	}
	w.MissingDefault = r.chance(4)
	if w.Conflict = query.Conflict(r.IntN(3)); w.Conflict != query.ConflictFail {
		switch r.IntN(12) {
		case 0, 1, 2:
			w.ConflictOn = r.key(t)
		case 3:
			w.ConflictOn = []string{one(r, t.columns).Name}
		}
	}
}

// drawn are the columns whose default is the next value of a sequence.
func (r *random) drawn(t *table) []string {
	var names []string
	for _, c := range t.columns {
		if c.Identity != "" {
			names = append(names, c.Name)
		}
	}
	return names
}

// object is a row in JSON. Its key is a new one when fresh.
func (r *random) object(t *table, names []string, fresh bool) string {
	members := make([]string, len(names))
	for i, name := range names {
		v := json.RawMessage("null")
		if _, ok := t.Column(name); ok {
			c := r.column(t, name)
			v = r.payload(t, c)
			if fresh && len(r.key(t)) == 1 && r.key(t)[0] == name {
				v = r.fresh(c)
			}
		}
		k, _ := json.Marshal(name)
		members[i] = string(k) + ":" + string(v)
	}
	return "{" + strings.Join(members, ",") + "}"
}

// fresh is a key that no row has.
func (r *random) fresh(c *column) json.RawMessage {
	n := 9000 + r.IntN(1000)
	switch {
	case c.kind == kindNumber:
		return json.RawMessage(fmt.Sprint(n))
	case c.Type == "uuid":
		return json.RawMessage(fmt.Sprintf(`"00000000-0000-0000-0000-00000000%d"`, n))
	}
	return json.RawMessage(fmt.Sprintf(`"N%d"`, n))
}

// call is a function call that undoes what it does.
func (r *random) call(q *question) {
	f := one(r, r.world.functions)
	c := &query.CallArgs{Rollback: true}
	s := &q.spec
	*s = query.Spec{Op: query.OpCall, From: f.Name, Call: c, Count: query.Count(r.IntN(4) * r.IntN(2)), Single: r.chance(8)}
	if r.chance(40) {
		s.From = "add_then"
	}
	if f.Name == "top_traders" && !r.chance(4) {
		t := r.world.byName["insider_transactions"]
		s.Select = r.items(t, 0)
		r.read0(q, t)
	} else if r.chance(8) {
		s.HasLimit, s.Limit, s.Offset = true, 1+r.Int64N(3), r.Int64N(2)
	}
	c.ReadOnly = r.chance(3)
	if c.ReadOnly && r.chance(6) {
		s.Head = true
	}
	if f.Returns.Set && r.chance(8) || r.chance(40) {
		c.MaxAffected = 1 + r.Int64N(3)
	}
	if c.ReadOnly || r.chance(3) {
		c.TextArgs = []query.TextArg{}
		for _, a := range f.Args {
			if !a.Optional && !r.chance(12) || r.chance(2) {
				c.TextArgs = append(c.TextArgs, query.TextArg{Name: a.Name, Value: r.argument(&a)})
			}
		}
		return
	}
	var members []string
	for _, a := range f.Args {
		if !a.Optional && !r.chance(12) || r.chance(2) {
			members = append(members, fmt.Sprintf("%q:%s", a.Name, r.jsonArgument(&a)))
		}
	}
	if r.chance(25) {
		members = append(members, `"nope":1`)
	}
	c.Args = []byte("{" + strings.Join(members, ",") + "}")
}

// codes for fail_with. 40001 is not among them: PostgREST retries it.
var codes = []string{"P0001", "PT404", "PT418", "PTabc", "23505", "42501", "28000", "22023", "53400", "57014", "P0002", "XX000", "abcde", "21000", "25006"}

// argument is a value for an argument of a function: mostly one that it takes.
func (r *random) argument(a *catalog.Arg) string {
	switch {
	case a.Name == "code":
		return one(r, codes)
	case r.chance(16):
		return one(r, oddTexts)
	case a.Type == "numeric" && !r.chance(3), a.Name == "a" && !r.chance(3):
		return one(r, []string{"0", "1", "-7", " 12 ", "900"})
	case a.Name == "n":
		return one(r, []string{"0", "1", "3", "-1"})
	case strings.HasSuffix(a.Type, "[]"):
		return one(r, oddValues[kindArray])
	case a.Type == "jsonb":
		return one(r, oddValues[kindJSONB])
	case a.Type == "integer" || a.Type == "numeric":
		return one(r, oddValues[kindNumber])
	}
	return one(r, oddValues[kindText])
}

// jsonArgument is an argument in JSON, as argument is in text.
func (r *random) jsonArgument(a *catalog.Arg) string {
	switch {
	case a.Name == "n":
		return one(r, []string{"0", "1", "3", "null"})
	case (a.Type == "integer" || a.Type == "numeric") && !r.chance(3):
		return one(r, []string{"0", "1", "-7", "900", `"12"`, "null"})
	case a.Name == "code" || r.chance(2):
		b, err := json.Marshal(r.argument(a))
		if err != nil {
			return "null"
		}
		return string(b)
	case strings.HasSuffix(a.Type, "[]"):
		return one(r, []string{"[]", "[1,null,3]", "[[1],[2]]", `["1"]`, "null", `["x"]`})
	}
	return one(r, oddJSON)
}
