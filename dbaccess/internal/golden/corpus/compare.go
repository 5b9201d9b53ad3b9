package corpus

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Compare returns how an answer differs from the recorded one, "" when it does
// not.
//
// Not compared are the words of PGRST100 errors, which are the server's parser's
// own, the hints in which PostgREST guesses a name, and headers that a way does
// not have.
func Compare(c *Case, a *Answer) string {
	if a.Status != c.Status {
		return fmt.Sprintf("status %d, want %d%s", a.Status, c.Status, errorNote(a))
	}
	if c.Status >= 300 {
		return compareErrors(c, a)
	}
	if a.Error != nil {
		return "an error, want rows" + errorNote(a)
	}
	if d := compareRange(c, a); d != "" {
		return d
	}
	if d := compareHeaders(c, a); d != "" {
		return d
	}
	if c.Method == "HEAD" || c.Response == "" {
		if len(a.Body) > 0 {
			return "a body, want none"
		}
		return ""
	}
	return compareJSON([]byte(c.Response), a.Body, c.Volatile)
}

func errorNote(a *Answer) string {
	if a.Error == nil {
		return ""
	}
	return ": " + a.Error.Code + " " + short(a.Error.Message) + " " + short(a.Error.Details)
}

func compareErrors(c *Case, a *Answer) string {
	want, ok := parseError([]byte(c.Response))
	if !ok {
		return "the recorded answer is no error"
	}
	if a.Error == nil {
		return "no error, want " + want.Code
	}
	got := a.Error
	if got.Code != want.Code {
		return "code " + got.Code + ", want " + want.Code + errorNote(a)
	}
	if c.Status == 416 {
		if d := compareRange(c, a); d != "" {
			return d
		}
	}
	if d := compareHeaders(c, a); d != "" {
		return d
	}
	if want.Code == "PGRST100" {
		return ""
	}
	if got.Message != want.Message {
		return fmt.Sprintf("message %q, want %q", short(got.Message), short(want.Message))
	}
	if got.Details != want.Details && compareJSON([]byte(want.Details), []byte(got.Details), nil) != "" {
		return fmt.Sprintf("details %q, want %q", short(got.Details), short(want.Details))
	}
	guessed := []string{"PGRST200", "PGRST202", "PGRST204", "PGRST205"}
	if got.Hint != want.Hint && !slices.Contains(guessed, want.Code) {
		return fmt.Sprintf("hint %q, want %q", short(got.Hint), short(want.Hint))
	}
	return ""
}

func compareRange(c *Case, a *Answer) string {
	header, ok := c.ResponseHeaders["content-range"]
	if !a.HasRange || !ok {
		return ""
	}
	rows, total := rangeOf(header)
	switch {
	case c.Method == "HEAD" || c.Response == "" || c.Status == 416:
		rows = 0 // none are returned, whatever the header says
		if c.Status == 416 {
			rows = a.Rows
		}
	case c.changesRows():
		rows = a.Rows // the header says nothing about those returned
		if n := countRows([]byte(c.Response)); a.Rows >= 0 {
			rows = n
		}
	}
	if a.Rows != rows || a.Total != total {
		return fmt.Sprintf("%d rows of %d, want %d of %d", a.Rows, a.Total, rows, total)
	}
	return ""
}

// countRows is the number of rows in a body: those of an array, or one.
func countRows(body []byte) int64 {
	var rows []json.RawMessage
	if json.Unmarshal(body, &rows) != nil {
		return 1
	}
	return int64(len(rows))
}

func compareHeaders(c *Case, a *Answer) string {
	if a.Headers == nil {
		return ""
	}
	for _, name := range []string{"content-range", "content-type", "preference-applied", "proxy-status", "www-authenticate"} {
		if got, want := a.Headers[name], c.ResponseHeaders[name]; got != want {
			return fmt.Sprintf("header %s %q, want %q", name, got, want)
		}
	}
	return ""
}

// short cuts a text down for a report.
func short(s string) string {
	const limit = 120
	if len(s) <= limit {
		return s
	}
	return s[:limit] + "…"
}
