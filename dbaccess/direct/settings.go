package direct

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/internal/compile"
)

// The first statement of every batch makes the caller's settings, in PostgREST's
// order, and reads the server's clock. Arguments are evaluated from left to right,
// and concat keeps the values from travelling back. Names of one letter are no
// memory to pgx.
//
// Its last column is the guard: it looks at who the statement runs as once the
// role is set, and fails where that is still the login role. The text that it
// fails with is no number whatever the role's name is; current_user keeps the
// planner from finding that out ahead.
const (
	settingsHead = `select extract(epoch from pg_catalog.clock_timestamp())::float8 t,` +
		`pg_catalog.length(pg_catalog.concat(` +
		`pg_catalog.set_config('transaction_read_only','on',true),` +
		`pg_catalog.set_config('search_path',$1,true),`
	settingsTail = `pg_catalog.set_config('role',$2,true),` +
		`pg_catalog.set_config('request.jwt.claims',$3,true),` +
		`pg_catalog.set_config('request.method',$4,true),` +
		`pg_catalog.set_config('request.path',pg_catalog.concat('/',$5::text),true),` +
		`pg_catalog.set_config('request.headers','{}',true),` +
		`pg_catalog.set_config('request.cookies','{}',true))) n,` +
		`case when current_user operator(pg_catalog.=) session_user then ` +
		`pg_catalog.concat('` + guardText + `',pg_catalog.substr(current_user::text,1,0))::int4 end g`

	// The timeout of the DSN takes the place of the login role's.
	settingsFixed = `pg_catalog.set_config('statement_timeout',$6,true),`
	// That of the caller's deadline only shortens what is there, in milliseconds.
	settingsCapped = `pg_catalog.set_config('statement_timeout',case when ` +
		`pg_catalog.current_setting('statement_timeout')::interval operator(pg_catalog.>) interval '0' and ` +
		`pg_catalog.current_setting('statement_timeout')::interval operator(pg_catalog.<) pg_catalog.concat($6::text,'ms')::interval ` +
		`then pg_catalog.current_setting('statement_timeout') else $6::text end,true),`

	settingsSQL       = settingsHead + settingsTail
	settingsFixedSQL  = settingsHead + settingsFixed + settingsTail
	settingsCappedSQL = settingsHead + settingsCapped + settingsTail
)

// guardText is what the guard's error quotes.
const guardText = "the call would run as the login role"

// timeoutMargin is how much earlier than the caller the server gives up, so that
// its answer still arrives.
const timeoutMargin = 50 * time.Millisecond

// timeout returns the statement_timeout for a call: how long, and by which SQL.
// Zero is none of our own.
func timeout(dsn time.Duration, deadline time.Time, hasDeadline bool, now time.Time) (time.Duration, string) {
	if hasDeadline {
		left := max(deadline.Sub(now)-timeoutMargin, time.Millisecond)
		switch {
		case dsn == 0:
			return left, settingsCappedSQL
		case left < dsn:
			return left, settingsFixedSQL
		}
	}
	if dsn > 0 {
		return dsn, settingsFixedSQL
	}
	return 0, settingsSQL
}

// settings are the arguments of the settings statement. The last is the timeout,
// which most calls have none of.
type settings [6]string

func (b *Backend) settings(c *dbaccess.Call, path string) (settings, error) {
	claims, err := c.Identity.ClaimsWithRole()
	if err != nil {
		return settings{}, err
	}
	method := "GET"
	if c.Query.Head {
		method = "HEAD"
	}
	return settings{path, c.Identity.Role, string(claims), method, url.PathEscape(c.Query.From)}, nil
}

// statement is the settings statement with the timeout that a call has left, or
// without one.
func (s *settings) statement(sql string, limit time.Duration) compile.Statement {
	if limit <= 0 {
		return compile.Statement{SQL: sql, Args: s[:len(s)-1]}
	}
	s[len(s)-1] = strconv.FormatInt(limit.Milliseconds(), 10)
	return compile.Statement{SQL: sql, Args: s[:]}
}

// searchPath writes the value of search_path.
func searchPath(schema string, extra []string) string {
	var b strings.Builder
	b.WriteString(pgx.Identifier{schema}.Sanitize())
	for _, s := range extra {
		b.WriteString(", ")
		b.WriteString(pgx.Identifier{s}.Sanitize())
	}
	return b.String()
}
