package query

import (
	"errors"
	"fmt"
	"slices"
)

// Eq holds when the column equals the value. For NULL use [IsNull]: nothing
// equals it.
func Eq[C Column](column C, value any) Expr { return compare(column, OpEq, value) }

// Neq holds when the column differs from the value and is not NULL.
func Neq[C Column](column C, value any) Expr { return compare(column, OpNeq, value) }

// Gt holds when the column is greater than the value.
func Gt[C Column](column C, value any) Expr { return compare(column, OpGt, value) }

// Gte holds when the column is greater than or equal to the value.
func Gte[C Column](column C, value any) Expr { return compare(column, OpGte, value) }

// Lt holds when the column is less than the value.
func Lt[C Column](column C, value any) Expr { return compare(column, OpLt, value) }

// Lte holds when the column is less than or equal to the value.
func Lte[C Column](column C, value any) Expr { return compare(column, OpLte, value) }

// Like matches text against a pattern in which % stands for any run of
// characters and _ for any one; a backslash takes the next character literally.
// PostgREST turns every * of a pattern into %, so a literal * can't be matched
// for on both paths alike and is refused by package dbaccess.
func Like[C Column](column C, pattern string) Expr { return compare(column, OpLike, pattern) }

// ILike is [Like] without regard to case.
func ILike[C Column](column C, pattern string) Expr { return compare(column, OpILike, pattern) }

// In holds when the column equals one of the values, none of which may be
// nil. With no values it holds for no row.
func In[C Column, V any](column C, values ...V) Expr {
	texts := make([]string, len(values))
	for i, v := range values {
		t, err := Text(v)
		if err != nil {
			return invalid{fmt.Errorf("query: value %d of In on column %q: %w", i, path(column).Column, err)}
		}
		texts[i] = t
	}
	return InList{Column: path(column), Values: texts}
}

// IsNull holds when the column is NULL.
func IsNull[C Column](column C) Expr { return Is{Column: path(column), State: Null} }

// IsNotNull holds when the column is not NULL. It is the negation of [IsNull],
// which every version of PostgREST has a form for, and so holds for a composite
// value unless all its fields are NULL.
func IsNotNull[C Column](column C) Expr { return Not(IsNull(column)) }

// IsTrue holds when a boolean column is true, neither false nor NULL.
func IsTrue[C Column](column C) Expr { return Is{Column: path(column), State: True} }

// IsFalse holds when a boolean column is false, neither true nor NULL.
func IsFalse[C Column](column C) Expr { return Is{Column: path(column), State: False} }

// IsUnknown holds when a boolean column is NULL.
func IsUnknown[C Column](column C) Expr { return Is{Column: path(column), State: Unknown} }

// And holds when every expression holds.
func And(exprs ...Expr) Expr {
	return Logic{Connective: ConnectAnd, Exprs: slices.Clone(exprs)}
}

// Or holds when at least one expression holds.
func Or(exprs ...Expr) Expr {
	return Logic{Connective: ConnectOr, Exprs: slices.Clone(exprs)}
}

// Not holds when the expression is false; not when it is NULL.
func Not(e Expr) Expr { return Negation{Expr: e} }

var errNil = errors.New("nil compares with nothing: use query.IsNull")

func compare[C Column](column C, op Operator, value any) Expr {
	p := path(column)
	t, err := Text(value)
	if err != nil {
		return invalid{fmt.Errorf("query: %s on column %q: %w", op, p.Column, err)}
	}
	return Compare{Column: p, Op: op, Value: t}
}
