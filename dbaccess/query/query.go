package query

import (
	"errors"
	"fmt"
	"slices"
)

// Query is a read of a table or view, a write to one, or a function call. It is immutable: every
// method returns a new Query, so a Query may be shared between goroutines and
// used as the base of others. The zero value reads from nothing and is reported
// by [Query.Err].
type Query struct {
	spec Spec
	errs []error
}

// From starts a query of a table or view in the access path's default schema.
// The name is taken literally and needs no quoting.
func From(table string) Query {
	return Query{spec: Spec{Op: OpSelect, From: table}}
}

// FromSpec wraps data that was made elsewhere, by a parser for example. The
// spec must not be changed afterwards.
func FromSpec(s Spec) Query { return Query{spec: s} }

// Named gives the query the name under which it appears in spans, histograms,
// by-query routing and probes. Use a constant: a name made of values would grow
// without bound and leak them. Defaults to a summary of the query's shape.
func (q Query) Named(name string) Query {
	q.spec.Name = name
	return q
}

// InSchema reads from a schema other than the access path's default one. The
// schema must be among those that PostgREST exposes.
func (q Query) InSchema(schema string) Query {
	q.spec.Schema = schema
	return q
}

// Columns adds plain columns to the select list, by name.
func (q Query) Columns(names ...string) Query {
	items := make([]Item, len(names))
	for i, n := range names {
		items[i] = Col(n)
	}
	return q.Select(items...)
}

// Select adds items to the select list. Without any, a verb that decodes into a
// struct selects the struct's columns, and one that doesn't selects them all.
func (q Query) Select(items ...Item) Query {
	if err := checkItems(items); err != nil {
		q.errs = append(slices.Clip(q.errs), err)
	}
	q.spec.Select = append(slices.Clip(q.spec.Select), items...)
	return q
}

// Where narrows the query: a row must meet every expression given here and in
// earlier calls.
func (q Query) Where(exprs ...Expr) Query {
	for _, e := range exprs {
		if err := check(e); err != nil {
			q.errs = append(slices.Clip(q.errs), err)
		}
	}
	q.spec.Where = append(slices.Clip(q.spec.Where), exprs...)
	return q
}

// OrderBy adds sort keys after those already there.
func (q Query) OrderBy(keys ...Order) Query {
	for _, k := range keys {
		if err := k.Path.check(); err != nil {
			q.errs = append(slices.Clip(q.errs), err)
		}
	}
	q.spec.OrderBy = append(slices.Clip(q.spec.OrderBy), keys...)
	return q
}

// fault returns the query with an error noted for [Query.Err].
func (q Query) fault(what string, err error) Query {
	q.errs = append(slices.Clip(q.errs), fmt.Errorf("query: %s %w", what, err))
	return q
}

var (
	errNegative         = errors.New("must not be negative")
	errPositive         = errors.New("must be positive")
	errOnlyInsert       = errors.New("belongs to an insert: start with query.Insert")
	errOnlyUpdateDelete = errors.New("belongs to an update or a delete")
	errOnlyCall         = errors.New("belongs to a function call: start with query.Call")
)

// Limit bounds the number of rows. Zero asks for none. A negative limit is an
// error.
func (q Query) Limit(n int) Query {
	if n < 0 {
		return q.fault("Limit", errNegative)
	}
	q.spec.Limit, q.spec.HasLimit = int64(n), true
	return q
}

// Offset skips rows. A negative offset is an error.
func (q Query) Offset(n int) Query {
	if n < 0 {
		return q.fault("Offset", errNegative)
	}
	q.spec.Offset = int64(n)
	return q
}

// Err reports everything that is wrong with the query, nil when it can be sent.
func (q Query) Err() error {
	errs := q.errs
	if q.spec.From == "" {
		errs = append(slices.Clip(errs), errors.New("query: no table: start with query.From"))
	}
	if len(errs) == 0 {
		return nil
	}
	return errors.Join(errs...)
}

// Spec returns the query's content. Its slices are shared with the query and
// must not be changed.
func (q Query) Spec() Spec { return q.spec }

// String returns the query's summary, which holds no values.
func (q Query) String() string { return q.spec.Summary() }

// Format prints the summary for every verb, so that no verb prints values.
func (q Query) Format(s fmt.State, _ rune) { _, _ = fmt.Fprint(s, q.spec.Summary()) }
