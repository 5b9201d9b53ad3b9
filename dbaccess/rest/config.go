package rest

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/internal/servertiming"
)

// Defaults of [Config].
const (
	DefaultMaxBodyBytes = 64 << 20
	DefaultTimeout      = 30 * time.Second
	DefaultAnonRole     = "anon"
	DefaultMaxURLBytes  = 8000 // nginx, and gateways built on it, refuse more than 8 KiB
)

// Config makes a [Backend]. It prints without its key, unless it is in an unexported
// field of another struct, where fmt asks no value how to print: keep the Backend
// there.
type Config struct {
	// URL is PostgREST's root: https://<project>.supabase.co/rest/v1 on
	// Supabase. It has no user, query or fragment. Required.
	URL string
	// APIKey is the key that Supabase's gateway asks for, of any kind, sent as the
	// header "apikey" and never as a bearer token, unless it is one. The gateway
	// makes a call without a token one of anon with a publishable key
	// (sb_publishable_…), and one of service_role with a secret key
	// (sb_secret_…). So with a secret key an identity service_role needs no token,
	// and one of AnonRole does; with the older key of service_role, which is a token,
	// likewise. Defaults to none.
	//
	// Source: https://supabase.com/docs/guides/api/api-keys
	APIKey string
	// Schema is the schema of queries that name none, sent as Accept-Profile, or as
	// Content-Profile with writes and calls.
	// Defaults to "", PostgREST's first exposed schema.
	Schema string
	// AnonRole is the role of calls that need no token, PostgREST's
	// db-anon-role. Defaults to DefaultAnonRole.
	AnonRole string
	// RoleClaim is where a token's claim with the Postgres role is: PostgREST's
	// jwt-role-claim-key, whose grammar [auth.ClaimPath] has. A token that names
	// another role than its identity is refused before it is sent: see [ErrOtherRole].
	// Defaults to .role.
	RoleClaim string
	// Signer mints the token of an identity that has none but has a role other than
	// AnonRole, or claims. Defaults to none: such calls fail with ErrNoToken.
	Signer auth.Signer
	// Transport sends the requests. Whoever gives one closes it, and sees to it that
	// it repeats none but reads. Defaults to a
	// transport of the backend's own, which keeps up to 64 connections, each for
	// at most 30 s of idleness: PostgREST closes them a little later.
	Transport http.RoundTripper
	// MaxBodyBytes bounds the body of an answer, uncompressed. Defaults to
	// DefaultMaxBodyBytes.
	MaxBodyBytes int64
	// MaxURLBytes bounds the path and query of a request. A read whose list of values
	// makes it longer is sent as several requests, one after the other, where
	// that changes nothing else; any other query fails before it is sent: see
	// [Backend.Check]. Defaults to DefaultMaxURLBytes; -1 means no limit.
	MaxURLBytes int
	// Timeout bounds calls whose context has no deadline. It can't be turned off,
	// because some errors make PostgREST before version 16 retry without end.
	// Defaults to DefaultTimeout.
	Timeout time.Duration
	// ServerVersion is PostgREST's version, such as "14.2", for gateways that
	// hide the header Server. PostgREST's own account of its time
	// (Server-Timing) is used from 14.2 on, before which it was wrong. Defaults to
	// what the header says.
	ServerVersion string
}

// WithDefaults returns the config with every default filled in, except for
// Transport.
func (c Config) WithDefaults() Config {
	if c.AnonRole == "" {
		c.AnonRole = DefaultAnonRole
	}
	if c.RoleClaim == "" {
		c.RoleClaim = auth.DefaultClaimPath
	}
	if c.MaxBodyBytes == 0 {
		c.MaxBodyBytes = DefaultMaxBodyBytes
	}
	if c.MaxURLBytes == 0 {
		c.MaxURLBytes = DefaultMaxURLBytes
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	return c
}

// String leaves out the key, and the URL, which may hold a password still.
func (c Config) String() string { return "rest.Config(hidden)" }

// Format leaves out the key for every verb, %+v and %#v included.
func (c Config) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, c.String()) }

// LogValue leaves out the key.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalText leaves out the key, for encoding/json among others.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// validate returns the parsed URL, or everything that is wrong.
func (c Config) validate() (*url.URL, error) {
	u, err := parseBase(c.URL)
	errs := []error{err}
	if !isHeaderValue(c.APIKey) {
		errs = append(errs, errors.New("Config.APIKey has characters that no header may have: check for line breaks and quotes"))
	}
	if !isHeaderValue(c.Schema) {
		errs = append(errs, errors.New("Config.Schema has characters that no header may have"))
	}
	if auth.IsAPIKey(c.APIKey) && auth.APIKeyRole(c.APIKey) == "" {
		errs = append(errs, errors.New("Config.APIKey is a Supabase key of an unknown kind: known are sb_publishable_… and sb_secret_…"))
	}
	if _, err := auth.ParseClaimPath(c.RoleClaim); err != nil {
		errs = append(errs, fmt.Errorf("Config.RoleClaim: %w", err))
	}
	if c.MaxBodyBytes < 0 {
		errs = append(errs, errors.New("Config.MaxBodyBytes must be positive, or 0 for the default"))
	}
	if c.MaxURLBytes < -1 {
		errs = append(errs, errors.New("Config.MaxURLBytes must be positive, 0 for the default or -1 for no limit"))
	}
	if c.Timeout < 0 {
		errs = append(errs, errors.New("Config.Timeout must be positive, or 0 for the default: it can't be turned off"))
	}
	if c.ServerVersion != "" && !servertiming.Known(c.ServerVersion) {
		errs = append(errs, fmt.Errorf(`Config.ServerVersion %q is not a version: write it as "14.2"`, c.ServerVersion))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("rest: %w", err)
	}
	return u, nil
}

// parseBase checks the URL. Its errors don't repeat it: it may hold a password.
func parseBase(raw string) (*url.URL, error) {
	if raw == "" {
		return nil, errors.New("Config.URL is empty: set it to PostgREST's root, https://<project>.supabase.co/rest/v1 on Supabase")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("Config.URL is not a URL")
	}
	var errs []error
	if u.Scheme != "http" && u.Scheme != "https" {
		errs = append(errs, errors.New("Config.URL must start with http:// or https://"))
	} else if u.Hostname() == "" {
		errs = append(errs, errors.New("Config.URL has no host"))
	}
	if u.User != nil {
		errs = append(errs, errors.New("Config.URL has a user: PostgREST takes tokens, see Config.APIKey and auth.Identity.Token"))
	}
	if u.RawQuery != "" || u.ForceQuery {
		errs = append(errs, errors.New("Config.URL has a query: leave it out"))
	}
	if u.Fragment != "" {
		errs = append(errs, errors.New("Config.URL has a fragment: leave it out"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = strings.TrimRight(u.RawPath, "/")
	return u, nil
}

// isHeaderValue says whether s may be sent as a header's value as it is.
func isHeaderValue(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] == 0x7f {
			return false
		}
	}
	return true
}

// isToken says whether s may be a bearer token.
// Source: RFC 6750, section 2.1, which allows less.
func isToken(s string) bool {
	for i := range len(s) {
		if s[i] <= 0x20 || s[i] >= 0x7f {
			return false
		}
	}
	return s != ""
}
