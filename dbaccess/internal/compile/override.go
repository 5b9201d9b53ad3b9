package compile

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// HeaderField is a header that the database adds to an answer.
type HeaderField struct{ Name, Value string }

// Override reads what the database has set response.status and response.headers
// to, as a [Program]'s columns have it, "" for NULL: the answer's status, 0 for the
// one that it has anyway, and headers that replace those of the same name.
//
// A setting that PostgREST can't read fails the query with PGRST112 or PGRST111.
// See https://docs.postgrest.org/en/stable/references/transactions.html.
func Override(status, headers string) (code int, fields []HeaderField, failure *Reply) {
	if status != "" {
		if code = leadingNumber(status); code < 100 || code > 999 {
			return 0, nil, &Reply{Status: http.StatusInternalServerError, Failure: &Failure{
				Code: "PGRST112", Message: "response.status guc must be a valid status code",
			}}
		}
	}
	if headers == "" {
		return code, nil, nil
	}
	var objects []map[string]string
	err := json.Unmarshal([]byte(headers), &objects)
	for _, o := range objects {
		if len(o) != 1 {
			err = errNotUniform
		}
		for name, value := range o {
			fields = append(fields, HeaderField{name, value})
		}
	}
	if err != nil || objects == nil {
		return 0, nil, &Reply{Status: http.StatusInternalServerError, Failure: &Failure{
			Code:    "PGRST111",
			Message: "response.headers guc must be a JSON array composed of objects with a single key and a string value",
		}}
	}
	return code, fields, nil
}

// leadingNumber is the number that a text begins with, -1 for none. PostgREST
// ignores what follows it.
func leadingNumber(text string) int {
	end := 0
	for end < len(text) && '0' <= text[end] && text[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(text[:end])
	if err != nil {
		return -1
	}
	return n
}
