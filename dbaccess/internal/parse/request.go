package parse

import (
	"net/http"
	"strings"

	"github.com/twinpath/twinpath/dbaccess/query"
)

// Parsed is a request's content.
type Parsed struct {
	// Spec is what the request reads, writes or calls. Its schema is the one that the request
	// names, which nobody has checked to be exposed; "" means the default one.
	Spec query.Spec
	// Profile says that the request named a schema (Accept-Profile or
	// Content-Profile), be it an empty one.
	Profile bool
	// ContentType is the answer's media type.
	ContentType string
	// Prefer holds the preferences that are none of the Spec's.
	Prefer Prefer
}

// Media types of the answer.
const (
	ContentArray  = "application/json; charset=utf-8"
	ContentObject = "application/vnd.pgrst.object+json; charset=utf-8"
)

const (
	maxPath  = 4 << 10
	maxQuery = 1 << 20
)

// Request parses a request. The path is relative to PostgREST's base URL and
// percent-encoded, with or without a leading slash; rawQuery is encoded as well.
// The parts of the body are kept, not copied.
//
// The error is an [*Error]. Requests whose path exceeds 4 KiB or whose query
// exceeds 1 MiB are refused with status 414.
func Request(method, path, rawQuery string, header http.Header, body []byte) (*Parsed, error) {
	if len(path) > maxPath || len(rawQuery) > maxQuery {
		return nil, &Error{Status: http.StatusRequestURITooLong, Message: "the request's URL is too long"}
	}
	p, e := request(method, path, rawQuery, header, body)
	if e != nil {
		return nil, e
	}
	return p, nil
}

// requested is what a request is about.
type requested struct {
	method   string
	name     string // of a table, or of a function
	function bool
	params   params
}

// op is what the request does.
func (rq *requested) op() query.Op {
	if rq.function {
		return query.OpCall
	}
	switch rq.method {
	case http.MethodPost, http.MethodPut:
		return query.OpInsert
	case http.MethodPatch:
		return query.OpUpdate
	case http.MethodDelete:
		return query.OpDelete
	}
	return query.OpSelect
}

// reads says whether the method promises to change nothing.
func (rq *requested) reads() bool { return rq.method == http.MethodGet || rq.method == http.MethodHead }

// request works in PostgREST's order: path, method, query, range, body,
// preferences, media type, and only then what the database would have refused.
func request(method, path, rawQuery string, header http.Header, body []byte) (*Parsed, *Error) {
	rq, e := resource(method, path)
	if e != nil {
		return nil, e
	}
	p := &Parsed{Spec: query.Spec{Op: rq.op(), From: rq.name, Head: method == http.MethodHead}}
	s := &p.Spec
	profile := "Accept-Profile"
	if !rq.reads() {
		profile = "Content-Profile"
	}
	if v, ok := first(header, profile); ok {
		s.Schema, p.Profile = v, true
		if e := clean(v); e != nil {
			return nil, e
		}
	}
	ps := &rq.params
	ps.spec, ps.call = s, rq.function && rq.reads()
	if e := ps.parse(rawQuery); e != nil {
		return nil, e
	}
	rangeHeader := ""
	if method == http.MethodGet { // RFC 9110, section 14.2: a Range has a meaning for GET alone
		rangeHeader, _ = first(header, "Range")
	}
	if e := ps.window(rangeHeader); e != nil {
		return nil, e
	}
	switch {
	case rq.function:
		e = rq.call(s, header, body)
	case s.Op.Writes():
		e = rq.write(s, header, body)
		s.HasLimit, s.Limit, s.Offset = false, 0, 0 // which PostgREST ignores
	case len(body) > 0:
		e = unsupported("a body on a read")
	}
	if e != nil {
		return nil, e
	}
	if p.Prefer, s.Count, e = preferences(header.Values("Prefer")); e != nil {
		return nil, e
	}
	s.TimeZone = p.Prefer.Timezone
	if s.Op != query.OpSelect {
		if e := prefer(s, &p.Prefer, ps.onConflict); e != nil {
			return nil, e
		}
	}
	p.Prefer.restrict(rq)
	if e := accept(p, header); e != nil {
		return nil, e
	}
	if ps.late != nil {
		return nil, ps.late
	}
	return p, nil
}

// resource gives the table or function that a path and a method are about.
func resource(method, path string) (*requested, *Error) {
	path = strings.TrimPrefix(path, "/")
	if path == "" {
		return nil, unsupported("the root endpoint's OpenAPI description")
	}
	segments := strings.Split(path, "/")
	for i := range segments {
		segments[i] = unescape(segments[i], false)
		if e := clean(segments[i]); e != nil {
			return nil, e
		}
	}
	switch {
	case len(segments) == 2 && segments[0] == "rpc":
		switch method {
		case http.MethodGet, http.MethodHead, http.MethodPost:
			if n := segments[1]; n == "" || n == "." || n == ".." { // no name that a path can hold
				return nil, &Error{Status: http.StatusNotFound, Code: "PGRST202", Message: "Could not find the function in the schema cache"}
			}
			return &requested{method: method, name: segments[1], function: true}, nil
		case http.MethodOptions:
			return nil, unsupported("asking for a function's methods (OPTIONS)")
		}
		return nil, &Error{Status: http.StatusMethodNotAllowed, Code: "PGRST101", Message: "Cannot use the " + method + " method on RPC"}
	case len(segments) != 1, segments[0] == "", segments[0] == ".", segments[0] == "..":
		return nil, &Error{Status: http.StatusNotFound, Code: "PGRST125", Message: "Invalid path specified in request URL"}
	}
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return &requested{method: method, name: segments[0]}, nil
	case http.MethodOptions:
		return nil, unsupported("asking for a table's methods (OPTIONS)")
	}
	return nil, &Error{Status: http.StatusMethodNotAllowed, Code: "PGRST117", Message: "Unsupported HTTP method: " + method}
}

func first(h http.Header, name string) (string, bool) {
	v := h.Values(name)
	if len(v) == 0 {
		return "", false
	}
	return v[0], true
}
