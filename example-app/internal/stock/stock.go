// Package stock is the demo's database: a made-up stock market with 50 companies, two years of
// prices, 100,000 insider transactions and a few users' watchlists under row level security.
//
//	state, err := stock.Load(ctx, superuserDSN)          // in a schema of its own, once
//	err = stock.CreateLogin(ctx, superuserDSN, stock.Login{Name: "authenticator", Password: pw})
//
// The data is the same on every machine and for every load, so that two runs can be compared and
// tests can name rows.
package stock

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

const (
	// Schema is the schema that holds the site's tables and nothing else.
	Schema = "twinpath_demo"
	// AsOf is the last day with data, the site's today.
	AsOf = "2026-06-30"
	// Companies and Transactions are the numbers of rows that Load makes.
	Companies    = 50
	Transactions = 100_000
)

// The roles that the site acts as, and its users. A user is the claim "sub" of its token.
const (
	RoleAnon          = "anon"
	RoleAuthenticated = "authenticated"
	RoleService       = "service_role"

	Alice = "11111111-1111-4111-8111-111111111111"
	Bob   = "22222222-2222-4222-8222-222222222222"
)

// marker is the comment on a schema that Load made.
const marker = "twinpath demo data, version 1; drop schema " + Schema + " cascade removes it"

// lock keeps two demos from loading into one database at the same time. It is the advisory lock's
// key, an arbitrary number.
const lock = 0x7477696e70617468

var (
	//go:embed roles.sql
	rolesSQL string
	//go:embed schema.sql
	schemaSQL string
	//go:embed data.sql
	dataSQL string
)

// State says what Load found.
type State int

// The states.
const (
	Loaded  State = iota // the data was not there and has been loaded
	Present              // the data had been loaded before
)

// ErrForeignSchema means that the database has a schema of the demo's name which the demo did not
// make. Nothing has been changed.
var ErrForeignSchema = errors.New("stock: the database has a schema " + Schema +
	" that the demo did not make: rename it, or give the demo another database")

// Load makes the schema and its data in the database that dsn names, unless they are there already,
// and the roles that they need. dsn must be that of a superuser, or of a role that may create roles
// and schemas. All of it is one transaction.
func Load(ctx context.Context, dsn string) (State, error) {
	state := Present
	err := inTransaction(ctx, dsn, func(tx pgx.Tx) error {
		var comment *string
		err := tx.QueryRow(ctx, "select obj_description(oid, 'pg_namespace') from pg_namespace where nspname = $1", Schema).Scan(&comment)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			state = Loaded
			return load(ctx, tx)
		case err != nil:
			return err
		case comment == nil || *comment != marker:
			return ErrForeignSchema
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("load the demo's data: %w", err)
	}
	return state, nil
}

func load(ctx context.Context, tx pgx.Tx) error {
	for _, script := range []struct{ name, sql string }{
		{"roles.sql", rolesSQL}, {"schema.sql", schemaSQL}, {"data.sql", dataSQL},
	} {
		sql := strings.ReplaceAll(script.sql, "{{schema}}", Schema)
		if _, err := tx.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			return fmt.Errorf("%s: %w", script.name, err)
		}
	}
	return nil
}

// Login is a role that connections log in as. It has no rights of its own and inherits none; it may
// become one of Roles, per transaction.
type Login struct {
	Name     string
	Password string
	Roles    []string
}

// CreateLogin makes the role, or gives it the password and the roles if it exists.
func CreateLogin(ctx context.Context, dsn string, l Login) error {
	err := inTransaction(ctx, dsn, func(tx pgx.Tx) error {
		var exists bool
		if err := tx.QueryRow(ctx, "select exists (select from pg_roles where rolname = $1)", l.Name).Scan(&exists); err != nil {
			return err
		}
		verb := "create"
		if exists {
			verb = "alter"
		}
		name := pgx.Identifier{l.Name}.Sanitize()
		// A role's password is no bind parameter; format quotes it.
		var sql string
		err := tx.QueryRow(ctx, "select format($1, $2::text)", verb+" role "+name+" login noinherit password %L", l.Password).Scan(&sql)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sql); err != nil {
			return err
		}
		for _, role := range l.Roles {
			if _, err := tx.Exec(ctx, "grant "+pgx.Identifier{role}.Sanitize()+" to "+name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("make the login role %s: %w", l.Name, err)
	}
	return nil
}

// inTransaction connects, takes the demo's lock and runs f.
func inTransaction(ctx context.Context, dsn string, f func(pgx.Tx) error) (err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1)", int64(lock)); err != nil {
			return err
		}
		return f(tx)
	})
}
