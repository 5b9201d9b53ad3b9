package rollout

import (
	"context"

	"github.com/twinpath/twinpath/dbaccess"
)

// Fixed sends every request the same way. A path that is neither of the two
// means REST; the facade says so in the reason.
func Fixed(path dbaccess.Path) dbaccess.Router { return fixed{path} }

type fixed struct{ path dbaccess.Path }

var _ dbaccess.Router = fixed{}

func (f fixed) Route(context.Context, dbaccess.RouteRequest) dbaccess.Decision {
	return dbaccess.Decision{Path: f.path, Variant: string(f.path), Reason: "fixed"}
}

// orREST is what a combining router does without a router to ask.
func orREST(next dbaccess.Router) dbaccess.Router {
	if next == nil {
		return Fixed(dbaccess.REST)
	}
	return next
}
