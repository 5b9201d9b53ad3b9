package auth

import "context"

// serviceMark stands in a context where an Identity would.
type serviceMark struct{}

// AsService returns a context whose database calls act as the application itself,
// past the rights of whoever made the request: as the identity that
// dbaccess.Config.Service names. Where the application has not set that, such
// calls fail. The context itself holds no secret, and no right.
//
// Of AsService and [With] the one called last counts.
func AsService(ctx context.Context) context.Context {
	return context.WithValue(ctx, ctxKey{}, serviceMark{})
}

// IsService says whether calls with ctx act as the application itself, see
// [AsService]. [From] finds no identity in such a context.
func IsService(ctx context.Context) bool {
	_, ok := ctx.Value(ctxKey{}).(serviceMark)
	return ok
}
