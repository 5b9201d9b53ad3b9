package parse

import (
	"net/http"
	"strings"

	"github.com/twinpath/twinpath/dbaccess/query"
)

// Parsed is a request's content.
type Parsed struct {
	// Spec is what the request reads. Its schema is the one that the request
	// names, which nobody has checked to be exposed; "" means the default one.
	Spec query.Spec
	// Profile says that the request named a schema (Accept-Profile), be it an
	// empty one.
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
// The body is looked at only to refuse it.
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

// request works in PostgREST's order: path, method, query, range, preferences,
// media type, and only then what the database would have refused.
func request(method, path, rawQuery string, header http.Header, body []byte) (*Parsed, *Error) {
	table, e := resource(method, path)
	if e != nil {
		return nil, e
	}
	p := &Parsed{Spec: query.Spec{Op: query.OpSelect, From: table, Head: method == http.MethodHead}}
	if v, ok := first(header, "Accept-Profile"); ok {
		p.Spec.Schema, p.Profile = v, true
		if e := clean(v); e != nil {
			return nil, e
		}
	}
	ps := params{spec: &p.Spec}
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
	var count query.Count
	if p.Prefer, count, e = preferences(header.Values("Prefer")); e != nil {
		return nil, e
	}
	p.Spec.Count = count
	if e := accept(p, header); e != nil {
		return nil, e
	}
	if len(body) > 0 {
		return nil, unsupported("a body on a read")
	}
	if ps.late != nil {
		return nil, ps.late
	}
	return p, nil
}

// resource gives the table that a path and a method read.
func resource(method, path string) (string, *Error) {
	path = strings.TrimPrefix(path, "/")
	if path == "" {
		return "", unsupported("the root endpoint's OpenAPI description")
	}
	segments := strings.Split(path, "/")
	for i := range segments {
		segments[i] = unescape(segments[i], false)
		if e := clean(segments[i]); e != nil {
			return "", e
		}
	}
	switch {
	case len(segments) == 2 && segments[0] == "rpc":
		switch method {
		case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodOptions:
			return "", unsupported("calling a function")
		}
		return "", &Error{Status: http.StatusMethodNotAllowed, Code: "PGRST101", Message: "Cannot use the " + method + " method on RPC"}
	case len(segments) != 1, segments[0] == "", segments[0] == ".", segments[0] == "..":
		return "", &Error{Status: http.StatusNotFound, Code: "PGRST125", Message: "Invalid path specified in request URL"}
	}
	switch method {
	case http.MethodGet, http.MethodHead:
		return segments[0], nil
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return "", unsupported("writing (" + method + ")")
	case http.MethodOptions:
		return "", unsupported("asking for a table's methods (OPTIONS)")
	}
	return "", &Error{Status: http.StatusMethodNotAllowed, Code: "PGRST117", Message: "Unsupported HTTP method: " + method}
}

func first(h http.Header, name string) (string, bool) {
	v := h.Values(name)
	if len(v) == 0 {
		return "", false
	}
	return v[0], true
}
