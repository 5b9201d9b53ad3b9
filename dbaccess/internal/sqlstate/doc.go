// Package sqlstate knows which HTTP status PostgREST answers for an error that
// Postgres reports, so that the direct path and the stand-in answer the same:
//
//	status := sqlstate.HTTPStatus(pgErr.Code, pgErr.Message, role == "anon")
//
// An error raised on purpose to shape the answer, with the SQLSTATE "PGRST", is
// read by [ParseRaise].
//
// Source: https://docs.postgrest.org/en/stable/references/errors.html#http-status-codes
package sqlstate
