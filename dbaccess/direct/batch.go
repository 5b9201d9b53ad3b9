package direct

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess/internal/compile"
)

// stage is the statement of a batch that the server was at.
type stage int

const (
	stageSettings stage = iota
	stageRequest        // the pre-request function
	stageMain
	stageEnd // the commit
)

// answer is what the batch returned.
type answer struct {
	body             []byte
	rows             int64
	counted, planned int64  // compile.NotCounted for none
	inserted         int64  // of an insert that merges
	status, headers  string // of response.status and response.headers, "" when not set
}

// transaction is what a call's batch consists of.
type transaction struct {
	opening
	program  *compile.Program
	columns  int // of the program's Main
	rollback bool
	// restore is the last statement in a transaction that goes on, else nil.
	restore *compile.Statement
}

// run sends the batch and reads its results. Only a batch that has committed has
// succeeded: what it returned before that does not count.
func run(ctx context.Context, conn *pgconn.PgConn, tx *transaction, t *timeline) (answer, stage, error) {
	var batch pgconn.Batch
	tx.opening.queue(&batch)
	queue(&batch, &tx.program.Main)
	if tx.program.Guard != nil {
		queue(&batch, tx.program.Guard)
	}
	if tx.program.Plan != nil {
		queue(&batch, tx.program.Plan)
	}
	if tx.rollback {
		// What a commit would have found is still found.
		batch.ExecParams("set constraints all immediate", nil, nil, nil, nil)
		batch.ExecParams("rollback", nil, nil, nil, nil)
	}
	if tx.restore != nil {
		queue(&batch, tx.restore)
	}
	results := conn.ExecBatch(ctx, &batch)
	ans, at, err := read(results, tx, t)
	if closeErr := results.Close(); closeErr != nil {
		return answer{}, at, closeErr
	}
	return ans, at, err
}

// queue adds a statement with its arguments in text form and of no type. The batch
// copies them, so the few and short ones of an ordinary call stay on the stack.
func queue(batch *pgconn.Batch, s *compile.Statement) { queueWith(batch, s, -1, nil) }

// queueWith is queue with a value for one of the arguments, which is empty.
func queueWith(batch *pgconn.Batch, s *compile.Statement, place int, value []byte) {
	size := len(value)
	for _, a := range s.Args {
		size += len(a)
	}
	var few [16][]byte
	var short [512]byte
	if len(s.Args) <= len(few) && size <= len(short) {
		rest := short[:]
		for i, a := range s.Args {
			n := copy(rest, a)
			if i == place {
				n = copy(rest, value)
			}
			few[i], rest = rest[:n:n], rest[n:]
		}
		batch.ExecParams(s.SQL, few[:len(s.Args)], nil, nil, nil)
		return
	}
	args, rest := make([][]byte, len(s.Args)), make([]byte, size)
	for i, a := range s.Args {
		n := copy(rest, a)
		if i == place {
			n = copy(rest, value)
		}
		args[i], rest = rest[:n:n], rest[n:]
	}
	batch.ExecParams(s.SQL, args, nil, nil, nil)
}

var errAnswer = errors.New("the server's answer has another form than that of the statement sent")

func read(results *pgconn.MultiResultReader, tx *transaction, t *timeline) (ans answer, at stage, err error) {
	ans.counted, ans.planned = compile.NotCounted, compile.NotCounted
	var after float64
	before, at, err := tx.opening.read(results)
	if err != nil {
		return ans, at, err
	}
	if !results.NextResult() {
		return ans, stageMain, errAnswer
	}
	t.answered = time.Now()
	err = rowOf(results.ResultReader(), tx.columns, func(v [][]byte) (err error) {
		if after, err = strconv.ParseFloat(string(v[len(v)-1]), 64); err != nil {
			return err
		}
		return ans.take(v[:len(v)-1])
	})
	if err != nil {
		return ans, stageMain, err
	}
	t.database = time.Duration((after - before) * float64(time.Second))
	if tx.program.Guard != nil {
		if err := row(results, 1, func([][]byte) error { return nil }); err != nil {
			return ans, stageMain, err
		}
	}
	if tx.program.Plan != nil {
		err = row(results, 1, func(v [][]byte) (err error) {
			ans.planned, err = planRows(v[0])
			return err
		})
	}
	return ans, stageEnd, err
}

// take reads the columns of the program's Main.
func (a *answer) take(v [][]byte) (err error) {
	a.body = bytes.Clone(v[compile.ColumnBody])
	if a.rows, err = strconv.ParseInt(string(v[compile.ColumnRows]), 10, 64); err != nil {
		return err
	}
	if total := v[compile.ColumnTotal]; total != nil {
		if a.counted, err = strconv.ParseInt(string(total), 10, 64); err != nil {
			return err
		}
	}
	if len(v) <= compile.ColumnInserted {
		return nil
	}
	a.status, a.headers = string(v[compile.ColumnStatus]), string(v[compile.ColumnHeaders])
	if n := v[compile.ColumnInserted]; n != nil {
		a.inserted, err = strconv.ParseInt(string(n), 10, 64)
	}
	return err
}

// row hands the only row of the next result to f.
func row(results *pgconn.MultiResultReader, columns int, f func([][]byte) error) error {
	if !results.NextResult() {
		return errAnswer // or the error that Close tells
	}
	return rowOf(results.ResultReader(), columns, f)
}

func rowOf(r *pgconn.ResultReader, columns int, f func([][]byte) error) error {
	found := false
	var err error
	for r.NextRow() {
		if v := r.Values(); !found && len(v) == columns {
			found, err = true, f(v)
		}
	}
	if _, closeErr := r.Close(); closeErr != nil {
		return closeErr
	}
	if !found || err != nil {
		return errAnswer
	}
	return nil
}

// planRows reads the planner's estimate from an EXPLAIN (FORMAT JSON).
func planRows(b []byte) (int64, error) {
	var plans []struct {
		Plan struct {
			Rows float64 `json:"Plan Rows"`
		}
	}
	if err := json.Unmarshal(b, &plans); err != nil || len(plans) == 0 {
		return 0, errAnswer
	}
	return int64(plans[0].Plan.Rows), nil
}
