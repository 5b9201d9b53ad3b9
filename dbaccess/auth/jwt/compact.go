package jwt

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/twinpath/twinpath/dbaccess/auth"
)

// compact is a token in its compact form, taken apart. The library's own parser
// reads claims before it has proven them, and puts parts of them into its errors,
// hence the pieces one by one.
//
// Source: RFC 7515, section 7.1
type compact struct {
	alg, kid  string
	hasKid    bool
	signed    string // the text that the signature is of
	body      string
	signature []byte
}

// maxTokenBytes bounds what is looked at of a token. Servers refuse headers of that
// size.
const maxTokenBytes = 64 << 10

// strict knows no base64 with more than one reading.
var strict = base64.RawURLEncoding.Strict()

// usualHeader is {"alg":"HS256","typ":"JWT"}, which nearly every token with a
// shared secret has.
const usualHeader = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"

// parseCompact takes a token apart. Its errors are *[auth.TokenError].
func parseCompact(token string) (compact, error) {
	switch dots := strings.Count(token, "."); {
	case token == "":
		return compact{}, tokenError("Empty JWT is sent in Authorization header", "")
	case auth.IsAPIKey(token):
		return compact{}, errAPIKey
	case dots != 2:
		return compact{}, tokenError(fmt.Sprintf("Expected 3 parts in JWT; got %d", dots+1), "")
	case len(token) > maxTokenBytes, strings.ContainsAny(token, "\r\n"): // the base64 decoder would skip line ends
		return compact{}, errUndecodable
	}
	end := strings.LastIndexByte(token, '.')
	t := compact{signed: token[:end]}
	head, body, _ := strings.Cut(t.signed, ".")
	t.body = body
	if head == usualHeader {
		t.alg = algHS256
	} else if err := t.readHeader(head); err != nil {
		return compact{}, err
	}
	var err error
	if t.signature, err = strict.DecodeString(token[end+1:]); err != nil {
		return compact{}, errUndecodable
	}
	return t, nil
}

func (t *compact) readHeader(segment string) error {
	b, err := strict.DecodeString(segment)
	if err != nil {
		return errUndecodable
	}
	header, ok := members(b)
	if !ok || json.Unmarshal(header["alg"], &t.alg) != nil {
		return errUndecodable
	}
	if kid := header["kid"]; !absent(kid) {
		if t.hasKid = true; json.Unmarshal(kid, &t.kid) != nil {
			return errUndecodable
		}
	}
	switch {
	case strings.EqualFold(t.alg, "none"):
		return tokenError("Wrong or unsupported encoding algorithm", "JWT is unsecured but expected 'alg' was not 'none'")
	case methodOf(t.alg) == nil:
		return errKey
	case header["crit"] != nil: // RFC 7515, 4.1.11: what isn't understood must be refused
		return tokenError("Wrong or unsupported encoding algorithm", "JWT has critical header parameters")
	}
	return nil
}

// payload returns the claims, for tokens whose signature is proven.
func (t *compact) payload() (json.RawMessage, error) {
	b, err := strict.DecodeString(t.body)
	if err != nil {
		return nil, errUndecodable
	}
	return b, nil
}

var (
	errUndecodable error = tokenError("JWT cryptographic operation failed", "")
	errKey         error = tokenError("No suitable key or wrong key type", "None of the keys was able to decode the JWT")
	errAPIKey      error = tokenError("A Supabase API key is not a bearer token",
		"Keys that begin with sb_ go into the header apikey alone; the bearer token is the access token of a signed-in user")
)

func tokenError(reason, details string) *auth.TokenError {
	return &auth.TokenError{Code: auth.CodeTokenInvalid, Reason: reason, Details: details}
}

func claimsError(reason string) *auth.TokenError {
	return &auth.TokenError{Code: auth.CodeTokenClaims, Reason: reason}
}
