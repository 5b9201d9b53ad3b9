package direct

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/internal/compile"
)

// Do runs a call of the facade in the transaction, in one round trip. What it sets
// beyond the transaction's own settings is put back behind it.
func (t *tx) Do(ctx context.Context, c *dbaccess.Call) (*dbaccess.Result, error) {
	w := &work{res: dbaccess.Result{Rows: -1, Total: compile.NotCounted}}
	w.start = time.Now()
	err := t.do(ctx, c, &w.res, &w.try)
	w.res.Phases = w.phases()
	if err == nil {
		return &w.res, nil
	}
	name := c.Query.Name
	if name == "" {
		name = c.Query.Summary()
	}
	return &w.res, named(err, c.Query.Op.String(), name)
}

// Close does nothing: Tx ends the transaction.
func (t *tx) Close(context.Context) error { return nil }

func (t *tx) do(ctx context.Context, c *dbaccess.Call, res *dbaccess.Result, w *try) error {
	if err := ctx.Err(); err != nil {
		return contextFailure(err)
	}
	if rollsBack(c.Query) {
		return misused("a query that undoes what it does would undo the transaction: run it outside")
	}
	if err := t.take(); err != nil {
		return err
	}
	defer t.give()
	program, set, err := t.b.prepare(ctx, c, w)
	if err != nil {
		t.note(err)
		return err
	}
	w.prepared, w.acquired = time.Now(), time.Now()

	deadline, ok := ctx.Deadline()
	ok = ok && !t.limits.bounded()
	settings, restore := t.settings(&set, deadline, ok)
	tx := transaction{opening: opening{settings: settings}, program: &program, columns: programColumns, restore: &restore}
	ans, at, err := run(ctx, t.pg, &tx, &w.timeline)
	w.end = time.Now()
	if err != nil {
		err = t.callFailure(ctx, failedCall{call: c, stage: at, schema: t.b.schemaOf(c), ownTimeout: ok, readOnly: true}, w, err)
		t.note(err)
		return err
	}
	return t.b.finish(c.Query, &ans, &program, res)
}

func (t *tx) callFailure(ctx context.Context, f failedCall, w *try, err error) error {
	if f.stage == stageSettings && isChanged(err) {
		return changedFailure()
	}
	if w.known != nil && stale(f, err) {
		t.b.schema.Invalidate()
	}
	return t.b.runFailure(t.ended(ctx), f, err)
}

// saved is the prefix of the settings that keep what others were.
const saved = "twinpath.saved_"

// settings makes the statement that sets what the call sets on top of the
// transaction, once it has made certain that this still acts as itself, and the one
// that puts everything back.
func (t *tx) settings(set *settings, deadline time.Time, hasDeadline bool) (before, after compile.Statement) {
	var b, a strings.Builder
	b.WriteString("select extract(epoch from pg_catalog.clock_timestamp())::pg_catalog.float8 t,pg_catalog.length(pg_catalog.concat(")
	a.WriteString("select pg_catalog.length(pg_catalog.concat(")
	arg := func(s *compile.Statement, v string) string {
		s.Args = append(s.Args, v)
		return "$" + strconv.Itoa(len(s.Args))
	}
	n := 0
	keep := func(name string) (quoted string) {
		key := saved + strconv.Itoa(n)
		n++
		quoted = arg(&before, name)
		b.WriteString("pg_catalog.set_config('" + key + "',pg_catalog.current_setting(" + quoted + "::pg_catalog.text,true),true),")
		old := "pg_catalog.current_setting('" + key + "')"
		if name == "search_path" { // an empty one is a path, too
			old = "coalesce(nullif(" + old + ",''),'\"\"')"
		}
		a.WriteString("case when " + old + " operator(pg_catalog.<>) '' then pg_catalog.set_config(" +
			arg(&after, name) + "::pg_catalog.text," + old + ",true) end,")
		return quoted
	}
	change := func(name, value string) {
		quoted := keep(name)
		b.WriteString("pg_catalog.set_config(" + quoted + "::pg_catalog.text," + arg(&before, value) + ",true),")
	}
	change("search_path", set.args[argPath])
	for i := 0; i+1 < len(set.more); i += 2 {
		change(set.more[i], set.more[i+1])
	}
	if hasDeadline {
		// It only shortens what is there.
		took, _ := timeout(0, deadline, true, time.Now())
		const now = "pg_catalog.current_setting('statement_timeout')"
		quoted := keep("statement_timeout")
		ms := arg(&before, milliseconds(took)) + "::pg_catalog.text"
		b.WriteString("pg_catalog.set_config(" + quoted + "::pg_catalog.text,case when " +
			now + "::interval operator(pg_catalog.>) interval '0' and " + now + "::interval operator(pg_catalog.<) pg_catalog.concat(" + ms + ",'ms')::interval " +
			"then " + now + " else " + ms + " end,true),")
	}
	for _, s := range []struct{ name, value, own string }{
		{"request.method", set.args[argMethod], t.begin.method},
		{"request.path", "/" + set.args[argRequestPath], t.begin.url},
	} {
		b.WriteString("pg_catalog.set_config('" + s.name + "'," + arg(&before, s.value) + ",true),")
		a.WriteString("pg_catalog.set_config('" + s.name + "'," + arg(&after, s.own) + ",true),")
	}
	b.WriteString("'')) n," + sameIdentity(arg(&before, t.begin.role), arg(&before, t.begin.claims)))
	a.WriteString("'')) n")
	before.SQL, after.SQL = b.String(), a.String()
	return before, after
}

// knowSchema gets what is known of the schema, without another connection: one that
// knows less than the transaction would have to wait for this one. What the schema
// lacks may have been made in the transaction, so it is then looked at from here.
func (t *tx) knowSchema(ctx context.Context, w *try) error {
	if w.known == nil {
		if t.known == nil {
			t.known = t.b.schema.Known()
		}
		if t.known != nil {
			w.known = t.known
			return nil
		}
	}
	w.catalog = time.Now()
	sql, args := t.b.schema.Statement()
	values := make([][]byte, len(args))
	for i := range args {
		values[i] = []byte(args[i])
	}
	res := t.pg.ExecParams(ctx, sql, values, nil, nil, nil).Read()
	switch {
	case res.Err != nil:
		return t.b.runFailure(t.ended(ctx), failedCall{stage: stageSettings, readOnly: true}, res.Err)
	case len(res.Rows) != 1 || len(res.Rows[0]) != 1:
		return errAnswer
	}
	known, err := catalog.Parse(res.Rows[0][0])
	if err != nil {
		return t.b.schemaLoadFailure(t.limits, err)
	}
	t.known, w.known = known, known
	return nil
}
