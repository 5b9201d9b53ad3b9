package compile

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/twinpath/twinpath/dbaccess/query"
)

// A guard makes the statement fail by a cast of text that is no number: the
// text, which the server quotes in its message, says why. Nothing secret is in it.
// Who brings about an error with such a text, by a value or a function of
// their own, has an error with another code in return: an error of the server
// undoes the transaction all the same.
const (
	guardPrefix      = "twinpath guard "
	guardSingle      = guardPrefix + "single "
	guardMaxAffected = guardPrefix + "max-affected "
	guardPut         = guardPrefix + "put "

	// What a failed cast to a number raises: invalid_text_representation. See
	// https://www.postgresql.org/docs/current/errcodes-appendix.html.
	guardState = "22P02"
)

// guardRows is the setting in which Main leaves the number of its rows for the
// guard. The guard is a statement of its own because constraints are checked at the
// end of a statement: an error of theirs comes first, as it does in PostgREST.
const guardRows = "twinpath.rows"

// guardStatement makes the statement that fails unless the rows are those that the
// query insists on, nil where it insists on nothing.
func (w *sqlWriter) guardStatement() *Statement {
	s := w.spec
	limit := int64(0)
	switch {
	case s.Op == query.OpCall && w.call.Returns.Set:
		limit = s.Call.MaxAffected
	case s.Op == query.OpUpdate, s.Op == query.OpDelete:
		limit = s.Write.MaxAffected
	}
	put := isPut(s)
	single := s.Single && !put && (s.Op != query.OpCall || w.call.Returns.Set)
	if !single && !put && limit <= 0 {
		return nil
	}
	sql := "select case"
	if put {
		sql += " when n <> 1 then pg_catalog.concat('" + guardPut + "', n)::int8"
	}
	if single {
		sql += " when n <> 1 then pg_catalog.concat('" + guardSingle + "', n)::int8"
	}
	if limit > 0 {
		sql += " when n > " + strconv.FormatInt(limit, 10) + " then pg_catalog.concat('" + guardMaxAffected + "', n)::int8"
	}
	return &Statement{SQL: sql + " end from (select pg_catalog.current_setting('" + guardRows + "')::int8 n) _t"}
}

// maxQuote is the length of a closing quote, in any language, in UTF-8.
const maxQuote = 4

// GuardFailure says what PostgREST answers in place of a server's error that a
// guard has raised, see [SQLOptions]. ok is false for every other error.
func GuardFailure(sqlstate, message string) (r Reply, ok bool) {
	if sqlstate != guardState {
		return Reply{}, false
	}
	// The server quotes the text as its lc_messages has it.
	_, text, found := strings.Cut(message, guardPrefix)
	kind, text, spaced := strings.Cut(text, " ")
	digits := 0
	for digits < len(text) && '0' <= text[digits] && text[digits] <= '9' {
		digits++
	}
	n, err := strconv.ParseInt(text[:digits], 10, 64)
	if quote := len(text) - digits; !found || !spaced || err != nil || quote < 1 || quote > maxQuote {
		return Reply{}, false
	}
	switch guardPrefix + kind + " " {
	case guardSingle:
		return notSingle(n), true
	case guardMaxAffected:
		return tooManyAffected(n), true
	case guardPut:
		return putMismatch(), true
	}
	return Reply{}, false
}

func notSingle(rows int64) Reply {
	return Reply{Status: http.StatusNotAcceptable, Failure: &Failure{
		Code:    codeSingle,
		Message: "Cannot coerce the result to a single JSON object",
		Details: "The result contains " + strconv.FormatInt(rows, 10) + " rows",
	}}
}

func tooManyAffected(rows int64) Reply {
	return Reply{Status: http.StatusBadRequest, Failure: &Failure{
		Code:    codeMaxAffected,
		Message: "Query result exceeds max-affected preference constraint",
		Details: "The query affects " + strconv.FormatInt(rows, 10) + " rows",
	}}
}

func putMismatch() Reply {
	return Reply{Status: http.StatusBadRequest, Failure: &Failure{
		Code:    codePutKey,
		Message: "Payload values do not match URL in primary key column(s)",
	}}
}
