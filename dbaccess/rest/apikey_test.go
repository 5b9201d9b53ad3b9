package rest_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/dbaccess/rest"
)

// TestAPIKeys: what a gateway makes of a key decides which identities need no token,
// so that no caller gets more through PostgREST than directly.
func TestAPIKeys(t *testing.T) {
	t.Parallel()
	const publishable, secretKey = "sb_publishable_sesame", "sb_secret_sesame"
	anonKey, serviceKey := tokenOf(`{"iss":"supabase","role":"anon"}`), tokenOf(`{"iss":"supabase","role":"service_role"}`)
	user := tokenOf(`{"role":"authenticated","sub":"1"}`)
	type id = auth.Identity
	const refused = "refused"
	for name, tt := range map[string]struct {
		key      string
		identity id
		change   func(*rest.Config)
		want     string // the Authorization header
	}{
		"publishable, anonymous":           {publishable, id{Role: "anon"}, nil, ""},
		"publishable, anonymous elsewhere": {publishable, id{Role: "web_anon"}, func(c *rest.Config) { c.AnonRole = "web_anon" }, ""},
		"publishable, user":                {publishable, id{Role: "authenticated", Token: user}, nil, "Bearer " + user},
		"publishable, service":             {publishable, id{Role: "service_role"}, nil, refused},
		"publishable, minted service":      {publishable, id{Role: "service_role"}, func(c *rest.Config) { c.Signer = signer{token: "minted"} }, "Bearer minted"},
		"secret, service":                  {secretKey, id{Role: "service_role"}, nil, ""},
		"secret, service with its role":    {secretKey, id{Role: "service_role", Claims: json.RawMessage(`{"role":"service_role"}`)}, nil, ""},
		"secret, service with claims":      {secretKey, id{Role: "service_role", Claims: json.RawMessage(`{"sub":"1"}`)}, nil, refused},
		"secret, anonymous":                {secretKey, id{Role: "anon"}, nil, refused},
		"secret, minted anonymous":         {secretKey, id{Role: "anon"}, func(c *rest.Config) { c.Signer = signer{token: "minted"} }, "Bearer minted"},
		"secret, user":                     {secretKey, id{Role: "authenticated", Token: user}, nil, "Bearer " + user},
		"secret, user without a token":     {secretKey, id{Role: "authenticated"}, nil, refused},
		"older anon, anonymous":            {anonKey, id{Role: "anon"}, nil, ""},
		"older anon, service":              {anonKey, id{Role: "service_role"}, nil, refused},
		"older service, service":           {serviceKey, id{Role: "service_role"}, nil, "Bearer " + serviceKey},
		"older service, anonymous":         {serviceKey, id{Role: "anon"}, nil, refused},
		"older service, user":              {serviceKey, id{Role: "authenticated", Token: user}, nil, "Bearer " + user},
		"another gateway's, anonymous":     {"sesame", id{Role: "anon"}, nil, ""},
		"another gateway's, service":       {"sesame", id{Role: "service_role"}, nil, refused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got http.Header
			change := func(c *rest.Config) {
				c.APIKey = tt.key
				if tt.change != nil {
					tt.change(c)
				}
			}
			b := backend(t, func(w http.ResponseWriter, r *http.Request) { got = r.Header.Clone(); rows(w, r) }, change)
			c := call(query.From("notes"))
			c.Identity = tt.identity
			_, err := b.Do(t.Context(), c)
			if tt.want == refused {
				if !errors.Is(err, rest.ErrNoToken) || got != nil {
					t.Fatalf("error %v, sent %t; want ErrNoToken and nothing sent", err, got != nil)
				}
				if e := asError(t, err); e.Advice == "" || containsAny(texts(t, err), "sesame") {
					t.Errorf("bad advice, or a key in %s", texts(t, err))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			if tt.want != "" {
				want = []string{tt.want}
			}
			if diff := cmp.Diff(want, got.Values("Authorization")); diff != "" {
				t.Errorf("Authorization (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{tt.key}, got.Values("Apikey")); diff != "" {
				t.Errorf("apikey (-want +got):\n%s", diff)
			}
		})
	}
}
