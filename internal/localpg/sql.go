package localpg

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// CreateDatabase makes a database, as a copy of template, or of an empty one if template is "".
func (c *Cluster) CreateDatabase(ctx context.Context, name, template string) error {
	sql := "create database " + pgx.Identifier{name}.Sanitize()
	if template != "" {
		sql += " template " + pgx.Identifier{template}.Sanitize()
	}
	return c.Exec(ctx, "postgres", sql)
}

// DropDatabase removes a database and ends the connections to it. One that does not exist is no error.
func (c *Cluster) DropDatabase(ctx context.Context, name string) error {
	return c.Exec(ctx, "postgres", "drop database if exists "+pgx.Identifier{name}.Sanitize()+" with (force)")
}

// Exec runs a script of SQL statements in a database as superuser, by the simple query protocol: all
// of it is one transaction, unless it says otherwise. An error tells the line and is a
// [*pgconn.PgError] inside.
func (c *Cluster) Exec(ctx context.Context, db, script string) error {
	return Exec(ctx, c.SuperDSN(db), script)
}

// Exec runs a script as [Cluster.Exec] does, on any server.
func Exec(ctx context.Context, dsn, script string) (err error) {
	conn, err := connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	if err := conn.Exec(ctx, script).Close(); err != nil {
		var pgErr *pgconn.PgError
		if errors.As(err, &pgErr) && pgErr.Position > 0 {
			return fmt.Errorf("localpg: line %d of the script: %w", lineAt(script, int(pgErr.Position)), err)
		}
		return fmt.Errorf("localpg: run the script: %w", err)
	}
	return nil
}

// lineAt returns the line of the character at position, both counted from 1 as PostgreSQL does.
func lineAt(script string, position int) int {
	line, at := 1, 1
	for _, r := range script {
		if at >= position {
			break
		}
		at++
		if r == '\n' {
			line++
		}
	}
	return line
}

// connect opens a connection by the DSN alone, whatever PG* variables say.
func connect(ctx context.Context, dsn string) (*pgconn.PgConn, error) {
	cfg, err := parseAlone(dsn)
	if err != nil {
		return nil, err
	}
	cfg.RuntimeParams["application_name"] = "twinpath-localpg"
	return pgconn.ConnectConfig(ctx, cfg)
}
