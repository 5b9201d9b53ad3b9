package sqltext_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/internal/sqltext"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ sql, want, name string }{
		{"select * from companies where ticker = $1", "select companies", ""},
		{"SELECT * FROM Public.Companies c", "select public.companies", ""},
		{`select 1 from "Odd"."companies"`, "select Odd.companies", ""},
		{`select 1 from "with space"`, "select", ""},
		{`select 1 from "we""ird"`, "select", ""},
		{"select 1", "select", ""},
		{"select 'a from secret'", "select", ""},
		{"select 'a from secret' from t", "select t", ""},
		{"select 'it''s from secret' from t", "select t", ""},
		{`select e'it\'s from secret' from t`, "select t", ""},
		{`select 'it\'s from secret' from t`, "select", ""},
		{"select $$ from secret $$ from t", "select t", ""},
		{"select $x$ from $$ secret $x$ from t", "select t", ""},
		{"select $1, $2 from t", "select t", ""},
		{"select 1 -- from secret\n from t", "select t", ""},
		{"select /* from /* secret */ from more */ 1 from t", "select t", ""},
		{"select x'00ff' from t", "select t", ""},
		{"select extract(year from at) from t", "select t", ""},
		{"select a is distinct from b from t", "select t", ""},
		{"select (select 1 from inner_one) from t", "select t", ""},
		{"select * from (select 1 from inner_one) x", "select", ""},
		{"select * from generate_series(1, 2)", "select", ""},
		{"select * from only t", "select t", ""},
		{"(select 1 from a) union (select 1 from b)", "select a", ""},
		{"insert into t (a) values ($1)", "insert t", ""},
		{"insert into t(a) select * from b", "insert t", ""},
		{"update only t set a = 'x'", "update t", ""},
		{"delete from t where a = 'b'", "delete t", ""},
		{"merge into t using s on true", "merge t", ""},
		{"truncate table t", "truncate t", ""},
		{"table t", "table t", ""},
		{"with x as (select 1 from a) select * from x", "select x", ""},
		{"with x as (select 1 from a), y(b) as (delete from c) insert into d select 1", "insert d", ""},
		{"with x as (", "other", ""},
		{"set role alice", "set", ""},
		{"notify secret, 'payload'", "notify", ""},
		{"create role bob password 'secret'", "create", ""},
		{"stmtcache_0123", "other", ""},
		{"", "other", ""},
		{";", "other", ""},
		{" ; /* x */ ;\nselect 1 from t", "select t", ""},
		{"select 1; select 2 from t", "select", ""},
		{"begin", "begin", ""},
		{"ROLLBACK TO SAVEPOINT x", "rollback", ""},
		{"-- name: ListCompanies :many\nselect * from companies", "select companies", "ListCompanies"},
		{"-- name: secret value :many\nselect 1", "select", ""},
		{"-- name: alice@example.org :one\nselect 1", "select", ""},
		{"-- list\nselect 1", "select", ""},
		{"select 1 from " + strings.Repeat("x", 64), "select", ""},
		{"select 1 from été", "select été", ""},
	} {
		s := sqltext.Parse(tt.sql)
		if s.Summary() != tt.want || s.Name != tt.name {
			t.Errorf("%s: %q named %q, want %q named %q", tt.sql, s.Summary(), s.Name, tt.want, tt.name)
		}
		if control := tt.want == "begin" || tt.want == "rollback"; (s.Control != sqltext.NoControl) != control {
			t.Errorf("%s: control is %v", tt.sql, s.Control)
		}
	}
}

func TestControl(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]sqltext.Control{
		"begin isolation level serializable": sqltext.Begin,
		"START TRANSACTION read only":        sqltext.Begin,
		"commit":                             sqltext.End,
		"end":                                sqltext.End,
		"abort":                              sqltext.End,
		"rollback":                           sqltext.End,
		"rollback work":                      sqltext.End,
		"rollback and chain":                 sqltext.End,
		"savepoint sp_1":                     sqltext.Part,
		"release savepoint sp_1":             sqltext.Part,
		"rollback to savepoint sp_1":         sqltext.Part,
		"rollback transaction to sp_1":       sqltext.Part,
		"select 1":                           sqltext.NoControl,
	} {
		if got := sqltext.Parse(sql).Control; got != want {
			t.Errorf("%s: %v, want %v", sql, got, want)
		}
	}
}

// FuzzParse puts a value into a statement in every way of quoting one: it must
// never become part of the statement's name.
func FuzzParse(f *testing.F) {
	f.Add("it's from secret", "select * from t")
	f.Add(`\' from secret where '`, "with x as (select $$")
	f.Add("$q$ from secret", "/* -- '")
	f.Add("*/ from secret --\n", `"a""b`)
	f.Fuzz(func(t *testing.T, value, sql string) {
		for _, s := range []sqltext.Statement{sqltext.Parse(sql), sqltext.Parse(sql + value)} {
			for _, word := range []string{s.Operation, s.Table, s.Name} {
				if strings.ContainsFunc(word, func(r rune) bool {
					return r != '_' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
				}) {
					t.Fatalf("%q", word)
				}
			}
		}
		doubled := strings.ReplaceAll(value, "'", "''")
		escaped := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value)
		quotings := []string{"'" + doubled + "'", "e'" + escaped + "'", " E'" + escaped + "'"}
		if !strings.Contains(value+"$", "$q$") {
			quotings = append(quotings, "$q$"+value+"$q$")
		}
		if !strings.ContainsAny(value, "*/") {
			quotings = append(quotings, "1 /*"+value+"*/")
		}
		if !strings.ContainsAny(value, "\n") {
			quotings = append(quotings, "1 --"+value+"\n")
		}
		for _, q := range quotings {
			got := sqltext.Parse("select " + q + " from t where a = " + q).Summary()
			if got != "select t" && got != "select" {
				t.Fatalf("%s became %q", q, got)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		sqltext.Parse("-- name: ListFilings :many\nSELECT id, ticker, filed_at FROM insider_transactions WHERE ticker = $1 AND filed_at >= $2 ORDER BY filed_at DESC LIMIT 50")
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string][]string{
		"SET Local /* x */ search_path to a, b": {"set", "local", "search_path"},
		"; -- x\n commit":                       {"commit"},
		"(commit)":                              nil,
		"rollback to savepoint a":               {"rollback", "to", "savepoint"},
		`set "Role" to x`:                       {"set", `"role"`, "to"},
		`set "role`:                             {"set"},
		"-- a\rcommit":                          {"commit"},
		"-- a\r\n\rcommit":                      {"commit"},
		strings.Repeat(" ", 1<<15) + "commit":   {"commit"},
		"/*" + strings.Repeat("/**/", 1<<13) + "*/commit work": {"commit", "work"},
		"select 'commit'": {"select"},
		"":                nil,
	} {
		if diff := cmp.Diff(want, sqltext.Words(sql, 3)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sql, diff)
		}
	}
}
