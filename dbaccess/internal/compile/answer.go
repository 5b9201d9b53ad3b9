package compile

import (
	"strconv"

	"github.com/twinpath/twinpath/dbaccess/query"
)

// Reply is how PostgREST answers a query that the database has answered.
type Reply struct {
	Status       int      // 200, 201, 204 or 206; 400, 406 or 416 with a Failure
	ContentRange string   // value of the Content-Range header; "" when the answer has none
	Empty        bool     // the answer has neither a body nor a Content-Type
	Failure      *Failure // nil when the rows are the answer's body
}

// Failure is the error that PostgREST sends in place of rows.
type Failure struct {
	Code    string
	Message string
	Details string // "" is JSON null
	Hint    string // "" is JSON null
}

// NotCounted is the total of a query that doesn't count.
const NotCounted = -1

// Outcome is what a [Program]'s Main and Plan yielded.
type Outcome struct {
	Rows     int64
	Total    int64 // as [Total] makes it
	Inserted int64 // of an insert that merges
	Void     bool  // as in Program
	Bare     bool  // the Content-Range is not wanted
}

// Respond gives PostgREST's answer to a query of any kind. Where it has a Failure,
// what the query did is to be undone. See PostgREST's Response module.
func Respond(s *query.Spec, o Outcome) Reply {
	switch s.Op {
	case query.OpInsert, query.OpUpdate, query.OpDelete:
		return answerWrite(s, &o)
	case query.OpCall:
		return answerCall(s, &o)
	}
	return answerRead(s, &o)
}

// Answer gives PostgREST's answer to a read that returned a number of rows, of
// total that match, or [NotCounted].
//
// A single row that isn't one is refused first (PGRST116), without a
// Content-Range. A window that starts past the last matching row is refused
// when rows were counted (PGRST103), with the Content-Range, and is otherwise
// an empty list. See PostgREST's RangeQuery module, rangeStatusHeader.
func Answer(s *query.Spec, rows, total int64) Reply {
	return answerRead(s, &Outcome{Rows: rows, Total: total})
}

func answerRead(s *query.Spec, o *Outcome) Reply {
	rows, total := o.Rows, o.Total
	if s.Single && rows != 1 {
		return notSingle(rows)
	}
	lower := s.Offset
	if s.HasLimit && s.Limit == 0 {
		lower = 0
	}
	r := Reply{Status: 200, ContentRange: o.contentRange(lower, rows, total)}
	switch {
	case total < 0:
	case lower > total:
		r.Status = 416
		r.Failure = &Failure{
			Code:    "PGRST103",
			Message: "Requested range not satisfiable",
			Details: "An offset of " + strconv.FormatInt(lower, 10) + " was requested, but there are only " +
				strconv.FormatInt(total, 10) + " rows.",
		}
	case rows < total:
		r.Status = 206
	}
	return r
}

func (o *Outcome) contentRange(lower, rows, total int64) string {
	if o.Bare {
		return ""
	}
	b := make([]byte, 0, 24)
	if rows > 0 && total != 0 {
		b = strconv.AppendInt(b, lower, 10)
		b = append(b, '-')
		b = strconv.AppendInt(b, lower+rows-1, 10)
	} else {
		b = append(b, '*')
	}
	b = append(b, '/')
	if total < 0 {
		b = append(b, '*')
	} else {
		b = strconv.AppendInt(b, total, 10)
	}
	return string(b)
}

// Total makes the total of a query that asked for one of what its [Program]
// yielded: the rows that Main counted and those that Plan expects, each
// [NotCounted] where there is none. maxRows is that of [SQLOptions].
//
// An exact count counts, a planned one takes the plan's word, and an estimated
// one counts up to maxRows and beyond that takes what is larger. Writes and calls
// never ask the planner.
func Total(s *query.Spec, counted, planned, maxRows int64) int64 {
	if s.Op != query.OpSelect && s.Count != query.CountNone {
		return counted
	}
	switch s.Count {
	case query.CountExact:
		return counted
	case query.CountPlanned:
		return planned
	case query.CountEstimated:
		if maxRows > 0 && counted <= maxRows {
			return counted
		}
		return max(counted, planned)
	}
	return NotCounted
}
