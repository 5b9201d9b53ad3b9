package oracle_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// secret stands for a value that no error's text may show.
const secret = "s3cr3t-c4nary"

// payloads try to leave whatever they are put into.
func payloads() []string {
	return []string{
		secret + `'; select canary_fn(); --`, secret + `" ; select canary_fn(); --`, secret + `"); drop table canary; --`, secret + `\'; select canary_fn(); --`,
		secret + `\"),canary_fn().eq.("`, secret + `),or(id.gt.0`, secret + `&id=gt.0`, secret + `#`, secret + `%00`, secret + `%27`, secret + "\r\nX-Evil: 1", secret + "$1", secret + "$$;select canary_fn();$$",
		secret + "/**/", secret + `","b`, secret + `{a,b}`, secret + "🚀\u2028", strings.Repeat(secret, 60),
	}
}

// hostile are queries with a text in every place that takes one.
func hostile(text string) map[string]query.Query {
	t := query.From("companies").Columns("ticker")
	q := map[string]query.Query{
		"table":             query.From(text),
		"schema":            t.InSchema(text),
		"column":            query.From("companies").Columns(text),
		"alias":             query.From("companies").Select(query.Col("ticker").As(text)),
		"cast":              query.From("companies").Select(query.Col("ticker").To(text)),
		"JSON key":          query.From("insiders").Select(query.Col(query.JSONText("contact", text)).As("x")),
		"name of a key":     query.From("insiders").Select(query.Col(query.JSON("contact", text))),
		"order":             t.OrderBy(query.Asc(text)),
		"order of an embed": t.OrderBy(query.Asc("name").Of(text)),
		"relation":          t.Select(query.Rel(text, query.Star{})),
		"hint":              t.Select(query.Rel("sectors", query.Star{}).By(text)),
		"name of an embed":  t.Select(query.Rel("sectors", query.Col("name")).As(text).Filter(query.Neq("name", text)).Sort(query.Asc("name"))),
		"column of an embed": t.Select(
			query.Rel("sectors", query.Col(text))),
		"filter of an embed": t.Select(query.Rel("sectors", query.Col("id")).Filter(query.Eq("name", text))),
		"column of a filter": t.Where(query.Eq(text, "x")),
		"key in a filter":    query.From("insiders").Columns("id").Where(query.Eq(query.JSONText("contact", text), text)),
		"number":             t.Where(query.Eq("sector_id", text)),
		"date":               t.Where(query.Gt("listed_on", text)),
		"search":             t.Where(query.TSQuery("description", text)),
		"configuration":      t.Where(query.PlainTSQuery("description", "x", text)),
		"regex":              t.Where(query.Matches("name", text)),
		"contains":           query.From("insider_transactions").Columns("id").Where(query.Contains("tags", text)),
		"list":               t.Where(query.In("name", text, `"`, "")),
		"any":                t.Where(query.AnyOf("name", query.OpEq, []string{text, `\`})),
		"function":           query.Call(text, nil),
		"argument":           query.Call("add_them", map[string]any{"a": text}),
		"argument's name":    query.Call("add_them", map[string]any{"a": 1, text: 1}),
		"JSON argument":      query.Call("echo_json", map[string]any{"payload": text}),
		"inserted value":     query.Insert("companies", map[string]any{"ticker": text, "name": text}),
		"inserted number":    query.Insert("companies", map[string]any{"ticker": "X", "name": "x", "sector_id": text}),
		"inserted column":    query.Insert("companies", map[string]any{"ticker": "X", text: "x"}),
		"conflict":           query.Insert("companies", map[string]any{"ticker": "T01", "name": "x"}).Merge(text),
		"updated value":      query.Update("companies", map[string]any{"sector_id": text}).Where(query.Eq("ticker", "T01")),
		"updated column":     query.Update("companies", map[string]any{text: 1}).Where(query.Eq("ticker", "T01")),
		"update's condition": query.Update("companies", map[string]any{"name": "x"}).Where(query.Eq("ticker", text)),
		"delete's condition": query.Delete("companies").Where(query.Or(query.Eq("ticker", text), query.Eq("name", text))),
		"delete's column":    query.Delete("companies").Where(query.Eq(text, "x")),
		"returned column":    query.Delete("companies").Where(query.Eq("ticker", "none")).Columns(text),
	}
	for name, op := range map[string]func(string, any) query.Expr{
		"eq": query.Eq[string], "neq": query.Neq[string], "gt": query.Gt[string], "isdistinct": query.IsDistinctFrom[string],
	} {
		q[name] = t.Where(query.Not(op("name", text)), query.Or(op("description", text), query.IsNull("name")))
	}
	return q
}

// impossible are queries that nothing can be sent of.
func impossible() map[string]query.Query {
	t := query.From("companies").Columns("ticker")
	deep, nested := query.Eq("ticker", secret), query.Rel("companies")
	for range 200 {
		deep = query.Not(query.And(deep, query.IsNull("name")))
		nested = query.Rel("companies", nested)
	}
	cycle := map[string]any{"ticker": secret}
	cycle["name"] = cycle
	return map[string]query.Query{
		"zero byte in a value":    t.Where(query.Eq("name", secret+"\x00")),
		"invalid UTF-8":           t.Where(query.Eq("name", secret+"\xff")),
		"zero byte in a list":     t.Where(query.In("name", "a", secret+"\x00")),
		"zero byte in a table":    query.From("companies\x00"),
		"zero byte in a schema":   t.InSchema("public\x00"),
		"zero byte in a column":   query.From("companies").Columns("ticker\x00" + secret),
		"zero byte in an alias":   query.From("companies").Select(query.Col("ticker").As(secret + "\x00")),
		"zero byte in a key":      query.From("insiders").Columns("id").Where(query.IsNull(query.JSON("contact", secret+"\x00"))),
		"zero byte in a relation": t.Select(query.Rel("sectors\x00" + secret)),
		"zero byte in a hint":     t.Select(query.Rel("sectors").By(secret + "\x00")),
		"zero byte in a payload":  query.Insert("companies", map[string]any{"ticker": secret + "\x00"}),
		"zero byte in a name":     query.Insert("companies", map[string]any{secret + "\x00": 1}),
		"broken JSON":             query.Insert("companies", json.RawMessage(`{"ticker":"`+secret)),
		"a channel":               t.Where(query.Eq("name", make(chan int))),
		"a cycle":                 query.Insert("companies", cycle),
		"too deep a condition":    t.Where(deep),
		"too deep an embed":       t.Select(nested),
		"a star in a pattern":     t.Where(query.Like("name", secret+"*")),
		"update of everything":    query.Update("companies", map[string]any{"name": secret}),
		"delete of everything":    query.Delete("companies"),
		"delete with a limit":     query.Delete("companies").Where(query.Eq("name", secret)).Limit(1),
		"a negative limit":        t.Limit(-1),
		"an empty table":          query.From(""),
		"an aggregate":            query.From("companies").Select(query.Field{Path: query.Path{Column: "market_cap"}, Aggregate: "sum"}),
		"nil":                     t.Where(query.Eq("name", nil)),
	}
}

// A hostile text is a value, a name that there isn't, or refused, on both paths
// alike; nothing runs, and no error shows it.
func TestHostileQueries(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	trap := setTrap(t, db)
	t.Run("ask", func(t *testing.T) {
		r := newRigOn(t, db, 0)
		dbs := r.paths(t)
		ctx, cancel := context.WithTimeout(r.as(t.Context(), "alice"), 2*time.Minute)
		defer cancel()
		asked := 0
		for i, text := range payloads() {
			for name, q := range hostile(text) {
				asked++
				name = fmt.Sprintf("payload %d, %s", i, name)
				rest, direct := tryOn(ctx, t, name, dbs["rest"], q, text), tryOn(ctx, t, name, dbs["direct"], q, text)
				if rest != direct {
					t.Errorf("%s: rest %s, direct %s", name, rest, direct)
				}
			}
		}
		if asked < 200 {
			t.Errorf("%d queries, want 200", asked)
		}
		for name, q := range impossible() {
			for path, db := range dbs {
				if _, err := dbaccess.JSON(ctx, db, q); err == nil {
					t.Errorf("%s over %s: no error", name, path)
				} else {
					checkText(t, name, err, secret)
					if e, ok := errors.AsType[*dbaccess.Error](err); !ok || e.HTTPStatus != 0 && e.Code != "PGRST106" {
						t.Errorf("%s over %s: %v, want an error before anything is sent", name, path, err)
					}
				}
			}
		}
	})
	trap.check(t)
}

// tryOn runs a query and returns what became of it.
func tryOn(ctx context.Context, t *testing.T, name string, db *dbaccess.DB, q query.Query, text string) string {
	t.Helper()
	b, err := dbaccess.JSON(ctx, db, q)
	if err == nil {
		if !strings.Contains(name, "condition") && q.Spec().Op.Writes() && string(b) != "[]" {
			t.Errorf("%s: something was written: %s", name, b)
		}
		return compact(string(b))
	}
	if !strings.Contains(q.String(), text) && !isName(q, text) {
		checkText(t, name, err, secret)
	}
	e, ok := errors.AsType[*dbaccess.Error](err)
	switch {
	case !ok:
		t.Errorf("%s: %T is no *dbaccess.Error", name, err)
		return ""
	case e.HTTPStatus >= 500 || e.Code == "42601" && strings.Contains(e.Message(), " at or near "):
		t.Errorf("%s: %v: %s", name, err, e.Message())
	}
	return fmt.Sprint(e.HTTPStatus, " ", e.Code, " ", e.Kind)
}

// isName says whether the text is a name in the query: those are no secrets.
func isName(q query.Query, text string) bool {
	s := q.Spec()
	return s.From == text || s.Schema == text
}

// checkText fails if an error's text, in any form that gets into a log, shows a
// value.
func checkText(t *testing.T, name string, err error, value string) {
	t.Helper()
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Error("failed", "err", err)
	slog.New(slog.NewTextHandler(&log, nil)).Error("failed", "err", err)
	b, _ := json.Marshal(err)
	for _, s := range []string{err.Error(), fmt.Sprintf("%+v %#v %q", err, err, err), log.String(), string(b)} {
		if strings.Contains(s, value) {
			t.Errorf("%s: the error shows the value: %s", name, s)
			return
		}
	}
}
