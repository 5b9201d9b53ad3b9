package tracing

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/getsentry/sentry-go"
)

// anyPath stands for a path that is not to be told.
const anyPath = "/*"

// name is what may be told of a request's path.
func (t *transport) name(r *http.Request) string {
	if t.template != nil {
		if name := t.template(r); name != "" {
			return name
		}
	}
	path := r.URL.Path
	if t.bound != nil {
		return plainPath(path)
	}
	const supabase = "/rest/v1/"
	if rest, ok := strings.CutPrefix(path, supabase); ok {
		function, isCall := strings.CutPrefix(rest, "rpc/")
		if !isCall {
			function = rest
		}
		if isName(function) {
			return path
		}
	}
	return anyPath
}

// plainPath is a path of names; what looks like something else is a *.
func plainPath(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if p != "" && !isName(p) {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, "/")
}

// isName says whether s can be a table's or a function's name, and not a number,
// an address or an identifier that a machine made.
func isName(s string) bool {
	const (
		longest   = 63 // bytes, in Postgres
		longestID = 15 // hexadecimal digits and dashes that can still be a word
	)
	if s == "" || len(s) > longest || s[0] >= '0' && s[0] <= '9' || s[0] == '-' {
		return false
	}
	digits, hex := 0, true
	for _, c := range []byte(s) {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'f', c >= 'A' && c <= 'F', c == '-':
		case c > 'f' && c <= 'z', c > 'F' && c <= 'Z', c == '_':
			hex = false
		default:
			return false
		}
	}
	return digits <= len(s)/2 && (!hex || len(s) <= longestID)
}

// method is an HTTP method, "_OTHER" for one that isn't known.
// Source: https://opentelemetry.io/docs/specs/semconv/http/http-spans/
func method(s string) string {
	switch s {
	case "":
		return http.MethodGet
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return s
	}
	return "_OTHER"
}

// httpResult is how a request ended, in words that hold no values.
type httpResult struct {
	status    sentry.SpanStatus
	errorType string // "" unless it failed
}

// httpOutcome judges a request as its caller would: having changed one's mind is
// no failure.
func httpOutcome(status int, err error) httpResult {
	if err == nil {
		out := httpResult{status: sentry.HTTPtoSpanStatus(status)}
		if status >= http.StatusBadRequest {
			out.errorType = strconv.Itoa(status)
		}
		return out
	}
	if errors.Is(err, context.Canceled) {
		return httpResult{status: sentry.SpanStatusCanceled}
	}
	if timeout, ok := errors.AsType[net.Error](err); errors.Is(err, context.DeadlineExceeded) || ok && timeout.Timeout() {
		return httpResult{sentry.SpanStatusDeadlineExceeded, "timeout"}
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return httpResult{sentry.SpanStatusUnavailable, "dns"}
	}
	if isTLSError(err) {
		return httpResult{sentry.SpanStatusUnavailable, "tls"}
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		if op.Op == "dial" {
			return httpResult{sentry.SpanStatusUnavailable, "connect"}
		}
		return httpResult{sentry.SpanStatusUnavailable, "connection"}
	}
	return httpResult{sentry.SpanStatusInternalError, "other"}
}

func isTLSError(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.AlertError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	_, ok := errors.AsType[x509.UnknownAuthorityError](err)
	return ok
}
