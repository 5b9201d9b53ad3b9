package jwt_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
)

func ExampleNewHS256() {
	tokens, err := jwt.NewHS256(jwt.Config{Secret: []byte("the jwt-secret of your PostgREST")})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	token, err := tokens.Sign(ctx, auth.Identity{Role: "authenticated", Claims: json.RawMessage(`{"sub":"alice"}`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	id, err := tokens.Verify(ctx, token)
	fmt.Println(id, id.Subject(), err)
	// Output: identity(authenticated) alice <nil>
}

func ExampleHS256_Verify() {
	tokens, err := jwt.NewHS256(jwt.Config{Secret: []byte("the jwt-secret of your PostgREST")})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = tokens.Verify(context.Background(), "not.a.token")
	fmt.Println(err)
	fmt.Println(auth.IsTokenError(err))
	// Output:
	// auth: bearer token refused: JWT cryptographic operation failed
	// true
}

func ExampleNewJWKS() {
	// On Supabase: https://<project>.supabase.co/auth/v1/.well-known/jwks.json
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"rfc8037","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`)
	}))
	defer issuer.Close()

	tokens, err := jwt.NewJWKS(jwt.JWKSConfig{URL: issuer.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tokens.Close()
	ctx := context.Background()
	if err := tokens.Start(ctx); err != nil { // optional
		fmt.Println(err)
		return
	}
	_, err = tokens.Verify(ctx, "eyJhbGciOiJFZERTQSIsImtpZCI6InJmYzgwMzcifQ.e30.Zm9yZ2Vk")
	fmt.Println(err)
	// Output: auth: bearer token refused: No suitable key or wrong key type
}

// PostgREST's jwt-secret may itself be a JWK set.
func ExampleNewJWKS_document() {
	tokens, err := jwt.NewJWKS(jwt.JWKSConfig{
		Document:  []byte(`{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"rfc8037","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`),
		RoleClaim: ".app_metadata.db_role",
		Audience:  "api",
	})
	fmt.Println(tokens, err)
	// Output: jwt.JWKS(hidden) <nil>
}

// A Supabase project with signing keys: a key that was made outside and imported there
// signs for users whom the application knows by other means. This one is RFC 8037's.
func ExampleNewSigner() {
	signer, err := jwt.NewSigner(jwt.SignerConfig{
		Key: []byte(`{"kty":"OKP","crv":"Ed25519","kid":"rfc8037","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}`),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	token, err := signer.Sign(ctx, auth.Identity{Role: "authenticated", Claims: json.RawMessage(`{"sub":"alice"}`)}) // as rest.Config.Signer does
	if err != nil {
		fmt.Println(err)
		return
	}
	tokens, err := jwt.NewJWKS(jwt.JWKSConfig{Document: []byte(`{"kty":"OKP","crv":"Ed25519","kid":"rfc8037","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	id, err := tokens.Verify(ctx, token)
	fmt.Println(id, id.Subject(), err)
	// Output: identity(authenticated) alice <nil>
}
