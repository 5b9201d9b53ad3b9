package direct

import (
	"context"

	"github.com/twinpath/twinpath/dbaccess"
)

// SendUnchecked sends a statement in a transaction without looking at it first.
func SendUnchecked(ctx context.Context, within Transaction, sql string) error {
	t := within.(*tx)
	s, err := t.statement(ctx, "Exec", "", dbaccess.SQL{Operation: "other"})
	if err != nil {
		return err
	}
	_, err = s.exec(sql, nil)
	s.end(0, err)
	return err
}

// NewConns is how many connections the backend's pool has made.
func NewConns(b *Backend) int64 { return b.pool.Stat().NewConnsCount() }

// Refused says why a statement can't be part of a transaction.
func Refused(sql string) error { return refused(sql) }
