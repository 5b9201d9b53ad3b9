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

// An API whose visitors need no account: whoever comes without a token is what the
// publishable key stands for.
func ExampleFromAPIKey() {
	visitor, err := auth.FromAPIKey("sb_publishable_of-your-project")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(visitor) // for dbaccess.Config.Default; the key itself is rest.Config.APIKey
	// Output: identity(anon)
}

func ExampleParseClaimPath() {
	path, err := auth.ParseClaimPath(`.realm_access.roles[?(@ ^== "db_")]`)
	if err != nil {
		fmt.Println(err)
		return
	}
	role, ok := path.Find(json.RawMessage(`{"realm_access":{"roles":["offline_access","db_clerk"]}}`))
	fmt.Println(string(role), ok)
	// Output: "db_clerk" true
}

// A job that a request starts does its work as the application, past the rights of
// the user: dbaccess.Config.Service says who that is.
func ExampleAsService() {
	ctx := auth.With(context.Background(), auth.Identity{Role: "authenticated"})
	ctx = auth.AsService(ctx)

	_, ok := auth.From(ctx)
	fmt.Println(auth.IsService(ctx), ok)
	// Output: true false
}
