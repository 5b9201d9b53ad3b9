package dbaccess

import "strings"

// KindOf returns the sentinel for a failure that a server reported, nil when
// none fits: code is PostgREST's code or a SQLSTATE, "" where the answer had
// neither; status is the HTTP status. Both paths classify by it, so that the
// same cause is the same error.
//
// PGRST116, whose kind depends on the number of rows, is left to the caller.
func KindOf(code string, status int) error {
	if k, ok := kindOfCode[code]; ok {
		return k
	}
	if len(code) == 5 {
		if k, ok := kindOfClass[code[:2]]; ok {
			return k
		}
	}
	switch {
	case status == 401:
		return ErrUnauthorized
	case status == 403:
		return ErrPermission
	case status == 409:
		return ErrConflict
	case status == 429, status == 502, status == 503, status == 504, status >= 520 && status <= 530:
		return ErrUnavailable
	case status == 408:
		return ErrTimeout
	case strings.HasPrefix(code, "PGRST1"):
		return ErrInvalid
	}
	return nil
}

// Sources: https://docs.postgrest.org/en/stable/references/errors.html and
// https://www.postgresql.org/docs/current/errcodes-appendix.html.
var kindOfCode = map[string]error{
	"PGRST000": ErrUnavailable, // can't connect to the database
	"PGRST001": ErrUnavailable, // internal connection error
	"PGRST002": ErrUnavailable, // schema cache not built yet
	"PGRST003": ErrSaturated,   // timed out waiting for a pooled connection
	"PGRST106": ErrNotFound,    // schema not exposed
	"PGRST111": nil,            // the database set response.headers to nonsense
	"PGRST112": nil,            // the database set response.status to nonsense
	"PGRST125": ErrNotFound,    // invalid path
	"PGRST200": ErrNotFound,    // relationship
	"PGRST201": ErrInvalid,     // ambiguous relationship
	"PGRST202": ErrNotFound,    // function
	"PGRST203": ErrInvalid,     // ambiguous function
	"PGRST204": ErrNotFound,    // column
	"PGRST205": ErrNotFound,    // table
	"PGRST301": ErrUnauthorized,
	"PGRST302": ErrUnauthorized,
	"PGRST303": ErrUnauthorized,

	"23502": ErrInvalid, // NOT NULL
	"23503": ErrConflict,
	"23505": ErrConflict,
	"23514": ErrInvalid, // CHECK
	"23P01": ErrConflict,
	"3D000": ErrUnavailable, // no such database
	"3F000": ErrNotFound,    // schema
	"40002": ErrConflict,    // a constraint, checked at the commit
	"42501": ErrPermission,
	"42703": ErrNotFound, // column
	"42704": ErrNotFound, // type or other object
	"42883": ErrNotFound, // function
	"42P01": ErrNotFound, // table
	"42804": ErrInvalid,  // types don't fit
	"53300": ErrSaturated,
	"57014": ErrTimeout,
	"57P01": ErrUnavailable,
	"57P02": ErrUnavailable,
	"57P03": ErrUnavailable,
}

var kindOfClass = map[string]error{
	"08": ErrUnavailable,   // connection
	"22": ErrInvalid,       // data
	"28": ErrPermission,    // authorization
	"40": ErrSerialization, // the transaction was rolled back
	"53": ErrUnavailable,   // resources
}
