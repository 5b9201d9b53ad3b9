package authmatrix_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
)

// statement is SQL that says what a query means, as somebody would write it who
// knows Postgres and not this project.
type statement struct {
	sql      string
	args     []string
	counts   bool // the answer is the number of rows changed, not a JSON value
	readOnly bool
	method   string
	path     string
	schema   string
}

// byHand runs a statement as a caller, on a login that has no rights of its own,
// and undoes it.
func byHand(tb testing.TB, conn *pgconn.PgConn, c *caller, s *statement) outcome {
	tb.Helper()
	claims, err := c.ClaimsWithRole()
	if err != nil {
		tb.Fatal(err)
	}
	begin := "begin"
	if s.readOnly {
		begin = "begin read only"
	}
	must(tb, conn, begin)
	defer must(tb, conn, "rollback")
	must(tb, conn, "set local role "+name(c.Role))
	for _, set := range append([][2]string{
		{"search_path", name(s.schema) + `, "public"`}, {"request.jwt.claims", string(claims)},
		{"request.method", s.method}, {"request.path", s.path},
	}, c.settings...) {
		must(tb, conn, "select set_config($1, $2, true)", set[0], set[1])
	}
	rows, affected, err := run(tb.Context(), conn, s.sql, s.args...)
	if err == nil {
		_, _, err = run(tb.Context(), conn, "set constraints all immediate") // what a commit would find
	}
	switch {
	case err != nil:
		code := sqlState(err)
		if code == "" {
			tb.Fatalf("%s: %v", s.sql, err)
		}
		status := statusOf(code, c.Role == anon)
		return outcome{code: code, status: status, kind: dbaccess.KindOf(code, status)}
	case s.counts:
		return outcome{affected: affected}
	case len(rows) != 1 || len(rows[0]) != 1:
		tb.Fatalf("the SQL yields no single value: %s", s.sql)
	}
	return outcome{answer: canonical(tb, rows[0][0])}
}

// statusOf is the HTTP status of PostgREST's table.
// Source: https://docs.postgrest.org/en/stable/references/errors.html#http-status-codes
func statusOf(code string, anonymous bool) int {
	switch {
	case code == "42501" && anonymous:
		return http.StatusUnauthorized
	case code == "42501":
		return http.StatusForbidden
	case code == "23503", code == "23505":
		return http.StatusConflict
	case code == "25006":
		return http.StatusMethodNotAllowed
	case code == "42883", code == "42P01":
		return http.StatusNotFound
	case code == "P0001":
		return http.StatusBadRequest
	case strings.HasPrefix(code, "PT"):
		status, _ := strconv.Atoi(code[2:])
		return status
	case strings.HasPrefix(code, "0L"), strings.HasPrefix(code, "0P"), strings.HasPrefix(code, "28"):
		return http.StatusForbidden
	}
	for _, class := range []string{"09", "25", "2D", "38", "39", "3B", "40", "54", "55", "57", "58", "F0", "HV", "P0", "XX"} {
		if strings.HasPrefix(code, class) {
			return http.StatusInternalServerError
		}
	}
	return http.StatusBadRequest
}

// returning makes a statement that changes rows yield them as JSON.
func returning(sql string) string {
	return "with changed as (" + sql + " returning *) select coalesce(json_agg(c), '[]')::text from changed c"
}

func insertSQL(t *catalog.Table, r row) (sql string, args []string) {
	var columns, values []string
	for i, f := range r {
		columns = append(columns, name(f.name))
		values = append(values, fmt.Sprintf("$%d::text::%s", i+1, f.typ))
		args = append(args, f.text)
	}
	return "insert into " + ident(t) + " (" + strings.Join(columns, ", ") + ") values (" + strings.Join(values, ", ") + ")", args
}

func updateSQL(t *catalog.Table, r row) (sql string, args []string) {
	var sets []string
	for i, f := range r {
		sets = append(sets, fmt.Sprintf("%s = $%d::text::%s", name(f.name), i+1, f.typ))
		args = append(args, f.text)
	}
	return "update " + ident(t) + " set " + strings.Join(sets, ", "), args
}

// callSQL calls a function and makes JSON of what it yields.
func callSQL(f *catalog.Function, r row) (sql string, args []string) {
	var given []string
	for i, a := range r {
		given = append(given, fmt.Sprintf("%s => $%d::text::%s", name(a.name), i+1, a.typ))
		args = append(args, a.text)
	}
	call := name(f.Schema) + "." + name(f.Name) + "(" + strings.Join(given, ", ") + ")"
	switch {
	case f.Returns.Kind == catalog.ReturnsVoid:
		return "select concat('null', " + call + "::text)", args
	case f.Returns.Set:
		return "select coalesce(json_agg(x), '[]')::text from " + call + " x", args
	case f.Returns.Kind == catalog.ReturnsComposite:
		return "select row_to_json(x)::text from " + call + " x", args
	}
	return "select coalesce(to_json(" + call + ")::text, 'null')", args
}

// requestPath is what PostgREST tells the database about a request.
func requestPath(prefix, name string) string { return prefix + url.PathEscape(name) }

// granted returns the columns that a role may select, where it may not select
// them all.
func granted(ctx context.Context, tb testing.TB, super *pgconn.PgConn, t *catalog.Table, role string) []string {
	tb.Helper()
	rows, _, err := run(ctx, super, `select a.attname from pg_attribute a
		where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped
		  and has_column_privilege($2, a.attrelid, a.attnum, 'select') and not has_table_privilege($2, a.attrelid, 'select')
		order by a.attnum`, ident(t), role)
	if err != nil {
		tb.Fatal(err)
	}
	var names []string
	for _, r := range rows {
		names = append(names, r[0])
	}
	return names
}
