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
	isolation string // "" for read committed
	readOnly  bool
	settings  []setting
	request   string // the pre-request function's statement, "" for none
	program   compile.Program
	// condemned says whether what the request did is to be undone, because of what
	// it yielded. Nil never does.
	condemned func(row) bool
	rollback  bool // the request wants it undone
}

// setting is a configuration parameter for the length of a transaction.
type setting struct{ name, value string }

// row is what a program yields.
type row struct {
	body            []byte
	rows            int64
	counted         int64  // compile.NotCounted when not
	planned         int64  // compile.NotCounted when the planner was not asked
	inserted        int64  // of an insert that merges
	status, headers string // what the database wants them to be, "" for nothing
}

// database runs transactions.
type database interface {
	run(ctx context.Context, tx transaction) (row, error)
	known(ctx context.Context) (*known, error)
	forget()
	close()
}

// run makes PostgREST's four trips, one after the other, and others where there is a
// pre-request function, or the request wants to be undone.
func (p *pool) run(ctx context.Context, tx transaction) (r row, err error) {
	conn, err := p.acquire(ctx)
	if err != nil {
		return row{}, err
	}
	defer func() { p.release(conn) }()
	if err := exec(ctx, conn, compile.Statement{SQL: tx.begin()}); err != nil {
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
	if tx.request != "" {
		if err := exec(ctx, conn, compile.Statement{SQL: tx.request}); err != nil {
			return row{}, err
		}
	}
	if r, err = runProgram(ctx, conn, tx.program); err != nil {
		return row{}, err
	}
	if tx.condemned != nil && tx.condemned(r) {
		return r, exec(ctx, conn, compile.Statement{SQL: "rollback"})
	}
	if tx.rollback {
		// What a commit would have found is still found.
		if err := exec(ctx, conn, compile.Statement{SQL: "set constraints all immediate"}); err != nil {
			return row{}, err
		}
		return r, exec(ctx, conn, compile.Statement{SQL: "rollback"})
	}
	return r, exec(ctx, conn, compile.Statement{SQL: "commit"})
}

func (tx *transaction) begin() string {
	level, access := "read committed", "read write"
	switch strings.ToLower(tx.isolation) {
	case "serializable", "repeatable read":
		level = strings.ToLower(tx.isolation)
	}
	if tx.readOnly {
		access = "read only"
	}
	return "begin isolation level " + level + " " + access
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
	if err := r.take(values); err != nil {
		return r, err
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

// take reads the columns of a program's Main.
func (r *row) take(values [][]byte) (err error) {
	if len(values) <= compile.ColumnTotal {
		return errors.New("postgresttest: a program must yield body, rows and total")
	}
	r.body = values[compile.ColumnBody]
	if r.rows, err = strconv.ParseInt(string(values[compile.ColumnRows]), 10, 64); err != nil {
		return err
	}
	if total := values[compile.ColumnTotal]; total != nil {
		if r.counted, err = strconv.ParseInt(string(total), 10, 64); err != nil {
			return err
		}
	}
	if len(values) <= compile.ColumnInserted {
		return nil
	}
	r.status, r.headers = string(values[compile.ColumnStatus]), string(values[compile.ColumnHeaders])
	if n := values[compile.ColumnInserted]; n != nil {
		r.inserted, err = strconv.ParseInt(string(n), 10, 64)
	}
	return err
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
