package postgresttest

import (
	"maps"
	"net/http"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/internal/compile"
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
		setting{"request.headers", headers(r)},
		setting{"request.cookies", compile.CookiesSetting(r.Header)},
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

// headers are the request's.
func headers(r *http.Request) string {
	h := maps.Clone(r.Header)
	h["Host"] = []string{r.Host} // net/http keeps it apart
	return compile.HeadersSetting(h)
}

// preRequest makes the statement that runs the function of that name: what stands
// before the first dot is the schema.
func preRequest(name string) string {
	if name == "" {
		return ""
	}
	function := pgx.Identifier{name}
	if schema, inSchema, ok := strings.Cut(name, "."); ok {
		function = pgx.Identifier{schema, inSchema}
	}
	return "select " + function.Sanitize() + "()"
}
