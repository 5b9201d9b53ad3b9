// Package advice says what to do about an error that Postgres or PostgREST
// reported, in words that hold no values. Both paths take it from here, so that the
// same code comes with the same advice whichever path the call took:
//
//	text := advice.For(advice.Failure{Code: pgErr.Code, Message: pgErr.Message, Query: call.Query})
//
// What concerns one path alone, such as its connections, is not here.
//
// Sources: https://www.postgresql.org/docs/current/errcodes-appendix.html and
// https://docs.postgrest.org/en/stable/references/errors.html.
package advice
