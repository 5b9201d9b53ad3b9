// Package compile turns a query into what each access path sends: a PostgREST
// request and a SQL statement. The two compilers live side by side so that every
// change to one is made in sight of the other, and their goldens show both.
//
// This is the wire layer: it represents everything PostgREST does, quirks
// included. What the facade refuses or rewrites is settled before a query gets
// here.
//
// Names reach SQL only through quoteIdent. Values reach it only as parameters. Both
// reach a request only through quoteValue, but for names that are plain words. The
// two functions are fuzzed against a server and against package parse. A cast's
// type is checked by CheckCast.
//
// [Answer] and [Total] say what PostgREST makes of the numbers that a [Program]
// yields.
package compile
