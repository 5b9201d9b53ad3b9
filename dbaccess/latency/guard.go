package latency

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
)

// guarded is a handler that is not there for whom authorize does not let in, and
// for nobody when there is no such function. It answers GET alone, for a HEAD
// would cost the same.
func guarded(authorize func(*http.Request) bool, next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if authorize == nil || !authorize(r) {
			http.NotFound(w, r)
			return
		}
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		if r.Method != http.MethodGet {
			h.Set("Allow", http.MethodGet)
			answerError(w, http.StatusMethodNotAllowed, "method", "only GET is answered")
			return
		}
		next(w, r)
	})
}

// Handler shows the report: as a table, or as JSON where the request accepts
// application/json or has ?format=json. authorize says whom it answers, for
// example [AllowLoopback]; to all others, and to everybody where it is nil, it
// answers 404.
func (r *Recorder) Handler(authorize func(*http.Request) bool) http.Handler {
	return guarded(authorize, func(w http.ResponseWriter, req *http.Request) {
		rep := r.Report()
		if wantsJSON(req) {
			answerJSON(w, http.StatusOK, rep)
			return
		}
		var b bytes.Buffer
		if err := rep.WriteText(&b); err != nil {
			answerError(w, http.StatusInternalServerError, "internal", "the report could not be written")
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write(b.Bytes()) // it fails when the caller is gone
	})
}

func wantsJSON(r *http.Request) bool {
	switch r.URL.Query().Get("format") {
	case "json":
		return true
	case "text":
		return false
	}
	for accept := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		media, _, _ := strings.Cut(accept, ";")
		if strings.EqualFold(strings.TrimSpace(media), "application/json") {
			return true
		}
	}
	return false
}

// problem is why a handler answers nothing better.
type problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func answerError(w http.ResponseWriter, status int, code, message string) {
	answerJSON(w, status, struct {
		Error problem `json:"error"`
	}{problem{code, message}})
}

func answerJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"error":{"code":"internal","message":"no JSON"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // it fails when the caller is gone
}
