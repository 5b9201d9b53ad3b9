package parse

import (
	"net/http"

	"github.com/twinpath/twinpath/dbaccess/query"
)

// call makes a query that calls a function of what the request says. Which
// function that is only a catalog can tell: a name may have several, and one with
// a single unnamed argument takes a JSON body as a whole.
func (rq *requested) call(s *query.Spec, header http.Header, body []byte) *Error {
	c := &query.CallArgs{}
	s.Call = c
	if rq.method != http.MethodPost {
		c.ReadOnly, c.TextArgs = true, rq.params.args
		if len(body) > 0 {
			return unsupported("a body on a read")
		}
		return nil
	}
	m := mediaOf(header)
	switch m {
	case mediaJSON:
		if c.Columns = rq.params.columns; len(c.Columns) > 0 || len(body) == 0 {
			c.Args = body
			return nil
		}
		var e *Error
		c.Args, e = jsonPayload(body)
		return e
	case mediaForm:
		var e *Error
		c.TextArgs, e = form(body)
		return e
	case mediaText:
		c.Type = "text"
	case mediaXML:
		c.Type = "xml"
	case mediaBytes:
		c.Type = "bytea"
	case mediaCSV:
		return unsupported("a body of CSV")
	default:
		return badMedia(m)
	}
	c.Args, c.Whole = body, true
	return nil
}

// argument says whether the value of a parameter of a call is an argument, after
// no filter could be read from it: one that begins like a filter and goes on
// otherwise is refused.
func argument(value string) bool {
	s := scanner{in: value}
	return !s.lit("not.") && !s.lit("in.") && !s.lit("is.")
}
