// Package jwt verifies and mints the bearer tokens that PostgREST accepts.
//
// [NewHS256] takes the secret that PostgREST has as jwt-secret (on Supabase the
// project's JWT secret). The result is the auth.Verifier of
// middleware.Identity, and the auth.Signer that rest.Config wants where the
// application verifies its users by other means:
//
//	tokens, err := jwt.NewHS256(jwt.Config{Secret: secret})
//	e.Use(middleware.Identity(tokens))
//
// A token is judged as PostgREST judges it: the algorithm is HS256 whatever the
// token's header says, exp, nbf and iat have 30 seconds of grace for clocks that
// disagree, and each refusal has PostgREST's code and message. Where PostgREST
// is lenient about what no honest issuer sends, this package is not: it refuses
// repeated claims, a role that is no string, unknown critical headers and
// base64 that has more than one reading.
//
// Source: https://docs.postgrest.org/en/stable/references/auth.html
package jwt
