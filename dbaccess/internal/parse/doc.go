// Package parse reads PostgREST requests into the query AST. It is the inverse of
// compile.REST and takes everything else that PostgREST takes: hand-written
// filters, raw and quoted values, Range headers, several filters on a column,
// bodies that are forms.
//
//	p, err := parse.Request("GET", "companies", "select=ticker&sector_id=in.(1,2)&order=ticker", header, nil)
//	…
//	program, err := compile.SQL(&p.Spec, compile.SQLOptions{Schema: "public", Catalog: c})
//
// Nothing is looked up in the schema. A parameter of a function read by GET is an
// argument unless its value has the form of a filter, as it is to PostgREST; which
// function is meant, whether a body is its only argument, and whether the filters
// of a PUT are the primary key, the compiler finds out.
//
// What is asked of an embed is put into the embed, and the embeds of a select list
// into the order in which PostgREST answers them, which depends on what is asked of
// which; see [compile.SQLOptions].
//
// The grammar is that of PostgREST's module ApiRequest.QueryParams, including
// what it silently accepts: text after a complete in-list or logic tree is
// ignored, as is a limit that is no number.
//
// A request that PostgREST refuses yields an [*Error] with PostgREST's status and
// code. One that PostgREST would serve and this package can't represent (CSV,
// execution plans, return=headers-only, a max-affected below 1) yields an [*Error]
// with status 501 that names the feature. Nothing is dropped on the way.
package parse
