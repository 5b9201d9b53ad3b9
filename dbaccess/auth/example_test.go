package auth_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/twinpath/twinpath/dbaccess/auth"
)

func ExampleWith() {
	claims := json.RawMessage(`{"sub":"alice","email":"alice@example.org"}`)
	ctx := auth.With(context.Background(), auth.Identity{Role: "authenticated", Claims: claims})

	id, ok := auth.From(ctx)
	fmt.Println(id, ok)
	fmt.Println(id.Subject())
	// Output:
	// identity(authenticated) true
	// alice
}

func ExampleIdentity_ClaimsWithRole() {
	id := auth.Identity{Role: "authenticated", Claims: json.RawMessage(`{"sub":"alice"}`)}
	claims, err := id.ClaimsWithRole()
	fmt.Println(string(claims), err)
	// Output: {"sub":"alice","role":"authenticated"} <nil>
}
