package sqlstate

import (
	"encoding/json"
	"net/http"
)

// CodeRaise is the SQLSTATE with which a function hands over a whole answer:
// RAISE SQLSTATE 'PGRST' with JSON as message and as detail.
// Source: https://docs.postgrest.org/en/stable/references/errors.html#raise-errors-with-http-status-codes
const CodeRaise = "PGRST"

// Raise is the answer that a function asked for by [CodeRaise].
type Raise struct {
	Code, Message, Details, Hint string
	Status                       int
	Headers                      map[string]string
}

// ParseRaise reads the answer from the error's message and detail. Where they
// aren't what PostgREST expects the answer is its own PGRST121, status 500, and
// ok is false.
func ParseRaise(message, detail string) (r Raise, ok bool) {
	var m struct {
		Code    *string `json:"code"`
		Message *string `json:"message"`
		Details string  `json:"details"`
		Hint    string  `json:"hint"`
	}
	var d struct {
		Status  *int              `json:"status"`
		Headers map[string]string `json:"headers"`
	}
	if json.Unmarshal([]byte(message), &m) != nil || m.Code == nil || m.Message == nil ||
		json.Unmarshal([]byte(detail), &d) != nil || d.Status == nil || d.Headers == nil ||
		*d.Status < 100 || *d.Status > 999 {
		return Raise{
			Code: "PGRST121", Status: http.StatusInternalServerError,
			Message: "Could not parse JSON in the \"RAISE SQLSTATE 'PGRST'\" error",
		}, false
	}
	return Raise{Code: *m.Code, Message: *m.Message, Details: m.Details, Hint: m.Hint, Status: *d.Status, Headers: d.Headers}, true
}
