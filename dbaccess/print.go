package dbaccess

import (
	"fmt"
	"io"
)

// What a call is asked and answers is for few eyes: fmt, log/slog and
// encoding/json get to see what it is about, and no more.

func (c Call) text() string {
	if c.Query == nil {
		return "call as " + c.Identity.Role
	}
	return c.Query.Summary() + " as " + c.Identity.Role
}

// Format prints the query's summary and the role for every verb.
func (c Call) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.text()) }

// MarshalText writes the query's summary and the role.
func (c Call) MarshalText() ([]byte, error) { return []byte(c.text()), nil }

func (r Result) text() string {
	return fmt.Sprintf("result of %d rows, %d bytes, status %d", r.Rows, len(r.Body), r.Status)
}

// Format prints the number of rows for every verb.
func (r Result) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, r.text()) }

// MarshalText writes the number of rows.
func (r Result) MarshalText() ([]byte, error) { return []byte(r.text()), nil }

const hiddenText = "the server's words (hidden)"

// Format leaves the words out for every verb.
func (ServerText) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hiddenText) }

// MarshalText leaves the words out.
func (ServerText) MarshalText() ([]byte, error) { return []byte(hiddenText), nil }

func (r RouteRequest) text() string { return "route of " + r.Query }

// Format leaves the subject out for every verb: it is who somebody is.
func (r RouteRequest) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, r.text()) }

// MarshalText leaves the subject out.
func (r RouteRequest) MarshalText() ([]byte, error) { return []byte(r.text()), nil }

// Format prints the role for every verb.
func (s *TransactionScope) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "transaction as "+s.call.Identity.Role)
}
