package direct

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/internal/advice"
	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	"github.com/twinpath/twinpath/dbaccess/internal/sqlstate"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// PostgREST's codes for what is not the statement's fault.
// Source: https://docs.postgrest.org/en/stable/references/errors.html#group-0-connection
const (
	codeConnect   = "PGRST000"
	codeClient    = "PGRST001"
	codeNoSchema  = "PGRST002"
	codeSaturated = "PGRST003"
	codeSchema    = "PGRST106"
	codeNotOne    = "PGRST116"
	codeTable     = "PGRST205"
)

// named fills in what failed. err is fresh from this package.
func named(err error, op, query string) error {
	if e, ok := err.(*dbaccess.Error); ok {
		e.Path, e.Op, e.Query = dbaccess.Direct, op, query
	}
	return err
}

func errClosed() error { return &dbaccess.Error{Kind: dbaccess.ErrClosed} }

// contextFailure is a call that its caller gave up.
func contextFailure(cause error) error {
	if errors.Is(cause, context.Canceled) {
		return dbaccess.Error{Kind: context.Canceled}.With(dbaccess.ServerText{}, context.Canceled)
	}
	return dbaccess.Error{Kind: dbaccess.ErrTimeout, Advice: "the deadline had passed before the call began"}.With(dbaccess.ServerText{}, context.DeadlineExceeded)
}

// deadlineFailure is a call whose deadline passed, the caller's or that of
// Config.Timeout. The error also answers errors.Is for also, unless that is nil.
func (b *Backend) deadlineFailure(ctx context.Context, stage string, also error) error {
	e := dbaccess.Error{Kind: dbaccess.ErrTimeout, Advice: "the deadline passed " + stage}
	if context.Cause(ctx) == errTimeout {
		e.Advice = "direct.Config.Timeout, which bounds calls whose context has no deadline, passed " + stage
	}
	cause := context.DeadlineExceeded
	if also != nil {
		cause = errors.Join(cause, also)
	}
	return e.With(dbaccess.ServerText{}, cause)
}

func identityFailure(c *dbaccess.Call, err error) error {
	e := dbaccess.Error{Kind: dbaccess.ErrInvalid, Advice: err.Error()}
	if c.Identity.Role == "" {
		e.Kind = dbaccess.ErrNoIdentity
	}
	return e.With(dbaccess.ServerText{}, err)
}

func loginRoleFailure(at stage, cause error) error {
	e := dbaccess.Error{
		Kind: dbaccess.ErrPermission, HTTPStatus: 403,
		Advice: "the identity's role is the one that the pool logs in as, so the statement was not run: " +
			"give the pool a login role of its own, NOINHERIT, and GRANT it the callers' roles",
	}
	if at == stageRequest {
		e.Advice = "the pre-request function went back to the role that the pool logs in as, so the statement was not run: " +
			"let it take on another role, or none"
	}
	return e.With(dbaccess.ServerText{}, cause)
}

// compileFailure is a query that nothing can be sent of.
func compileFailure(err error) error {
	switch e := err.(type) {
	case nil:
		return nil
	case *catalog.Error:
		text := dbaccess.ServerText{Message: e.Message, Detail: detail(e.Details), Hint: e.Hint}
		return dbaccess.Error{Code: e.Code, HTTPStatus: e.Status, Kind: dbaccess.KindOf(e.Code, e.Status), Advice: advice.For(advice.Failure{Code: e.Code})}.With(text, nil)
	case *compile.RefusedError:
		return replyFailure(compile.Reply{Status: e.Status, Failure: &e.Failure})
	case *query.UnsupportedError:
		return dbaccess.Error{Advice: err.Error()}.With(dbaccess.ServerText{}, err)
	}
	return dbaccess.Error{Kind: dbaccess.ErrInvalid, Advice: err.Error()}.With(dbaccess.ServerText{}, err)
}

// detail is text as it is, and anything else as JSON, which is what it is in
// PostgREST's answer.
func detail(details any) string {
	switch d := details.(type) {
	case nil:
		return ""
	case string:
		return d
	}
	b, err := json.Marshal(details)
	if err != nil {
		return ""
	}
	return string(b)
}

func schemaFailure(schema string, exposed []string) error {
	return dbaccess.Error{
		Code: codeSchema, HTTPStatus: 406, Kind: dbaccess.KindOf(codeSchema, 406),
		Advice: advice.For(advice.Failure{Code: codeSchema}),
	}.With(dbaccess.ServerText{
		Message: "Invalid schema: " + schema,
		Hint:    "Only the following schemas are exposed: " + strings.Join(exposed, ", "),
	}, nil)
}

// replyFailure is an answer that PostgREST gives as an error: not one row, or a
// window past the end.
func replyFailure(r compile.Reply) error {
	e := dbaccess.Error{
		Code: r.Failure.Code, HTTPStatus: r.Status, Kind: dbaccess.KindOf(r.Failure.Code, r.Status),
		Advice: advice.For(advice.Failure{Code: r.Failure.Code, Message: r.Failure.Message}),
	}
	if e.Code == codeNotOne {
		e.Kind = dbaccess.ErrMultipleRows
		if r.Failure.Details == noneFound {
			e.Kind = dbaccess.ErrNoRows
		}
	}
	return e.With(dbaccess.ServerText{Message: r.Failure.Message, Detail: r.Failure.Details, Hint: r.Failure.Hint}, nil)
}

// noneFound is the detail of [codeNotOne] for no row at all.
const noneFound = "The result contains 0 rows"

// statusFailure is an answer whose status, set by the database itself
// (response.status), is an error's.
func statusFailure(status int) error {
	return dbaccess.Error{
		HTTPStatus: status, Kind: dbaccess.KindOf("", status), Advice: "a function or trigger chose the status, by setting response.status",
	}.With(dbaccess.ServerText{}, nil)
}

// bodilessFailure is an answer that has lost its rows to its status, as through
// PostgREST.
func bodilessFailure() error {
	return dbaccess.Error{
		Kind: dbaccess.ErrUnavailable, Advice: "a function or trigger chose the status 204, by setting response.status, and an answer with that status has no rows",
	}.With(dbaccess.ServerText{}, nil)
}

// acquireFailure says why there was no connection.
func (b *Backend) acquireFailure(ctx *limits, pool *pgxpool.Pool, a *acquisition, err error) error {
	if err.Error() == "closed pool" { // puddle.ErrClosedPool
		return errClosed()
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return contextFailure(context.Canceled)
	}
	if !isContext(err) || isConnect(err) {
		return b.connectFailure(err)
	}
	over := ctx.Err() != nil && !ctx.noPlace()
	stat := pool.Stat()
	dialling := a.dialling() || b.cfg.dsn == nil && stat.ConstructingConns() > 0
	if dialling && over {
		return b.deadlineFailure(ctx, "while a connection was being made", nil)
	}
	if dialling {
		return b.connectFailure(err)
	}
	used := fmt.Sprintf("%d of %d connections were in use", stat.AcquiredConns(), stat.MaxConns())
	if over {
		var full error
		if stat.AcquiredConns() >= stat.MaxConns() {
			full = dbaccess.ErrSaturated
		}
		return b.deadlineFailure(ctx, "while the call waited for a connection, when "+used, full)
	}
	return dbaccess.Error{
		Code: codeSaturated, HTTPStatus: 504, Kind: dbaccess.ErrSaturated,
		Advice: used + " when AcquireTimeout had passed: raise MaxConns within the pooler's limit, or make the calls shorter",
	}.With(dbaccess.ServerText{Message: "Timed out acquiring connection from connection pool."}, nil)
}

// connectFailure is a connection that could not be made.
func (b *Backend) connectFailure(err error) error {
	text := dbaccess.ServerText{Message: "Database connection error. Retrying the connection."}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		if e, ok := poolerFailure(pg); ok {
			return e
		}
		return dbaccess.Error{
			Code: codeConnect, SQLState: pg.Code, HTTPStatus: 503, Kind: dbaccess.ErrUnavailable,
			Advice: "the server refused the connection: see its message",
		}.With(serverText(pg), pg)
	}
	todo, cause := networkAdvice(err, b.cfg.dsn != nil && b.cfg.dsn.Pool.ConnConfig.SSLNegotiation == "direct")
	return dbaccess.Error{Code: codeConnect, HTTPStatus: 503, Kind: dbaccess.ErrUnavailable, Advice: todo}.With(text, cause)
}

// failedCall is what is known about a call whose batch failed.
type failedCall struct {
	call       *dbaccess.Call // nil outside of a call
	stage      stage
	schema     string
	ownTimeout bool // a statement_timeout was derived from the caller's deadline
	readOnly   bool // it can't have changed anything
}

// runFailure says why the batch failed, and whether it may have been carried out
// all the same.
func (b *Backend) runFailure(ctx context.Context, f failedCall, err error) error {
	failure := b.batchFailure(ctx, f, err)
	if e, ok := failure.(*dbaccess.Error); ok && !f.readOnly && mayHaveCommitted(err) {
		e.OutcomeUnknown = true
		e.Advice = "the connection ended before the commit was confirmed, so that the write may have been done or not: look before you repeat it"
	}
	return failure
}

// mayHaveCommitted says whether the server may have carried out a batch that ended
// in an error. Its own errors undo the batch, unless they end the session too;
// then a pooler's refusals alone are certain to have come before it.
func mayHaveCommitted(err error) bool {
	pg, isPG := errors.AsType[*pgconn.PgError](err)
	if !isPG {
		return !pgconn.SafeToRetry(err)
	}
	if !isFatal(pg) {
		return false
	}
	_, refused := poolerFailure(pg)
	return !refused || strings.Contains(strings.ToLower(pg.Message), "shut")
}

func (b *Backend) batchFailure(ctx context.Context, f failedCall, err error) error {
	pg, isPG := errors.AsType[*pgconn.PgError](err)
	if errors.Is(ctx.Err(), context.Canceled) && (!isPG || pg.Code == "57014") {
		return contextFailure(context.Canceled)
	}
	if isPG {
		return b.serverFailure(f, pg)
	}
	if ctx.Err() == nil && b.isClosed() {
		return errClosed() // Close interrupted it
	}
	if ctx.Err() != nil || pgconn.Timeout(err) {
		return b.deadlineFailure(ctx, "while the server worked, or its answer was on the way", nil)
	}
	if errors.Is(err, errAnswer) {
		return dbaccess.Error{Advice: "this is a defect of package direct, or of a proxy in between"}.With(dbaccess.ServerText{}, err)
	}
	_, cause := networkAdvice(err, false)
	return dbaccess.Error{
		Code: codeClient, HTTPStatus: 503, Kind: dbaccess.ErrUnavailable,
		Advice: "the connection broke during the call: a read may be tried again",
	}.With(dbaccess.ServerText{Message: "Database client error. Retrying the connection."}, cause)
}

// serverFailure is an error that the server, or the pooler, reported.
func (b *Backend) serverFailure(f failedCall, pg *pgconn.PgError) error {
	if isFatal(pg) {
		if e, ok := poolerFailure(pg); ok {
			return e
		}
	}
	if f.stage <= stageRequest && pg.Code == "22P02" && strings.Contains(pg.Message, guardText) {
		return loginRoleFailure(f.stage, pg)
	}
	if f.stage == stageMain && f.call != nil && f.call.Query.Op != query.OpSelect {
		if r, ok := compile.GuardFailure(pg.Code, pg.Message); ok {
			return replyFailure(r)
		}
	}
	anon := f.call != nil && f.call.Identity.Role == b.cfg.AnonRole
	e := dbaccess.Error{Code: pg.Code, SQLState: pg.Code, HTTPStatus: sqlstate.HTTPStatus(pg.Code, pg.Message, anon)}
	text := serverText(pg)
	switch {
	case pg.Code == sqlstate.CodeRaise:
		r, _ := sqlstate.ParseRaise(pg.Message, pg.Detail)
		e.Code, e.SQLState, e.HTTPStatus = r.Code, "", r.Status
		if looksLikeSQLState(r.Code) {
			e.SQLState = r.Code // the other path can't tell it from one
		}
		text = dbaccess.ServerText{Message: r.Message, Detail: r.Details, Hint: r.Hint}
	case pg.Code == "42P01" && f.stage == stageMain && f.call.Query.Op != query.OpCall && fromStatement(pg):
		e.Code, e.SQLState, e.HTTPStatus = codeTable, "", 404 // PostgREST would not have asked the database
		text = dbaccess.ServerText{Message: "Could not find the table '" + f.schema + "." + f.call.Query.From + "' in the schema cache"}
	}
	e.Kind = dbaccess.KindOf(e.Code, e.HTTPStatus)
	e.Advice = adviceFor(f, pg)
	return e.With(text, pg)
}

func looksLikeSQLState(code string) bool {
	return len(code) == 5 && strings.Trim(code, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// fromStatement says whether the error is about the statement's own text rather
// than about what a function or a view does.
func fromStatement(pg *pgconn.PgError) bool {
	return pg.Position > 0 && pg.Where == "" && pg.InternalQuery == ""
}

func serverText(pg *pgconn.PgError) dbaccess.ServerText {
	return dbaccess.ServerText{Message: pg.Message, Detail: pg.Detail, Hint: pg.Hint}
}

func isFatal(pg *pgconn.PgError) bool {
	s := pg.SeverityUnlocalized
	if s == "" {
		s = pg.Severity
	}
	return s == "FATAL" || s == "PANIC"
}

func isContext(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

func isConnect(err error) bool {
	_, ok := errors.AsType[*pgconn.ConnectError](err)
	return ok
}
