package auth

import (
	"context"
	"errors"
	"time"
)

// Verifier turns a bearer token into an identity. Package auth/jwt has one for
// the tokens that PostgREST accepts. Its errors are *[TokenError] for a token that
// is refused, and *[UnavailableError] where that can't be told.
type Verifier interface {
	Verify(ctx context.Context, token string) (Identity, error)
}

// Signer mints a bearer token that PostgREST accepts for an identity that has
// none because the application verified it by other means.
type Signer interface {
	Sign(ctx context.Context, id Identity) (token string, err error)
}

// TokenError says why a token was refused. It holds nothing of the token.
type TokenError struct {
	// Code is PostgREST's code for the refusal: PGRST301 when the token can't be
	// decoded or its signature is wrong, PGRST303 when a claim refuses it. Both
	// answer 401.
	// Source: https://docs.postgrest.org/en/stable/references/errors.html
	Code string
	// Reason completes the sentence "bearer token refused: …". It is the message
	// that PostgREST answers for the same token, where PostgREST has one.
	Reason string
	// Details is what PostgREST adds to its message, "" when it adds nothing.
	Details string
}

func (e *TokenError) Error() string { return "auth: bearer token refused: " + e.Reason }

// Codes of a [TokenError].
const (
	CodeTokenInvalid = "PGRST301"
	CodeTokenClaims  = "PGRST303"
)

// IsTokenError says whether err is a refused token, which an API answers with
// 401.
func IsTokenError(err error) bool {
	_, ok := errors.AsType[*TokenError](err)
	return ok
}

// UnavailableError says that a token could not be judged, because there are no
// keys to verify it with at the moment. It is not the caller's fault: an API answers
// 503, and lets nobody in. It holds nothing of the token, nor of the keys' address.
type UnavailableError struct {
	// Reason completes the sentence "bearer token can't be verified: …".
	Reason string
	// RetryAfter is when keys are asked for again, 0 when that isn't known.
	RetryAfter time.Duration
	// Err is context.Canceled or context.DeadlineExceeded where the caller's context
	// ended first, else nil.
	Err error
}

func (e *UnavailableError) Error() string { return "auth: bearer token can't be verified: " + e.Reason }

// Unwrap returns Err.
func (e *UnavailableError) Unwrap() error { return e.Err }
