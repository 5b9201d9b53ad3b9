package rollout

import (
	"context"
	"maps"

	"github.com/twinpath/twinpath/dbaccess"
)

// ByQuery sends queries of the given names their own way, whatever path their
// request takes, and leaves all else to next. It gives way to an override. An
// entry whose path is neither of the two is ignored; next defaults to REST.
func ByQuery(paths map[string]dbaccess.Path, next dbaccess.Router) dbaccess.QueryRouter {
	return byQuery{paths: maps.Clone(paths), next: orREST(next)}
}

type byQuery struct {
	paths map[string]dbaccess.Path
	next  dbaccess.Router
}

var _ dbaccess.QueryRouter = byQuery{}

func (b byQuery) Route(ctx context.Context, r dbaccess.RouteRequest) dbaccess.Decision {
	return b.next.Route(ctx, r)
}

func (b byQuery) PathFor(d dbaccess.Decision, name string) (dbaccess.Path, string) {
	if d.Reason == ReasonOverride {
		return d.Path, d.Reason
	}
	if p := b.paths[name]; p.Valid() {
		return p, "by query"
	}
	return pathFor(b.next, d, name)
}

// pathFor asks r for the query's path, where it has an opinion.
func pathFor(r dbaccess.Router, d dbaccess.Decision, name string) (dbaccess.Path, string) {
	if qr, ok := r.(dbaccess.QueryRouter); ok {
		return qr.PathFor(d, name)
	}
	return d.Path, d.Reason
}
