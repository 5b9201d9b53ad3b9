package query

import "fmt"

// Matches holds when text matches a POSIX regular expression (SQL's ~).
func Matches[C Column](column C, pattern string) Expr { return compare(column, OpMatch, pattern) }

// IMatches is [Matches] without regard to case.
func IMatches[C Column](column C, pattern string) Expr { return compare(column, OpIMatch, pattern) }

// IsDistinctFrom holds when the column differs from the value, or is NULL.
func IsDistinctFrom[C Column](column C, value any) Expr { return compare(column, OpIsDistinct, value) }

// Contains holds when an array, range or jsonb column contains the value: a
// slice, a range in its text form, or a map or struct for jsonb.
func Contains[C Column](column C, value any) Expr { return compare(column, OpContains, value) }

// ContainedBy holds when the value contains an array, range or jsonb column.
func ContainedBy[C Column](column C, value any) Expr { return compare(column, OpContained, value) }

// Overlaps holds when an array or range column has elements in common with the
// value.
func Overlaps[C Column](column C, value any) Expr { return compare(column, OpOverlaps, value) }

// StrictlyLeft holds when a range lies wholly before the value (SQL's <<).
func StrictlyLeft[C Column](column C, value any) Expr { return compare(column, OpLeft, value) }

// StrictlyRight holds when a range lies wholly after the value (SQL's >>).
func StrictlyRight[C Column](column C, value any) Expr { return compare(column, OpRight, value) }

// NotRightOf holds when a range does not reach beyond the value (SQL's &<).
func NotRightOf[C Column](column C, value any) Expr { return compare(column, OpNotRight, value) }

// NotLeftOf holds when a range does not begin before the value (SQL's &>).
func NotLeftOf[C Column](column C, value any) Expr { return compare(column, OpNotLeft, value) }

// Adjacent holds when a range touches the value without overlapping it (SQL's
// -|-).
func Adjacent[C Column](column C, value any) Expr { return compare(column, OpAdjacent, value) }

// TSQuery holds when a text search of the column, a tsvector or what can be made
// one, finds a query in to_tsquery's syntax. The configuration, a dictionary
// such as "english", defaults to the server's.
func TSQuery[C Column](column C, text string, config ...string) Expr {
	return search(column, OpTS, text, config)
}

// PlainTSQuery is [TSQuery] for plain text, all of whose words must be found.
func PlainTSQuery[C Column](column C, text string, config ...string) Expr {
	return search(column, OpPlainTS, text, config)
}

// PhraseTSQuery is [TSQuery] for plain text, whose words must be found in their
// order.
func PhraseTSQuery[C Column](column C, text string, config ...string) Expr {
	return search(column, OpPhraseTS, text, config)
}

// WebTSQuery is [TSQuery] for what people type into a search field: words,
// "quoted phrases", or and -.
func WebTSQuery[C Column](column C, text string, config ...string) Expr {
	return search(column, OpWebTS, text, config)
}

func search[C Column](column C, op Operator, text string, config []string) Expr {
	e := compare(column, op, text)
	c, ok := e.(Compare)
	switch {
	case !ok || len(config) == 0:
		return e
	case len(config) > 1:
		return invalid{fmt.Errorf("query: %s on column %q: more than one text search configuration", op, path(column).Column)}
	}
	c.Config = config[0]
	return c
}

// AnyOf holds when the comparison holds for at least one of the values, a slice.
// The operator is one of OpEq, OpGt, OpGte, OpLt, OpLte, OpLike, OpILike,
// OpMatch and OpIMatch.
func AnyOf[C Column](column C, op Operator, values any) Expr {
	return quantified(column, op, Any, values)
}

// AllOf holds when the comparison holds for every one of the values, a slice.
// The operators are those of [AnyOf].
func AllOf[C Column](column C, op Operator, values any) Expr {
	return quantified(column, op, All, values)
}

func quantified[C Column](column C, op Operator, q Quantifier, values any) Expr {
	switch op {
	case OpEq, OpGt, OpGte, OpLt, OpLte, OpLike, OpILike, OpMatch, OpIMatch:
	default:
		return invalid{fmt.Errorf("query: %s on column %q has no any or all form", op, path(column).Column)}
	}
	e := compare(column, op, values)
	c, ok := e.(Compare)
	if !ok {
		return e
	}
	if len(c.Value) == 0 || c.Value[0] != '{' {
		return invalid{fmt.Errorf("query: %s on column %q: the values of AnyOf and AllOf are a slice", op, c.Column.Column)}
	}
	c.Quantifier = q
	return c
}
