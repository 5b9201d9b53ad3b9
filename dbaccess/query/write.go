package query

import "slices"

// Insert starts a query that adds rows to a table. The rows are a struct, a map
// with string keys, a slice of either, or the JSON of an object or an array of
// them as a json.RawMessage. See [Values] for how Go values become columns.
//
// Where the rows have different columns, the table gets the union of them, and
// a row that lacks one gets the column's default.
func Insert(table string, rows any) Query {
	q := Query{spec: Spec{Op: OpInsert, From: table, Write: &Write{}}}
	p, err := payloadOf(rows, true)
	if err != nil {
		return q.fault("Insert into "+table+":", err)
	}
	q.spec.Write.Payload, q.spec.Write.Columns, q.spec.Write.MissingDefault = p.json, p.columns, p.ragged
	return q
}

// Update starts a query that gives rows of a table new values: a struct or a
// map of the columns to change, or a JSON object. It needs a condition;
// [AllRows] is one that says the whole table.
func Update(table string, changes any) Query {
	q := Query{spec: Spec{Op: OpUpdate, From: table, Write: &Write{}}}
	p, err := payloadOf(changes, false)
	if err != nil {
		return q.fault("Update of "+table+":", err)
	}
	q.spec.Write.Payload, q.spec.Write.Columns = p.json, p.columns
	return q
}

// Delete starts a query that removes rows from a table. It needs a condition,
// as [Update] does.
func Delete(table string) Query {
	return Query{spec: Spec{Op: OpDelete, From: table, Write: &Write{}}}
}

// AllRows holds for every row. It lets an update or a delete that has no other
// condition through.
func AllRows() Expr { return Every{} }

// Merge makes an insert update the row that is there already, found by the
// unique columns given, or by the primary key where none are.
func (q Query) Merge(on ...string) Query { return q.onConflict(ConflictMerge, on) }

// Ignore makes an insert leave the row that is there already, found by the
// unique columns given, or by the primary key where none are. Rows left alone
// are not among those returned.
func (q Query) Ignore(on ...string) Query { return q.onConflict(ConflictIgnore, on) }

func (q Query) onConflict(c Conflict, on []string) Query {
	if q.spec.Op != OpInsert {
		return q.fault("Merge or Ignore", errOnlyInsert)
	}
	w := *q.spec.Write
	w.Conflict, w.ConflictOn = c, slices.Clone(on)
	q.spec.Write = &w
	return q
}

// MaxAffected makes an update or a delete that would change more than n rows
// fail and change none.
func (q Query) MaxAffected(n int) Query {
	switch {
	case q.spec.Op != OpUpdate && q.spec.Op != OpDelete:
		return q.fault("MaxAffected", errOnlyUpdateDelete)
	case n < 1:
		return q.fault("MaxAffected", errPositive)
	}
	w := *q.spec.Write
	w.MaxAffected = int64(n)
	q.spec.Write = &w
	return q
}

// Call starts a query that calls a function with arguments by name: a struct or
// a map with string keys, a JSON object, or nil for none. What a set-returning
// function yields can be selected from, filtered and ordered like a table.
func Call(function string, args any) Query {
	q := Query{spec: Spec{Op: OpCall, From: function, Call: &CallArgs{Args: []byte("{}")}}}
	if args == nil {
		return q
	}
	p, err := payloadOf(args, false)
	if err != nil {
		return q.fault("Call of "+function+":", err)
	}
	q.spec.Call.Args = p.json
	return q
}

// ReadOnly makes a function call fail when the function writes. A function that
// is declared stable or immutable is called so anyway.
func (q Query) ReadOnly() Query {
	if q.spec.Op != OpCall {
		return q.fault("ReadOnly", errOnlyCall)
	}
	c := *q.spec.Call
	c.ReadOnly = true
	q.spec.Call = &c
	return q
}
