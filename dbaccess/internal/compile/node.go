package compile

import (
	"fmt"

	"github.com/twinpath/twinpath/dbaccess/query"
)

// MaxDepth is how deeply And, Or and Not may nest. Deeper filters are refused on
// both sides: nobody writes them, and the recursion must end somewhere.
const MaxDepth = 64

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
		query.OpLeft, query.OpRight, query.OpNotRight, query.OpNotLeft, query.OpAdjacent:
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
	return checkText("value", e.Value)
}

// checkSpec refuses what concerns the query as a whole.
func checkSpec(s *query.Spec) error {
	switch {
	case s.Op != query.OpSelect:
		return &query.UnsupportedError{Node: "operation", Reason: "only reads are supported"}
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
