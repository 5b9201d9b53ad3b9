package jwt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/twinpath/twinpath/dbaccess/auth"
)

// HS256 verifies and mints tokens with a shared secret. It is safe for
// concurrent use, and prints without the secret.
type HS256 struct {
	cfg    Config
	parser *jwt.Parser
}

var (
	_ auth.Verifier = (*HS256)(nil)
	_ auth.Signer   = (*HS256)(nil)
)

// NewHS256 makes an [HS256]. Its error names every field that is wrong.
func NewHS256(cfg Config) (*HS256, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.Secret = slices.Clone(cfg.Secret)
	cfg.RoleClaim = slices.Clone(cfg.RoleClaim)
	return &HS256{cfg: cfg, parser: jwt.NewParser(jwt.WithStrictDecoding())}, nil
}

// Verify returns the identity that a token proves: its role, its claims byte by
// byte, and the token itself. The token comes without "Bearer ". Errors are
// *[auth.TokenError].
func (h *HS256) Verify(_ context.Context, token string) (auth.Identity, error) {
	payload, err := h.payload(token)
	if err != nil {
		return auth.Identity{}, err
	}
	claims, ok := members(payload)
	if !ok {
		return auth.Identity{}, claimsError("Parsing claims failed")
	}
	if err := h.checkTimes(claims); err != nil {
		return auth.Identity{}, err
	}
	if err := h.checkAudience(claims["aud"]); err != nil {
		return auth.Identity{}, err
	}
	role, err := h.role(claims)
	if err != nil {
		return auth.Identity{}, err
	}
	id := auth.Identity{Role: role, Claims: payload, Token: token}
	if id.Validate() != nil {
		return auth.Identity{}, claimsError("The role claim names no role that a request can act as")
	}
	return id, nil
}

// payload returns a token's claims once its signature is proven. The library's
// own parser reads claims first and puts parts of them into its errors, hence
// the pieces one by one.
func (h *HS256) payload(token string) (json.RawMessage, error) {
	if token == "" {
		return nil, tokenError("Empty JWT is sent in Authorization header", "")
	}
	dots := strings.Count(token, ".")
	if dots != 2 {
		return nil, tokenError(fmt.Sprintf("Expected 3 parts in JWT; got %d", dots+1), "")
	}
	if strings.ContainsAny(token, "\r\n") { // which the base64 decoder would skip
		return nil, errUndecodable
	}
	signed, rest := token[:strings.LastIndexByte(token, '.')], token[strings.LastIndexByte(token, '.')+1:]
	head, body, _ := strings.Cut(signed, ".")
	if err := h.checkHeader(head); err != nil {
		return nil, err
	}
	signature, err := h.parser.DecodeSegment(rest)
	if err != nil {
		return nil, errUndecodable
	}
	if jwt.SigningMethodHS256.Verify(signed, signature, h.cfg.Secret) != nil {
		return nil, errKey
	}
	payload, err := h.parser.DecodeSegment(body)
	if err != nil {
		return nil, errUndecodable
	}
	return payload, nil
}

// usualHeader is {"alg":"HS256","typ":"JWT"}, which nearly every token has.
const usualHeader = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"

func (h *HS256) checkHeader(segment string) error {
	if segment == usualHeader {
		return nil
	}
	b, err := h.parser.DecodeSegment(segment)
	if err != nil {
		return errUndecodable
	}
	header, ok := members(b)
	if !ok {
		return errUndecodable
	}
	var alg string
	if json.Unmarshal(header["alg"], &alg) != nil {
		return errUndecodable
	}
	switch {
	case strings.EqualFold(alg, "none"):
		return tokenError("Wrong or unsupported encoding algorithm", "JWT is unsecured but expected 'alg' was not 'none'")
	case alg != jwt.SigningMethodHS256.Alg():
		return errKey
	case header["crit"] != nil: // RFC 7515, 4.1.11: what isn't understood must be refused
		return tokenError("Wrong or unsupported encoding algorithm", "JWT has critical header parameters")
	}
	return nil
}

// Sign mints a token for id: its claims, its role at Config.RoleClaim, and an
// expiry after Config.Lifetime unless the claims have one. A token that id has
// already is not looked at.
func (h *HS256) Sign(_ context.Context, id auth.Identity) (string, error) {
	if err := id.Validate(); err != nil {
		return "", err
	}
	claims := map[string]json.RawMessage{}
	if len(id.Claims) > 0 {
		var ok bool
		if claims, ok = members(id.Claims); !ok {
			return "", errors.New("jwt: Identity.Claims must be a JSON object that repeats no member")
		}
	}
	role, err := json.Marshal(id.Role)
	if err != nil {
		return "", fmt.Errorf("jwt: encode role: %w", err)
	}
	claims["role"] = role // as PostgREST does, wherever it reads the role from
	if err := setMember(claims, h.cfg.RoleClaim, role); err != nil {
		return "", err
	}
	if claims["exp"] == nil {
		exp := time.Now().Add(h.cfg.Lifetime).Unix()
		claims["exp"] = fmt.Appendf(nil, "%d", exp)
	}
	// SignedString's errors concern the key's type and the encoder alone.
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claimSet(claims)).SignedString(h.cfg.Secret)
	if err != nil {
		return "", fmt.Errorf("jwt: the claims of role %q can't be signed", id.Role)
	}
	return token, nil
}

// String leaves out the secret.
func (h HS256) String() string { return "jwt.HS256(secret hidden)" }

// Format leaves out the secret for every verb, %+v and %#v included.
func (h HS256) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, h.String()) }

// LogValue leaves out the secret.
func (h HS256) LogValue() slog.Value { return slog.StringValue(h.String()) }

// MarshalText leaves out the secret, for encoding/json among others.
func (h HS256) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// claimSet is the library's view of claims that it only has to encode.
type claimSet map[string]json.RawMessage

var _ jwt.Claims = claimSet(nil)

func (claimSet) GetExpirationTime() (*jwt.NumericDate, error) { return nil, nil }
func (claimSet) GetIssuedAt() (*jwt.NumericDate, error)       { return nil, nil }
func (claimSet) GetNotBefore() (*jwt.NumericDate, error)      { return nil, nil }
func (claimSet) GetIssuer() (string, error)                   { return "", nil }
func (claimSet) GetSubject() (string, error)                  { return "", nil }
func (claimSet) GetAudience() (jwt.ClaimStrings, error)       { return nil, nil }

var (
	errUndecodable error = tokenError("JWT cryptographic operation failed", "")
	errKey         error = tokenError("No suitable key or wrong key type", "None of the keys was able to decode the JWT")
)

func tokenError(reason, details string) *auth.TokenError {
	return &auth.TokenError{Code: auth.CodeTokenInvalid, Reason: reason, Details: details}
}

func claimsError(reason string) *auth.TokenError {
	return &auth.TokenError{Code: auth.CodeTokenClaims, Reason: reason}
}
