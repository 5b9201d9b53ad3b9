package corpus

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Answer is what one way answered to a case.
type Answer struct {
	Status int
	Body   []byte // of a success
	Error  *Error // nil for a success

	// HasRange says that the way tells rows and total, which are -1 where it
	// doesn't know them.
	HasRange    bool
	Rows, Total int64
	// Headers are those that the way has, by names in lower case; nil when it has
	// none.
	Headers map[string]string
}

// Error is an error in PostgREST's form.
type Error struct {
	Code, Message, Details, Hint string // details as JSON where they aren't text
}

// parseError reads an error's body.
func parseError(body []byte) (*Error, bool) {
	var e struct {
		Code    string          `json:"code"`
		Message string          `json:"message"`
		Details json.RawMessage `json:"details"`
		Hint    json.RawMessage `json:"hint"`
	}
	if json.Unmarshal(body, &e) != nil || e.Code == "" {
		return nil, false
	}
	return &Error{Code: e.Code, Message: e.Message, Details: text(e.Details), Hint: text(e.Hint)}, true
}

// text is a JSON string's content, "" for null, and other JSON as it is. Postgres
// has no difference between an empty detail and none that pgx would tell.
func text(raw json.RawMessage) string {
	var s *string
	if len(raw) == 0 {
		return ""
	}
	if json.Unmarshal(raw, &s) != nil {
		return string(raw)
	}
	if s == nil {
		return ""
	}
	return *s
}

// rangeOf reads a Content-Range.
func rangeOf(header string) (rows, total int64) {
	window, of, _ := strings.Cut(header, "/")
	total, err := strconv.ParseInt(of, 10, 64)
	if err != nil {
		total = -1
	}
	from, to, ok := strings.Cut(window, "-")
	if !ok {
		return 0, total
	}
	a, errA := strconv.ParseInt(from, 10, 64)
	b, errB := strconv.ParseInt(to, 10, 64)
	if errA != nil || errB != nil {
		return -1, total
	}
	return b - a + 1, total
}
