package rest_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/dbaccess/rest"
)

func newTokens(tb testing.TB) *jwt.HS256 {
	tb.Helper()
	tokens, err := jwt.NewHS256(jwt.Config{Secret: []byte("the jwt-secret of your PostgREST")})
	if err != nil {
		tb.Fatal(err)
	}
	return tokens
}

// TestMintedTokens: PostgREST learns of an identity without a token what the direct
// path sets of it, for a minute.
func TestMintedTokens(t *testing.T) {
	t.Parallel()
	tokens := newTokens(t)
	var got []string
	b := backend(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		rows(w, r)
	}, func(c *rest.Config) { c.Signer = tokens })
	for _, id := range []auth.Identity{
		{Role: "authenticated", Claims: json.RawMessage(`{"sub":"alice","tenant":9007199254740993}`)},
		{Role: "authenticated", Claims: json.RawMessage(`{"sub":"bob","role":"admin"}`)}, // the identity's role counts
		{Role: "anon", Claims: json.RawMessage(`{"sub":"visitor"}`)},
		{Role: "clerk"},
	} {
		c := call(query.From("notes"))
		c.Identity = id
		before := time.Now().Truncate(time.Second)
		if _, err := b.Do(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		proven, err := tokens.Verify(t.Context(), got[len(got)-1])
		if err != nil {
			t.Fatal(err)
		}
		if proven.Role != id.Role {
			t.Errorf("role %s, want %s", proven.Role, id.Role)
		}
		direct, err := id.ClaimsWithRole()
		if err != nil {
			t.Fatal(err)
		}
		var want, have map[string]json.RawMessage
		if err := json.Unmarshal(direct, &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(proven.Claims, &have); err != nil {
			t.Fatal(err)
		}
		var exp int64
		if err := json.Unmarshal(have["exp"], &exp); err != nil {
			t.Fatal(err)
		}
		if end := time.Unix(exp, 0); end.Before(before.Add(jwt.DefaultLifetime)) || end.After(time.Now().Add(jwt.DefaultLifetime)) {
			t.Errorf("the token ends %v from the call", end.Sub(before))
		}
		delete(have, "exp")
		if diff := cmp.Diff(want, have, cmp.Transformer("text", func(m json.RawMessage) string { return string(m) })); diff != "" {
			t.Errorf("claims (-direct +rest):\n%s", diff)
		}
	}
}

// An application with sessions: its users have no token, and PostgREST believes
// nothing else.
func ExampleConfig_signer() {
	postgrest := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		payload, _ := base64.RawURLEncoding.DecodeString(strings.Split(r.Header.Get("Authorization"), ".")[1])
		var claims struct{ Role, Sub string }
		_ = json.Unmarshal(payload, &claims)
		fmt.Println("asked by", claims.Role, claims.Sub)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, "[]")
	}))
	defer postgrest.Close()

	tokens, err := jwt.NewHS256(jwt.Config{Secret: []byte("the jwt-secret of your PostgREST")})
	if err != nil {
		fmt.Println(err)
		return
	}
	restPath, err := rest.New(rest.Config{URL: postgrest.URL, Signer: tokens})
	if err != nil {
		fmt.Println(err)
		return
	}
	db, err := dbaccess.New(dbaccess.Config{REST: restPath})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	defer db.Close(ctx)

	session := auth.Identity{Role: "authenticated", Claims: json.RawMessage(`{"sub":"alice"}`)}
	notes, err := dbaccess.JSON(auth.With(ctx, session), db, query.From("notes"))
	fmt.Println(string(notes), err)
	// Output:
	// asked by authenticated alice
	// [] <nil>
}

// BenchmarkSigner is why minted tokens are not kept: one costs some ten microseconds,
// and a call a hundred where the server is next door and does nothing.
func BenchmarkSigner(b *testing.B) {
	tokens := newTokens(b)
	id := auth.Identity{Role: "authenticated", Claims: json.RawMessage(`{"sub":"11111111-1111-1111-1111-111111111111"}`)}
	withToken := id
	var err error
	if withToken.Token, err = tokens.Sign(b.Context(), id); err != nil {
		b.Fatal(err)
	}
	url := backendURL(b, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = io.WriteString(w, "[]")
	})
	ours, err := rest.New(rest.Config{URL: url, Signer: tokens})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = ours.Close(context.Background()) })
	spec := filingsQuery.Spec()
	for name, id := range map[string]auth.Identity{"token": withToken, "minted": id} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ours.Do(context.Background(), &dbaccess.Call{Query: &spec, Identity: id}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
