package query

import (
	"fmt"
	"io"
	"strings"
)

// The parts of a query hold values, of which people's logs must have none: fmt,
// log/slog and encoding/json get to see what a part is about, and no more.

// Format prints the summary for every verb.
func (s Spec) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.Summary()) }

// MarshalText writes the summary, for encoding/json and slog among others.
func (s Spec) MarshalText() ([]byte, error) { return []byte(s.Summary()), nil }

// about says which columns a condition looks at.
func about(e Expr) string { return "condition on " + strings.Join(filterColumns(nil, e), ",") }

// Format prints the column for every verb, and no value.
func (c Compare) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, about(c)) }

// MarshalText writes the column, and no value.
func (c Compare) MarshalText() ([]byte, error) { return []byte(about(c)), nil }

// Format prints the column for every verb, and no value.
func (l InList) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, about(l)) }

// MarshalText writes the column, and no value.
func (l InList) MarshalText() ([]byte, error) { return []byte(about(l)), nil }

// Format prints the columns for every verb, and no value.
func (l Logic) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, about(l)) }

// MarshalText writes the columns, and no value.
func (l Logic) MarshalText() ([]byte, error) { return []byte(about(l)), nil }

// Format prints the columns for every verb, and no value.
func (n Negation) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, about(n)) }

// MarshalText writes the columns, and no value.
func (n Negation) MarshalText() ([]byte, error) { return []byte(about(n)), nil }

// Format prints the relation for every verb, and no value.
func (e Embed) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "embed of "+e.Relation) }

// MarshalText writes the relation, and no value.
func (e Embed) MarshalText() ([]byte, error) { return []byte("embed of " + e.Relation), nil }

// Format prints for every verb that there is a payload.
func (w Write) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, w.text()) }

// MarshalText writes that there is a payload.
func (w Write) MarshalText() ([]byte, error) { return []byte(w.text()), nil }

func (w Write) text() string { return fmt.Sprintf("write of %d bytes", len(w.Payload)) }

// Format prints for every verb that there are arguments.
func (c CallArgs) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "arguments") }

// MarshalText writes that there are arguments.
func (c CallArgs) MarshalText() ([]byte, error) { return []byte("arguments"), nil }

// Format prints the name for every verb.
func (a TextArg) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "argument "+a.Name) }

// MarshalText writes the name.
func (a TextArg) MarshalText() ([]byte, error) { return []byte("argument " + a.Name), nil }
