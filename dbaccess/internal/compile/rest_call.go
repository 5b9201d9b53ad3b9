package compile

import (
	"net/http"

	"github.com/twinpath/twinpath/dbaccess/query"
)

// call makes the request of a function call: a GET where the arguments are in the
// query string and the function must not write, else a POST with a body.
func (r *Request) call(s *query.Spec) error {
	c := s.Call
	a, err := argumentsOf(c)
	if err != nil {
		return err
	}
	r.Path = "rpc/" + r.Path
	p := preferences{}
	p.count(s.Count)
	p.maxAffected(c.MaxAffected)
	p.timeZone(s.TimeZone)
	if c.Rollback {
		p.add("tx=rollback")
	}
	r.Prefer = p.String()

	w := restWriter{buf: make([]byte, 0, 64+24*len(a.text)+24*len(s.Select)+64*len(s.Where))}
	switch {
	case c.ReadOnly:
		for _, t := range a.text {
			w.argument(t)
		}
	case a.json == nil:
		form := restWriter{}
		for _, t := range a.text {
			if len(form.buf) > 0 {
				form.str("&")
			}
			form.raw(t.Name)
			form.str("=")
			form.raw(t.Value)
		}
		r.Method, r.Body, r.ContentType = http.MethodPost, form.buf, contentForm
	default:
		r.Method, r.Body, r.ContentType = http.MethodPost, a.json, contentJSON
		switch {
		case len(c.Columns) > 0:
			w.names("columns", c.Columns)
		case !c.Whole:
		case c.Type == "text":
			r.ContentType = contentText
		case c.Type == "xml":
			r.ContentType = contentXML
		case c.Type == "bytea":
			r.ContentType = contentBytes
		default:
			w.names("columns", []string{wholeColumn})
		}
	}
	if err := w.query(s); err != nil {
		return err
	}
	r.RawQuery = string(w.buf)
	return nil
}

// argument writes an argument as a parameter. Quotes keep a name from being read
// as anything else.
func (w *restWriter) argument(t query.TextArg) {
	if len(w.buf) > 0 {
		w.str("&")
	}
	if reserved(t.Name) {
		w.buf = quoteValue(w.buf, t.Name)
	} else {
		w.buf = quoteName(w.buf, t.Name)
	}
	w.str("=")
	w.raw(t.Value)
}
