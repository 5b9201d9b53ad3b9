package postgresttest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	"github.com/twinpath/twinpath/dbaccess/internal/parse"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// maxRequestBytes bounds the body of a request.
const maxRequestBytes = 10 << 20

// Handler answers requests as PostgREST does. It is safe for concurrent use.
type Handler struct {
	cfg      Config
	verifier auth.Verifier // nil without a secret
	database database
}

var _ http.Handler = (*Handler)(nil)

// NewHandler makes a handler, for a server of one's own. It does not connect to
// Postgres before the first request. Whoever makes it closes it.
func NewHandler(cfg Config) (*Handler, error) {
	cfg = cfg.WithDefaults()
	conn, verifier, err := cfg.validate()
	if err != nil {
		return nil, err
	}
	cfg.Schemas, cfg.ExtraSearchPath = slices.Clone(cfg.Schemas), slices.Clone(cfg.ExtraSearchPath)
	return &Handler{cfg: cfg, verifier: verifier, database: newPool(conn, cfg.MaxConns)}, nil
}

// Close closes the handler's connections to Postgres. Requests under way keep
// theirs until they end.
func (h *Handler) Close() { h.database.close() }

// Format names the handler and leaves out its secrets for every verb.
func (h *Handler) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "postgresttest.Handler") }

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := h.gateway(r)
	if a == nil {
		a = h.serve(w, r)
		a.header.Set("Server", "postgrest/"+h.cfg.Version)
	}
	a.write(w, r.Method)
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request) *answer {
	var t timing
	t.begin()
	id, f := h.identify(r)
	if f != nil {
		return f.answer()
	}
	t.end(&t.jwt)
	parsed, f := h.parse(w, r)
	if f != nil {
		return f.answer()
	}
	t.end(&t.parse)
	anon := id.Role == h.cfg.AnonRole
	tx, f := h.plan(r, id, parsed)
	if f != nil {
		return f.answer()
	}
	t.end(&t.plan)
	res, err := h.database.run(r.Context(), tx)
	if err != nil {
		return h.databaseFailure(err, anon, parsed).answer()
	}
	t.end(&t.transaction)
	a := h.respond(parsed, res)
	t.end(&t.response)
	if h.cfg.ServerTiming && a.status < 300 {
		a.header.Set("Server-Timing", t.header())
	}
	return a
}

// identify finds out who asks.
func (h *Handler) identify(r *http.Request) (auth.Identity, *failure) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return auth.Identity{Role: h.cfg.AnonRole}, nil
	}
	if h.verifier == nil {
		return auth.Identity{}, &failure{status: http.StatusInternalServerError, code: "PGRST300", message: "Server lacks JWT secret"}
	}
	id, err := h.verifier.Verify(r.Context(), strings.TrimLeft(token, " "))
	if err != nil {
		return auth.Identity{}, tokenFailure(err)
	}
	return id, nil
}

// parse reads the request. The schema is looked at before the query.
func (h *Handler) parse(w http.ResponseWriter, r *http.Request) (*parse.Parsed, *failure) {
	if f := h.checkSchema(r); f != nil {
		return nil, f
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	if err != nil {
		return nil, &failure{status: http.StatusRequestEntityTooLarge, code: "PGRST102", message: "The request's body is too long for the stand-in, or broke off"}
	}
	p, err := parse.Request(r.Method, r.URL.EscapedPath(), r.URL.RawQuery, r.Header, body)
	if err != nil {
		return nil, parseFailure(err)
	}
	p.Spec.Schema = cmp.Or(p.Spec.Schema, h.cfg.Schemas[0])
	p.Prefer.Transaction = "" // db-tx-end is commit
	return p, nil
}

func (h *Handler) checkSchema(r *http.Request) *failure {
	name := "Accept-Profile"
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		name = "Content-Profile"
	}
	profile, ok := r.Header[name]
	if !ok || len(profile) == 0 || slices.Contains(h.cfg.Schemas, profile[0]) {
		return nil
	}
	return &failure{
		status: http.StatusNotAcceptable, code: "PGRST106", message: "Invalid schema: " + profile[0],
		hint: "Only the following schemas are exposed: " + strings.Join(h.cfg.Schemas, ", "),
	}
}

// plan makes the transaction.
func (h *Handler) plan(r *http.Request, id auth.Identity, p *parse.Parsed) (transaction, *failure) {
	ctx, cancel := context.WithTimeout(r.Context(), acquireTimeout)
	defer cancel()
	known, err := h.database.catalog(ctx)
	if err != nil {
		return transaction{}, databaseFailure(err, false)
	}
	if zone := p.Prefer.Timezone; zone != "" && !known.timezones[zone] {
		if p.Prefer.Handling == "strict" {
			return transaction{}, &failure{
				status: http.StatusBadRequest, code: "PGRST122", message: "Invalid preferences given with handling=strict",
				details: "Invalid preferences: timezone=" + zone,
			}
		}
		p.Prefer.Timezone = ""
	}
	program, err := compile.SQL(&p.Spec, compile.SQLOptions{Schema: p.Spec.Schema, MaxRows: h.cfg.MaxRows})
	if err != nil {
		if u, ok := errors.AsType[*query.UnsupportedError](err); ok {
			return transaction{}, unsupported(u.Node + ": " + u.Reason)
		}
		return transaction{}, unsupported("the request is not supported here")
	}
	settings, err := h.settings(r, id, p, known)
	if err != nil {
		return transaction{}, tokenFailure(&auth.TokenError{Code: auth.CodeTokenClaims, Reason: "Parsing claims failed"})
	}
	return transaction{settings: settings, program: program}, nil
}

// respond makes the answer of what the database yielded.
func (h *Handler) respond(p *parse.Parsed, r row) *answer {
	total := compile.Total(&p.Spec, r.counted, r.planned, h.cfg.MaxRows)
	reply := compile.Answer(&p.Spec, r.rows, total)
	var a *answer
	if f := reply.Failure; f != nil {
		a = (&failure{status: reply.Status, code: f.Code, message: f.Message, details: orNull(f.Details)}).answer()
	} else {
		a = newAnswer(reply.Status)
		a.header.Set("Content-Type", p.ContentType)
		a.body = r.body
	}
	if reply.ContentRange != "" {
		a.header.Set("Content-Range", reply.ContentRange)
		if applied := p.Prefer.Applied(); applied != "" {
			a.header.Set("Preference-Applied", applied)
		}
		if reply.Failure != nil {
			a.header.Del("Proxy-Status") // PostgREST writes this one error by another way
		}
	}
	return a
}

// databaseFailure tells the missing table of the request, which PostgREST would
// have looked for before it asked Postgres, from other errors.
func (h *Handler) databaseFailure(err error, anon bool, p *parse.Parsed) *failure {
	f := databaseFailure(err, anon)
	name := p.Spec.Schema + "." + p.Spec.From
	if f.code == "42P01" && f.message == `relation "`+name+`" does not exist` {
		return &failure{
			status: http.StatusNotFound, code: "PGRST205",
			message: "Could not find the table '" + name + "' in the schema cache",
		}
	}
	return f
}
