package auth_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twinpath/twinpath/dbaccess/auth"
)

// TestSecretsAreNeverPrinted plants canaries in every exported type that may hold a
// secret and searches all that it prints as.
func TestSecretsAreNeverPrinted(t *testing.T) {
	t.Parallel()
	const canary = "canary-5e1d"
	id := auth.Identity{Role: "authenticated", Claims: json.RawMessage(`{"sub":"` + canary + `"}`), Token: canary}
	older, err := auth.FromAPIKey(unsigned(`{"role":"service_role","ref":"` + canary + `"}`))
	if err != nil {
		t.Fatal(err)
	}
	_, badPath := auth.ParseClaimPath(canary)
	_, badKey := auth.FromAPIKey(canary)
	_, badToken := auth.FromVerifiedToken(canary + "." + canary + "." + canary)
	type exported struct {
		ID   auth.Identity
		Ptr  *auth.Identity
		Any  any
		Ctx  fmt.Stringer
		Err  error
		List []auth.Identity
	}
	ctx, _ := auth.With(t.Context(), id).(fmt.Stringer)
	for name, v := range map[string]any{
		"Identity": id, "*Identity": &id, "of a key": older, "slice": []auth.Identity{id, older}, "map": map[string]auth.Identity{"a": id},
		"exported": exported{id, &id, id, ctx, badKey, []auth.Identity{id}}, "context": ctx.String(),
		"TokenError":       &auth.TokenError{Code: auth.CodeTokenInvalid, Reason: "JWT expired"},
		"UnavailableError": &auth.UnavailableError{Reason: "the key set's server can't be reached", RetryAfter: time.Second},
		"path":             badPath, "key": badKey, "token": badToken,
		"validate":      auth.Identity{Role: "none", Token: canary, Claims: id.Claims}.Validate(),
		"validate key":  auth.Identity{Role: "anon", Token: "sb_secret_" + canary}.Validate(),
		"validate JSON": auth.Identity{Role: "anon", Claims: json.RawMessage(canary)}.Validate(),
	} {
		var out bytes.Buffer
		for _, verb := range strings.Split("v +v #v s +s q #q x X d t c U e g b o T 10v", " ") {
			fmt.Fprintf(&out, "%"+verb+"\n", v)
		}
		for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
			slog.New(h).With("with", v).Info("made", "value", v, slog.Group("in", "value", v))
		}
		if b, err := json.Marshal(v); err == nil {
			out.Write(b)
		}
		text := strings.ToLower(out.String())
		for _, s := range []string{canary, fmt.Sprintf("%x", canary), strings.Trim(fmt.Sprint([]byte(canary)), "[]"), strings.ToLower(older.Token)} {
			if strings.Contains(text, s) {
				t.Errorf("%s tells %q: %s", name, s, text)
			}
		}
	}
}

func TestUnavailableError(t *testing.T) {
	t.Parallel()
	end := errors.New("the end")
	err := fmt.Errorf("wrapped: %w", &auth.UnavailableError{Reason: "no keys", Err: end})
	if !errors.Is(err, end) || auth.IsTokenError(err) {
		t.Error("wrong chain")
	}
	if got, want := err.Error(), "wrapped: auth: bearer token can't be verified: no keys"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
