package direct

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	"github.com/twinpath/twinpath/dbaccess/query"
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
		`pg_catalog.length(pg_catalog.concat(`
	settingsRead = `pg_catalog.set_config('transaction_read_only','on',true),`
	settingsPath = `pg_catalog.set_config('search_path',$1,true),`
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
)

// The statements of calls that set nothing of their own, by whether they may
// write and by where their timeout comes from.
var settingsSQL = [2][3]string{
	{
		settingsHead + settingsRead + settingsPath + settingsTail,
		settingsHead + settingsRead + settingsPath + settingsFixed + settingsTail,
		settingsHead + settingsRead + settingsPath + settingsCapped + settingsTail,
	},
	{
		settingsHead + settingsPath + settingsTail,
		settingsHead + settingsPath + settingsFixed + settingsTail,
		settingsHead + settingsPath + settingsCapped + settingsTail,
	},
}

// guardText is what the guard's error quotes.
const guardText = "the call would run as the login role"

// timeoutMargin is how much earlier than the caller the server gives up, so that
// its answer still arrives.
const timeoutMargin = 50 * time.Millisecond

// limit says where a statement_timeout comes from.
type limit int

const (
	limitNone     limit = iota // not from us
	limitFixed                 // the DSN, or a deadline that is sooner
	limitDeadline              // the deadline, unless there is a shorter one
)

// timeout returns the statement_timeout for a call: how long, and where from.
func timeout(dsn time.Duration, deadline time.Time, hasDeadline bool, now time.Time) (time.Duration, limit) {
	if hasDeadline {
		left := max(deadline.Sub(now)-timeoutMargin, time.Millisecond)
		switch {
		case dsn == 0:
			return left, limitDeadline
		case left < dsn:
			return left, limitFixed
		}
	}
	if dsn > 0 {
		return dsn, limitFixed
	}
	return 0, limitNone
}

// settings are those of one call's transaction.
type settings struct {
	args  []string // of the statement
	write bool     // the transaction may write
	more  string   // set_config of what only few calls set; its arguments follow the first five
	// isolation is a statement that must come first, "" for none.
	isolation string
	// timed says that the function called has a timeout of its own.
	timed bool
}

// settingsOf collects the settings but for the timeout.
func (b *Backend) settingsOf(c *dbaccess.Call, path string) (settings, error) {
	claims, err := c.Identity.ClaimsWithRole()
	if err != nil {
		return settings{}, err
	}
	s := settings{args: make([]string, 0, 6)}
	s.args = append(s.args, path, c.Identity.Role, string(claims), method(c.Query), requestPath(c.Query))
	return s, nil
}

// program adds what the compiled query asks for.
func (s *settings) program(q *query.Spec, p *compile.Program) {
	s.write = !p.ReadOnly
	if len(p.Settings) == 0 && q.TimeZone == "" {
		return
	}
	var b strings.Builder
	set := func(name, value string) {
		b.WriteString("pg_catalog.set_config($" + strconv.Itoa(len(s.args)+1) + ",$" + strconv.Itoa(len(s.args)+2) + ",true),")
		s.args = append(s.args, name, value)
	}
	for _, f := range p.Settings {
		switch f.Name {
		case "default_transaction_isolation":
			s.isolation = isolation[strings.ToLower(f.Value)]
			continue
		case "statement_timeout":
			s.timed = true
		}
		set(f.Name, f.Value)
	}
	if q.TimeZone != "" {
		set("timezone", q.TimeZone)
	}
	s.more = b.String()
}

// isolation has the statement for each level. A setting of the transaction comes
// too late, once a statement has run in it.
var isolation = map[string]string{
	"serializable":     "set transaction isolation level serializable",
	"repeatable read":  "set transaction isolation level repeatable read",
	"read committed":   "set transaction isolation level read committed",
	"read uncommitted": "set transaction isolation level read uncommitted",
}

// statement makes the statement, with the timeout.
func (s *settings) statement(d time.Duration, from limit) compile.Statement {
	write := 0
	if s.write {
		write = 1
	}
	sql := settingsSQL[write][from]
	if s.more != "" {
		// They come before the timeout, which looks at what is set.
		before, after, _ := strings.Cut(sql, settingsPath)
		sql = before + settingsPath + s.more + strings.ReplaceAll(after, "$6", "$"+strconv.Itoa(len(s.args)+1))
	}
	args := s.args
	if from != limitNone {
		args = append(args, strconv.FormatInt(d.Milliseconds(), 10))
	}
	return compile.Statement{SQL: sql, Args: args}
}

// method is that of the request that PostgREST would get.
func method(s *query.Spec) string {
	switch s.Op {
	case query.OpInsert:
		if len(s.Where) > 0 {
			return http.MethodPut
		}
		return http.MethodPost
	case query.OpUpdate:
		return http.MethodPatch
	case query.OpDelete:
		return http.MethodDelete
	case query.OpCall:
		if s.Call == nil || !s.Call.ReadOnly {
			return http.MethodPost
		}
	}
	if s.Head {
		return http.MethodHead
	}
	return http.MethodGet
}

// requestPath is that of the same request, without its leading slash.
func requestPath(s *query.Spec) string {
	if s.Op == query.OpCall {
		return "rpc/" + url.PathEscape(s.From)
	}
	return url.PathEscape(s.From)
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
