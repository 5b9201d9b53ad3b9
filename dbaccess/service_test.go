package dbaccess_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/query"
)

func TestAsService(t *testing.T) {
	t.Parallel()
	const canary = "canary-91f0"
	service := &auth.Identity{Role: "service_role", Token: canary, Claims: json.RawMessage(`{"k":"` + canary + `"}`)}
	for _, path := range []dbaccess.Path{dbaccess.REST, dbaccess.Direct} {
		for _, tt := range []struct {
			name    string
			service *auth.Identity
			ctx     func(context.Context) context.Context
			role    string
			err     error
		}{
			{"marked", service, auth.AsService, "service_role", nil},
			{"marked last", service, func(ctx context.Context) context.Context { return auth.AsService(asAnon(ctx)) }, "service_role", nil},
			{"marked first", service, func(ctx context.Context) context.Context { return asAnon(auth.AsService(ctx)) }, "anon", nil},
			{"not marked", service, func(ctx context.Context) context.Context { return ctx }, "nobody", nil},
			{"without opt-in", nil, auth.AsService, "", dbaccess.ErrNoService},
			{"without opt-in, but a user", nil, func(ctx context.Context) context.Context { return auth.AsService(asAnon(ctx)) }, "", dbaccess.ErrNoService},
		} {
			rest, direct := &fakeBackend{body: "[]"}, &fakeBackend{body: "[]"}
			rec := &recorder{}
			db := mustNew(t, dbaccess.Config{
				REST: rest, Direct: direct, Service: tt.service, Default: &auth.Identity{Role: "nobody"},
				Router: &countingRouter{paths: []dbaccess.Path{path}}, Observers: []dbaccess.Observer{rec},
			})
			_, err := dbaccess.JSON(tt.ctx(t.Context()), db, query.From("t"))
			if !errors.Is(err, tt.err) || err != nil && tt.err == nil {
				t.Errorf("%s, %s: error %v, want %v", path, tt.name, err, tt.err)
				continue
			}
			ids := append(rest.ids, direct.ids...)
			if tt.err != nil {
				if len(ids) != 0 || !strings.Contains(err.Error(), "Config.Service") {
					t.Errorf("%s, %s: %d calls were made, error %v", path, tt.name, len(ids), err)
				}
				continue
			}
			if ids[0].Role != tt.role || rec.last(t).Role != tt.role {
				t.Errorf("%s, %s: acted as %v, observed %s; want %s", path, tt.name, ids[0], rec.last(t).Role, tt.role)
			}
		}
	}
	if _, err := dbaccess.New(dbaccess.Config{Direct: &fakeBackend{}, Service: &auth.Identity{Role: "none"}}); err == nil || !strings.Contains(err.Error(), "Config.Service") {
		t.Errorf("New: error %v, want one about Config.Service", err)
	}
}
