package doctor

import (
	"context"
	"crypto/rand"
	"net/http"

	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
)

// token finds out whether PostgREST takes tokens of the secret, and only those. The
// tokens are good for a minute, and name the anonymous role.
func (x *examination) token(ctx context.Context, p *postgrest) {
	const id = "rest.token"
	if x.cfg.JWTSecret == "" {
		x.skipped(id, "there is no secret, so whether PostgREST takes its tokens is not known")
		return
	}
	own, err := jwt.NewHS256(jwt.Config{Secret: []byte(x.cfg.JWTSecret), AnonRole: x.cfg.AnonRole})
	if err != nil {
		x.add(Finding{ID: id, Severity: Error, What: "the secret is refused", Mend: "give PostgREST's jwt-secret, at least 32 bytes; where jwt-secret-is-base64 is set, decoded"})
		return
	}
	foreign, err := jwt.NewHS256(jwt.Config{Secret: []byte(rand.Text() + rand.Text())})
	if err != nil {
		return
	}
	right, ok := x.tryToken(ctx, p, own)
	if !ok {
		return
	}
	switch right.code {
	case "PGRST205", "42P01", "PGRST106", "42501":
	case "PGRST300":
		x.add(Finding{ID: id, Severity: Error, What: "PostgREST has no secret", Mend: "set its jwt-secret"})
		return
	case "PGRST301":
		x.add(Finding{
			ID: id, Severity: Error, What: "PostgREST refuses a token of this secret", Why: "every signed-in user would get 401 on one path, and an answer on the other",
			Mend: "use PostgREST's jwt-secret; on Supabase it is among the project's JWT settings",
		})
		return
	case "PGRST303":
		x.add(Finding{ID: id, Severity: Error, What: "PostgREST accepts the signature, and refuses the claims", Mend: "compare the clocks, and PostgREST's jwt-aud"})
		return
	default:
		x.add(Finding{ID: id, Severity: Error, What: "a token of this secret is refused, " + http.StatusText(right.status), Mend: "check the secret, and what the gateway does to the header Authorization"})
		return
	}
	wrong, ok := x.tryToken(ctx, p, foreign)
	switch {
	case !ok:
	case wrong.status == http.StatusUnauthorized || wrong.status == http.StatusForbidden:
		x.add(Finding{ID: id, What: "PostgREST takes tokens of this secret, and no others"})
	default:
		x.add(Finding{
			ID: id, Severity: Error, What: "a token that nobody signed is accepted like one of this secret", Why: "something on the way drops or replaces the header Authorization, or nobody verifies tokens",
			Mend: "make the gateway pass the header on",
		})
	}
}

func (x *examination) tryToken(ctx context.Context, p *postgrest, signer auth.Signer) (*reply, bool) {
	token, err := signer.Sign(ctx, auth.Identity{Role: x.cfg.AnonRole})
	if err == nil {
		var r *reply
		if r, err = p.get(ctx, token); err == nil {
			return r, true
		}
	}
	x.add(Finding{ID: "rest.token", Severity: Warning, What: "a request with a token was not answered", Mend: "try again, and look at PostgREST's log"})
	return nil, false
}
