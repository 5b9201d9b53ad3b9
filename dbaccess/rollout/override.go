package rollout

import (
	"context"

	"github.com/twinpath/twinpath/dbaccess"
)

// ReasonOverride is the reason of a decision that the request made itself.
const ReasonOverride = "override"

type overrideKey struct{}

// WithOverride asks for a path. It counts where the router is [Overridable], and
// only before the request's first database call. Whether a request may ask is
// the caller's to decide: middleware.AccessPathWithConfig has a function for it.
// A path that is neither of the two asks for nothing.
func WithOverride(ctx context.Context, path dbaccess.Path) context.Context {
	if !path.Valid() {
		return ctx
	}
	return context.WithValue(ctx, overrideKey{}, path)
}

// Overridable follows [WithOverride] where the context has one, for every query
// of the request, and asks next where it hasn't. next defaults to REST.
func Overridable(next dbaccess.Router) dbaccess.QueryRouter { return overridable{orREST(next)} }

type overridable struct{ next dbaccess.Router }

var _ dbaccess.QueryRouter = overridable{}

func (o overridable) Route(ctx context.Context, r dbaccess.RouteRequest) dbaccess.Decision {
	if p, ok := ctx.Value(overrideKey{}).(dbaccess.Path); ok {
		return dbaccess.Decision{Path: p, Variant: string(p), Reason: ReasonOverride}
	}
	return o.next.Route(ctx, r)
}

func (o overridable) PathFor(d dbaccess.Decision, name string) (dbaccess.Path, string) {
	if d.Reason == ReasonOverride {
		return d.Path, d.Reason
	}
	return pathFor(o.next, d, name)
}
