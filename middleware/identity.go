package middleware

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess/auth"
)

// IdentityConfig configures [IdentityWithConfig].
type IdentityConfig struct {
	// Skipper leaves out requests, whose tokens are then not looked at. Defaults
	// to none.
	Skipper Skipper
	// Verifier judges tokens, for example jwt.NewHS256 or jwt.NewJWKS. Required.
	Verifier auth.Verifier
}

// Identity verifies the request's bearer token and puts the identity that it
// proves into the request's context, for both access paths.
//
// A token that is refused answers 401 as PostgREST does: an *echo.HTTPError with
// PostgREST's body, the *auth.TokenError as its Internal, and a WWW-Authenticate
// header. A verifier that can't tell answers 503 with a Retry-After header: nobody
// is let in, and clients keep tokens that may be good.
//
// A request without a bearer token passes on without an identity: its database
// calls act as dbaccess.Config.Default, and fail where there is none with
// dbaccess.ErrNoIdentity, which [Errors] answers with 401. Whether an endpoint is
// open to strangers is the application's to decide.
//
// Applications that verify their users by other means, such as Echo's JWT
// middleware or sessions, put the identity there themselves, with auth.With.
func Identity(v auth.Verifier) echo.MiddlewareFunc {
	return IdentityWithConfig(IdentityConfig{Verifier: v})
}

// IdentityWithConfig is [Identity] with a config. It panics when the config is
// wrong.
func IdentityWithConfig(cfg IdentityConfig) echo.MiddlewareFunc { return must(cfg.ToMiddleware()) }

// ToMiddleware returns the middleware, or what is wrong with the config.
func (cfg IdentityConfig) ToMiddleware() (echo.MiddlewareFunc, error) {
	if cfg.Verifier == nil {
		return nil, errors.New("middleware: IdentityConfig.Verifier is nil: pass one, from jwt.NewHS256 for example")
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if cfg.Skipper.skips(c) {
				return next(c)
			}
			r := c.Request()
			token, found, err := bearerToken(r.Header)
			if err != nil {
				return refuse(c, err)
			}
			if !found {
				return next(c)
			}
			id, err := cfg.Verifier.Verify(r.Context(), token)
			if err != nil {
				return refuse(c, err)
			}
			c.SetRequest(r.WithContext(auth.With(r.Context(), id)))
			return next(c)
		}
	}, nil
}

// bearerToken finds the token of the Bearer scheme. Other schemes are none of
// its business. Two headers are refused: a proxy and this service might each
// believe another one.
func bearerToken(h http.Header) (token string, found bool, err error) {
	values := h.Values(echo.HeaderAuthorization)
	if len(values) > 1 {
		return "", false, &auth.TokenError{Code: auth.CodeTokenInvalid, Reason: "More than one Authorization header"}
	}
	if len(values) == 0 {
		return "", false, nil
	}
	scheme, token := strings.TrimSpace(values[0]), ""
	if i := strings.IndexAny(scheme, " \t"); i >= 0 { // PostgREST takes either
		scheme, token = scheme[:i], scheme[i:]
	}
	if !strings.EqualFold(scheme, "Bearer") {
		return "", false, nil
	}
	return strings.TrimSpace(token), true, nil
}

// refusal is PostgREST's error body, member by member.
type refusal struct {
	Code    string  `json:"code"`
	Details *string `json:"details"`
	Hint    *string `json:"hint"`
	Message string  `json:"message"`
}

func refuse(c echo.Context, err error) error {
	t, ok := errors.AsType[*auth.TokenError](err)
	if !ok {
		if u, ok := errors.AsType[*auth.UnavailableError](err); ok {
			c.Response().Header().Set(echo.HeaderRetryAfter, retryAfter(u))
		}
		return &echo.HTTPError{
			Code:     http.StatusServiceUnavailable,
			Message:  refusal{Message: "The bearer token can't be verified at the moment"},
			Internal: err,
		}
	}
	body := refusal{Code: t.Code, Message: t.Reason}
	if t.Details != "" {
		body.Details = &t.Details
	}
	c.Response().Header().Set(echo.HeaderWWWAuthenticate, `Bearer error="invalid_token", error_description="`+quotable(t.Reason)+`"`)
	return &echo.HTTPError{Code: http.StatusUnauthorized, Message: body, Internal: err}
}

// retryAfter is when to come back, in whole seconds: at once would be no advice.
func retryAfter(u *auth.UnavailableError) string {
	return strconv.Itoa(max(1, int(math.Ceil(u.RetryAfter.Seconds()))))
}

// quotable makes a text fit for a quoted string in a header.
func quotable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '"' || r == '\\' || r < ' ' || r > '~' {
			return '\''
		}
		return r
	}, s)
}
