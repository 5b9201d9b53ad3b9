// Package parse reads PostgREST requests into the query AST. It is the inverse of
// compile.REST and takes everything else that PostgREST takes for a read of one
// table: hand-written filters, raw and quoted values, Range headers, several
// filters on a column.
//
//	p, err := parse.Request("GET", "companies", "select=ticker&sector_id=in.(1,2)&order=ticker", header, nil)
//	…
//	program, err := compile.SQL(&p.Spec, compile.SQLOptions{Schema: "public"})
//
// The grammar is that of PostgREST's module ApiRequest.QueryParams, including
// what it silently accepts: text after a complete in-list or logic tree is
// ignored, as is a limit that is no number.
//
// A request that PostgREST refuses yields an [*Error] with PostgREST's status and
// code. One that PostgREST would serve and this package can't represent (embedded
// tables, full text search, writes, functions, CSV) yields an [*Error] with
// status 501 that names the feature. Nothing is dropped on the way.
package parse
