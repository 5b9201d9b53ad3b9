// Package secrets has no code but tests: those that plant secrets wherever this module
// takes one, and then look for them wherever it shows something.
//
//	TestNothingIsShown     passwords, keys, tokens, claims, values, headers and cookies go through both access paths,
//	                       the middleware and tracing, in success and in every kind of failure; none is in an error, a
//	                       log, a report to Sentry or an answer
//	TestNothingIsPrinted   none is in what fmt, log/slog and encoding/json make of an exported type
//	TestEveryTypeIsDecided every exported struct type has been looked at, so that a new one fails until it has been
package secrets
