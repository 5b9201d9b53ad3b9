package compile

import (
	"fmt"
	"slices"

	"github.com/twinpath/twinpath/dbaccess/query"
)

// MaxDepth is how deeply And, Or and Not may nest. Deeper filters are refused on
// both sides: nobody writes them, and the recursion must end somewhere.
const MaxDepth = 64

// MaxComparisons is how many comparisons the filters of a query may hold, those of
// its embeds together. More are refused on both sides: the time that Postgres takes
// to plan them grows faster than their number. A list of values (In) is one comparison.
const MaxComparisons = 10_000

// checkComparisons refuses filters that are too large.
func checkComparisons(s *query.Spec) error {
	left := MaxComparisons
	if countExprs(s.Where, &left, 0) && countItems(s.Select, &left) {
		return nil
	}
	return &query.UnsupportedError{
		Node: "filter", Reason: "it has more than 10000 comparisons: use In for the values of one column, or pass the values to a function",
	}
}

// countExprs takes the comparisons off left and says whether there were enough. What
// nests too deeply is refused elsewhere.
func countExprs(exprs []query.Expr, left *int, depth int) bool {
	for _, e := range exprs {
		e, _ = strip(e)
		if l, ok := e.(query.Logic); ok {
			if depth <= MaxDepth && !countExprs(l.Exprs, left, depth+1) {
				return false
			}
			continue
		}
		if *left--; *left < 0 {
			return false
		}
	}
	return true
}

func countItems(items []query.Item, left *int) bool {
	for _, it := range items {
		if e, ok := it.(query.Embed); ok && !(countExprs(e.Where, left, 0) && countItems(e.Select, left)) {
			return false
		}
	}
	return true
}

func errDepth() error {
	return &query.UnsupportedError{Node: "filter", Reason: "And, Or and Not nest deeper than 64 levels: flatten the filter"}
}

// unsupportedNode refuses a node that the compilers don't know. A node left out
// would widen the result.
func unsupportedNode(kind string, node any) error {
	return &query.UnsupportedError{Node: fmt.Sprintf("%s %T", kind, node), Reason: "no access path has a form for it"}
}

// checkCompare refuses operators and quantifiers that don't exist, or not
// together, and values that can't be sent.
func checkCompare(e *query.Compare) error {
	quantified := false
	switch e.Op {
	case query.OpEq, query.OpGt, query.OpGte, query.OpLt, query.OpLte,
		query.OpLike, query.OpILike, query.OpMatch, query.OpIMatch:
		quantified = true
	case query.OpNeq, query.OpIsDistinct, query.OpContains, query.OpContained, query.OpOverlaps,
		query.OpLeft, query.OpRight, query.OpNotRight, query.OpNotLeft, query.OpAdjacent,
		query.OpTS, query.OpPlainTS, query.OpPhraseTS, query.OpWebTS:
	default:
		return &query.UnsupportedError{Node: "operator", Reason: "the operator is none of package query's"}
	}
	switch e.Quantifier {
	case query.One:
	case query.Any, query.All:
		if !quantified {
			return &query.UnsupportedError{
				Node:   "operator " + string(e.Op),
				Reason: "it takes no any and no all: use And or Or of single comparisons",
			}
		}
	default:
		return &query.UnsupportedError{Node: "quantifier", Reason: "the quantifier is none of package query's"}
	}
	if err := checkConfig(e); err != nil {
		return err
	}
	return checkText("value", e.Value)
}

// checkPath refuses paths that one of the two sides has no way to say.
func checkPath(p *query.Path) error {
	if err := checkName("column", p.Column); err != nil {
		return err
	}
	for i := range p.Steps {
		if err := checkText("JSON path", p.Steps[i].Key); err != nil {
			return err
		}
	}
	return nil
}

// checkSpec refuses what concerns the query as a whole.
func checkSpec(s *query.Spec) error {
	if err := checkOp(s); err != nil {
		return err
	}
	if err := checkTimeZone(s.TimeZone); err != nil {
		return err
	}
	if err := checkComparisons(s); err != nil {
		return err
	}
	switch {
	case s.HasLimit && s.Limit < 0:
		return &query.UnsupportedError{Node: "limit", Reason: "it must not be negative"}
	case s.Offset < 0:
		return &query.UnsupportedError{Node: "offset", Reason: "it must not be negative"}
	case s.Count > query.CountEstimated:
		return &query.UnsupportedError{Node: "count", Reason: "the way of counting is none of package query's"}
	}
	if s.From == "" {
		return &query.UnsupportedError{Node: "table", Reason: "the name is empty"}
	}
	if err := checkText("table", s.From); err != nil {
		return err
	}
	if s.Schema != "" {
		return checkText("schema", s.Schema)
	}
	return nil
}

// checkOp refuses what concerns the operation.
func checkOp(s *query.Spec) error {
	switch s.Op {
	case query.OpSelect:
		return nil
	case query.OpInsert, query.OpUpdate, query.OpDelete:
		return checkWrite(s)
	case query.OpCall:
		return checkCall(s)
	}
	return &query.UnsupportedError{Node: "operation", Reason: "the operation is none of package query's"}
}

func checkWrite(s *query.Spec) error {
	w := s.Write
	switch {
	case w == nil:
		return &query.UnsupportedError{Node: "write", Reason: "Spec.Write is nil"}
	case s.Head:
		return &query.UnsupportedError{Node: "head", Reason: "a write has no form without an answer: leave its rows out instead"}
	case w.MaxAffected < 0:
		return &query.UnsupportedError{Node: "max-affected", Reason: "it must not be negative"}
	case w.MaxAffected > 0 && s.Op == query.OpInsert:
		return &query.UnsupportedError{Node: "max-affected", Reason: "an insert has no such limit"}
	case w.Conflict > query.ConflictIgnore:
		return &query.UnsupportedError{Node: "conflict", Reason: "what to do is none of package query's"}
	case s.Op != query.OpInsert && (w.Conflict != query.ConflictFail || len(w.ConflictOn) > 0):
		return &query.UnsupportedError{Node: "conflict", Reason: "only an insert has one"}
	case isPut(s) && (w.Conflict != query.ConflictMerge || len(w.ConflictOn) > 0 || len(w.Columns) > 0 || w.MissingDefault):
		return &query.UnsupportedError{Node: "filter", Reason: "an insert with a condition merges one row by its primary key and says nothing else"}
	}
	for _, names := range [...][]string{w.Columns, w.ConflictOn} {
		for _, name := range names {
			if err := checkName("column", name); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkCall(s *query.Spec) error {
	c := s.Call
	switch {
	case c == nil:
		return &query.UnsupportedError{Node: "call", Reason: "Spec.Call is nil"}
	case s.Head && !c.ReadOnly:
		return &query.UnsupportedError{Node: "head", Reason: "only a ReadOnly call has a form without an answer"}
	case c.MaxAffected < 0:
		return &query.UnsupportedError{Node: "max-affected", Reason: "it must not be negative"}
	}
	for _, name := range c.Columns {
		if err := checkName("argument", name); err != nil {
			return err
		}
	}
	return nil
}

// strip takes pairs of negations off e: they change nothing, NULL included, and
// PostgREST has no form for a negation of a negation. It reports whether one is
// left.
func strip(e query.Expr) (inner query.Expr, negated bool) {
	for {
		n, ok := e.(query.Negation)
		if !ok {
			return e, negated
		}
		e, negated = n.Expr, !negated
	}
}

// conditions leaves out of a query what holds for every row, which both sides say
// by saying nothing.
func conditions(s *query.Spec) *query.Spec {
	every := func(e query.Expr) bool { _, ok := e.(query.Every); return ok }
	if !slices.ContainsFunc(s.Where, every) {
		return s
	}
	c := *s
	c.Where = slices.DeleteFunc(slices.Clone(s.Where), every)
	return &c
}
