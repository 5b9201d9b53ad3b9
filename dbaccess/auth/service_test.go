package auth_test

import (
	"context"
	"testing"

	"github.com/twinpath/twinpath/dbaccess/auth"
)

func TestAsServiceAndWithTheLastOneCounts(t *testing.T) {
	t.Parallel()
	user := func(ctx context.Context) context.Context { return auth.With(ctx, auth.Identity{Role: "authenticated"}) }
	for _, tt := range []struct {
		name    string
		with    []func(context.Context) context.Context
		service bool
		role    string
	}{
		{"none", nil, false, ""},
		{"service", []func(context.Context) context.Context{auth.AsService}, true, ""},
		{"user", []func(context.Context) context.Context{user}, false, "authenticated"},
		{"user, then service", []func(context.Context) context.Context{user, auth.AsService}, true, ""},
		{"service, then user", []func(context.Context) context.Context{auth.AsService, user}, false, "authenticated"},
	} {
		ctx := context.Background()
		for _, f := range tt.with {
			ctx = f(ctx)
		}
		id, ok := auth.From(ctx)
		if auth.IsService(ctx) != tt.service || id.Role != tt.role || ok != (tt.role != "") {
			t.Errorf("%s: service %v, identity %v, %v", tt.name, auth.IsService(ctx), id, ok)
		}
	}
}
