package compile

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// Request is what PostgREST gets.
type Request struct {
	Method      string
	Path        string // below PostgREST's base URL, escaped, without a leading slash
	RawQuery    string // encoded
	Accept      string // the one Accept header
	Prefer      string // the one Prefer header, "" for none
	Profile     string // the schema, "" for the default one; see ProfileHeader
	Body        []byte // nil for none
	ContentType string // of Body, "" without one
}

// ProfileHeader is the name of the header that carries Profile.
func (r *Request) ProfileHeader() string {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return "Accept-Profile"
	}
	return "Content-Profile"
}

// Statement is a SQL statement and its parameters, all in text form and of
// unknown type (OID 0), so that Postgres gives them the type of the column that
// they meet, as it does for PostgREST.
type Statement struct {
	SQL  string
	Args []string
}

// Program is what the direct path runs for a query. Main yields exactly one
// row. Its columns are those that the Column constants name, the last three for
// reads only when asked for, and behind them, when asked for, the server's clock
// (float8, Unix seconds).
type Program struct {
	Main Statement
	// Plan, when not nil, is an EXPLAIN (FORMAT JSON) whose "Plan Rows" is the
	// planner's estimate of the total. [Total] makes the answer's total of it and
	// of what Main has counted.
	Plan *Statement
	// Guard, when not nil, fails where the answer would be refused for what Main
	// has yielded. It is to be run right behind Main, in the same transaction, and
	// yields one row that says nothing. See [SQLOptions].
	Guard *Statement

	// ReadOnly says that the transaction must be read-only, as [ReadOnly] does.
	ReadOnly bool
	// Settings are those of the function called that PostgREST makes the
	// transaction's own before Main runs: statement_timeout and
	// plan_filter.statement_cost_limit as they are, default_transaction_isolation as
	// the transaction's isolation level.
	Settings []catalog.Setting
	// Void says that the function called returns nothing.
	Void bool
}

// The columns of a [Program]'s Main.
const (
	ColumnBody     = iota // text: the answer's body, JSON; empty when it has none
	ColumnRows            // int8: rows in the answer, or written
	ColumnTotal           // int8: rows that match; NULL when not counted
	ColumnStatus          // text: what the database set response.status to; NULL when it didn't
	ColumnHeaders         // text: what the database set response.headers to; NULL when it didn't
	ColumnInserted        // int8: rows that an insert that merges has added; NULL for all else
)

// SQLOptions changes what [SQL] writes.
type SQLOptions struct {
	Schema string // schema of queries that name none. Required
	Clock  bool   // add the server's clock as the last column

	// MaxRows is PostgREST's db-max-rows: it bounds the rows of every read and
	// call, and how far an estimated count counts. Defaults to 0, no bound.
	MaxRows int64

	// Catalog is what is known of the schema. Without one, a query that can't be
	// compiled without is refused with [ErrNeedsCatalog].
	Catalog *catalog.Catalog

	// Aggregates lets aggregates through, as PostgREST's db-aggregates-enabled does.
	// Defaults to false, as in PostgREST: they are refused (PGRST123).
	Aggregates bool

	// Arranged says that the embeds stand in the order of the answer, in which
	// package parse leaves them. Defaults to false: they are put into the order in
	// which PostgREST answers them to the request that [REST] makes of the query.
	Arranged bool

	// Outcome gives reads the columns that writes and calls have anyway:
	// [ColumnStatus], [ColumnHeaders] and [ColumnInserted].
	Outcome bool

	// Guard adds the [Program]'s Guard, which fails, and so undoes what Main did,
	// where [Respond] would refuse what Main yields: a single row that isn't one, or
	// more rows than MaxAffected. [GuardFailure] knows the error. It is for
	// transactions whose commit is on its way before the answer is in. Defaults to
	// false: whoever runs the program looks at the answer before the commit.
	Guard bool
}

// ErrNeedsCatalog is the error of [SQL] for a query that needs a catalog when
// the options have none. See [NeedsCatalog].
var ErrNeedsCatalog = errors.New("compile: the query needs a catalog: load one and set SQLOptions.Catalog")

// NeedsCatalog says whether a query can't be compiled to SQL without a catalog:
// it writes values, wants back the rows that it changed, calls a function, or has
// parts whose SQL depends on columns and relationships.
func NeedsCatalog(s *query.Spec) bool {
	switch s.Op {
	case query.OpInsert, query.OpUpdate, query.OpCall:
		return true
	case query.OpDelete:
		if s.Write == nil || s.Write.Return {
			return true
		}
	}
	return readNeedsCatalog(s)
}

// ReadOnly says whether PostgREST runs a query in a read-only transaction: reads,
// calls that ask for it, and calls of functions that are declared stable or
// immutable.
func ReadOnly(s *query.Spec, c *catalog.Catalog) bool {
	switch s.Op {
	case query.OpSelect:
		return true
	case query.OpCall:
		if s.Call == nil || s.Call.ReadOnly {
			return true
		}
		if c == nil {
			return false
		}
		f, err := functionOf(s, cmp.Or(s.Schema, c.Schemas()[0]), c)
		return err == nil && f.ReadOnly()
	}
	return false
}
