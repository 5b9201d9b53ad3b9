package compile

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// wholeColumn stands for the arguments of a call whose body is one JSON value.
// Naming a column keeps PostgREST from looking into the body, and no function has
// an argument of that name by accident.
const wholeColumn = "_"

// arguments are a call's, in one of three forms.
type arguments struct {
	text []query.TextArg // by name, in text form, when json is nil
	json []byte          // by name, or the body as a whole
	call catalog.Call    // what the function is chosen by
}

// argumentsOf reads a call's arguments.
func argumentsOf(c *query.CallArgs) (a arguments, err error) {
	switch {
	case c.Whole:
		return wholeArgument(c)
	case c.TextArgs != nil:
		if len(c.Args) > 0 {
			return a, &query.UnsupportedError{Node: "arguments", Reason: "they are given both as JSON and as text"}
		}
		a.text = c.TextArgs
	case c.ReadOnly:
		if a.text, err = textArguments(c); err != nil {
			return a, err
		}
	default:
		return jsonArguments(c)
	}
	for i := range a.text {
		t := &a.text[i]
		if err := checkName("argument", t.Name); err != nil {
			return a, err
		}
		if err := checkText("argument", t.Value); err != nil {
			return a, err
		}
		if c.ReadOnly && looksLikeFilter(t.Value) {
			return a, &query.UnsupportedError{Node: "argument", Reason: "PostgREST would read its text as a filter: call without ReadOnly"}
		}
		a.call.Args = append(a.call.Args, t.Name)
	}
	return a, nil
}

func wholeArgument(c *query.CallArgs) (a arguments, err error) {
	if c.ReadOnly {
		return a, &query.UnsupportedError{Node: "ReadOnly", Reason: "it takes arguments by name"}
	}
	a.json = c.Args
	switch c.Type {
	case "", "json":
		a.call = catalog.Call{Body: catalog.BodyJSON, Args: []string{wholeColumn}}
	case "text":
		a.call.Body = catalog.BodyText
	case "xml":
		a.call.Body = catalog.BodyXML
	case "bytea":
		a.call.Body = catalog.BodyBytes
		return a, nil
	default:
		return a, &query.UnsupportedError{Node: "argument", Reason: "the type must be json, text, xml or bytea"}
	}
	return a, checkText("argument", string(c.Args))
}

func jsonArguments(c *query.CallArgs) (a arguments, err error) {
	a.call.Body = catalog.BodyJSON
	switch {
	case len(c.Columns) > 0:
		a.json, a.call.Args = c.Args, slices.Compact(slices.Sorted(slices.Values(c.Columns)))
		err = checkText("argument", string(c.Args))
	case len(c.Args) > 0:
		a.json, a.call.Args, err = Payload(c.Args)
	}
	if a.json == nil {
		a.json = []byte{} // an empty body is JSON too, until the database reads it
	}
	return a, err
}

// textArguments puts a JSON object of arguments into text form, for a call that
// has them in its query string: strings as they are, everything else as JSON.
func textArguments(c *query.CallArgs) ([]query.TextArg, error) {
	if len(c.Args) == 0 {
		return nil, nil
	}
	_, names, err := Payload(c.Args)
	if err != nil {
		return nil, err
	}
	if !isObject(c.Args) {
		return nil, refuse(http.StatusBadRequest, codeBody, "All object keys must match")
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(c.Args, &values); err != nil {
		return nil, refuse(http.StatusBadRequest, codeBody, "Empty or invalid json")
	}
	if len(c.Columns) > 0 {
		names = slices.Compact(slices.Sorted(slices.Values(c.Columns)))
	}
	args := make([]query.TextArg, 0, len(names))
	for _, name := range names {
		v := bytes.TrimSpace(values[name])
		text := string(v)
		switch {
		case len(v) == 0 || text == "null":
			return nil, &query.UnsupportedError{Node: "argument", Reason: "a ReadOnly call has no form for null: leave the argument out or call without ReadOnly"}
		case v[0] == '"':
			if err := json.Unmarshal(v, &text); err != nil {
				return nil, refuse(http.StatusBadRequest, codeBody, "Empty or invalid json")
			}
		}
		args = append(args, query.TextArg{Name: name, Value: text})
	}
	return args, nil
}

// looksLikeFilter says whether PostgREST takes a parameter's value for a filter
// instead of an argument, or refuses it as a broken one.
func looksLikeFilter(value string) bool {
	if strings.HasPrefix(value, "not.") {
		return true
	}
	for _, word := range filterWords {
		rest, ok := strings.CutPrefix(value, word)
		if ok && rest != "" && (rest[0] == '.' || rest[0] == '(') {
			return true
		}
	}
	return false
}

// filterWords begin a filter when a dot or a parenthesis follows.
var filterWords = [...]string{
	"eq", "neq", "gt", "gte", "lt", "lte", "like", "ilike", "match", "imatch", "in", "is", "isdistinct",
	"fts", "plfts", "phfts", "wfts", "cs", "cd", "ov", "sl", "sr", "nxr", "nxl", "adj",
}

// functionOf finds the function that a call means.
func functionOf(s *query.Spec, schema string, c *catalog.Catalog) (*catalog.Function, error) {
	a, err := argumentsOf(s.Call)
	if err != nil {
		return nil, err
	}
	return c.Function(schema, s.From, a.call)
}
