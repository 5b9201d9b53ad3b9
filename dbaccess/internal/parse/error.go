package parse

import (
	"net/http"
	"strconv"
)

// Error is a request that is refused, in PostgREST's terms. Message, Details and
// Hint are for the client who sent the request and may quote it; Error leaves
// them out.
type Error struct {
	Status  int
	Code    string // PostgREST's code, or an SQLSTATE where the server would have refused; "" with status 501
	Message string
	Details string // "" is JSON null
	Hint    string // "" is JSON null
}

// Error names status and code.
func (e *Error) Error() string {
	s := "parse: request refused with status " + strconv.Itoa(e.Status)
	if e.Code != "" {
		s += " (" + e.Code + ")"
	}
	if e.Status == http.StatusNotImplemented {
		s += ": " + e.Message // names a feature, quotes nothing
	}
	return s
}

// unsupported is a request that PostgREST would serve.
func unsupported(feature string) *Error {
	return &Error{
		Status:  http.StatusNotImplemented,
		Message: feature + " is not supported here, though PostgREST has it",
	}
}

// outOfRange is what the server answers to an integer that its type can't hold.
func outOfRange(text, sqlType string) *Error {
	return &Error{
		Status:  http.StatusBadRequest,
		Code:    "22003",
		Message: `value "` + text + `" is out of range for type ` + sqlType,
	}
}
