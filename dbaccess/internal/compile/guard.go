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

// guard writes the column of inserted rows, unless the rows are not those that
// the query insists on.
func (w *sqlWriter) guard() {
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
		w.inserted()
		return
	}
	w.str("case")
	if put {
		w.str(" when pg_catalog.count(*) <> 1 then pg_catalog.concat('" + guardPut + "', pg_catalog.count(*))::int8")
	}
	if single {
		w.str(" when pg_catalog.count(*) <> 1 then pg_catalog.concat('" + guardSingle + "', pg_catalog.count(*))::int8")
	}
	if limit > 0 {
		w.str(" when pg_catalog.count(*) > ")
		w.buf = strconv.AppendInt(w.buf, limit, 10)
		w.str(" then pg_catalog.concat('" + guardMaxAffected + "', pg_catalog.count(*))::int8")
	}
	w.str(" else ")
	w.inserted()
	w.str(" end")
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
	if !found || !spaced || err != nil || len(text)-digits > maxQuote {
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
