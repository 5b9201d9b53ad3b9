package oracle_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/internal/golden/corpus"
)

// leniency is what need not be equal.
type leniency struct {
	order  bool // of rows, as the query has none
	words  bool // of errors, and totals that the planner guessed: the two servers are not of one kind
	nobody bool // errors come without a body
}

// difference is how two answers differ.
type difference struct {
	kind string // the same for answers that differ in the same way; "" when they don't
	text string
}

// differ says how two answers differ.
func differ(want, got answer, l leniency) difference {
	differs := func(kind, format string, args ...any) difference {
		return difference{kind, fmt.Sprintf(format, args...)}
	}
	switch {
	case want.broken != nil || got.broken != nil:
		return differs("broken", "no answer: rest %v, direct %v", want.broken, got.broken)
	case want.refused || got.refused:
		if want.refused != got.refused && (got.failure == nil || got.failure.Code != "PGRST106") { // what the direct path looks at first
			return differs("refused", "refused: rest %s, direct %s", describe(want), describe(got))
		}
		return difference{}
	case want.status != got.status || (want.failure == nil) != (got.failure == nil):
		return differs(short(want)+" "+short(got), "rest %s, direct %s", describe(want), describe(got))
	case want.failure != nil:
		return differFailures(want, got, l)
	case want.total != got.total && !l.words:
		return differs("total", "total: rest %d, direct %d", want.total, got.total)
	case bytes.Equal(want.body, got.body):
		return difference{}
	case len(want.body) == 0 || len(got.body) == 0:
		return differs("no body", "body: rest has %d bytes, direct %d", len(want.body), len(got.body))
	}
	if l.order {
		want.body, got.body = sortRows(want.body), sortRows(got.body)
	}
	c := corpus.Case{Method: "GET", Status: want.status, Response: string(want.body)}
	if c.Status >= 300 {
		c.Status = 200 // a status that a function chose
	}
	if d := corpus.Compare(&c, &corpus.Answer{Status: c.Status, Body: got.body}); d != "" {
		return differs("body", "direct, against rest: %s", d)
	}
	return difference{}
}

func differFailures(want, got answer, l leniency) difference {
	differs := func(kind, format string, args ...any) difference {
		return difference{kind, fmt.Sprintf(format, args...)}
	}
	w, g := want.failure, got.failure
	switch {
	case w.Code != g.Code, w.Kind != g.Kind && !l.nobody:
		return differs(short(want)+" "+short(got), "rest %s, direct %s", describe(want), describe(got))
	case w.HTTPStatus == 416 && want.total != got.total:
		return differs("total", "total of a 416: rest %d, direct %d", want.total, got.total)
	case l.words, l.nobody, guesses(w.Code):
		return difference{}
	}
	for _, part := range []struct{ name, want, got string }{
		{"message", w.Message(), g.Message()}, {"detail", compact(w.Detail()), compact(g.Detail())}, {"hint", w.Hint(), g.Hint()},
	} {
		if part.name == "detail" && drawn(w.Code) {
			continue
		}
		if part.want != part.got {
			return differs(w.Code+" "+part.name, "%s of %s: rest %q, direct %q", part.name, describe(want), part.want, part.got)
		}
	}
	return difference{}
}

// drawn says whether an error's detail shows a whole row, in which there may be the
// next value of a sequence.
func drawn(code string) bool { return code == "23502" || code == "23514" }

func short(a answer) string {
	if a.failure == nil {
		return fmt.Sprint(a.status)
	}
	return fmt.Sprint(a.status, a.failure.Code, a.failure.Kind)
}

// guesses says whether an error of that code has words of the parser's own, or
// guesses what was meant.
func guesses(code string) bool {
	return slices.Contains([]string{"PGRST100", "PGRST200", "PGRST202", "PGRST204", "PGRST205"}, code)
}

func describe(a answer) string {
	switch {
	case a.refused:
		return "nothing sent"
	case a.failure == nil:
		return fmt.Sprintf("%d, %d bytes", a.status, len(a.body))
	}
	return fmt.Sprintf("%d %s %v %q %q", a.status, a.failure.Code, a.failure.Kind, a.failure.Message(), a.failure.Detail())
}

// compact is JSON without insignificant blanks, and other text as it is.
func compact(s string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(s)) != nil {
		return s
	}
	return b.String()
}

// sortRows puts the rows of an answer into an order of their own.
func sortRows(body []byte) []byte {
	var rows []json.RawMessage
	if json.Unmarshal(body, &rows) != nil {
		return body
	}
	slices.SortFunc(rows, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
	return append(append([]byte("["), bytes.Join(toBytes(rows), []byte(","))...), ']')
}

func toBytes(rows []json.RawMessage) [][]byte {
	out := make([][]byte, len(rows))
	for i, r := range rows {
		out[i] = r
	}
	return out
}

func TestDiffer(t *testing.T) {
	t.Parallel()
	ok := func(body string, total int64) answer { return answer{status: 200, total: total, body: []byte(body)} }
	failed := func(e dbaccess.Error, text dbaccess.ServerText) answer {
		return answer{status: e.HTTPStatus, total: -1, failure: e.With(text, nil)}
	}
	conflict := dbaccess.Error{Code: "23505", HTTPStatus: 409, Kind: dbaccess.ErrConflict}
	for name, tc := range map[string]struct {
		want, got answer
		lenient   leniency
		differ    bool
	}{
		"same":                       {want: ok(`[{"a":1}]`, 3), got: ok(`[{"a": 1}]`, 3)},
		"number's text":              {want: ok(`[1.10]`, -1), got: ok(`[1.1]`, -1), differ: true},
		"total":                      {want: ok(`[]`, 3), got: ok(`[]`, 4), differ: true},
		"a guessed total":            {want: ok(`[]`, 3), got: ok(`[]`, 4), lenient: leniency{words: true}},
		"order":                      {want: ok(`[1,2]`, -1), got: ok(`[2,1]`, -1), differ: true},
		"no order":                   {want: ok(`[1,2]`, -1), got: ok(`[2,1]`, -1), lenient: leniency{order: true}},
		"a row twice":                {want: ok(`[1,2]`, -1), got: ok(`[2,1,1]`, -1), lenient: leniency{order: true}, differ: true},
		"no body":                    {want: ok(`[]`, -1), got: ok(``, -1), differ: true},
		"status":                     {want: ok(`[]`, -1), got: answer{status: 206, total: -1, body: []byte(`[]`)}, differ: true},
		"success and failure":        {want: ok(`[]`, -1), got: failed(conflict, dbaccess.ServerText{}), differ: true},
		"code":                       {want: failed(conflict, dbaccess.ServerText{}), got: failed(dbaccess.Error{Code: "23503", HTTPStatus: 409, Kind: dbaccess.ErrConflict}, dbaccess.ServerText{}), differ: true},
		"message":                    {want: failed(conflict, dbaccess.ServerText{Message: "a"}), got: failed(conflict, dbaccess.ServerText{Message: "b"}), differ: true},
		"message of another server":  {want: failed(conflict, dbaccess.ServerText{Message: "a"}), got: failed(conflict, dbaccess.ServerText{Message: "b"}), lenient: leniency{words: true}},
		"detail in JSON":             {want: failed(conflict, dbaccess.ServerText{Detail: `[{"a": 1}]`}), got: failed(conflict, dbaccess.ServerText{Detail: `[{"a":1}]`})},
		"both refused":               {want: answer{refused: true}, got: answer{refused: true}},
		"refused by one":             {want: answer{refused: true}, got: ok(`[]`, -1), differ: true},
		"no answer, twice":           {want: answer{broken: dbaccess.ErrUnavailable}, got: answer{broken: dbaccess.ErrUnavailable}, differ: true},
		"order of embedded members":  {want: ok(`[{"x":{"a":1,"b":2}}]`, -1), got: ok(`[{"x":{"b":2,"a":1}}]`, -1)},
		"order of embedded elements": {want: ok(`[{"x":[1,2]}]`, -1), got: ok(`[{"x":[2,1]}]`, -1), lenient: leniency{order: true}, differ: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := differ(tc.want, tc.got, tc.lenient); (d.kind != "") != tc.differ {
				t.Errorf("difference %+v, want one: %t", d, tc.differ)
			}
		})
	}
}
