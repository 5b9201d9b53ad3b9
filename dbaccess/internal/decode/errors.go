package decode

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
)

// ErrNull is what a [*TypeError] unwraps to when SQL NULL met a Go value that cannot hold it.
var ErrNull = errors.New("decode: SQL NULL into a value that cannot hold it")

// ErrInfinity is what a [*TypeError] unwraps to when Postgres sent 'infinity' or '-infinity' for a date, a timestamp or
// an interval. Go has no such time, and any stand-in would be wrong in a comparison.
var ErrInfinity = errors.New("decode: infinity has no Go value")

// A SyntaxError says that a body is not the JSON it has to be: not JSON at all, cut short, followed by something else,
// invalid UTF-8, nested too deep, or of another kind than rows. Its text never quotes the body.
type SyntaxError struct {
	Offset int64  // bytes from the start of the body to where it went wrong
	Why    string // what was wrong there
}

// Error describes the fault and where it is.
func (e *SyntaxError) Error() string {
	return "decode: the result is not the JSON expected: " + e.Why + " at byte " + strconv.FormatInt(e.Offset, 10)
}

// A TypeError says that a value does not fit the Go type that its column is read into. Its text names the column and
// the type and says what to do; it never holds the value.
type TypeError struct {
	// Column is the column, with the path inside it when the value is nested: "address.city", "tags[]", "lots[].price".
	// The keys of a map are data, so they are left out. It is empty for a row of one value and for a row as a whole.
	Column   string
	Row      int          // index of the row, from 0
	GoType   reflect.Type // the type that could not take the value
	JSONKind string       // kind of the JSON value: null, boolean, number, string, array or object
	Why      string       // the reason and the advice

	reason error // ErrNull, ErrInfinity or nil
	method error // what the type's own method answered
}

// Error names the column, the row, the type and the reason.
func (e *TypeError) Error() string {
	where := "row " + strconv.Itoa(e.Row)
	if e.Column != "" {
		where = "column " + strconv.Quote(e.Column) + " of " + where
	}
	return fmt.Sprintf("decode: %s: cannot read a JSON %s into %s: %s", where, e.JSONKind, e.GoType, e.Why)
}

// Unwrap gives [ErrNull] or [ErrInfinity] where one of them is the reason. It does not give the error of the type's own
// method, which may quote the value and would then reach every log that walks a chain of errors; see [TypeError.MethodError].
func (e *TypeError) Unwrap() error { return e.reason }

// MethodError is what the type's own UnmarshalJSON, UnmarshalJSONFrom, UnmarshalText or Scan answered, nil when no such
// method was asked. It may quote the value: show it to a person debugging, do not log it.
func (e *TypeError) MethodError() error { return e.method }

// GoString is the text of Error, so that %#v does not print what MethodError hides.
func (e *TypeError) GoString() string { return e.Error() }

func (e *TypeError) within(path string) { e.Column = join(path, e.Column) }

// A MissingColumnError says that a row has no member for a column of the struct.
type MissingColumnError struct {
	Column string // the column, with its path when it belongs to an embed: "trades.price"
	Row    int    // index of the row, from 0
}

// Error names the column and says how to make struct and query agree.
func (e *MissingColumnError) Error() string {
	return fmt.Sprintf("decode: row %d has no column %q, which the struct has: select it, or tag the field `db:\"-\"`", e.Row, e.Column)
}

func (e *MissingColumnError) within(path string) { e.Column = join(path, e.Column) }

// located is an error that learns, on its way up, where it happened.
type located interface{ within(path string) }

func at(err error, path string) error {
	if e, ok := err.(located); ok {
		e.within(path)
	}
	return err
}

func join(outer, inner string) string {
	if inner == "" || inner[0] == '[' {
		return outer + inner
	}
	return outer + "." + inner
}
