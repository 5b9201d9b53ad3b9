package sqlstate

import (
	"net/http"
	"strings"
)

// HTTPStatus returns the status that PostgREST answers for a SQLSTATE. The
// message is the server's, which tells some causes apart that share a code. anon
// says that the statement ran as the anonymous role: such a caller lacks a login
// rather than a privilege.
//
// For the code "PGRST" the answer is in the error's detail: see [ParseRaise].
func HTTPStatus(code, message string, anon bool) int {
	if len(code) != 5 {
		return http.StatusBadRequest
	}
	switch code {
	case "21000": // the extension pg-safeupdate shares the code of a failed scalar subquery
		if strings.HasSuffix(message, "requires a WHERE clause") {
			return http.StatusBadRequest
		}
		return http.StatusInternalServerError
	case "22023":
		if strings.HasPrefix(message, "role") && strings.HasSuffix(message, "does not exist") {
			return http.StatusUnauthorized // the role that the token names
		}
		return http.StatusBadRequest
	case "42501":
		if anon {
			return http.StatusUnauthorized
		}
		return http.StatusForbidden
	case "42883":
		if strings.HasPrefix(message, "function xmlagg(") {
			return http.StatusNotAcceptable
		}
		return http.StatusNotFound
	}
	if status := statusOfCode(code); status != 0 {
		return status
	}
	if strings.HasPrefix(code, "PT") {
		return statusOfPT(code[2:])
	}
	return statusOfClass(code[:2])
}

// statusOfCode answers for the codes that differ from their class, 0 for others.
func statusOfCode(code string) int {
	switch code {
	case "23503", "23505": // foreign key, unique
		return http.StatusConflict
	case "25006": // write in a read-only transaction
		return http.StatusMethodNotAllowed
	case "42P01": // no such table
		return http.StatusNotFound
	case "42P17": // infinite recursion in a policy
		return http.StatusInternalServerError
	case "53400": // configuration limit exceeded
		return http.StatusInternalServerError
	case "57P01": // terminated by the administrator
		return http.StatusServiceUnavailable
	case "P0001": // RAISE without a code
		return http.StatusBadRequest
	}
	return 0
}

func statusOfClass(class string) int {
	switch class {
	case "08", "53": // connection, resources
		return http.StatusServiceUnavailable
	case "0L", "0P", "28": // grantor, role, authorization
		return http.StatusForbidden
	case "09", "25", "2D", "38", "39", "3B", "40", "54", "55", "57", "58", "F0", "HV", "P0", "XX":
		return http.StatusInternalServerError
	}
	return http.StatusBadRequest
}

// statusOfPT reads the status out of a code PTxyz, with which a function names
// the answer's status itself.
func statusOfPT(digits string) int {
	status := 0
	for i := range len(digits) {
		d := digits[i]
		if d < '0' || d > '9' {
			return http.StatusInternalServerError
		}
		status = status*10 + int(d-'0')
	}
	if status < 100 {
		return http.StatusInternalServerError
	}
	return status
}
