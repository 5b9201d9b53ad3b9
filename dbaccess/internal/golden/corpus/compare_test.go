package corpus_test

import (
	"strings"
	"testing"

	"github.com/twinpath/twinpath/dbaccess/internal/golden/corpus"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	ok := func(body string) *corpus.Answer { return &corpus.Answer{Status: 200, Body: []byte(body)} }
	failed := func(status int, e corpus.Error) *corpus.Answer { return &corpus.Answer{Status: status, Error: &e} }
	for name, tt := range map[string]struct {
		want corpus.Case
		got  *corpus.Answer
		diff string // part of the difference, "" when there is none
	}{
		"same":                    {corpus.Case{Status: 200, Response: `[{"a":1}]`}, ok(`[{"a":1}]`), ""},
		"whitespace":              {corpus.Case{Status: 200, Response: "[{\"a\":1}, \n {\"a\":2}]"}, ok(`[{"a":1},{"a":2}]`), ""},
		"status":                  {corpus.Case{Status: 200, Response: `[]`}, &corpus.Answer{Status: 206, Body: []byte(`[]`)}, "status 206"},
		"number's text":           {corpus.Case{Status: 200, Response: `[1.10]`}, ok(`[1.1]`), "1.1, want 1.10"},
		"number and string":       {corpus.Case{Status: 200, Response: `[1]`}, ok(`["1"]`), `[0]`},
		"null and text":           {corpus.Case{Status: 200, Response: `[null]`}, ok(`["null"]`), `[0]`},
		"escapes":                 {corpus.Case{Status: 200, Response: `["é\/"]`}, ok(`["\u00e9/"]`), ""},
		"row order":               {corpus.Case{Status: 200, Response: `[1,2]`}, ok(`[2,1]`), `[0]`},
		"a row less":              {corpus.Case{Status: 200, Response: `[1,2]`}, ok(`[1]`), "1 elements, want 2"},
		"column order":            {corpus.Case{Status: 200, Response: `[{"a":1,"b":2}]`}, ok(`[{"b":2,"a":1}]`), "members b,a, want a,b"},
		"column order, one row":   {corpus.Case{Status: 200, Response: `{"a":1,"b":2}`}, ok(`{"b":2,"a":1}`), "members b,a"},
		"embedded member order":   {corpus.Case{Status: 200, Response: `[{"x":{"a":1,"b":2}}]`}, ok(`[{"x":{"b":2,"a":1}}]`), ""},
		"embedded value":          {corpus.Case{Status: 200, Response: `[{"x":{"a":1,"b":2}}]`}, ok(`[{"x":{"b":1,"a":2}}]`), ".x.a"},
		"embedded, repeated":      {corpus.Case{Status: 200, Response: `[{"x":{"a":1,"a":2}}]`}, ok(`[{"x":{"a":2}}]`), ".x"},
		"volatile":                {corpus.Case{Status: 200, Response: `[{"id":1}]`, Volatile: []string{"id"}}, ok(`[{"id":7}]`), ""},
		"volatile, but missing":   {corpus.Case{Status: 200, Response: `[{"id":1}]`, Volatile: []string{"id"}}, ok(`[{}]`), "members"},
		"not JSON":                {corpus.Case{Status: 200, Response: `[]`}, ok(`oops`), "not JSON"},
		"two values":              {corpus.Case{Status: 200, Response: `[]`}, ok(`[][]`), "not JSON"},
		"body where there's none": {corpus.Case{Status: 200, Method: "HEAD"}, ok(`[]`), "a body"},
		"error for rows":          {corpus.Case{Status: 200, Response: `[]`}, failed(200, corpus.Error{Code: "X"}), "an error"},
		"total": {
			corpus.Case{Status: 206, Response: `[1]`, ResponseHeaders: map[string]string{"content-range": "0-0/12"}},
			&corpus.Answer{Status: 206, Body: []byte(`[1]`), HasRange: true, Rows: 1, Total: 11}, "1 rows of 11, want 1 of 12",
		},
		"rows": {
			corpus.Case{Status: 200, Response: `[1]`, ResponseHeaders: map[string]string{"content-range": "0-0/*"}},
			&corpus.Answer{Status: 200, Body: []byte(`[1]`), HasRange: true, Rows: 2, Total: -1}, "2 rows of -1, want 1 of -1",
		},
		"rows inserted": {
			corpus.Case{Method: "POST", Path: "t", Status: 201, Response: `[1,2]`, ResponseHeaders: map[string]string{"content-range": "*/*"}},
			&corpus.Answer{Status: 201, Body: []byte(`[1,2]`), HasRange: true, Rows: 1, Total: -1}, "1 rows of -1, want 2 of -1",
		},
		"rows inserted, not known": {
			corpus.Case{Method: "POST", Path: "t", Status: 201, Response: `[1]`, ResponseHeaders: map[string]string{"content-range": "*/*"}},
			&corpus.Answer{Status: 201, Body: []byte(`[1]`), HasRange: true, Rows: -1, Total: -1}, "",
		},
		"rows changed, not returned": {
			corpus.Case{Method: "PATCH", Path: "t", Status: 204, ResponseHeaders: map[string]string{"content-range": "0-29/30"}},
			&corpus.Answer{Status: 204, HasRange: true, Total: 30}, "",
		},
		"rows of a function": {
			corpus.Case{Method: "POST", Path: "rpc/f", Status: 200, Response: `[1,2]`, ResponseHeaders: map[string]string{"content-range": "0-1/*"}},
			&corpus.Answer{Status: 200, Body: []byte(`[1,2]`), HasRange: true, Rows: -1, Total: -1}, "-1 rows of -1, want 2 of -1",
		},
		"header": {
			corpus.Case{Status: 200, Response: `[]`, ResponseHeaders: map[string]string{"content-type": "application/json; charset=utf-8"}},
			&corpus.Answer{Status: 200, Body: []byte(`[]`), Headers: map[string]string{"content-type": "text/plain"}}, "header content-type",
		},
		"error": {
			corpus.Case{Status: 400, Response: `{"code":"22P02","message":"m","details":"d","hint":"h"}`},
			failed(400, corpus.Error{Code: "22P02", Message: "m", Details: "d", Hint: "h"}), "",
		},
		"error, code": {
			corpus.Case{Status: 400, Response: `{"code":"22P02","message":"m"}`},
			failed(400, corpus.Error{Code: "22P03", Message: "m"}), "code 22P03, want 22P02",
		},
		"error, message": {
			corpus.Case{Status: 400, Response: `{"code":"22P02","message":"m"}`},
			failed(400, corpus.Error{Code: "22P02", Message: "n"}), "message",
		},
		"error, details": {
			corpus.Case{Status: 400, Response: `{"code":"22P02","message":"m","details":"d"}`},
			failed(400, corpus.Error{Code: "22P02", Message: "m"}), "details",
		},
		"error, details in JSON": {
			corpus.Case{Status: 300, Response: `{"code":"PGRST201","message":"m","details":[{"a":1}]}`},
			failed(300, corpus.Error{Code: "PGRST201", Message: "m", Details: `[ {"a": 1} ]`}), "",
		},
		"error, hint": {
			corpus.Case{Status: 400, Response: `{"code":"42703","message":"m","hint":"h"}`},
			failed(400, corpus.Error{Code: "42703", Message: "m"}), "hint",
		},
		"error, guessed hint": {
			corpus.Case{Status: 404, Response: `{"code":"PGRST202","message":"m","hint":"Perhaps"}`},
			failed(404, corpus.Error{Code: "PGRST202", Message: "m"}), "",
		},
		"error, parser's words": {
			corpus.Case{Status: 400, Response: `{"code":"PGRST100","message":"m","details":"d"}`},
			failed(400, corpus.Error{Code: "PGRST100", Message: "n"}), "",
		},
		"range, total": {
			corpus.Case{Status: 416, Response: `{"code":"PGRST103","message":"m"}`, ResponseHeaders: map[string]string{"content-range": "*/12"}},
			&corpus.Answer{Status: 416, Error: &corpus.Error{Code: "PGRST103", Message: "m"}, HasRange: true, Rows: -1, Total: -1}, "of 12",
		},
		"rows for an error": {corpus.Case{Status: 400, Response: `{"code":"22P02"}`}, &corpus.Answer{Status: 400}, "no error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := corpus.Compare(&tt.want, tt.got)
			if (got == "") != (tt.diff == "") || !strings.Contains(got, tt.diff) {
				t.Errorf("difference = %q, want %q in it", got, tt.diff)
			}
		})
	}
}
