package dbaccess

import (
	"context"
	"sync"
)

// Router decides which path a request's calls take. It cannot fail: a router
// that depends on something that can, such as a flag service, falls back to a
// configured path and says so in the decision's reason.
//
// Route is asked once per request, at its first database call; the answer is
// then pinned. See [Pin]. Its context is the request's, but not pinned; database
// calls of the router's own go over REST where there is a choice.
type Router interface {
	Route(ctx context.Context, r RouteRequest) Decision
}

// QueryRouter is a [Router] that sends some queries another way than their
// request's decision says. It must answer the same for the same decision and
// query.
type QueryRouter interface {
	Router
	PathFor(d Decision, queryName string) (Path, string) // the path and the reason for it
}

// RouteRequest is what a router decides by.
type RouteRequest struct {
	// Subject is the stable identity to divide traffic by: the user, else what
	// [WithSubject] gave, else "".
	Subject string
	// Query is the name of the request's first query.
	Query string
}

// Decision is a router's answer for one request.
type Decision struct {
	Path    Path
	Variant string // which arm of the experiment the request is in
	Flag    string // name of the flag that decided, "" when none did
	Reason  string // "fixed", "percent", "override", "fallback: …"
}

// Routed is the decision that a call actually followed.
type Routed struct {
	Decision
	// Path and Reason shadow the decision's where the call could not, or was
	// told not to, follow it.
	Path   Path
	Reason string
}

type (
	pinKey     struct{}
	subjectKey struct{}
	inCallKey  struct{}
	routingKey struct{}
)

// pin holds the decision of one request.
type pin struct {
	mu       sync.Mutex
	decided  bool
	decision Decision
}

// Pin returns a context within which one decision holds: the first database
// call asks the router, every later one follows suit. middleware.AccessPath
// calls it for each request; a context that is pinned already is returned as it
// is. A call whose context is not pinned asks the router for itself.
func Pin(ctx context.Context) context.Context {
	if _, ok := ctx.Value(pinKey{}).(*pin); ok {
		return ctx
	}
	return context.WithValue(ctx, pinKey{}, &pin{})
}

// WithDecision returns a context whose calls follow d without asking the router:
// for jobs outside of HTTP, and for tests.
func WithDecision(ctx context.Context, d Decision) context.Context {
	return context.WithValue(ctx, pinKey{}, &pin{decided: true, decision: d})
}

// DecisionFrom returns the decision that ctx is pinned to, and whether one has
// been made yet.
func DecisionFrom(ctx context.Context) (Decision, bool) {
	p, ok := ctx.Value(pinKey{}).(*pin)
	if !ok {
		return Decision{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.decision, p.decided
}

// WithSubject returns a context whose calls are divided by subject where no
// user is known, for example by a trace id or an anonymous visitor's cookie.
func WithSubject(ctx context.Context, subject string) context.Context {
	return context.WithValue(ctx, subjectKey{}, subject)
}

// SubjectFrom returns what [WithSubject] gave to ctx, "" where it gave nothing.
func SubjectFrom(ctx context.Context) string {
	s, _ := ctx.Value(subjectKey{}).(string)
	return s
}

// callContext marks what happens in a call. It is a part of the call.
type callContext struct{ context.Context }

func (c *callContext) Value(key any) any {
	if key == (inCallKey{}) {
		return true
	}
	return c.Context.Value(key)
}

// InCall says whether ctx belongs to a running call of this package, so that
// instruments below it (a pgx tracer, an http.RoundTripper) keep silent: the
// call reports itself.
func InCall(ctx context.Context) bool { return ctx.Value(inCallKey{}) != nil }

// decide returns the pinned decision, or asks the router and pins its answer.
func decide(ctx context.Context, r Router, subject func() string, queryName string) Decision {
	if d, ok := r.(defaultRouter); ok {
		if _, pinned := ctx.Value(pinKey{}).(*pin); !pinned {
			return d.Route(ctx, RouteRequest{}) // it asks nothing, and looks at nothing
		}
	}
	if ctx.Value(routingKey{}) != nil {
		return Decision{Path: REST, Variant: string(REST), Reason: "fallback: the router itself asked"}
	}
	ask := func() Decision {
		// The router gets a context that waits for no decision, its own least of all.
		free := context.WithValue(context.WithValue(ctx, pinKey{}, nil), routingKey{}, true)
		d := r.Route(free, RouteRequest{Subject: subject(), Query: queryName})
		if !d.Path.Valid() {
			d.Path, d.Reason = REST, "fallback: the router named no path"
		}
		return d
	}
	p, ok := ctx.Value(pinKey{}).(*pin)
	if !ok {
		return ask()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.decided {
		p.decision, p.decided = ask(), true
	}
	return p.decision
}
