package db

import (
	"context"
)

const addNote = `-- name: AddNote :exec
INSERT INTO notes (ticker, body) VALUES ($1, $2)
`

// AddNoteParams are the arguments of AddNote.
type AddNoteParams struct {
	Ticker string `json:"ticker"`
	Body   string `json:"body"`
}

// AddNote adds a note on a company.
func (q *Queries) AddNote(ctx context.Context, arg AddNoteParams) error {
	_, err := q.db.Exec(ctx, addNote, arg.Ticker, arg.Body)
	return err
}

const countNote = `-- name: CountNote :one
UPDATE companies SET notes = notes + 1 WHERE ticker = $1 RETURNING ticker, name, notes
`

// CountNote counts a note on a company.
func (q *Queries) CountNote(ctx context.Context, ticker string) (Company, error) {
	row := q.db.QueryRow(ctx, countNote, ticker)
	var i Company
	err := row.Scan(&i.Ticker, &i.Name, &i.Notes)
	return i, err
}

const listCompanies = `-- name: ListCompanies :many
SELECT ticker, name, notes FROM companies WHERE ticker >= $1 ORDER BY ticker LIMIT 50
`

// ListCompanies lists companies from a ticker on.
func (q *Queries) ListCompanies(ctx context.Context, ticker string) ([]Company, error) {
	rows, err := q.db.Query(ctx, listCompanies, ticker)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	items := []Company{}
	for rows.Next() {
		var i Company
		if err := rows.Scan(&i.Ticker, &i.Name, &i.Notes); err != nil {
			return nil, err
		}
		items = append(items, i)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return items, nil
}
