package postgresttest

import (
	"cmp"
	"context"
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
	return &Handler{cfg: cfg, verifier: verifier, database: newPool(conn, cfg)}, nil
}

// Close closes the handler's connections to Postgres. Requests under way keep
// theirs until they end.
func (h *Handler) Close() { h.database.close() }

// ReloadSchema makes the handler look at the schema again, as PostgREST does when
// it is told by NOTIFY pgrst: until then it knows that of its first request.
func (h *Handler) ReloadSchema() { h.database.forget() }

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
	a := h.respond(parsed, &tx.program, res)
	t.end(&t.response)
	if h.cfg.ServerTiming && a.status < 300 {
		a.header.Set("Server-Timing", t.header())
	}
	return a
}

// identify finds out who asks.
func (h *Handler) identify(r *http.Request) (auth.Identity, *failure) {
	scheme, token := r.Header.Get("Authorization"), ""
	if i := strings.IndexAny(scheme, " \t"); i >= 0 {
		scheme, token = scheme[:i], scheme[i:]
	}
	if !strings.EqualFold(scheme, "Bearer") {
		return auth.Identity{Role: h.cfg.AnonRole}, nil
	}
	if h.verifier == nil {
		return auth.Identity{}, &failure{status: http.StatusInternalServerError, code: "PGRST300", message: "Server lacks JWT secret"}
	}
	id, err := h.verifier.Verify(r.Context(), strings.TrimLeft(token, " \t"))
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
	if !h.cfg.AllowRollback {
		p.Prefer.Transaction = ""
		if p.Spec.Write != nil {
			p.Spec.Write.Rollback = false
		}
		if p.Spec.Call != nil {
			p.Spec.Call.Rollback = false
		}
	}
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
	k, err := h.database.known(ctx)
	if err != nil {
		return transaction{}, databaseFailure(err, false)
	}
	if zone := p.Prefer.Timezone; zone != "" && !k.timezones[zone] {
		if p.Prefer.Handling == "strict" {
			return transaction{}, &failure{
				status: http.StatusBadRequest, code: "PGRST122", message: "Invalid preferences given with handling=strict",
				details: "Invalid preferences: timezone=" + zone,
			}
		}
		p.Prefer.Timezone = ""
	}
	program, err := compile.SQL(&p.Spec, compile.SQLOptions{Schema: p.Spec.Schema, MaxRows: h.cfg.MaxRows, Catalog: k.schema, Outcome: true})
	if err != nil {
		return transaction{}, compileFailure(err)
	}
	if t, ok := k.schema.Table(p.Spec.Schema, p.Spec.From); ok && compile.IgnoresConflict(&p.Spec, t) {
		p.Prefer.Resolution = ""
	}
	settings, err := h.settings(r, id, p, k)
	if err != nil {
		return transaction{}, tokenFailure(&auth.TokenError{Code: auth.CodeTokenClaims, Reason: "Parsing claims failed"})
	}
	tx := transaction{
		isolation: k.levels[id.Role], readOnly: program.ReadOnly, request: preRequest(h.cfg.PreRequest), program: program,
		rollback: p.Spec.Write != nil && p.Spec.Write.Rollback || p.Spec.Call != nil && p.Spec.Call.Rollback,
		condemned: func(r row) bool {
			reply := h.reply(p, &program, r)
			return reply.Failure != nil && reply.Status != http.StatusRequestedRangeNotSatisfiable
		},
	}
	for _, s := range program.Settings {
		if s.Name == defaultLevel {
			tx.isolation = s.Value // instead of the role's
			continue
		}
		settings = append(settings, setting{s.Name, s.Value})
	}
	tx.settings = settings
	return tx, nil
}

// reply is PostgREST's answer to what the database yielded.
func (h *Handler) reply(p *parse.Parsed, program *compile.Program, r row) compile.Reply {
	total := compile.Total(&p.Spec, r.counted, r.planned, h.cfg.MaxRows)
	return compile.Respond(&p.Spec, compile.Outcome{Rows: r.rows, Total: total, Inserted: r.inserted, Void: program.Void})
}

// respond makes the answer of what the database yielded.
func (h *Handler) respond(p *parse.Parsed, program *compile.Program, r row) *answer {
	reply := h.reply(p, program, r)
	status, headers, bad := compile.Override(r.status, r.headers)
	if bad != nil && reply.Failure == nil {
		reply = *bad
	}
	var a *answer
	if f := reply.Failure; f != nil {
		a = (&failure{status: reply.Status, code: f.Code, message: f.Message, details: orNull(f.Details), hint: orNull(f.Hint)}).answer()
	} else {
		a = newAnswer(reply.Status)
		a.header.Set("Content-Type", p.ContentType)
		a.body = r.body
	}
	if reply.Empty {
		a.header.Del("Content-Type")
		a.body = nil
	}
	if reply.ContentRange != "" {
		a.header.Set("Content-Range", reply.ContentRange)
		if reply.Failure != nil {
			a.header.Del("Proxy-Status") // PostgREST writes this one error by another way
		}
	}
	if reply.Failure != nil && reply.ContentRange == "" {
		return a
	}
	if applied := p.Prefer.Applied(); applied != "" {
		a.header.Set("Preference-Applied", applied)
	}
	if reply.Failure == nil {
		for _, f := range headers {
			a.header.Set(f.Name, f.Value)
		}
		if status != 0 {
			a.status = status
		}
	}
	return a
}

// databaseFailure tells the missing table of the request, which PostgREST would
// have looked for before it asked Postgres, from other errors.
func (h *Handler) databaseFailure(err error, anon bool, p *parse.Parsed) *failure {
	f := databaseFailure(err, anon)
	name := p.Spec.Schema + "." + p.Spec.From
	if p.Spec.Op != query.OpCall && f.code == "42P01" && f.message == `relation "`+name+`" does not exist` {
		return &failure{
			status: http.StatusNotFound, code: "PGRST205",
			message: "Could not find the table '" + name + "' in the schema cache",
		}
	}
	return f
}
