package middleware

import (
	"context"
	"sync"

	"github.com/getsentry/sentry-go"
)

// hubContext answers for the request's hub and makes it when it is first asked
// for, which most requests that aren't sampled never do. A hub is a clone of that
// in the request's context, else of the current one: what a request puts on its
// scope stays its own.
type hubContext struct {
	context.Context // the request's own, without what is added here
	base            *sentry.Hub
	starting        *sentry.Hub // what the SDK gets while it makes the root
	clone           sync.Once
	hub             *sentry.Hub
	x               *exchange
}

var _ context.Context = (*hubContext)(nil)

// Value hands out the hub.
func (h *hubContext) Value(key any) any {
	if key == sentry.HubContextKey {
		return h.own()
	}
	return h.Context.Value(key)
}

func (h *hubContext) own() *sentry.Hub {
	if h.starting != nil {
		return h.starting
	}
	h.clone.Do(func() {
		h.hub = h.base.Clone()
		h.x.equip(h.hub)
	})
	return h.hub
}

// client is what is known about a Sentry client.
type client struct {
	*sentry.Client
	// starter is the hub for making root spans. All requests share it: the SDK
	// needs a scope to put the span on, and nobody else gets to see it.
	starter *sentry.Hub
	tracing bool // it makes transactions
	sampler bool // it asks the application, which may look at the hub
}

// clientOf returns base's client. There is one in a process, as a rule, so the
// last is kept: the SDK copies all options to tell one.
func (m *sentryMiddleware) clientOf(base *sentry.Hub) *client {
	of := base.Client()
	if c := m.client.Load(); c != nil && c.Client == of {
		return c
	}
	opts := of.Options()
	c := &client{
		Client:  of,
		starter: sentry.NewHub(of, sentry.NewScope()),
		tracing: of.IsEnabled() && opts.EnableTracing,
		sampler: opts.TracesSampler != nil,
	}
	m.client.Store(c)
	return c
}
