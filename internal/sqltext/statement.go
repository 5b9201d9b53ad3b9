// Package sqltext tells what may be told about SQL that somebody else wrote: what
// a statement does and to which table, and the name that sqlc gave it. Values never
// become part of that: where the text can't be made out for certain, less is told.
//
//	sqltext.Parse("-- name: ListFilings :many\nselect * from filings").Summary() // "select filings"
//
// It reads SQL word by word, as Postgres' own lexer does, and does not parse it.
package sqltext

import (
	"slices"
	"strings"
)

// Statement is what may be told about a statement: words of the language and
// names, never its text.
type Statement struct {
	Operation string // its first word, the main one behind WITH; "other" if unknown
	Table     string // "" unless it is plain to see
	Name      string // as sqlc's leading comment has it, or ""
	Control   Control
}

// Control is what a statement does to a transaction.
type Control uint8

// The ways to control a transaction.
const (
	NoControl Control = iota
	Begin             // begins one
	End               // commits or undoes it
	Part              // begins or ends a part of one, a savepoint
)

// Summary is the operation and the table: "select companies".
func (s Statement) Summary() string {
	if s.Table == "" {
		return s.Operation
	}
	return s.Operation + " " + s.Table
}

// operations are the words that a statement may begin with.
var operations = []string{
	"alter", "analyze", "call", "close", "cluster", "comment", "copy", "create", "deallocate", "declare", "delete",
	"discard", "do", "drop", "execute", "explain", "fetch", "grant", "import", "insert", "listen", "load", "lock",
	"merge", "move", "notify", "prepare", "reassign", "refresh", "reindex", "reset", "revoke", "security", "select",
	"set", "show", "table", "truncate", "unlisten", "update", "vacuum", "values",
}

// controlOf says what a statement that begins with verb does to a transaction.
func (l *lexer) controlOf(verb string) Control {
	switch verb {
	case "begin", "start":
		return Begin
	case "savepoint", "release":
		return Part
	case "commit", "end", "abort":
		return End
	case "rollback":
		t := l.next()
		if t.kind == word && (t.text == "work" || t.text == "transaction") {
			t = l.next()
		}
		if t.kind == word && t.text == "to" {
			return Part
		}
		return End
	}
	return NoControl
}

// Parse reads as much of a statement as it takes to name it. Whatever it can't
// make out it leaves out.
func Parse(sql string) Statement {
	s := Statement{Operation: "other", Name: sqlcName(sql)}
	l := lexer{sql: sql, end: window}
	t := l.first()
	for t.kind == symbol && t.text == "(" { // (select …) union …
		l.depth = 0
		t = l.next()
	}
	if t.kind != word {
		return s
	}
	verb := t.text
	if verb == "with" {
		verb = l.mainVerb()
	}
	if s.Control = l.controlOf(verb); s.Control != NoControl {
		s.Operation = verb
		return s
	}
	if !slices.Contains(operations, verb) {
		return s // a prepared statement's name, or nothing that Postgres knows
	}
	s.Operation = verb
	s.Table = l.table(verb)
	return s
}

// Words returns up to n words, in lower case, that the statement begins with. It
// ends at what is neither a plain word nor a quoted name, which keeps its quotes.
// However much stands before them, they are found.
func Words(sql string, n int) []string {
	l := lexer{sql: sql, end: len(sql)}
	var words []string
	for t := l.first(); (t.kind == word || t.kind == quoted) && len(words) < n; t = l.next() {
		if t.kind == quoted {
			t.text = `"` + strings.ToLower(t.text) + `"`
		}
		words = append(words, t.text)
	}
	return words
}

// first returns the first token. Semicolons before it are nothing to Postgres.
func (l *lexer) first() token {
	for {
		l.skipBlanks()
		if l.i >= len(l.sql) || l.sql[l.i] != ';' {
			return l.next()
		}
		l.i++
	}
}

// mainVerb skips the queries of a WITH.
func (l *lexer) mainVerb() string {
	for t := l.next(); t.kind != end; t = l.next() {
		if t.kind == word && l.depth == 0 && slices.Contains([]string{"select", "insert", "update", "delete", "merge", "values"}, t.text) {
			return t.text
		}
	}
	return ""
}

// table finds the statement's first table, where its place is certain.
func (l *lexer) table(verb string) string {
	before := ""
	switch verb {
	case "select", "delete":
		before = "from"
	case "insert", "merge":
		before = "into"
	case "update", "truncate", "table":
	default:
		return ""
	}
	t := l.next()
	if before != "" {
		for previous := ""; t.kind != end; t = l.next() {
			// "is distinct from" has a from of its own.
			if t.kind == word && l.depth == 0 && t.text == before && previous != "distinct" {
				break
			}
			previous = t.text
		}
		if t.kind == end {
			return ""
		}
		t = l.next()
	}
	for t.kind == word && (t.text == "only" || t.text == "lateral" || verb == "truncate" && t.text == "table") {
		t = l.next()
	}
	var parts []string
	for t.kind == word || t.kind == quoted {
		parts = append(parts, t.text)
		if t = l.next(); t.kind != symbol || t.text != "." {
			break
		}
		t = l.next()
	}
	if l.unsure || t.kind == symbol && t.text == "(" && verb != "insert" { // a function
		return ""
	}
	return Table(parts...)
}

// Table joins the parts of a table's name. It drops a name with a part that looks
// like something else than a name.
func Table(parts ...string) string {
	const longest = 63 // bytes, in Postgres
	for _, p := range parts {
		if p == "" || len(p) > longest || strings.ContainsFunc(p, func(r rune) bool { return !isWord(r) }) {
			return ""
		}
	}
	return strings.Join(parts, ".")
}

// sqlcName reads the comment that sqlc writes above a statement:
// "-- name: ListCompanies :many".
func sqlcName(sql string) string {
	rest, ok := strings.CutPrefix(strings.TrimLeft(sql, " \t\r\n"), "-- name: ")
	if !ok {
		return ""
	}
	line, _, _ := strings.Cut(rest, "\n")
	name, kind, ok := strings.Cut(strings.TrimSpace(line), " ")
	if !ok || !strings.HasPrefix(kind, ":") {
		return ""
	}
	return Table(name)
}
