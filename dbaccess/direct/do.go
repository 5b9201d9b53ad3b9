package direct

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// try is one attempt at a call.
type try struct {
	timeline
	conn  acquisition
	known *catalog.Catalog // what it was compiled with, nil when it took none
	// again says that the schema seems to have changed since it was compiled, and
	// that the call changed nothing.
	again bool
	// lost says that the connection had died while it was idle, and that the call may
	// be sent once more.
	lost bool
	room [6]dbaccess.Phase    // for the phases of most calls
	args [argCount + 5]string // for the settings of most calls
}

// work is what a call needs from its start to its end, in one piece.
type work struct {
	limits
	res dbaccess.Result
	try
}

// Do runs one call in one round trip. Embeds, writes and function calls take
// another one before it when the schema is not known yet. The error is an
// *[dbaccess.Error], beside a result that has the phases.
//
// A read that the server refuses because the schema has changed is tried once
// more with the schema as it is now, and one whose connection turns out to have died
// while it was idle is sent once more on another. No other call is: a write only
// where not a byte of it has left.
func (b *Backend) Do(ctx context.Context, c *dbaccess.Call) (*dbaccess.Result, error) {
	w := &work{res: dbaccess.Result{Rows: -1, Total: compile.NotCounted}}
	res, t := &w.res, &w.try
	t.start = time.Now()
	b.limit(ctx, &w.limits)
	defer w.end()
	err := b.do(&w.limits, c, res, t)
	res.Phases = t.phases()
	if t.lost {
		t = &try{timeline: timeline{start: t.end}}
		t.conn.wary = true
		err = b.do(&w.limits, c, res, t)
		res.Phases = append(res.Phases, t.phases()...)
		if !t.acquired.IsZero() {
			b.counts.replaced.Add(1)
		}
	}
	if t.again {
		second := try{timeline: timeline{start: t.end}, known: t.known}
		if e := b.do(&w.limits, c, res, &second); e != errUnchanged {
			err = e
		}
		res.Phases = append(res.Phases, second.phases()...)
	}
	if err != nil {
		name := c.Query.Name
		if name == "" {
			name = c.Query.Summary()
		}
		return res, named(err, c.Query.Op.String(), name)
	}
	return res, nil
}

// errUnchanged ends a second try whose statement would be that of the first.
var errUnchanged = errors.New("the schema has not changed")

func (b *Backend) do(ctx *limits, c *dbaccess.Call, res *dbaccess.Result, t *try) error {
	if err := ctx.Err(); err != nil {
		return contextFailure(err)
	}
	before := t.known
	program, set, err := b.prepare(ctx, c, t)
	if err != nil {
		return err
	}
	if before != nil && t.known == before {
		return errUnchanged
	}
	pool, err := b.begin()
	if err != nil {
		return err
	}
	defer b.calls.Done()

	t.prepared = time.Now()
	t.conn.start = t.prepared
	conn, err := b.acquire(ctx, pool, &t.conn)
	if err != nil {
		return b.acquireFailure(ctx, pool, &t.conn, err)
	}
	defer conn.Release()
	res.Conn = t.conn.class()
	t.acquired = time.Now()

	deadline, ok := ctx.Deadline()
	ok = ok && !ctx.bounded() // what a statement can see of its settings is what it would be through PostgREST
	pg := conn.Conn().PgConn()
	tx := transaction{program: &program, rollback: rollsBack(c.Query), columns: programColumns}
	var from limit
	tx.opening, from = b.opening(&set, pg, t.acquired, deadline, ok)
	ans, stage, err := run(ctx, pg, &tx, &t.timeline)
	if want, wrong := wrongLevel(stage, err); wrong {
		// Nothing has been run. It happens to the first call of a role that has an
		// isolation level of its own.
		set.level = want
		tx.opening, from = b.opening(&set, pg, time.Now(), deadline, ok)
		ans, stage, err = run(ctx, pg, &tx, &t.timeline)
	}
	t.end = time.Now()
	if err != nil {
		t.lost = b.lostIdle(ctx, &t.conn, stage, program.ReadOnly && c.Query.Op == query.OpSelect, err)
		if e := b.refusal(stage, err, set.login.changes); e != nil {
			return e
		}
		f := failedCall{call: c, stage: stage, schema: b.schemaOf(c), ownTimeout: ok && from != limitNone, readOnly: program.ReadOnly}
		if t.known != nil && stale(f, err) {
			b.schema.Invalidate()
			t.again = program.ReadOnly
		}
		return b.runFailure(ctx, f, err)
	}
	return b.finish(c.Query, &ans, &program, res)
}

// finish makes the result of what the database answered.
func (b *Backend) finish(q *query.Spec, ans *answer, program *compile.Program, res *dbaccess.Result) error {
	res.Total = compile.Total(q, ans.counted, ans.planned, b.cfg.MaxRows)
	reply := compile.Respond(q, compile.Outcome{Rows: ans.rows, Total: res.Total, Inserted: ans.inserted, Void: program.Void, Bare: true})
	res.Body, res.Rows, res.Status = ans.body, ans.rows, reply.Status
	if reply.Empty || q.Head {
		res.Body, res.Rows = nil, 0
	}
	code, _, bad := compile.Override(ans.status, ans.headers)
	switch {
	case bad != nil:
		res.Body, res.Rows, res.Status = nil, 0, bad.Status
		return replyFailure(*bad)
	case reply.Failure != nil:
		res.Body = nil
		return replyFailure(reply)
	case code >= 300:
		res.Body, res.Status = nil, code
		return statusFailure(code)
	case code == http.StatusNoContent: // with which HTTP carries no body
		lost := res.Body != nil && q.Op != query.OpCall
		res.Body, res.Rows, res.Status = nil, 0, code
		if lost {
			return bodilessFailure()
		}
	case code != 0:
		res.Status = code
	}
	return nil
}

// prepare checks the call and compiles it: nothing is sent for one that fails
// here.
func (b *Backend) prepare(ctx context.Context, c *dbaccess.Call, t *try) (compile.Program, settings, error) {
	if err := c.Identity.Validate(); err != nil {
		return compile.Program{}, settings{}, identityFailure(c, err)
	}
	schema := b.schemaOf(c)
	path, ok := b.cfg.searchPaths[schema]
	if !ok {
		return compile.Program{}, settings{}, schemaFailure(schema, b.cfg.Schemas)
	}
	set, err := b.settingsOf(c, path, t.args[:])
	if err != nil {
		return compile.Program{}, settings{}, err
	}
	if err := checkTimeZone(c.Query.TimeZone); err != nil {
		return compile.Program{}, settings{}, compileFailure(err)
	}
	program, err := b.compile(ctx, c, t)
	if err != nil {
		return compile.Program{}, settings{}, err
	}
	set.program(c.Query, &program)
	return program, set, nil
}

// checkTimeZone refuses what a parameter of the protocol can't hold.
func checkTimeZone(name string) error {
	if strings.IndexByte(name, 0) >= 0 {
		return &query.UnsupportedError{Node: "time zone", Reason: "the name holds a zero byte"}
	}
	return nil
}

// rollsBack says whether the query wants what it does undone.
func rollsBack(s *query.Spec) bool {
	return s.Write != nil && s.Write.Rollback || s.Call != nil && s.Call.Rollback
}

// programColumns is how many a query's program yields, the clock included.
const programColumns = compile.ColumnInserted + 2

func (b *Backend) schemaOf(c *dbaccess.Call) string {
	if c.Query.Schema != "" {
		return c.Query.Schema
	}
	return b.cfg.Schema
}

func (b *Backend) statementTimeout() time.Duration {
	if b.cfg.dsn == nil {
		return 0
	}
	return b.cfg.dsn.StatementTimeout
}
