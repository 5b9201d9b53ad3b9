package pgxtrace

import (
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// statement is what may be told about an SQL statement: words of the language
// and names, never its text.
type statement struct {
	operation string // its first word, the main one behind WITH; "other" if unknown
	table     string // "" unless it is plain to see
	name      string // as sqlc's leading comment has it
	control   controlKind
}

func (s statement) summary() string {
	if s.table == "" {
		return s.operation
	}
	return s.operation + " " + s.table
}

// operations are the words that a statement may begin with.
var operations = []string{
	"alter", "analyze", "call", "close", "cluster", "comment", "copy", "create", "deallocate", "declare", "delete",
	"discard", "do", "drop", "execute", "explain", "fetch", "grant", "import", "insert", "listen", "load", "lock",
	"merge", "move", "notify", "prepare", "reassign", "refresh", "reindex", "reset", "revoke", "security", "select",
	"set", "show", "table", "truncate", "unlisten", "update", "vacuum", "values",
}

// controlKind is what a statement does to a transaction.
type controlKind uint8

const (
	controlNone  controlKind = iota
	controlBegin             // begins one
	controlEnd               // commits or undoes it
	controlPart              // begins or ends a part of one, a savepoint
)

// controlOf says what a statement that begins with verb does to a transaction.
func (l *lexer) controlOf(verb string) controlKind {
	switch verb {
	case "begin", "start":
		return controlBegin
	case "savepoint", "release":
		return controlPart
	case "commit", "end", "abort":
		return controlEnd
	case "rollback":
		t := l.next()
		if t.kind == word && (t.text == "work" || t.text == "transaction") {
			t = l.next()
		}
		if t.kind == word && t.text == "to" {
			return controlPart
		}
		return controlEnd
	}
	return controlNone
}

// parse reads as much of a statement as it takes to name it. Whatever it can't
// make out it leaves out.
func parse(sql string) statement {
	s := statement{operation: "other", name: sqlcName(sql)}
	l := lexer{sql: sql}
	t := l.next()
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
	if s.control = l.controlOf(verb); s.control != controlNone {
		s.operation = verb
		return s
	}
	if !slices.Contains(operations, verb) {
		return s // a prepared statement's name, or nothing that Postgres knows
	}
	s.operation = verb
	s.table = l.table(verb)
	return s
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
	case "update":
	case "truncate", "table":
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
	return tableName(parts)
}

// tableName joins the parts of a name, and drops one that looks like something
// else than a name.
func tableName(parts pgx.Identifier) string {
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
	return tableName(pgx.Identifier{name})
}
