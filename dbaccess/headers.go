package dbaccess

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxForwardedHeaders is how many bytes the headers that Config.ForwardHeaders lets
// through may have in all, names included.
const MaxForwardedHeaders = 16 << 10

type headersKey struct{}

// WithRequestHeaders returns a context whose calls may forward headers of the
// request that they are made for: those that Config.ForwardHeaders names.
// middleware.AccessPath does so for each request. h is kept, not copied.
func WithRequestHeaders(ctx context.Context, h http.Header) context.Context {
	return context.WithValue(ctx, headersKey{}, h)
}

// forwarded returns the headers of a call, nil for none.
func (db *DB) forwarded(ctx context.Context) (http.Header, error) {
	if len(db.forward) == 0 {
		return nil, nil
	}
	all, _ := ctx.Value(headersKey{}).(http.Header)
	var some http.Header
	size := 0
	for _, name := range db.forward {
		values := all[name]
		if len(values) == 0 {
			continue
		}
		for _, v := range values {
			if size += len(name) + len(v); size > MaxForwardedHeaders {
				return nil, &Error{Kind: ErrInvalid, HTTPStatus: http.StatusRequestHeaderFieldsTooLarge, Advice: fmt.Sprintf(
					"the request's headers that Config.ForwardHeaders names are longer than %d bytes", MaxForwardedHeaders)}
			}
			if !printable(v) {
				return nil, &Error{Kind: ErrInvalid, HTTPStatus: http.StatusBadRequest, Advice: "the request's header " + name +
					", which Config.ForwardHeaders names, has a control character or is not UTF-8"}
			}
		}
		if some == nil {
			some = make(http.Header, len(db.forward))
		}
		some[name] = slices.Clip(values)
	}
	return some, nil
}

// printable says whether both paths can carry a header's value, and alike.
func printable(v string) bool {
	for i := range len(v) {
		if c := v[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return utf8.ValidString(v)
}

// forwardHeaders returns the canonical names, each once, and what is wrong with
// them.
func forwardHeaders(names []string) ([]string, error) {
	var canonical []string
	var errs []error
	for _, n := range names {
		c := http.CanonicalHeaderKey(n)
		switch reason := unforwardable(c); {
		case reason != "":
			errs = append(errs, fmt.Errorf("Config.ForwardHeaders must not have %q: %s", n, reason))
		case !slices.Contains(canonical, c):
			canonical = append(canonical, c)
		}
	}
	return canonical, errors.Join(errs...)
}

// unforwardable says why a header can't be forwarded, "" if it can.
func unforwardable(canonical string) string {
	if !isToken(canonical) {
		return "that is no header's name"
	}
	if reason, ok := reservedHeaders[canonical]; ok {
		return reason
	}
	for prefix, reason := range reservedPrefixes {
		if strings.HasPrefix(canonical, prefix) {
			return reason
		}
	}
	return ""
}

const (
	ofConnection = "it is about one connection alone"
	ofPath       = "the REST path sets it itself"
	ofQuery      = "it would change what PostgREST answers"
	ofReplay     = "it makes Go's transport send a write twice"
)

// Source of the first: https://www.rfc-editor.org/rfc/rfc9110#field.connection
var reservedHeaders = map[string]string{
	"Connection": ofConnection, "Keep-Alive": ofConnection, "Te": ofConnection, "Trailer": ofConnection,
	"Transfer-Encoding": ofConnection, "Upgrade": ofConnection, "Expect": ofConnection, "Http2-Settings": ofConnection,

	"Authorization": ofPath, "Apikey": ofPath, "Accept": ofPath, "Accept-Profile": ofPath, "Accept-Encoding": ofPath,
	"Host": ofPath, "Prefer": ofPath,

	"Range": ofQuery, "Range-Unit": ofQuery, "If-Match": ofQuery, "If-None-Match": ofQuery, "If-Range": ofQuery,
	"If-Modified-Since": ofQuery, "If-Unmodified-Since": ofQuery, "X-Http-Method-Override": ofQuery,

	"Idempotency-Key": ofReplay, "X-Idempotency-Key": ofReplay,
}

var reservedPrefixes = map[string]string{"Content-": ofPath, "Proxy-": ofConnection}

// isToken follows https://www.rfc-editor.org/rfc/rfc9110#name-tokens
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0 {
			continue
		}
		return false
	}
	return s != ""
}
