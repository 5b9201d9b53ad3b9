package query

import (
	"errors"
	"fmt"
	"iter"
)

// Expr is a condition on a row. The set of implementations is closed: [Compare],
// [InList], [Is], [Logic], [Negation] and [Every].
type Expr interface{ expr() }

// Operator compares a column with a value. Its text is PostgREST's name for it.
type Operator string

// The operators, with the SQL they stand for.
const (
	OpEq         Operator = "eq"         // =
	OpNeq        Operator = "neq"        // <>
	OpGt         Operator = "gt"         // >
	OpGte        Operator = "gte"        // >=
	OpLt         Operator = "lt"         // <
	OpLte        Operator = "lte"        // <=
	OpLike       Operator = "like"       // LIKE, with * for %
	OpILike      Operator = "ilike"      // ILIKE, with * for %
	OpMatch      Operator = "match"      // ~
	OpIMatch     Operator = "imatch"     // ~*
	OpIsDistinct Operator = "isdistinct" // IS DISTINCT FROM
	OpContains   Operator = "cs"         // @>
	OpContained  Operator = "cd"         // <@
	OpOverlaps   Operator = "ov"         // &&
	OpLeft       Operator = "sl"         // <<
	OpRight      Operator = "sr"         // >>
	OpNotRight   Operator = "nxr"        // &<
	OpNotLeft    Operator = "nxl"        // &>
	OpAdjacent   Operator = "adj"        // -|-
	OpTS         Operator = "fts"        // @@ to_tsquery
	OpPlainTS    Operator = "plfts"      // @@ plainto_tsquery
	OpPhraseTS   Operator = "phfts"      // @@ phraseto_tsquery
	OpWebTS      Operator = "wfts"       // @@ websearch_to_tsquery
)

// Quantifier makes a comparison hold for any or for all elements of an array
// literal.
type Quantifier uint8

// The quantifiers.
const (
	One Quantifier = iota // a plain comparison
	Any                   // at least one element
	All                   // every element
)

// Compare holds when the column and the value meet the operator. A NULL column
// meets none but OpIsDistinct.
type Compare struct {
	Column     Path
	Op         Operator
	Quantifier Quantifier
	Value      string // the text form, see [Text]
	Config     string // text search configuration of OpTS and its kin, "" for the server's default
}

// InList holds when the column equals one of the values. PostgREST reads a list of
// one empty string as the empty list; package dbaccess rewrites such lists.
type InList struct {
	Column Path
	Values []string
}

// State is what [Is] tests for.
type State uint8

// The states a column can be tested for.
const (
	Null    State = iota
	NotNull       // PostgREST 13 or later; Negation of Null serves all
	True
	False
	Unknown
)

// Is holds when the column is in the state. Unlike [Compare] it never yields
// NULL. Where the column is the name of an embedded relation, Null and NotNull
// tell whether there is a related row.
type Is struct {
	Column Path
	State  State
}

// Connective joins the expressions of a [Logic].
type Connective uint8

// The connectives.
const (
	ConnectAnd Connective = iota
	ConnectOr
)

// Logic joins expressions, of which there must be at least one.
type Logic struct {
	Connective Connective
	Exprs      []Expr
}

// Negation negates an expression. Where that yields NULL, so does the negation: a row whose
// column is NULL meets neither Eq nor Not(Eq(…)).
type Negation struct{ Expr Expr }

// invalid stands for a filter that could not be built. It carries the reason to
// [Query.Where] and never reaches a compiler.
type invalid struct{ err error }

// Every holds for every row. An update or a delete says with it that it means
// the whole table.
type Every struct{}

func (Compare) expr()  {}
func (Every) expr()    {}
func (InList) expr()   {}
func (Is) expr()       {}
func (Logic) expr()    {}
func (Negation) expr() {}
func (invalid) expr()  {}

// check reports what keeps e from being compiled.
func check(e Expr) error {
	switch e := e.(type) {
	case nil:
		return errors.New("query: a nil expression: leave it out instead")
	case invalid:
		return e.err
	case Negation:
		return check(e.Expr)
	case Logic:
		if len(e.Exprs) == 0 {
			return errors.New("query: And and Or need at least one expression")
		}
		errs := make([]error, 0, len(e.Exprs))
		for _, c := range e.Exprs {
			errs = append(errs, check(c))
		}
		return errors.Join(errs...)
	case Compare:
		return e.Column.check()
	case InList:
		return e.Column.check()
	case Is:
		return e.Column.check()
	case Every:
		return nil
	}
	return fmt.Errorf("query: unknown expression %T", e)
}

// columnsOf yields the columns that e looks at, in order, with repetitions.
func columnsOf(e Expr) iter.Seq[string] {
	return func(yield func(string) bool) { walkColumns(e, yield) }
}

func walkColumns(e Expr, yield func(string) bool) bool {
	switch e := e.(type) {
	case Compare:
		return yield(e.Column.Column)
	case InList:
		return yield(e.Column.Column)
	case Is:
		return yield(e.Column.Column)
	case Negation:
		return walkColumns(e.Expr, yield)
	case Logic:
		for _, c := range e.Exprs {
			if !walkColumns(c, yield) {
				return false
			}
		}
	}
	return true
}
