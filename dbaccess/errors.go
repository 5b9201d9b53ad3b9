package dbaccess

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
)

// Sentinel errors. Both paths answer errors.Is alike for the same cause.
var (
	// ErrNoRows means that One or First found no row. It also answers
	// errors.Is(err, sql.ErrNoRows).
	ErrNoRows error = noRowsError{}
	// ErrMultipleRows means that One found more than one row.
	ErrMultipleRows = errors.New("more than one row")
	// ErrTruncated means that a list reached Config.MaxRows, so that rows may be
	// missing. Give the query a smaller limit, or page.
	ErrTruncated = errors.New("list reached the row limit and may be incomplete: give the query a limit below Config.MaxRows, or page")
	// ErrNoIdentity means that neither the context nor Config.Default says who
	// asks.
	ErrNoIdentity = errors.New("no identity: put one into the context with auth.With or middleware.Identity, or set Config.Default")
	// ErrNoService means that the context asks for the application's own identity,
	// see auth.AsService, and Config.Service doesn't name one.
	ErrNoService = errors.New("no service identity: auth.AsService needs Config.Service")
	// ErrUnauthorized means that the caller is not known: a token was refused,
	// or an anonymous caller lacks a privilege.
	ErrUnauthorized = errors.New("unauthorized")
	// ErrPermission means that a known caller lacks a privilege.
	ErrPermission = errors.New("permission denied")
	// ErrConflict means a violation of a unique or foreign key.
	ErrConflict = errors.New("conflict with existing rows")
	// ErrInvalid means that the database refused a value, a cast or a check.
	ErrInvalid = errors.New("invalid value")
	// ErrNotFound means that a table, column or function does not exist, or
	// that PostgREST's schema cache doesn't know it yet.
	ErrNotFound = errors.New("schema cache stale or object missing")
	// ErrTimeout means that the database or the caller's deadline ended the
	// call. It also answers errors.Is(err, context.DeadlineExceeded).
	ErrTimeout = errors.New("timeout")
	// ErrUnavailable means that the path could not be reached or is overloaded.
	ErrUnavailable = errors.New("database access path unavailable")
	// ErrSaturated means that no connection came free in time. It also answers
	// errors.Is(err, ErrUnavailable).
	ErrSaturated = errors.New("no connection free in time")
	// ErrUnsupported means that a query can't be run, or not alike on both paths.
	// The error also unwraps to a *query.UnsupportedError. Nothing was sent.
	ErrUnsupported = errors.New("unsupported query")
	// ErrUnknownOutcome means that the connection was lost after a write was
	// sent: it may have been done or not. It is never repeated for you.
	ErrUnknownOutcome = errors.New("connection lost after sending a write, which may or may not have been done")
	// ErrSerialization means that the database undid a transaction because of what
	// others did at the same time: serialization failures (SQLSTATE 40001) and
	// deadlocks (40P01). Nothing of it was done, and doing all of it again may succeed.
	ErrSerialization = errors.New("undone because of concurrent transactions, may be done again")
	// ErrTransaction means that a transaction was used in a way that it can't be:
	// see the error's advice. Unless that says otherwise, nothing was sent.
	ErrTransaction = errors.New("not possible in this transaction")
	// ErrClosed means that the DB or its backend has been closed.
	ErrClosed = errors.New("closed")
)

type noRowsError struct{}

func (noRowsError) Error() string        { return "no rows" }
func (noRowsError) Is(target error) bool { return target == sql.ErrNoRows }

// Error is a call that failed. Its text, and what slog and encoding/json make of
// it, say what failed and what to do, and never hold values: the server's own
// words, which may, are behind [Error.Message], [Error.Detail] and [Error.Hint].
type Error struct {
	Path       Path
	Op         string // "select"
	Query      string // the query's name or summary
	Code       string // PostgREST's code, or the SQLSTATE where the database answered
	SQLState   string // "" when the failure isn't the database's
	HTTPStatus int    // what PostgREST answers, on both paths; 0 when it would not answer
	Advice     string // what to do about it, free of values; "" when Kind says it all
	Kind       error  // the sentinel that the error is, nil when it is none of them
	// OutcomeUnknown says that a write was sent and may have been done or not. The
	// error then answers errors.Is(err, ErrUnknownOutcome) beside its kind.
	OutcomeUnknown bool

	server ServerText
	cause  error
}

// ServerText is what the server said. It may quote values.
type ServerText struct {
	Message string
	Detail  string // JSON where PostgREST sends JSON
	Hint    string
}

// With returns a copy of e with the server's words and the underlying error,
// either of which may be zero.
func (e Error) With(text ServerText, cause error) *Error {
	e.server = text
	if cause != nil {
		e.cause = silent{cause}
	}
	return &e
}

// silent is an error that still answers errors.Is and errors.As but shows
// nothing of its text, which may quote values: error reporters walk the chain
// and send what they find.
type silent struct{ err error }

func (s silent) Error() string { return fmt.Sprintf("%T", s.err) }

func (s silent) Is(target error) bool { return errors.Is(s.err, target) }

func (s silent) As(target any) bool { return errors.As(s.err, target) }

// Format prints the type for every verb.
func (s silent) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.Error()) }

// Message is the server's message. It may quote values: don't log it or show it
// to strangers.
func (e *Error) Message() string { return e.server.Message }

// Detail is the server's detail. It may quote values.
func (e *Error) Detail() string { return e.server.Detail }

// Hint is the server's hint. It may quote values.
func (e *Error) Hint() string { return e.server.Hint }

// Error names path, operation, query, code and advice.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("dbaccess: ")
	if e.Query != "" {
		b.WriteString(e.Query)
	} else {
		b.WriteString(e.Op)
	}
	if e.Path != "" {
		b.WriteString(" over ")
		b.WriteString(string(e.Path))
	}
	if e.Kind != nil {
		b.WriteString(": ")
		b.WriteString(e.Kind.Error())
	}
	if e.Code != "" || e.HTTPStatus != 0 {
		b.WriteString(" (")
		b.WriteString(e.Code)
		if e.Code != "" && e.HTTPStatus != 0 {
			b.WriteString(", ")
		}
		if e.HTTPStatus != 0 {
			b.WriteString("status ")
			b.WriteString(strconv.Itoa(e.HTTPStatus))
		}
		b.WriteByte(')')
	}
	if e.Advice != "" {
		b.WriteString(": ")
		b.WriteString(e.Advice)
	}
	return b.String()
}

// Unwrap returns the underlying error: errors.As finds a *pgconn.PgError or a
// net.Error in it, whose text may quote values. Its own text is its type.
func (e *Error) Unwrap() error { return e.cause }

// Is answers for the sentinel, and for what a sentinel implies.
func (e *Error) Is(target error) bool {
	switch {
	case target == ErrUnauthorized && e.HTTPStatus == 401:
		return true
	case target == ErrUnknownOutcome && e.OutcomeUnknown:
		return true
	}
	if e.Kind == nil {
		return false
	}
	switch target {
	case e.Kind:
		return true
	case sql.ErrNoRows:
		return e.Kind == ErrNoRows
	case context.DeadlineExceeded:
		return e.Kind == ErrTimeout
	case ErrUnavailable:
		return e.Kind == ErrSaturated
	}
	return false
}

// LogValue logs what Error says, as attributes.
func (e Error) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("path", string(e.Path)),
		slog.String("op", e.Op),
		slog.String("query", e.Query),
		slog.String("code", e.Code),
		slog.Int("http_status", e.HTTPStatus),
		slog.String("message", e.Error()),
	)
}

// Format prints what Error says for every verb, %+v and %#v included.
func (e Error) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, e.Error()) }

// MarshalJSON writes what Error says.
func (e Error) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Path    Path   `json:"path,omitempty"`
		Op      string `json:"op,omitempty"`
		Query   string `json:"query,omitempty"`
		Code    string `json:"code,omitempty"`
		Status  int    `json:"http_status,omitempty"`
		Message string `json:"message"`
	}{e.Path, e.Op, e.Query, e.Code, e.HTTPStatus, e.Error()})
}
