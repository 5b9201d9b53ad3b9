package postgresttest

import (
	"crypto/subtle"
	"net/http"
)

// gateway refuses a request as Supabase's does when it lacks the key. Its answers
// are not PostgREST's: they have no code.
func (h *Handler) gateway(r *http.Request) *answer {
	if h.cfg.APIKey == "" {
		return nil
	}
	key := r.Header.Get("Apikey")
	switch {
	case key == "":
		return gatewayAnswer("No API key found in request", "No `apikey` request header or url param was found.")
	case subtle.ConstantTimeCompare([]byte(key), []byte(h.cfg.APIKey)) == 0:
		return gatewayAnswer("Invalid API key", "Double check your Supabase `anon` or `service_role` API key.")
	}
	return nil
}

func gatewayAnswer(message, hint string) *answer {
	a := newAnswer(http.StatusUnauthorized)
	a.body = encode(struct {
		Message string `json:"message"`
		Hint    string `json:"hint"`
	}{message, hint})
	return a
}
