package parse

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// media is the type of a request's body.
type media string

// The types that PostgREST reads.
const (
	mediaJSON  media = "application/json"
	mediaForm  media = "application/x-www-form-urlencoded"
	mediaCSV   media = "text/csv"
	mediaText  media = "text/plain"
	mediaXML   media = "text/xml"
	mediaBytes media = "application/octet-stream"
)

// mediaOf reads the Content-Type header. Without one a body is JSON.
func mediaOf(header http.Header) media {
	v, ok := first(header, "Content-Type")
	if !ok {
		return mediaJSON
	}
	name, _, _ := strings.Cut(v, ";")
	return media(strings.ToLower(strings.TrimSpace(name)))
}

// badBody is the refusal of a body.
func badBody(message string) *Error {
	return &Error{Status: http.StatusBadRequest, Code: "PGRST102", Message: message}
}

func badMedia(m media) *Error { return badBody("Content-Type not acceptable: " + string(m)) }

// jsonPayload reads a JSON body whose columns nobody has named.
func jsonPayload(body []byte) ([]byte, *Error) {
	payload, _, err := compile.Payload(body)
	if err == nil {
		return payload, nil
	}
	if refused, ok := err.(*compile.RefusedError); ok {
		return nil, badBody(refused.Failure.Message)
	}
	return nil, badBody("Empty or invalid json")
}

// write makes a query that writes of what the request says.
func (rq *requested) write(s *query.Spec, header http.Header, body []byte) *Error {
	w := &query.Write{}
	s.Write = w
	switch rq.method {
	case http.MethodPost:
		s.Where = nil // PostgREST looks at none
	case http.MethodPut:
		if e := rq.put(s); e != nil {
			return e
		}
		w.Conflict = query.ConflictMerge
		rq.params.columns = nil
	case http.MethodDelete:
		return nil
	}
	w.Columns = rq.params.columns
	var e *Error
	w.Payload, e = payload(mediaOf(header), body, len(w.Columns) > 0)
	return e
}

// payload reads the body of an insert or an update.
func payload(m media, body []byte, columns bool) ([]byte, *Error) {
	switch m {
	case mediaJSON:
		if columns {
			return body, nil // the database looks at it
		}
		return jsonPayload(body)
	case mediaForm:
		args, e := form(body)
		if e != nil {
			return nil, e
		}
		fields := make(map[string]string, len(args))
		for _, a := range args {
			fields[a.Name] = a.Value
		}
		b, err := json.Marshal(fields)
		if err != nil {
			return nil, badBody("Empty or invalid json")
		}
		return b, nil
	case mediaCSV:
		return nil, unsupported("a body of CSV")
	}
	return nil, badMedia(m)
}

// form reads a body that has the form of a query string.
func form(body []byte) ([]query.TextArg, *Error) {
	ps, e := pairs(string(body))
	if e != nil {
		return nil, e
	}
	args := make([]query.TextArg, len(ps))
	for i, p := range ps {
		args[i] = query.TextArg{Name: p.key, Value: p.value}
	}
	return args, nil
}

// put refuses what a PUT can't have. That its filters are the primary key is for
// the compiler to check, which knows it.
func (rq *requested) put(s *query.Spec) *Error {
	if s.HasLimit || s.Offset > 0 {
		return &Error{
			Status:  http.StatusBadRequest,
			Code:    "PGRST114",
			Message: "limit/offset querystring parameters are not allowed for PUT",
		}
	}
	if rq.params.logic || len(s.Where) == 0 {
		return &Error{
			Status:  http.StatusMethodNotAllowed,
			Code:    "PGRST105",
			Message: "Filters must include all and only primary key columns with 'eq' operators",
		}
	}
	return nil
}

// prefer gives a write or a call the preferences that are part of it.
func prefer(s *query.Spec, p *Prefer, onConflict []string) *Error {
	limit := p.limit()
	if limit != nil && *limit < 1 && s.Op != query.OpInsert {
		return unsupported("a max-affected below 1")
	}
	if c := s.Call; c != nil {
		if c.Rollback = p.Transaction == "rollback"; limit != nil {
			c.MaxAffected = *limit
		}
		return nil
	}
	w := s.Write
	if w.Rollback = p.Transaction == "rollback"; limit != nil && s.Op != query.OpInsert {
		w.MaxAffected = *limit
	}
	switch p.Return {
	case "representation":
		w.Return = true
	case "headers-only":
		return unsupported("return=headers-only")
	}
	if s.Op == query.OpDelete || w.Conflict != query.ConflictFail { // a PUT
		return nil
	}
	w.MissingDefault = p.Missing == "default"
	if s.Op == query.OpUpdate {
		return nil
	}
	switch p.Resolution {
	case "merge-duplicates":
		w.Conflict = query.ConflictMerge
	case "ignore-duplicates":
		w.Conflict = query.ConflictIgnore
	default:
		return nil
	}
	w.ConflictOn = onConflict
	return nil
}
