package jwt

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/twinpath/twinpath/dbaccess/auth"
)

// Defaults of [JWKSConfig].
const (
	DefaultRefresh         = 10 * time.Minute // as long as Supabase's edge and its own clients keep keys
	DefaultGrace           = time.Hour
	DefaultUnknownKeyPause = 30 * time.Second
	DefaultFetchTimeout    = 5 * time.Second
)

// MaxKeySetBytes bounds the answer of a key set's server. A key takes a few
// hundred bytes.
const MaxKeySetBytes = 256 << 10

// JWKSConfig makes a [JWKS]. It prints without its address, document and secret.
type JWKSConfig struct {
	// URL is where the issuer publishes its public keys, on Supabase
	// https://<project>.supabase.co/auth/v1/.well-known/jwks.json. It must be https,
	// but for loopback addresses. Required, unless Document is set.
	URL string
	// Document is a JWK or a JWK set, such as PostgREST's jwt-secret where that is
	// JSON. It may hold shared secrets, no private keys. Required, unless URL is set.
	Document []byte
	// Secret is a shared secret besides: HS256 tokens that it signed are accepted.
	// Projects need it that still have tokens of the time before signing keys, or
	// Supabase's older API keys as bearer tokens. Defaults to none.
	Secret []byte
	// Algorithms are those that public keys may be used with: RS256, RS384, RS512,
	// ES256, ES384, ES512, EdDSA, PS256, PS384, PS512. A key's type allows some of
	// them, and its "alg" one. Defaults to all that PostgREST has, which are
	// those but for PS256, PS384 and PS512.
	Algorithms []string
	// Audience is PostgREST's jwt-aud. As with PostgREST a token that names
	// another audience is refused, and one that names none passes. Defaults to
	// any.
	Audience string
	// RoleClaim is where the claim with the Postgres role is: PostgREST's
	// jwt-role-claim-key. [auth.ClaimPath] has its grammar. Defaults to .role.
	RoleClaim string
	// AnonRole is the role of a token without the role claim: PostgREST's
	// db-anon-role. Defaults to DefaultAnonRole.
	AnonRole string
	// Skew is how far the issuer's clock may be off. Defaults to DefaultSkew; -1
	// means not at all.
	Skew time.Duration
	// Refresh is how long keys are used before they are asked for again, and so the
	// time that a revoked key lives on, besides the caches in between.
	// Defaults to DefaultRefresh.
	Refresh time.Duration
	// Grace is how much longer keys are used while their server can't be reached.
	// Defaults to DefaultGrace; -1 means not at all.
	Grace time.Duration
	// UnknownKeyPause is how young keys may be and yet be asked for again because a
	// token names a key that is not among them, as after a rotation. So strangers
	// with invented names cause one request in that time. Defaults to
	// DefaultUnknownKeyPause.
	UnknownKeyPause time.Duration
	// Timeout bounds a request for keys, and so how long Verify waits for one.
	// Defaults to DefaultFetchTimeout.
	Timeout time.Duration
	// Transport sends the requests for keys. Defaults to one that keeps no
	// connection.
	Transport http.RoundTripper
	// Logger is told when keys can't be had and when a set holds keys that are not
	// used, without address or key. Defaults to slog.Default.
	Logger *slog.Logger
}

// WithDefaults returns the config with every default filled in, except for
// Transport.
func (c JWKSConfig) WithDefaults() JWKSConfig {
	if len(c.Algorithms) == 0 {
		c.Algorithms = publicAlgorithms()
	}
	if c.RoleClaim == "" {
		c.RoleClaim = auth.DefaultClaimPath
	}
	if c.AnonRole == "" {
		c.AnonRole = DefaultAnonRole
	}
	for _, d := range []struct {
		field    *time.Duration
		fallback time.Duration
	}{
		{&c.Skew, DefaultSkew},
		{&c.Refresh, DefaultRefresh},
		{&c.Grace, DefaultGrace},
		{&c.UnknownKeyPause, DefaultUnknownKeyPause},
		{&c.Timeout, DefaultFetchTimeout},
	} {
		if *d.field == 0 {
			*d.field = d.fallback
		}
	}
	if c.Skew == -1 {
		c.Skew = 0
	}
	if c.Grace == -1 {
		c.Grace = 0
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// validate returns what the fields hold, or everything that is wrong.
func (c JWKSConfig) validate() (r rules, address *url.URL, static []key, err error) {
	r, err = newRules(c.Audience, c.RoleClaim, c.AnonRole, c.Skew)
	errs := []error{err}
	known := slices.Concat(publicAlgorithms(), pssAlgorithms())
	for i, alg := range c.Algorithms {
		if !slices.Contains(known, alg) {
			errs = append(errs, fmt.Errorf("Config.Algorithms[%d] is none of %s: shared secrets need no entry", i, strings.Join(known, ", ")))
		}
	}
	switch {
	case c.URL == "" && len(c.Document) == 0:
		errs = append(errs, errors.New("Config.URL and Config.Document are both empty: set one, or use NewHS256 where there is a shared secret alone"))
	case c.URL != "" && len(c.Document) > 0:
		errs = append(errs, errors.New("Config.URL and Config.Document are both set: set one"))
	case c.URL != "":
		if address, err = parseAddress(c.URL); err != nil {
			errs = append(errs, err)
		}
	default:
		var refused []refusedKey
		static, refused, err = parseKeySet(c.Document, c.Algorithms, true)
		for _, f := range refused {
			errs = append(errs, fmt.Errorf("Config.Document: %w", f))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("Config.Document: it %w", err))
		}
	}
	if len(c.Secret) > 0 {
		errs = append(errs, checkSecret(c.Secret, "leave it out where there is none"))
		static = append(static, key{algorithms: []string{algHS256}, material: hide(c.Secret)})
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"Config.Refresh", c.Refresh}, {"Config.Grace", c.Grace}, {"Config.UnknownKeyPause", c.UnknownKeyPause}, {"Config.Timeout", c.Timeout}} {
		if d.value < 0 {
			errs = append(errs, fmt.Errorf("%s must be positive, or 0 for the default", d.name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return r, nil, nil, fmt.Errorf("jwt: %w", err)
	}
	return r, address, static, nil
}

// parseAddress checks where keys come from. Its errors don't repeat it: it may
// hold a password.
func parseAddress(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, errors.New("Config.URL is not a URL")
	case u.Hostname() == "":
		return nil, errors.New("Config.URL has no host")
	case !isSafe(u):
		return nil, errors.New("Config.URL must start with https://: whoever sits in between could put in a key of their own. http:// is for loopback addresses")
	}
	return u, nil
}

// isSafe says whether what comes from an address can't be changed on the way.
func isSafe(u *url.URL) bool {
	switch u.Scheme {
	case "https":
		return true
	case "http":
		ip := net.ParseIP(u.Hostname())
		return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	}
	return false
}

// String leaves out address, document and secret.
func (c JWKSConfig) String() string { return "jwt.JWKSConfig(hidden)" }

// Format leaves them out for every verb, %+v and %#v included.
func (c JWKSConfig) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, c.String()) }

// LogValue leaves them out.
func (c JWKSConfig) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalText leaves them out, for encoding/json among others.
func (c JWKSConfig) MarshalText() ([]byte, error) { return []byte(c.String()), nil }
