package rollout

import (
	"context"
	"sync/atomic"

	"github.com/twinpath/twinpath/dbaccess"
)

// Switch is a router that can be exchanged while requests are running. A request
// that has decided keeps its decision.
//
// It asks its router for decisions only: a [ByQuery] belongs around the switch,
// not into it, because its answers must not change within a request.
type Switch struct {
	current atomic.Pointer[dbaccess.Router]
}

var _ dbaccess.Router = (*Switch)(nil)

// NewSwitch returns a switch that starts with the given router, or with all
// requests on REST when it is nil.
func NewSwitch(initial dbaccess.Router) *Switch {
	s := &Switch{}
	s.Set(initial)
	return s
}

// Set exchanges the router, for requests that have not decided yet. A nil router
// sends all to REST.
func (s *Switch) Set(r dbaccess.Router) {
	r = orREST(r)
	s.current.Store(&r)
}

// Route asks the router that is set.
func (s *Switch) Route(ctx context.Context, r dbaccess.RouteRequest) dbaccess.Decision {
	current := s.current.Load()
	if current == nil { // the zero Switch
		return Fixed(dbaccess.REST).Route(ctx, r)
	}
	return (*current).Route(ctx, r)
}
