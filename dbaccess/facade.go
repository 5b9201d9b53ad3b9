package dbaccess

import (
	"strings"

	"github.com/twinpath/twinpath/dbaccess/query"
)

// validate refuses what would mean something else on one path than on the
// other, or surprise on both. The wire layer below knows no such rules.
func validate(s *query.Spec) error {
	if err := validateExprs(s.Where); err != nil {
		return err
	}
	if err := validateItems(s.Select); err != nil {
		return err
	}
	if s.Op == query.OpUpdate || s.Op == query.OpDelete {
		return validateChange(s)
	}
	if s.Op == query.OpInsert && len(s.Where) > 0 {
		return &query.UnsupportedError{Node: "a condition on an insert", Reason: "an insert has no rows to choose from: leave Where out"}
	}
	return nil
}

func validateExprs(exprs []query.Expr) error {
	for _, e := range exprs {
		if err := validateExpr(e); err != nil {
			return err
		}
	}
	return nil
}

func validateItems(items []query.Item) error {
	for _, it := range items {
		switch it := it.(type) {
		case query.Field:
			if it.Aggregate != "" {
				return &query.UnsupportedError{
					Node:   "the aggregate " + it.Aggregate,
					Reason: "PostgREST forbids aggregates unless db-aggregates-enabled is set: put it into a view or a function, or use dbaccess.Count",
				}
			}
		case query.Embed:
			if err := validateExprs(it.Where); err != nil {
				return err
			}
			if err := validateItems(it.Select); err != nil {
				return err
			}
		}
	}
	return nil
}

// validateChange keeps an update or a delete from touching rows that its author
// did not mean.
func validateChange(s *query.Spec) error {
	switch {
	case len(s.Where) == 0:
		return &query.UnsupportedError{
			Node:   s.Op.String() + " without a condition",
			Reason: "it would touch every row: add Where, or Where(query.AllRows()) to mean that",
		}
	case s.HasLimit || s.Offset > 0:
		return &query.UnsupportedError{
			Node:   "limit or offset on " + s.Op.String(),
			Reason: "PostgREST ignores it and changes every row that matches: narrow the condition, or use MaxAffected",
		}
	}
	return nil
}

func validateExpr(e query.Expr) error {
	switch e := e.(type) {
	case query.Compare:
		if (e.Op == query.OpLike || e.Op == query.OpILike) && strings.Contains(e.Value, "*") {
			return &query.UnsupportedError{
				Node:   string(e.Op) + " on column " + e.Column.Column,
				Reason: "PostgREST reads every * of a pattern as %: write % yourself, or _ to match a literal *",
			}
		}
	case query.Negation:
		return validateExpr(e.Expr)
	case query.Logic:
		for _, c := range e.Exprs {
			if err := validateExpr(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// rewrite puts into another form what PostgREST would misread: a list of one
// empty string, which it takes for the empty list.
func rewrite(s *query.Spec) {
	for i, e := range s.Where {
		if r, changed := rewriteExpr(e); changed {
			where := append([]query.Expr(nil), s.Where...)
			where[i] = r
			s.Where = where
		}
	}
}

func rewriteExpr(e query.Expr) (query.Expr, bool) {
	switch e := e.(type) {
	case query.InList:
		if len(e.Values) == 1 && e.Values[0] == "" {
			return query.Compare{Column: e.Column, Op: query.OpEq}, true
		}
	case query.Negation:
		if r, changed := rewriteExpr(e.Expr); changed {
			return query.Negation{Expr: r}, true
		}
	case query.Logic:
		exprs, any := append([]query.Expr(nil), e.Exprs...), false
		for i, c := range exprs {
			if r, changed := rewriteExpr(c); changed {
				exprs[i], any = r, true
			}
		}
		if any {
			return query.Logic{Connective: e.Connective, Exprs: exprs}, true
		}
	}
	return e, false
}
