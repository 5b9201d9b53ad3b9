// Package auth says who asks.
//
// An [Identity] is a Postgres role and the claims that row level security
// policies read. It travels in the request's context: middleware.Identity puts
// it there after verifying a bearer token, [With] puts one there that the
// application verified itself, and both access paths act under it:
//
//	ctx = auth.With(ctx, auth.Identity{Role: "authenticated", Claims: claims})
//	rows, err := dbaccess.All[Watchlist](ctx, db, lists)
//
// Without an identity a call uses dbaccess.Config.Default, and fails where that
// is not set either: nothing ever runs as the role that the connection logged
// in as. [FromAPIKey] makes a default of a Supabase API key.
//
// A [Verifier] tells a refused token, a [TokenError] that an API answers with 401,
// from one that it can't judge at the moment, an [UnavailableError] for 503. Where a
// token's role is to be found is a [ClaimPath], as PostgREST writes it.
package auth
