package direct

import (
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess/internal/compile"
)

// opening is what the batch of a transaction begins with. Its first statement sets
// the isolation level, where that isn't the session's: a setting comes too late
// once a statement has run. Then comes the check of the login role, where that is
// due, then the settings, then the pre-request function, where there is one.
type opening struct {
	level    string // "" for the session's
	check    *loginCheck
	settings compile.Statement
	claims   []byte // its argClaims, nil where that has them
	request  string // the pre-request function's statement, "" for none
}

// opening makes the statements, with the statement_timeout that the DSN and a
// deadline make; it says where that comes from.
func (b *Backend) opening(s *settings, conn *pgconn.PgConn, now, deadline time.Time, hasDeadline bool) (opening, limit) {
	o := opening{request: b.cfg.preRequest, claims: s.claims}
	if !s.begun {
		o.level = s.login.statementLevel(s.level)
	}
	dsn := b.statementTimeout()
	if s.timed || s.login.role.timed {
		dsn = 0
	}
	if !s.login.due {
		took, from := timeout(dsn, deadline, hasDeadline, now)
		o.settings = s.statement(took, from)
		return o, from
	}
	o.check = b.loginCheck(s, conn.ParameterStatus("server_version"))
	took, from := timeout(0, deadline, hasDeadline, now)
	o.settings = s.lookup(dsn, took, from)
	return o, from
}

// preRequest makes the statement that runs the function of that name, as
// PostgREST reads db-pre-request: what stands before the first dot is the schema.
// It may take on another role, but not the login role.
func preRequest(name string) string {
	if name == "" {
		return ""
	}
	function := pgx.Identifier{name}
	if schema, inSchema, ok := strings.Cut(name, "."); ok {
		function = pgx.Identifier{schema, inSchema}
	}
	return "select " + function.Sanitize() + "()," + guard
}

// queue adds the statements to a batch.
func (o *opening) queue(batch *pgconn.Batch) {
	if o.level != "" {
		batch.ExecParams(o.level, nil, nil, nil, nil)
	}
	if o.check != nil {
		queue(batch, &o.check.statement)
	}
	if o.claims != nil {
		queueWith(batch, &o.settings, argClaims, o.claims)
	} else {
		queue(batch, &o.settings)
	}
	if o.request != "" {
		batch.ExecParams(o.request, nil, nil, nil, nil)
	}
}

// read reads what the statements have yielded: the server's clock, in seconds
// since 1970, or an error and the stage at which it came. An error without a result
// of its own is told when the results are closed.
func (o *opening) read(results *pgconn.MultiResultReader) (clock float64, at stage, err error) {
	if o.level != "" && !results.NextResult() {
		return 0, stageSettings, errAnswer
	}
	if o.check != nil {
		if err := row(results, 2, func(v [][]byte) error { return o.check.take(v[0]) }); err != nil {
			return 0, stageSettings, err
		}
	}
	err = row(results, 3, func(v [][]byte) (err error) {
		clock, err = strconv.ParseFloat(string(v[0]), 64)
		return err
	})
	if err != nil || o.request == "" {
		return clock, stageSettings, err
	}
	if !results.NextResult() {
		return 0, stageRequest, errAnswer
	}
	_, err = results.ResultReader().Close()
	return clock, stageRequest, err
}
