// Package compile turns a query into what each access path sends: a PostgREST
// request and a SQL statement. The two compilers live side by side so that every
// change to one is made in sight of the other, and their goldens show both.
//
// This is the wire layer: it represents everything PostgREST does, quirks
// included. What the facade refuses or rewrites is settled before a query gets
// here.
//
// Names reach SQL only through quoteIdent and requests only through quoteValue,
// both of which are fuzzed. Values reach SQL only as parameters.
package compile
