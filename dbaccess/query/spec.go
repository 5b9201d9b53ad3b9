package query

import (
	"slices"
	"strings"
)

// Op is what a query does.
type Op uint8

// OpSelect reads rows.
const OpSelect Op = iota

// String returns the SQL verb in lower case.
func (o Op) String() string {
	if o == OpSelect {
		return "select"
	}
	return "unknown"
}

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
	From   string

	Select  []Item // none means every column
	Where   []Expr // a row must meet them all
	OrderBy []Order

	Limit    int64 // meaningful when HasLimit is set
	HasLimit bool
	Offset   int64

	Count  Count
	Single bool // exactly one row, as an object instead of an array
	Head   bool // the rows themselves are not wanted, only their number
}

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
