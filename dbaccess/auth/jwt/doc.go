// Package jwt verifies the bearer tokens that PostgREST accepts, and mints them.
//
// Tokens are signed in one of two ways, and the issuer decides which. [NewHS256]
// takes the secret that PostgREST has as jwt-secret (on older Supabase projects the
// JWT secret). [NewJWKS] takes public keys: the address where the issuer publishes
// them, or PostgREST's jwt-secret where that is a JWK set:
//
//	tokens, err := jwt.NewHS256(jwt.Config{Secret: secret})
//	tokens, err := jwt.NewJWKS(jwt.JWKSConfig{URL: supabaseURL + "/auth/v1/.well-known/jwks.json"})
//	e.Use(middleware.Identity(tokens))
//
// Both are the auth.Verifier of middleware.Identity. [HS256] is also the
// auth.Signer that rest.Config wants where the application verifies its users by
// other means; [NewSigner] makes one of a private key. A Supabase project that moved to signing keys has tokens of both
// kinds for a while: JWKSConfig.Secret takes the secret besides.
//
// # What is verified
//
// A token is judged as PostgREST judges it: exp, nbf and iat have 30 seconds of
// grace for clocks that disagree, a token without an audience passes, one without a
// role is the anonymous role's, and each refusal has PostgREST's code and message.
// Where PostgREST is lenient about what no honest issuer sends, this package is
// not: it refuses repeated claims, a role that is no string, unknown critical
// headers and base64 that has more than one reading.
//
// The algorithm that a token names must be one of its key's: a secret verifies
// HS256 (or the one that its JWK names), an RSA key of 2048 to 8192 bits RS256, RS384
// and RS512, a curve P-256, P-384 and P-521 ES256, ES384 and ES512, Ed25519 EdDSA. So
// a public key never verifies what anybody can compute with it, and "none" is
// unknown. PS256, PS384 and PS512 work where JWKSConfig.Algorithms lists them;
// PostgREST does not have them, so that such tokens serve the direct path alone.
//
// Supabase's API keys sb_publishable_… and sb_secret_… are no tokens: as a bearer
// token they are refused with words that say so. The older keys are tokens, of the
// secret.
//
// # Keys from an address
//
// Nothing is asked for before the first token needs it, or [JWKS.Start] is called,
// which also keeps keys fresh in the background until [JWKS.Close]. However many
// callers wait, there is one request.
//
//   - Keys are used for JWKSConfig.Refresh, 10 minutes, which is as long as a
//     revoked key lives on here. After four fifths of it the next caller causes a
//     request in the background; after all of it he waits for it.
//   - A token that names a key which is not there causes a request, unless the keys
//     are younger than JWKSConfig.UnknownKeyPause, 30 seconds. So a rotation needs no
//     restart, and strangers with invented names can't keep the issuer busy.
//   - While the issuer is down, known keys are used for JWKSConfig.Grace more, an
//     hour, and it is asked again after 1, 2, 4 … 30 seconds.
//   - Without a key to judge by, Verify fails with *auth.UnavailableError: the API
//     answers 503 and lets nobody in.
//
// The answer must come by https or from a loopback address, from the same host, in 5
// seconds and 256 KiB, with at most 64 keys. Keys that are private, or secret, or
// too short are not used, and the log says so.
//
// Sources: https://docs.postgrest.org/en/stable/references/auth.html,
// https://supabase.com/docs/guides/auth/signing-keys, RFC 7515, 7517, 7518, 8037
package jwt
