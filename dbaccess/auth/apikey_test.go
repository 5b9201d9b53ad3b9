package auth_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/auth"
)

func unsigned(claims string) string {
	return "eyJhbGciOiJIUzI1NiJ9." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2lnbmF0dXJl"
}

func TestFromAPIKey(t *testing.T) {
	t.Parallel()
	const canary = "canary4c1f"
	claims := `{"iss":"supabase","ref":"abc","role":"service_role","iat":1625137684,"exp":1940713684}`
	for _, tt := range []struct {
		name, key string
		want      *auth.Identity // nil for an error
	}{
		{"publishable", "sb_publishable_" + canary, &auth.Identity{Role: "anon"}},
		{"secret", "sb_secret_" + canary, &auth.Identity{Role: "service_role"}},
		{"older", unsigned(claims), &auth.Identity{Role: "service_role", Claims: json.RawMessage(claims), Token: unsigned(claims)}},
		{"new kind", "sb_" + canary, nil},
		{"empty", "", nil},
		{"text", canary, nil},
		{"token without a role", unsigned(`{"sub":"` + canary + `"}`), nil},
		{"token with a number for a role", unsigned(`{"role":1}`), nil},
		{"token of the login role", unsigned(`{"role":"none"}`), nil},
		{"token with two roles", unsigned(`{"role":"anon","sub":"` + canary + `","r\u006fle":"service_role"}`), nil},
		{"token with two subjects", unsigned(`{"role":"anon","sub":"` + canary + `","sub":"x"}`), nil},
		{"token that is no JSON", unsigned(canary), nil},
		{"token in four parts", unsigned(claims) + "." + canary, nil},
	} {
		got, err := auth.FromAPIKey(tt.key)
		if tt.want == nil {
			if err == nil || strings.Contains(err.Error(), canary) {
				t.Errorf("%s: identity %v, error %v", tt.name, got, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(*tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if err := got.Validate(); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestFromVerifiedToken(t *testing.T) {
	t.Parallel()
	claims := `{ "role":"authenticated","tenant":9007199254740993 }`
	got, err := auth.FromVerifiedToken(unsigned(claims))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(auth.Identity{Role: "authenticated", Claims: json.RawMessage(claims), Token: unsigned(claims)}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A key that is no token is no identity's token either, wherever the identity is
// used: dbaccess.Config.Default asks Validate.
func TestIdentityWithAnAPIKeyForAToken(t *testing.T) {
	t.Parallel()
	const canary = "canary4c1f"
	for _, prefix := range []string{"sb_publishable_", "sb_secret_", "sb_"} {
		err := auth.Identity{Role: "anon", Token: prefix + canary}.Validate()
		if err == nil || strings.Contains(err.Error(), canary) || !strings.Contains(err.Error(), "rest.Config.APIKey") {
			t.Errorf("%s: error %v", prefix, err)
		}
	}
}
