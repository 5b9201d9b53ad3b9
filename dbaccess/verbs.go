package dbaccess

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/twinpath/twinpath/dbaccess/internal/decode"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// All returns every row of q: those read, those a function yields, or those that
// a write added, changed or removed. A list read without a limit of its own that reaches
// Config.MaxRows fails with ErrTruncated instead of being silently cut short.
func All[T any](ctx context.Context, db *DB, q query.Query) ([]T, error) {
	c, plan, err := prepare[T](db, "All", q)
	if err != nil {
		return nil, err
	}
	bounded := c.bound()
	var rows []T
	_, err = c.run(ctx, func(r *Result) (err error) {
		if rows, err = decode.Rows[T](plan, r.Body, db.decoding()); err != nil {
			return err
		}
		return bounded.check(len(rows), r.Body)
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// One returns the only row of q. It fails with ErrNoRows when there is none and
// with ErrMultipleRows when there are more, in both of which cases a write is
// undone. The value of a function that yields just one is a row, too.
func One[T any](ctx context.Context, db *DB, q query.Query) (T, error) {
	var row T
	c, plan, err := prepare[T](db, "One", q)
	if err != nil {
		return row, err
	}
	c.spec.Single = true
	if c.spec.Op == query.OpSelect && (!c.spec.HasLimit || c.spec.Limit > 2) {
		c.spec.Limit, c.spec.HasLimit = 2, true // enough to know that there are more
	}
	bounded := c.boundEmbeds()
	_, err = c.run(ctx, func(r *Result) (err error) {
		if row, err = decode.Row[T](plan, r.Body, db.decoding()); err != nil {
			return err
		}
		return bounded.check(1, r.Body)
	})
	if err != nil {
		var zero T
		return zero, err
	}
	return row, nil
}

// First returns the first row of q, which should have an order. It fails with
// ErrNoRows when there is none.
func First[T any](ctx context.Context, db *DB, q query.Query) (T, error) {
	var row T
	c, plan, err := prepare[T](db, "First", q)
	if err == nil {
		err = c.onlyReads()
	}
	if err != nil {
		return row, err
	}
	if !c.spec.HasLimit || c.spec.Limit > 1 {
		c.spec.Limit, c.spec.HasLimit = 1, true
	}
	bounded := c.boundEmbeds()
	_, err = c.run(ctx, func(r *Result) error {
		rows, err := decode.Rows[T](plan, r.Body, db.decoding())
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return &Error{Kind: ErrNoRows}
		}
		row = rows[0]
		return bounded.check(1, r.Body)
	})
	if err != nil {
		var zero T
		return zero, err
	}
	return row, nil
}

// Page returns the rows of q's window, and the number of rows that match in all.
// A window past the end is an empty page. One that has fewer rows than the number tells it must
// have fails with ErrTruncated.
func Page[T any](ctx context.Context, db *DB, q query.Query) (rows []T, total int64, err error) {
	c, plan, err := prepare[T](db, "Page", q)
	if err == nil {
		err = c.onlyReads()
	}
	if err != nil {
		return nil, 0, err
	}
	if c.spec.Count == query.CountNone {
		c.spec.Count = query.CountExact
	}
	bounded := c.bound()
	res, err := c.run(ctx, func(r *Result) (err error) {
		if rows, err = decode.Rows[T](plan, r.Body, db.decoding()); err != nil {
			return err
		}
		if err := c.whole(len(rows), r.Total); err != nil {
			return err
		}
		return bounded.check(len(rows), r.Body)
	})
	switch {
	case pastEnd(err) && res != nil:
		return []T{}, res.Total, nil
	case err != nil:
		return nil, 0, err
	case res.Total < 0:
		return nil, 0, c.fail("", errUncounted())
	}
	return rows, res.Total, nil
}

// pastEnd says whether the server refused an offset beyond the last row.
func pastEnd(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == codeRange && e.HTTPStatus == 416
}

const codeRange = "PGRST103"

// Count returns the number of rows that match q, whatever its limit, offset and
// order are.
func Count(ctx context.Context, db *DB, q query.Query) (int64, error) {
	c, err := db.newCall("Count", q)
	if err == nil {
		err = c.onlyReads()
	}
	if err != nil {
		return 0, err
	}
	c.spec.Head, c.spec.Count = true, query.CountExact
	c.spec.OrderBy, c.spec.Limit, c.spec.HasLimit, c.spec.Offset = nil, 0, false, 0
	res, err := c.run(ctx, nil)
	if err != nil {
		return 0, err
	}
	if res.Total < 0 {
		return 0, c.fail("", errUncounted())
	}
	return res.Total, nil
}

// errUncounted is for an answer without the count that was asked for.
func errUncounted() error {
	return &Error{Kind: ErrUnavailable, Advice: "the answer lacks its count: does a proxy strip the header Content-Range?"}
}

// JSON returns the rows of q as PostgREST writes them: a JSON array, or what a
// function returns that yields no rows, which is nothing for a void one. The
// bytes are checked to be that, but not decoded. Without a select list it reads
// every column. Like [All] it fails with ErrTruncated rather than return a list
// that was cut short.
func JSON(ctx context.Context, db *DB, q query.Query) (json.RawMessage, error) {
	c, err := db.newCall("JSON", q)
	if err != nil {
		return nil, err
	}
	bounded := c.bound()
	res, err := c.run(ctx, func(r *Result) error {
		if c.spec.Op == query.OpCall && len(r.Body) == 0 {
			return nil // a function that returns nothing
		}
		rows, err := decode.Check(r.Body)
		if err == nil && rows < 0 && c.spec.Op != query.OpCall {
			err = errNotArray
		}
		if err != nil {
			return err
		}
		return bounded.check(rows, r.Body)
	})
	if err != nil {
		return nil, err
	}
	return res.Body, nil
}

var errNotArray = errors.New("the answer is not an array of rows: is that PostgREST behind the URL?")

func (db *DB) decoding() decode.Options { return decode.Options{NullAsZero: db.cfg.NullAsZero} }

// newCall checks q and starts the clock.
func (db *DB) newCall(verb string, q query.Query) (*call, error) {
	c := &call{db: db, verb: verb, spec: q.Spec(), start: db.cfg.now()}
	if err := errors.Join(q.Err(), validate(&c.spec)); err != nil {
		return nil, c.fail("", err)
	}
	rewrite(&c.spec)
	if w := c.spec.Write; w != nil {
		returning := *w
		returning.Return = verb != "Exec"
		c.spec.Write = &returning
	}
	return c, nil
}

// onlyReads refuses queries that the verb makes no sense for.
func (c *call) onlyReads() error {
	if !c.spec.Op.Writes() {
		return nil
	}
	return c.fail("", &query.UnsupportedError{Node: c.verb + " of " + c.spec.Op.String(), Reason: "use All, One, JSON or Exec"})
}

// Exec runs a write or calls a function, and wants no rows back. It returns the
// number of rows that were added, changed or removed, or -1 when the write was
// done but the answer lacks the number; of a function's doing it knows nothing
// and returns 0. Unlike the verbs that return rows it needs no
// right to read them.
func Exec(ctx context.Context, db *DB, q query.Query) (affected int64, err error) {
	c, err := db.newCall("Exec", q)
	if err != nil {
		return 0, err
	}
	switch c.spec.Op {
	case query.OpSelect:
		return 0, c.fail("", &query.UnsupportedError{Node: "Exec of select", Reason: "use All, One, First, Page, Count or JSON"})
	case query.OpInsert, query.OpUpdate, query.OpDelete:
		c.spec.Count = query.CountExact
		c.spec.Select, c.spec.OrderBy = nil, nil // of rows that nobody wants back
	}
	res, err := c.run(ctx, nil)
	if err != nil || !c.spec.Op.Writes() {
		return 0, err
	}
	return res.Total, nil
}
