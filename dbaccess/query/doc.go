// Package query says what an application wants from the database, as plain
// data that names no access path.
//
// A query starts with [From] and grows by methods, each of which returns a new
// [Query] and leaves the old one as it was, so a base query can be kept in a
// package variable and narrowed per request:
//
//	var recent = query.From("insider_transactions").
//		Named("recent_filings").
//		OrderBy(query.Desc("filed_at")).
//		Limit(50)
//
//	q := recent.Where(query.Eq("ticker", ticker), query.Gte("filed_at", since))
//
// Column names are taken literally: a name with a dot, a quote or a space in it
// is quoted where it has to be, never interpreted. A path into a JSON column is
// built with [JSON] and [JSONText].
//
// Filter values are converted to one text form when the filter is built (see
// [Text]), and both access paths send that same text. A value that has no such
// form is reported by [Query.Err], and every verb of package dbaccess returns
// that error before anything is sent. Writes send JSON, which [Values] makes by
// the same rules: a value means the same in both. Which Go types a column takes and
// gives is a table in docs/types.md, which tests on both paths write.
//
// [Query.Spec] gives the query's content as inert data. Compilers read it; an
// application has no need to.
package query
