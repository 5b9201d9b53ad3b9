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

// guardText is what the guard's error quotes.
const guardText = "the call would run as the login role"

// guard looks at who a statement runs as, and fails where that is the login role.
// The text that it fails with is no number whatever the role's name is;
// current_user keeps the planner from finding that out ahead.
const guard = `case when current_user operator(pg_catalog.=) session_user then ` +
	`pg_catalog.concat('` + guardText + `',pg_catalog.substr(current_user::pg_catalog.text,1,0))::pg_catalog.int4 end g`

// shape is what the text of the settings' statement depends on.
type shape struct {
	write  bool  // the transaction may write
	lookup bool  // the role's own settings come from the check before, for want of being known
	fixed  bool  // a timeout that those of the role and the function called override
	role   int   // settings of the role that are known
	more   int   // settings of the function called, and the time zone
	limit  limit // where the statement's timeout comes from
}

// Arguments of the settings' statement. Behind them come pairs of names and values,
// first those of the role, then the timeouts.
const (
	argPath = iota
	argRole
	argClaims
	argMethod
	argRequestPath
	argHeaders
	argCookies
	argCount
)

// sql makes the first statement of every batch. It makes the caller's settings, in
// PostgREST's order, and reads the server's clock; its last column is the guard.
// The function's arguments are evaluated from left to right, and concat keeps the
// values from travelling back. Names of one letter are no memory to pgx.
func (s shape) sql() string {
	next := argCount
	var b strings.Builder
	set := func(name, value string) { b.WriteString("pg_catalog.set_config(" + name + "," + value + ",true),") }
	arg := func(i int) string { return "$" + strconv.Itoa(i+1) }
	pairs := func(n int) {
		for range n {
			set(arg(next), arg(next+1))
			next += 2
		}
	}
	b.WriteString("select extract(epoch from pg_catalog.clock_timestamp())::pg_catalog.float8 t,pg_catalog.length(pg_catalog.concat(")
	if !s.write {
		set("'transaction_read_only'", "'on'")
	}
	set("'search_path'", arg(argPath))
	if s.fixed {
		set("'statement_timeout'", arg(next)+"::pg_catalog.text")
		next++
	}
	if s.lookup {
		b.WriteString(roleSettingsApplied)
	}
	pairs(s.role)
	set("'role'", arg(argRole)+"::pg_catalog.text")
	set("'request.jwt.claims'", arg(argClaims))
	set("'request.method'", arg(argMethod))
	set("'request.path'", "pg_catalog.concat('/',"+arg(argRequestPath)+"::pg_catalog.text)")
	set("'request.headers'", arg(argHeaders))
	set("'request.cookies'", arg(argCookies))
	pairs(s.more)
	const now = "pg_catalog.current_setting('statement_timeout')"
	switch s.limit {
	case limitNone:
	case limitFixed:
		set("'statement_timeout'", arg(next))
	case limitDeadline:
		// It only shortens what is there, in milliseconds.
		set("'statement_timeout'", "case when "+now+"::interval operator(pg_catalog.>) interval '0' and "+
			now+"::interval operator(pg_catalog.<) pg_catalog.concat("+arg(next)+"::pg_catalog.text,'ms')::interval then "+now+" else "+arg(next)+"::pg_catalog.text end")
	}
	b.WriteString("'')) n," + guard)
	return b.String()
}

// texts are the statements for a number of role settings, by whether they may write
// and by where their timeout comes from. Few calls need another.
type texts [2][3]string

func newTexts(role int) *texts {
	var t texts
	for write := range t {
		for from := range t[write] {
			t[write][from] = shape{write: write == 1, role: role, limit: limit(from)}.sql()
		}
	}
	return &t
}

// timeoutMargin is how much earlier than the caller the server gives up, so that
// its answer still arrives: at most so much, and of a short deadline a part.
const (
	timeoutMargin = 50 * time.Millisecond
	timeoutPart   = 4
)

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
		left := deadline.Sub(now)
		left = max(left-min(timeoutMargin, left/timeoutPart), time.Millisecond)
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

// settings are those of one transaction. They are made in three steps: settingsOf,
// program, and opening once there is a connection.
type settings struct {
	role string
	args []string // of the statement, without the timeouts
	// claims are what stands in the place of argClaims, which is empty: as they are
	// the identity's own bytes in most calls, they are not copied.
	claims []byte
	write  bool     // the transaction may write
	more   []string // names and values of what only few calls set
	// level is the isolation level that the function called has, "" for none.
	level string
	timed bool // the function called has a timeout of its own
	login loginState
	// begun says that a BEGIN has come before, with the isolation level that is
	// wanted.
	begun bool
}

// settingsOf collects a call's settings, with the search path of its schema. It
// fails for an identity that is not valid, and where the login role has been
// refused. The arguments are put into room as far as that goes.
func (b *Backend) settingsOf(c *dbaccess.Call, searchPath string, room []string) (settings, error) {
	s := settings{role: c.Identity.Role, login: b.login.state(c.Identity.Role, time.Now())}
	if s.login.faults != nil {
		return settings{}, loginFailure(s.login.faults)
	}
	claims, err := c.Identity.ClaimsWithRole()
	if err != nil {
		return settings{}, identityFailure(c, err)
	}
	s.claims = claims
	s.args = append(room[:0], searchPath, s.role, "", method(c.Query), requestPath(c.Query),
		compile.HeadersSetting(c.Headers), compile.CookiesSetting(c.Headers))
	s.args = append(s.args, s.login.role.pairs...)
	return s, nil
}

// program adds what the compiled query asks for.
func (s *settings) program(q *query.Spec, p *compile.Program) {
	s.write = !p.ReadOnly
	if q.TimeZone != "" {
		s.more = append(s.more, "timezone", q.TimeZone)
	}
	for _, f := range p.Settings {
		switch f.Name {
		case "default_transaction_isolation":
			s.level = level(f.Value)
			continue
		case "statement_timeout":
			s.timed = true
		}
		s.more = append(s.more, f.Name, f.Value)
	}
}

// level is the isolation level that PostgREST takes a setting for.
func level(setting string) string {
	switch l := strings.ToLower(setting); l {
	case "serializable", "repeatable read":
		return l
	}
	return readCommitted
}

const readCommitted = "read committed"

// statement makes the statement, with the timeout. What is known of the role's own
// settings is in it.
func (s *settings) statement(d time.Duration, from limit) compile.Statement {
	args := append(s.args, s.more...)
	if from != limitNone {
		args = append(args, milliseconds(d))
	}
	known := s.login.role
	switch {
	case len(s.more) > 0:
		text := shape{write: s.write, role: len(known.pairs) / 2, more: len(s.more) / 2, limit: from}
		return compile.Statement{SQL: text.sql(), Args: args}
	case s.write:
		return compile.Statement{SQL: known.texts[1][from], Args: args}
	}
	return compile.Statement{SQL: known.texts[0][from], Args: args}
}

// lookup makes the statement where the role's own settings are not known, and the
// check before it has left them. They override a timeout of the DSN's, which is
// 0 for none.
func (s *settings) lookup(dsn, d time.Duration, from limit) compile.Statement {
	text := shape{lookup: true, write: s.write, fixed: dsn > 0, more: len(s.more) / 2, limit: from}
	args := s.args[:argCount:argCount]
	if dsn > 0 {
		args = append(args, milliseconds(dsn))
	}
	args = append(args, s.more...)
	if from != limitNone {
		args = append(args, milliseconds(d))
	}
	return compile.Statement{SQL: text.sql(), Args: args}
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

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
