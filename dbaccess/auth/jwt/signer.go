package jwt

import (
	"context"
	"crypto"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"

	"github.com/twinpath/twinpath/dbaccess/auth"
)

// SignerConfig makes a [Signer]. It prints without its key.
type SignerConfig struct {
	// Key is a private key as a JWK, whose public part PostgREST knows: on Supabase a
	// signing key that was made outside ("supabase gen signing-key") and imported.
	// Its members "kid" and "alg" go into the tokens' header. Required.
	Key []byte
	// RoleClaim is where tokens have their role: PostgREST's jwt-role-claim-key.
	// [auth.ClaimPath] has its grammar. Defaults to .role.
	RoleClaim string
	// Lifetime is how long a minted token is good for. It needs to outlive one
	// call. Defaults to DefaultLifetime.
	Lifetime time.Duration
}

// WithDefaults returns the config with every default filled in.
func (c SignerConfig) WithDefaults() SignerConfig {
	if c.RoleClaim == "" {
		c.RoleClaim = auth.DefaultClaimPath
	}
	if c.Lifetime == 0 {
		c.Lifetime = DefaultLifetime
	}
	return c
}

// Signer mints tokens with a private key, where PostgREST has the public one. It is
// safe for concurrent use, and prints without the key.
type Signer struct {
	*signer // a pointer, behind which fmt does not look
}

type signer struct {
	mint   minter
	method jwt.SigningMethod
	header string
	key    func() crypto.Signer // a function, into which fmt does not look
}

var _ auth.Signer = (*Signer)(nil)

// NewSigner makes a [Signer]. Its error names every field that is wrong.
func NewSigner(cfg SignerConfig) (*Signer, error) {
	cfg = cfg.WithDefaults()
	path, err := auth.ParseClaimPath(cfg.RoleClaim)
	var errs []error
	if err != nil {
		errs = append(errs, fmt.Errorf("Config.RoleClaim: %w", err))
	}
	if cfg.Lifetime < time.Second {
		errs = append(errs, errors.New("Config.Lifetime must be at least a second, or 0 for the default"))
	}
	s := &signer{mint: minter{path, cfg.Lifetime}}
	if reason := s.load(cfg.Key); reason != "" {
		errs = append(errs, errors.New("Config.Key "+reason))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("jwt: %w", err)
	}
	return &Signer{s}, nil
}

// load reads the key, or says what is wrong with it.
func (s *signer) load(document []byte) (reason string) {
	if len(document) == 0 {
		return "is empty: set it to a private JWK"
	}
	var m jwkset.JWKMarshal
	if json.Unmarshal(document, &m) != nil || m.KTY == "" {
		return "is not a JWK"
	}
	if m.KTY == jwkset.KtyOct {
		return "is a shared secret: NewHS256 signs with one"
	}
	m.X5C, m.X5T, m.X5TS256, m.X5U = nil, "", "", ""
	parsed, err := jwkset.NewJWKFromMarshal(m, jwkset.JWKMarshalOptions{Private: true}, jwkset.JWKValidateOptions{SkipKeyOps: true})
	if err != nil { // which quotes what it found
		return "is malformed, or of an unknown type"
	}
	key, ok := parsed.Key().(crypto.Signer)
	if !ok {
		return "has no private part, or not all of it"
	}
	fit := algorithmsOf(key.Public())
	for _, alg := range fit {
		if m.ALG == "" || m.ALG.String() == alg {
			s.method = methodOf(alg)
			break
		}
	}
	if s.method == nil {
		return "is for no algorithm that is known, or too short or too long to be used"
	}
	header := map[string]string{"alg": s.method.Alg(), "typ": "JWT"}
	if m.KID != "" {
		header["kid"] = m.KID
	}
	b, err := json.Marshal(header)
	if err != nil {
		return `has a "kid" that can't be written`
	}
	s.header, s.key = strict.EncodeToString(b), func() crypto.Signer { return key }
	return ""
}

// Sign mints a token for id, as [HS256.Sign] does.
func (s *Signer) Sign(_ context.Context, id auth.Identity) (string, error) {
	payload, err := s.mint.payload(id)
	if err != nil {
		return "", err
	}
	return seal(s.method, s.header, payload, s.key())
}

// String leaves out the key.
func (c SignerConfig) String() string { return "jwt.SignerConfig(key hidden)" }

// Format leaves out the key for every verb, %+v and %#v included.
func (c SignerConfig) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, c.String()) }

// LogValue leaves out the key.
func (c SignerConfig) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalText leaves out the key, for encoding/json among others.
func (c SignerConfig) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// String leaves out the key.
func (s Signer) String() string { return "jwt.Signer(key hidden)" }

// Format leaves out the key for every verb, %+v and %#v included.
func (s Signer) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue leaves out the key.
func (s Signer) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText leaves out the key, for encoding/json among others.
func (s Signer) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
