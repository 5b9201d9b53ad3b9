package postgresttest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
)

// Content types of answers.
const (
	typeJSON   = "application/json; charset=utf-8"
	typeObject = "application/vnd.pgrst.object+json; charset=utf-8"
)

// answer is a response in the making.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func newAnswer(status int) *answer {
	return &answer{status: status, header: http.Header{"Content-Type": {typeJSON}}}
}

// write sends the answer. A client that is gone is no concern of the handler's.
func (a *answer) write(w http.ResponseWriter, method string) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	if method != http.MethodHead && a.status != http.StatusNoContent {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	w.WriteHeader(a.status)
	if method != http.MethodHead && a.status != http.StatusNoContent {
		_, _ = w.Write(a.body)
	}
}

// encode writes JSON as PostgREST does, <, > and & as they are.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // no type here can fail
		return []byte("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
