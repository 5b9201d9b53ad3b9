package tracing

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/getsentry/sentry-go"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/tracing/internal/spans"
)

// TransportOption changes what a transport shows and sends.
type TransportOption interface{ applyTo(*transport) }

type transportOption func(*transport)

func (f transportOption) applyTo(t *transport) { f(t) }

// PropagateTo lets requests to these hosts carry the headers that continue the
// trace, see [Headers]. A host is "api.example.org", for any port,
// "api.example.org:8443", or ".example.org" for everything below. Without this
// option the headers go nowhere: they name the transaction, the release and the
// environment.
func PropagateTo(hosts ...string) TransportOption {
	return transportOption(func(t *transport) {
		for _, h := range hosts {
			t.targets = append(t.targets, strings.ToLower(h))
		}
	})
}

// PathTemplate names the paths of requests in spans: "/users/{id}" for
// /users/4711. Without it, or where f returns "", a path is shown if it is one of
// PostgREST's below /rest/v1/, which has names of tables and functions, and is "/*"
// otherwise.
func PathTemplate(f func(*http.Request) string) TransportOption {
	return transportOption(func(t *transport) { t.template = f })
}

// PostgRESTVersion says which release of PostgREST answers, where something
// between hides its header Server: what it tells by Server-Timing is shown from
// release 14.2 on, whose times are right.
func PostgRESTVersion(release string) TransportOption {
	return transportOption(func(t *transport) { t.release = release })
}

// transport is a round tripper that makes a span of each request.
type transport struct {
	base     http.RoundTripper
	bound    context.Context // nil unless requests have none of their own
	targets  []string
	template func(*http.Request) string
	release  string
	detail   detailOption
}

var _ http.RoundTripper = (*transport)(nil)

// NewTransport returns a round tripper that makes a span of every request whose
// context carries a sampled one, and sends requests by base, or by
// http.DefaultTransport when that is nil:
//
//	client := &http.Client{Transport: tracing.NewTransport(nil)}
//
// A span (op "http.client") lasts until the answer's body has been read or closed,
// or the request's context has ended, and is missing where none of that happens.
// Where the time went is in the attributes http.phase.<name>_ms, which leave no
// gap: acquire (a connection), dns, connect, tls, send, wait, body. A slow request
// and one that made a connection also have a child span a phase; [Slow], [Always]
// and [Off] are options here too.
//
// Of the URL, spans show scheme, host and what [PathTemplate] says; never a query
// string, which is where PostgREST has its values. Each hop of a redirect is a span.
//
// Closing idle connections is left to base: an http.Client's CloseIdleConnections
// reaches it.
//
// It keeps silent for requests of package dbaccess, which reports its calls
// itself. Nil options are ignored.
func NewTransport(base http.RoundTripper, opts ...TransportOption) http.RoundTripper {
	return newTransport(base, opts)
}

// BindTransport is [NewTransport] for a client whose requests have no context, as
// those of postgrest-go v0.0.11: they get ctx. Thus a client is made for each
// request of one's own, which costs little, while base is shared:
//
//	client := postgrest.NewClient(url, "", headers)
//	client.Transport.Parent = tracing.BindTransport(c.Request().Context(), base)
//
// The requests also end with ctx. Every path is taken for one of PostgREST's, which
// has names of tables and functions.
func BindTransport(ctx context.Context, base http.RoundTripper, opts ...TransportOption) http.RoundTripper {
	t := newTransport(base, opts)
	t.bound = ctx
	return t
}

func newTransport(base http.RoundTripper, opts []TransportOption) *transport {
	if base == nil {
		base = http.DefaultTransport
	}
	t := &transport{base: base, detail: detailOption{slowOrCold, DefaultSlow}}
	for _, o := range opts {
		if o != nil {
			o.applyTo(t)
		}
	}
	return t
}

// RoundTrip sends the request.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, release := t.context(r)
	if dbaccess.InCall(ctx) || !spans.Recording(ctx) {
		resp, err := t.send(r, ctx)
		switch {
		case release == nil:
		case err != nil:
			release()
		case resp.StatusCode != http.StatusSwitchingProtocols:
			resp.Body = onEnd(resp, func(error, int64) { release() })
		}
		return resp, err
	}
	x := &exchange{transport: t, ctx: ctx, release: release, name: t.name(r), host: r.URL.Host, scheme: r.URL.Scheme, method: method(r.Method)}
	x.line.start = time.Now()
	resp, err := t.send(r, x.line.traced(ctx))
	if err != nil {
		x.end(err, -1)
		return resp, err
	}
	x.answered(resp)
	return resp, nil
}

// CloseIdleConnections closes those of base, for http.Client.CloseIdleConnections.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// send sends the request with ctx, and with the trace's headers where they may go.
func (t *transport) send(r *http.Request, ctx context.Context) (*http.Response, error) {
	if ctx != r.Context() {
		r = r.WithContext(ctx)
	}
	if len(t.targets) == 0 || !t.propagates(r.URL.Host) || dbaccess.InCall(ctx) || r.Header.Get(sentry.SentryTraceHeader) != "" {
		return t.base.RoundTrip(r)
	}
	h := Headers(ctx)
	if h.SentryTrace == "" {
		return t.base.RoundTrip(r)
	}
	r = r.WithContext(ctx) // a copy, whose header may be another
	r.Header = r.Header.Clone()
	if r.Header == nil {
		r.Header = make(http.Header)
	}
	h.Inject(r.Header)
	return t.base.RoundTrip(r)
}

// context is what the request is sent with: its own, or the one that is bound,
// which then ends with the request's too, as http.Client.Timeout ends it. What is
// returned beside it is not nil if it is to be called when the request is over.
func (t *transport) context(r *http.Request) (context.Context, func()) {
	own := r.Context()
	if t.bound == nil {
		return own, nil
	}
	if own.Done() == nil {
		return t.bound, nil
	}
	ctx, cancel := context.WithCancelCause(t.bound)
	stop := context.AfterFunc(own, func() { cancel(context.Cause(own)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

func (t *transport) propagates(host string) bool {
	host = strings.ToLower(host)
	name := host
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		name = host[:i]
	}
	return slices.ContainsFunc(t.targets, func(target string) bool {
		return target != "" && (target == host || target == name || target[0] == '.' && strings.HasSuffix(name, target))
	})
}
