package direct

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/internal/sqltext"
)

// CopyFrom copies rows into a table and returns how many. Postgres refuses it for
// tables with row-level security.
func (t *tx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	s, err := t.statement(ctx, "CopyFrom", "", dbaccess.SQL{Operation: "copy", Table: sqltext.Table(table...)})
	if err != nil {
		return 0, err
	}
	s.sent = s.start.Start
	n, err := t.conn.CopyFrom(s.ctx, table, columns, rows)
	s.answered = time.Now()
	if err != nil {
		err = s.copyFailure(rows, err)
		s.end(-1, err)
		return n, err
	}
	s.end(n, nil)
	return n, nil
}

// copyFailure tells an error of the source, which is the application's own, from all
// others.
func (s *statement) copyFailure(rows pgx.CopyFromSource, err error) error {
	failure := s.fail(err)
	if own := rows.Err(); own != nil {
		return own
	}
	return failure
}
