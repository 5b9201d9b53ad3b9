package direct

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/internal/compile"
)

// newSchema makes the source of what the backend knows of the schema. It loads
// nothing.
func (b *Backend) newSchema() (*catalog.Source, error) {
	schemas := []string{b.cfg.Schema} // the default one comes first
	for _, s := range b.cfg.Schemas {
		if s != b.cfg.Schema {
			schemas = append(schemas, s)
		}
	}
	return catalog.NewSource(catalog.Config{
		Query: b.loadSchema, Schemas: schemas, ExtraSchemas: slices.Clone(b.cfg.SearchPath), Static: b.cfg.known,
		OnLoad: func(time.Duration, error) { b.loads.Add(1) },
	})
}

// SchemaCache returns what the backend knows of the schema, for
// [Config.SchemaCache] of other processes, and loads it where nothing has yet. It
// holds names and types, and no rows.
func (b *Backend) SchemaCache(ctx context.Context) ([]byte, error) {
	var l limits
	b.limit(ctx, &l)
	defer l.end()
	known, err := b.schema.Get(&l)
	if err != nil {
		return nil, named(b.schemaLoadFailure(&l, err), "schema cache", "")
	}
	return known.JSON()
}

// ReloadSchema makes the next query that needs to know the schema load it anew,
// which a query that finds it wrong does by itself. Call it after a migration, as
// PostgREST is told by NOTIFY pgrst. Loads are at least five seconds apart. The next
// calls also look at the login role and at the settings of roles again.
func (b *Backend) ReloadSchema() {
	b.schema.Invalidate()
	b.login.forget()
}

// loadSchema reads the schema as the login role: the statement is this library's
// own and touches pg_catalog alone.
func (b *Backend) loadSchema(ctx context.Context, sql string, args []string) ([]byte, error) {
	pool, err := b.begin()
	if err != nil {
		return nil, err
	}
	defer b.calls.Done()
	var l limits
	b.limit(ctx, &l)
	defer l.end()
	values := make([][]byte, len(args))
	for i := range args {
		values[i] = []byte(args[i])
	}
	read := func(a *acquisition) (*pgconn.Result, error) {
		conn, err := b.acquire(&l, pool, a)
		if err != nil {
			return nil, b.acquireFailure(&l, pool, a, err)
		}
		defer conn.Release()
		return conn.Conn().PgConn().ExecParams(&l, sql, values, nil, nil, nil).Read(), nil
	}
	a := acquisition{start: time.Now()}
	res, err := read(&a)
	if err == nil && b.lostIdle(&l, &a, stageSettings, true, res.Err) {
		b.counts.replaced.Add(1)
		res, err = read(&acquisition{start: time.Now(), wary: true})
	}
	switch {
	case err != nil:
		return nil, err
	case res.Err != nil:
		return nil, b.runFailure(&l, failedCall{stage: stageSettings, readOnly: true}, res.Err)
	case len(res.Rows) != 1 || len(res.Rows[0]) != 1:
		return nil, errAnswer
	}
	return res.Rows[0][0], nil
}

// compile makes the program of a call, with what is known of the schema where it
// takes that. Where the query names what the schema lacks, the schema is
// looked at once more: nothing has been sent yet, so this is no second try.
func (b *Backend) compile(ctx context.Context, c *dbaccess.Call, t *try) (compile.Program, error) {
	opts := compile.SQLOptions{Schema: b.schemaOf(c), Clock: true, MaxRows: b.cfg.MaxRows, Guard: true, Outcome: true}
	if !compile.NeedsCatalog(c.Query) {
		program, err := compile.SQL(c.Query, opts)
		return program, compileFailure(err)
	}
	if err := b.knowSchema(ctx, t); err != nil {
		return compile.Program{}, err
	}
	opts.Catalog = t.known
	program, err := compile.SQL(c.Query, opts)
	if _, missing := err.(*catalog.Error); !missing {
		return program, compileFailure(err)
	}
	b.schema.Invalidate()
	if b.knowSchema(ctx, t) == nil && t.known != opts.Catalog {
		opts.Catalog = t.known
		program, err = compile.SQL(c.Query, opts)
	}
	return program, compileFailure(err)
}

// knowSchema gets what is known of the schema. Where that took a load, ours or one
// that was under way, it notes when the wait began.
func (b *Backend) knowSchema(ctx context.Context, t *try) error {
	if tx := txOf(ctx); tx != nil {
		return tx.knowSchema(ctx, t)
	}
	start, loads := time.Now(), b.loads.Load()
	known, err := b.schema.Get(ctx)
	if t.catalog.IsZero() && (err != nil || b.loads.Load() != loads) {
		t.catalog = start
	}
	if err != nil {
		return b.schemaLoadFailure(ctx, err)
	}
	t.known = known
	return nil
}

// schemaLoadFailure says why nothing is known of the schema.
func (b *Backend) schemaLoadFailure(ctx context.Context, err error) error {
	if errors.Is(err, catalog.ErrClosed) {
		return errClosed()
	}
	switch ctx.Err() {
	case nil:
	case context.Canceled:
		return contextFailure(context.Canceled)
	default:
		return b.deadlineFailure(ctx, "while the schema was being read", nil)
	}
	// Every call that waited gets the same error, and gives its own name to it.
	if e, ok := errors.AsType[*dbaccess.Error](err); ok {
		own := *e
		return &own
	}
	return dbaccess.Error{
		Code: codeNoSchema, HTTPStatus: 503, Kind: dbaccess.ErrUnavailable, Advice: "the schema could not be read from pg_catalog",
	}.With(dbaccess.ServerText{Message: "Could not query the database for the schema cache. Retrying."}, err)
}

// stale says whether a server's error makes it likely that the schema is not what
// it was when the statement was compiled.
func stale(f failedCall, err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || f.stage != stageMain {
		return false
	}
	switch pg.Code {
	case "42P01", "42703", "42883", "42704": // table, column, function, type
		return true
	}
	return false
}
