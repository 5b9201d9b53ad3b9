package direct

import (
	"context"
	"strings"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/internal/compile"
)

// Do runs one call in one round trip. The error is an *[dbaccess.Error], beside a
// result that has the phases.
func (b *Backend) Do(ctx context.Context, c *dbaccess.Call) (*dbaccess.Result, error) {
	t := timeline{start: time.Now()}
	a := acquisition{}
	res := &dbaccess.Result{Rows: -1, Total: compile.NotCounted}
	err := b.do(ctx, c, res, &t, &a)
	if t.end.IsZero() {
		t.end = time.Now()
	}
	res.Phases = t.phases(&a)
	if err != nil {
		name := c.Query.Name
		if name == "" {
			name = c.Query.Summary()
		}
		return res, named(err, c.Query.Op.String(), name)
	}
	return res, nil
}

func (b *Backend) do(ctx context.Context, c *dbaccess.Call, res *dbaccess.Result, t *timeline, a *acquisition) error {
	if err := ctx.Err(); err != nil {
		return contextFailure(err, "")
	}
	program, set, err := b.prepare(c)
	if err != nil {
		return err
	}
	pool, err := b.begin()
	if err != nil {
		return err
	}
	defer b.calls.Done()

	t.prepared = time.Now()
	a.start = t.prepared
	conn, err := b.acquire(ctx, pool, a)
	if err != nil {
		return b.acquireFailure(ctx, pool, a, err)
	}
	defer conn.Release()
	res.Conn = a.class()
	t.acquired = time.Now()

	deadline, ok := ctx.Deadline()
	limit, sql := timeout(b.statementTimeout(), deadline, ok, t.acquired)
	ans, stage, err := run(ctx, conn.Conn().PgConn(), set.statement(sql, limit), &program, t)
	t.end = time.Now()
	if err != nil {
		return b.runFailure(ctx, failedCall{call: c, stage: stage, schema: b.schema(c), ownTimeout: ok && limit > 0}, err)
	}
	res.Body, res.Rows = ans.body, ans.rows
	res.Total = compile.Total(c.Query, ans.counted, ans.planned, 0)
	reply := compile.Answer(c.Query, res.Rows, res.Total)
	res.Status = reply.Status
	if reply.Failure != nil {
		res.Body = nil
		return replyFailure(reply, res.Rows)
	}
	return nil
}

// prepare checks the call and compiles it: nothing is sent for one that fails
// here.
func (b *Backend) prepare(c *dbaccess.Call) (compile.Program, settings, error) {
	if err := c.Identity.Validate(); err != nil {
		return compile.Program{}, settings{}, identityFailure(c, err)
	}
	if strings.EqualFold(strings.TrimSpace(c.Identity.Role), "none") {
		return compile.Program{}, settings{}, loginRoleFailure(nil)
	}
	schema := b.schema(c)
	path, ok := b.cfg.searchPaths[schema]
	if !ok {
		return compile.Program{}, settings{}, schemaFailure(schema, b.cfg.Schemas)
	}
	set, err := b.settings(c, path)
	if err != nil {
		return compile.Program{}, settings{}, identityFailure(c, err)
	}
	program, err := compile.SQL(c.Query, compile.SQLOptions{Schema: schema, Clock: true})
	if err != nil {
		return compile.Program{}, settings{}, compileFailure(err)
	}
	return program, set, nil
}

func (b *Backend) schema(c *dbaccess.Call) string {
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
