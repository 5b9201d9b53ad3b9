package postgresttest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/internal/parse"
)

// settings are those of the request's transaction, in PostgREST's order.
// Source: https://docs.postgrest.org/en/stable/references/transactions.html
func (h *Handler) settings(r *http.Request, id auth.Identity, p *parse.Parsed, k *known) ([]setting, error) {
	claims, err := id.ClaimsWithRole()
	if err != nil {
		return nil, err
	}
	s := []setting{{"search_path", searchPath(p.Spec.Schema, h.cfg.ExtraSearchPath)}}
	s = append(s, k.roles[id.Role]...)
	s = append(s,
		setting{"role", id.Role},
		setting{"request.jwt.claims", string(claims)},
		setting{"request.method", r.Method},
		setting{"request.path", r.URL.EscapedPath()},
		setting{"request.headers", string(headers(r))},
		setting{"request.cookies", string(cookies(r))},
	)
	if p.Prefer.Timezone != "" {
		s = append(s, setting{"timezone", p.Prefer.Timezone})
	}
	// A parameter of the protocol can't hold a zero byte.
	for i := range s {
		s[i].value = strings.ReplaceAll(s[i].value, "\x00", "")
	}
	return s, nil
}

func searchPath(schema string, extra []string) string {
	var quoted []string
	for _, name := range append([]string{schema}, extra...) {
		quoted = append(quoted, `"`+strings.ReplaceAll(name, `"`, `""`)+`"`)
	}
	return strings.Join(quoted, ", ")
}

// headers are the request's, by names in lower case, but for the cookies.
func headers(r *http.Request) []byte {
	m := make(map[string]string, len(r.Header)+1)
	for name, values := range r.Header {
		if name != "Cookie" && len(values) > 0 {
			m[strings.ToLower(name)] = values[0]
		}
	}
	m["host"] = r.Host // net/http keeps it apart
	return encode(m)
}

func cookies(r *http.Request) []byte {
	m := map[string]string{}
	for _, c := range slices.Backward(r.Cookies()) { // of one name the first counts
		m[c.Name] = c.Value
	}
	return encode(m)
}
