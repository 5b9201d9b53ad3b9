package jwt_test

import (
	"context"
	"encoding/json"
	"fmt"

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
