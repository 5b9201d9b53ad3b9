// Package compile turns a query into what each access path sends: a PostgREST
// request and a SQL statement. The two compilers live side by side so that every
// change to one is made in sight of the other, and their goldens show both.
//
// This is the wire layer: it represents everything PostgREST does, quirks
// included. What the facade refuses or rewrites is settled before a query gets
// here.
//
// Names reach SQL only through quoteIdent. Values reach it only as parameters, the
// payload of a write and the arguments of a function as one JSON document. Types and
// defaults of columns are written as the catalog has them, which has them from
// the server. In a request's query, names that are not plain words and the values
// of filters are written by quoteValue; the arguments of a call and the key of a PUT,
// for which PostgREST has no quotes, are percent-encoded as they are. The two
// functions are fuzzed against a server and against package parse. A cast's type
// is checked by CheckCast.
//
// [Respond] and [Total] say what PostgREST makes of the numbers that a [Program]
// yields, and [GuardFailure] what it makes of an error that the program raised
// itself.
package compile
