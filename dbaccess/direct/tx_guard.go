package direct

import (
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	"github.com/twinpath/twinpath/internal/sqltext"
)

// txBegin is what a transaction begins with, and what must still hold at its end.
type txBegin struct {
	settings     settings
	role, claims string // as the server has them
	method, url  string // request.method and request.path
	ownTimeout   bool   // statement_timeout comes from the caller's deadline
}

// beginning checks who the transaction acts as and collects its settings.
func (b *Backend) beginning(c *dbaccess.Call, o *TxOptions) (txBegin, error) {
	if err := c.Identity.Validate(); err != nil {
		return txBegin{}, identityFailure(c, err)
	}
	set, err := b.settingsOf(c, b.cfg.searchPaths[b.cfg.Schema], nil)
	if err != nil {
		return txBegin{}, err
	}
	set.write = true // BEGIN says otherwise where it has to
	set.begun = o.Isolation != ""
	return txBegin{settings: set, role: set.args[argRole], claims: string(set.claims), method: set.args[argMethod], url: "/" + set.args[argRequestPath]}, nil
}

// open begins the transaction with all that a call begins with, in one round trip.
// It takes another one where the isolation level of the caller's role turns out not
// to be that of the session.
func (t *tx) open() error {
	at, err := t.sendBegin()
	if want, wrong := wrongLevel(at, err); wrong {
		t.rollback()
		t.begin.settings.level = want
		at, err = t.sendBegin()
	}
	if err == nil {
		return nil
	}
	t.unused = t.b.lostIdle(t.limits, t.way, at, true, err)
	if e := t.b.refusal(at, err, t.begin.settings.login.changes); e != nil {
		return e
	}
	f := failedCall{call: t.run.scope.Call(), stage: at, readOnly: true, ownTimeout: t.begin.ownTimeout}
	return t.b.runFailure(t.limits, f, err)
}

// whoSQL asks who a pre-request function has made of the caller.
const whoSQL = `select current_user::pg_catalog.text,pg_catalog.current_setting('request.jwt.claims',true)`

func (t *tx) sendBegin() (at stage, err error) {
	deadline, ok := t.limits.Deadline()
	ok = ok && !t.limits.bounded()
	o, from := t.b.opening(&t.begin.settings, t.pg, time.Now(), deadline, ok)
	t.begin.ownTimeout = ok && from != limitNone
	var batch pgconn.Batch
	batch.ExecParams(t.run.opts.begin(), nil, nil, nil, nil)
	o.queue(&batch)
	if o.request != "" {
		batch.ExecParams(whoSQL, nil, nil, nil, nil)
	}
	results := t.pg.ExecBatch(t.limits, &batch)
	err = errAnswer
	if results.NextResult() {
		if _, err = results.ResultReader().Close(); err == nil {
			_, at, err = o.read(results)
		}
	}
	if err == nil && o.request != "" {
		err = row(results, 2, func(v [][]byte) error {
			t.begin.role, t.begin.claims = string(v[0]), string(v[1])
			return nil
		})
	}
	if closeErr := results.Close(); closeErr != nil {
		err = closeErr
	}
	if err == nil && t.pg.TxStatus() != inTransaction {
		err = errAnswer
	}
	return at, err
}

// changedText is what the error of sameIdentity quotes.
const changedText = "the transaction would not act as its own identity"

// sameIdentity is an expression that fails unless the statement runs as the role
// and with the claims that are its two parameters. The search path and what else the
// application has set make no difference to it.
func sameIdentity(role, claims string) string {
	return `case when current_user operator(pg_catalog.=) ` + role + `::pg_catalog.text and ` +
		`pg_catalog.current_setting('request.jwt.claims',true) operator(pg_catalog.=) ` + claims + `::pg_catalog.text then 0 ` +
		`else pg_catalog.concat('` + changedText + `',pg_catalog.substr(current_user::pg_catalog.text,1,0))::pg_catalog.int4 end g`
}

// txGuard is the last statement before the commit.
var txGuard = `select ` + sameIdentity("$1", "$2")

// isChanged says whether an error is that of sameIdentity.
func isChanged(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "22P02" && strings.Contains(pg.Message, changedText)
}

func changedFailure() error {
	return misused("its SQL has changed the role or request.jwt.claims, so it was rolled back: a transaction acts as one identity, begin another one for another")
}

// sessionSQL takes back what a transaction would leave on the server's connection for
// whoever has it next: a set_config for good, hidden within the transaction by another
// one; temporary tables, types and the like, which the next caller's functions would
// take for those that they name, rows included; and cursors that are held.
var sessionSQL = [...]string{
	`select pg_catalog.set_config('role','none',false),pg_catalog.set_config('request.jwt.claims','',false)`,
	"discard temp",
	"close all",
}

// commit checks the identity and commits, in one round trip: where the check fails
// the server skips the commit.
func (t *tx) commit() error {
	var batch pgconn.Batch
	queue(&batch, &compile.Statement{SQL: txGuard, Args: []string{t.begin.role, t.begin.claims}})
	batch.ExecParams("commit", nil, nil, nil, nil)
	if t.b.cfg.dsn != nil { // else the sessions are the app's
		for _, sql := range sessionSQL {
			batch.ExecParams(sql, nil, nil, nil, nil)
		}
	}
	results := t.pg.ExecBatch(t.limits, &batch)
	err := row(results, 1, func([][]byte) error { return nil })
	guarded := err == nil
	var tag pgconn.CommandTag
	if guarded && results.NextResult() {
		tag, err = results.ResultReader().Close()
	}
	if closeErr := results.Close(); closeErr != nil {
		err = closeErr
	}
	switch {
	case tag.String() == "COMMIT":
		return nil // whatever became of the connection since
	case isChanged(err) && !guarded:
		return changedFailure()
	case err != nil:
		f := failedCall{call: t.run.scope.Call(), stage: stageEnd, readOnly: t.run.opts.ReadOnly, ownTimeout: t.begin.ownTimeout}
		return t.b.runFailure(t.limits, f, err)
	}
	return misused("the server has rolled it back instead of committing it")
}

// refused says why a statement can't be part of a transaction, nil if it can.
func refused(sql string) error {
	w := append(sqltext.Words(sql, 3), "", "", "")
	second := w[1]
	switch w[0] {
	case "commit", "end", "abort", "begin", "start":
		return misused("Tx begins and ends the transaction, not a statement in it: return nil to commit, an error to roll back")
	case "rollback":
		if second == "work" || second == "transaction" {
			second = w[2]
		}
		if second != "to" {
			return misused("Tx ends the transaction, not a statement in it: return an error to roll back")
		}
	case "set":
		return refusedSet(second, w[2])
	case "reset", "discard":
		return misused("RESET and DISCARD outlive the transaction behind a pooler: use SET LOCAL … TO DEFAULT")
	case "listen", "unlisten", "prepare", "deallocate", "load":
		return misused("LISTEN, PREPARE and LOAD outlive the transaction, on a connection that a pooler lends to others")
	case "copy":
		return misused("use Transaction.CopyFrom instead of COPY")
	}
	return nil
}

func refusedSet(second, third string) error {
	if second == "local" || second == "session" {
		switch third {
		case "role", `"role"`:
			second = "role"
		case "authorization", "session":
			second = third
		}
	}
	switch second {
	case "local", "transaction", "constraints":
		return nil
	case "role", "authorization":
		return misused("a transaction acts as one identity: SET ROLE would change it. Begin another transaction with auth.With")
	}
	return misused("SET outlives the transaction on a connection that a pooler lends to others: use SET LOCAL")
}
