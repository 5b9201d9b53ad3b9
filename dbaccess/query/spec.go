package query

import (
	"slices"
	"strings"
)

// Op is what a query does.
type Op uint8

// What a query can do.
const (
	OpSelect Op = iota // read rows
	OpInsert           // add rows, or merge them into those that are there
	OpUpdate           // change rows
	OpDelete           // remove rows
	OpCall             // call a function
)

// String returns the SQL verb in lower case.
func (o Op) String() string {
	switch o {
	case OpSelect:
		return "select"
	case OpInsert:
		return "insert"
	case OpUpdate:
		return "update"
	case OpDelete:
		return "delete"
	case OpCall:
		return "call"
	}
	return "unknown"
}

// Writes says whether the operation changes rows. What a function does is known
// to the database alone.
func (o Op) Writes() bool { return o == OpInsert || o == OpUpdate || o == OpDelete }

// Count says whether, and how, the rows that match are counted beside those
// that are returned.
type Count uint8

// The ways of counting that PostgREST knows (Prefer: count=…).
const (
	CountNone      Count = iota
	CountExact           // count every matching row
	CountPlanned         // the planner's estimate
	CountEstimated       // exact up to the server's row limit, the estimate beyond it
)

// Spec is the content of a query as inert data. It is made by [Query]'s methods
// or by a parser, and read by compilers.
type Spec struct {
	Op     Op
	Name   string // for people and for routing, never part of the request
	Schema string // "" is the access path's default schema
	From   string // the table or view, or the function of OpCall

	Select  []Item // none means every column
	Where   []Expr // a row must meet them all
	OrderBy []Order

	Limit    int64 // meaningful when HasLimit is set
	HasLimit bool
	Offset   int64

	Count  Count
	Single bool // exactly one row, as an object instead of an array
	Head   bool // the rows themselves are not wanted, only their number

	// TimeZone is the zone in which the server writes points in time, such as
	// "Asia/Seoul"; "" is the server's own. Only requests that name one
	// (Prefer: timezone=…) need it: decoded times are the same in every zone.
	TimeZone string

	Write *Write    // of OpInsert, OpUpdate and OpDelete
	Call  *CallArgs // of OpCall
}

// Write is what a query that changes rows says beyond which rows it means.
type Write struct {
	// Payload is the rows of an insert, a JSON object or an array of objects, or
	// the changes of an update, an object.
	Payload []byte
	// Columns are the columns to take from the payload. None means those of its
	// first object, which all others must then share.
	Columns []string
	// MissingDefault gives a column that an object lacks the column's default
	// instead of NULL.
	MissingDefault bool
	Conflict       Conflict
	ConflictOn     []string // unique columns to find conflicts by; none means the primary key
	Return         bool     // the changed rows are wanted back
	// MaxAffected is the number of rows beyond which the write fails and is
	// undone; 0 means no limit.
	MaxAffected int64
	// Rollback undoes the write when it is done, which servers allow in tests
	// only.
	Rollback bool
}

// Conflict says what an insert does about a row that is there already.
type Conflict uint8

// What to do about a conflict.
const (
	ConflictFail   Conflict = iota // fail
	ConflictMerge                  // update the row that is there
	ConflictIgnore                 // leave the row that is there
)

// CallArgs are a function's arguments and how it is called.
type CallArgs struct {
	// Args is a JSON object of the arguments by name, or with Whole the only,
	// unnamed argument itself.
	Args  []byte
	Whole bool
	// Type is that of the argument with Whole: "json", which serves jsonb too,
	// "text", "xml" or "bytea". Defaults to "json".
	Type string
	// Columns are the arguments to take from Args. None means all its members.
	Columns []string
	// TextArgs are arguments in text form, in place of Args: those of a request
	// that has them in its query string.
	TextArgs []TextArg
	// ReadOnly makes the call fail when the function writes, whatever it is
	// declared as. It is how a GET calls.
	ReadOnly bool
	// MaxAffected is the number of rows beyond which the call fails and is undone,
	// for functions that return a set; 0 means no limit.
	MaxAffected int64
	// Rollback undoes what the function did, which servers allow in tests only.
	Rollback bool
}

// TextArg is an argument in text form. A name that comes several times is a
// variadic argument.
type TextArg struct{ Name, Value string }

// Summary describes the query's shape without any value: what it does, to
// which table, by which columns. It is bounded in length and the same for every
// query of one shape, so it can name spans and histograms.
func (s *Spec) Summary() string {
	var b strings.Builder
	b.Grow(64) // most summaries fit
	b.WriteString(s.Op.String())
	b.WriteByte(' ')
	b.WriteString(s.From)
	cols := make([]string, 0, 8)
	for _, e := range s.Where {
		cols = filterColumns(cols, e)
	}
	for i, c := range cols {
		switch {
		case i == 0:
			b.WriteString(" by ")
		case i == maxSummaryColumns:
			b.WriteString(",…")
			return b.String()
		default:
			b.WriteByte(',')
		}
		b.WriteString(c)
	}
	return b.String()
}

const maxSummaryColumns = 6

// filterColumns adds the columns that e compares to cols, each once.
func filterColumns(cols []string, e Expr) []string {
	for c := range columnsOf(e) {
		if !slices.Contains(cols, c) {
			cols = append(cols, c)
		}
	}
	return cols
}
