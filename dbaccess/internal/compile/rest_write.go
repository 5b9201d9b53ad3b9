package compile

import (
	"net/http"

	"github.com/twinpath/twinpath/dbaccess/query"
)

// The media types of a body.
const (
	contentJSON  = "application/json"
	contentForm  = "application/x-www-form-urlencoded"
	contentText  = "text/plain"
	contentXML   = "text/xml"
	contentBytes = "application/octet-stream"
)

// write makes the request of an insert, an update or a delete.
func (r *Request) write(s *query.Spec) error {
	wr := s.Write
	switch s.Op {
	case query.OpInsert:
		r.Method = http.MethodPost
		if isPut(s) {
			r.Method = http.MethodPut
		}
	case query.OpUpdate:
		r.Method = http.MethodPatch
	case query.OpDelete:
		r.Method = http.MethodDelete
	}
	if s.Op != query.OpDelete {
		r.Body, r.ContentType = wr.Payload, contentJSON
	}
	r.Prefer = preferWrite(s)

	w := restWriter{buf: make([]byte, 0, 64+24*len(s.Select)+24*len(wr.Columns)+64*len(s.Where))}
	if s.Op != query.OpDelete && len(wr.Columns) > 0 {
		w.names("columns", wr.Columns)
	}
	if wr.Conflict != query.ConflictFail && len(wr.ConflictOn) > 0 {
		w.names("on_conflict", wr.ConflictOn)
	}
	rest := *s
	// PostgREST has ignored the window of a write since version 13.
	rest.HasLimit, rest.Limit, rest.Offset = false, 0, 0
	if !wr.Return {
		rest.Select, rest.OrderBy = nil, nil
	}
	if isPut(s) {
		if err := w.key(s.Where); err != nil {
			return err
		}
		rest.Where = nil
	}
	if err := w.query(&rest); err != nil {
		return err
	}
	r.RawQuery = string(w.buf)
	return nil
}

// preferWrite is the Prefer header of a write.
func preferWrite(s *query.Spec) string {
	p := preferences{}
	if s.Write.Return {
		p.add("return=representation")
	} else {
		p.add("return=minimal")
	}
	if !isPut(s) {
		switch s.Write.Conflict {
		case query.ConflictMerge:
			p.add("resolution=merge-duplicates")
		case query.ConflictIgnore:
			p.add("resolution=ignore-duplicates")
		}
	}
	if s.Write.MissingDefault && s.Op != query.OpDelete {
		p.add("missing=default")
	}
	p.count(s.Count)
	p.maxAffected(s.Write.MaxAffected)
	p.timeZone(s.TimeZone)
	if s.Write.Rollback {
		p.add("tx=rollback")
	}
	return p.String()
}

// names writes a parameter that is a list of names.
func (w *restWriter) names(param string, names []string) {
	w.param(param)
	for i, name := range names {
		if i > 0 {
			w.str(",")
		}
		w.buf = quoteName(w.buf, name)
	}
}

// key writes the conditions of a PUT, each as a parameter of its own: PostgREST
// compares the parameters' names with the primary key as they are.
func (w *restWriter) key(where []query.Expr) error {
	for _, e := range where {
		name, ok := putColumn(e)
		if !ok {
			return errPutFilters()
		}
		if err := checkName("column", name); err != nil {
			return err
		}
		if !plainName(name) || reserved(name) {
			return &query.UnsupportedError{Node: "column", Reason: "a PUT has no form for a key column whose name needs quotes"}
		}
		value := e.(query.Compare).Value
		if err := checkText("value", value); err != nil {
			return err
		}
		w.param(name)
		w.str("eq.")
		w.raw(value)
	}
	return nil
}

// raw writes a text, percent-encoded.
func (w *restWriter) raw(text string) {
	for i := range len(text) {
		w.buf = escape(w.buf, text[i])
	}
}

// reserved says whether a parameter of that name means something else than a
// filter or an argument.
func reserved(name string) bool {
	switch name {
	case "select", "columns", "on_conflict", "order", "limit", "offset", "and", "or":
		return true
	}
	return false
}
