package postgresttest

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess/internal/compile"
)

// transaction is what a request does in the database.
type transaction struct {
	settings []setting
	program  compile.Program
}

// setting is a configuration parameter for the length of a transaction.
type setting struct{ name, value string }

// row is what a program yields.
type row struct {
	body    []byte
	rows    int64
	counted int64 // compile.NotCounted when not
	planned int64 // compile.NotCounted when the planner was not asked
}

// database runs transactions.
type database interface {
	run(ctx context.Context, tx transaction) (row, error)
	catalog(ctx context.Context) (*catalog, error)
	close()
}

// run makes PostgREST's four trips, one after the other.
func (p *pool) run(ctx context.Context, tx transaction) (r row, err error) {
	conn, err := p.acquire(ctx)
	if err != nil {
		return row{}, err
	}
	defer func() { p.release(conn) }()
	if err := exec(ctx, conn, compile.Statement{SQL: "begin isolation level read committed read only"}); err != nil {
		return row{}, err
	}
	defer func() {
		if err != nil && conn.TxStatus() != 'I' {
			// The request's own context may have ended. A connection that fails
			// here is in a transaction still, and release drops it.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			_ = exec(ctx, conn, compile.Statement{SQL: "rollback"})
		}
	}()
	if err := exec(ctx, conn, setConfig(tx.settings)); err != nil {
		return row{}, err
	}
	if r, err = runProgram(ctx, conn, tx.program); err != nil {
		return row{}, err
	}
	return r, exec(ctx, conn, compile.Statement{SQL: "commit"})
}

// setConfig makes the one statement that sets them all.
func setConfig(settings []setting) compile.Statement {
	var s compile.Statement
	var b strings.Builder
	b.WriteString("select ")
	for i, set := range settings {
		if i > 0 {
			b.WriteString(", ")
		}
		n := strconv.Itoa(2*i + 1)
		m := strconv.Itoa(2*i + 2)
		b.WriteString("pg_catalog.set_config($" + n + ", $" + m + ", true)")
		s.Args = append(s.Args, set.name, set.value)
	}
	s.SQL = b.String()
	return s
}

func exec(ctx context.Context, conn *pgconn.PgConn, s compile.Statement) error {
	_, err := conn.ExecParams(ctx, s.SQL, texts(s.Args), nil, nil, nil).Close()
	return err
}

// runProgram runs a program, which takes another trip when the planner is asked.
func runProgram(ctx context.Context, conn *pgconn.PgConn, p compile.Program) (row, error) {
	r := row{counted: compile.NotCounted, planned: compile.NotCounted}
	values, err := one(ctx, conn, p.Main)
	if err != nil {
		return r, err
	}
	if len(values) < 3 {
		return r, errors.New("postgresttest: a program must yield body, rows and total")
	}
	r.body = values[0]
	if r.rows, err = strconv.ParseInt(string(values[1]), 10, 64); err != nil {
		return r, err
	}
	if total := values[2]; total != nil {
		if r.counted, err = strconv.ParseInt(string(total), 10, 64); err != nil {
			return r, err
		}
	}
	if p.Plan == nil {
		return r, nil
	}
	if values, err = one(ctx, conn, *p.Plan); err != nil {
		return r, err
	}
	var plan []struct {
		Plan struct {
			Rows int64 `json:"Plan Rows"`
		}
	}
	if err := json.Unmarshal(values[0], &plan); err != nil || len(plan) != 1 {
		return r, errors.New("postgresttest: Postgres explained in an unknown form")
	}
	r.planned = plan[0].Plan.Rows
	return r, nil
}

// one runs a statement that yields one row.
func one(ctx context.Context, conn *pgconn.PgConn, s compile.Statement) ([][]byte, error) {
	res := conn.ExecParams(ctx, s.SQL, texts(s.Args), nil, nil, nil).Read()
	switch {
	case res.Err != nil:
		return nil, res.Err
	case len(res.Rows) != 1 || len(res.Rows[0]) == 0:
		return nil, errors.New("postgresttest: a statement must yield one row")
	}
	return res.Rows[0], nil
}

func texts(args []string) [][]byte {
	b := make([][]byte, len(args))
	for i, a := range args {
		b[i] = []byte(a)
	}
	return b
}
