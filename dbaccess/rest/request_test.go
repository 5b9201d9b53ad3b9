package rest_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/dbaccess/rest"
)

// sent is what reached the server.
type sent struct {
	Method, URI, Host string
	Header            http.Header
}

func TestRequest(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		query    query.Query
		single   bool
		head     bool
		identity auth.Identity
		config   func(*rest.Config)
		want     sent
	}{
		"plain": {
			query: query.From("companies"),
			want:  sent{Method: "GET", URI: "/rest/v1/companies", Header: http.Header{"Accept": {"application/json"}}},
		},
		"two filters on a column": {
			query: query.From("people").Columns("id").Where(query.Gte("age", 18), query.Lt("age", 65)),
			want: sent{
				Method: "GET", URI: "/rest/v1/people?select=id&and=(age.gte.%2218%22,age.lt.%2265%22)",
				Header: http.Header{"Accept": {"application/json"}},
			},
		},
		"one row": {
			query: query.From("companies"), single: true,
			want: sent{Method: "GET", URI: "/rest/v1/companies", Header: http.Header{"Accept": {"application/vnd.pgrst.object+json"}}},
		},
		"counted, without rows": {
			query: query.FromSpec(query.Spec{From: "companies", Count: query.CountExact}), head: true,
			want: sent{Method: "HEAD", URI: "/rest/v1/companies", Header: http.Header{"Accept": {"application/json"}, "Prefer": {"count=exact"}}},
		},
		"odd table": {
			query: query.From("../auth v1?select=%41/x#é"),
			want: sent{
				Method: "GET", URI: "/rest/v1/..%2Fauth%20v1%3Fselect=%2541%2Fx%23%C3%A9",
				Header: http.Header{"Accept": {"application/json"}},
			},
		},
		"schema of the query": {
			query:  query.From("notes").InSchema("private_api"),
			config: func(c *rest.Config) { c.Schema = "api" },
			want: sent{
				Method: "GET", URI: "/rest/v1/notes",
				Header: http.Header{"Accept": {"application/json"}, "Accept-Profile": {"private_api"}},
			},
		},
		"schema of the config, and a key": {
			query:  query.From("notes"),
			config: func(c *rest.Config) { c.Schema, c.APIKey = "api", "sesame" },
			want: sent{
				Method: "GET", URI: "/rest/v1/notes",
				Header: http.Header{"Accept": {"application/json"}, "Accept-Profile": {"api"}, "Apikey": {"sesame"}},
			},
		},
		"token": {
			query: query.From("notes"), identity: auth.Identity{Role: "authenticated", Token: "a.b.c"},
			want: sent{
				Method: "GET", URI: "/rest/v1/notes",
				Header: http.Header{"Accept": {"application/json"}, "Authorization": {"Bearer a.b.c"}},
			},
		},
		"token of an anonymous caller": {
			query: query.From("notes"), identity: auth.Identity{Role: "anon", Token: "a.b.c"},
			want: sent{
				Method: "GET", URI: "/rest/v1/notes",
				Header: http.Header{"Accept": {"application/json"}, "Authorization": {"Bearer a.b.c"}},
			},
		},
		"signer": {
			query: query.From("notes"), identity: auth.Identity{Role: "authenticated"},
			config: func(c *rest.Config) { c.Signer = signer{token: "minted"} },
			want: sent{
				Method: "GET", URI: "/rest/v1/notes",
				Header: http.Header{"Accept": {"application/json"}, "Authorization": {"Bearer minted"}},
			},
		},
		"anonymous by another name": {
			query: query.From("notes"), identity: auth.Identity{Role: "web_anon"},
			config: func(c *rest.Config) { c.AnonRole = "web_anon" },
			want:   sent{Method: "GET", URI: "/rest/v1/notes", Header: http.Header{"Accept": {"application/json"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got sent
			change := []func(*rest.Config){}
			if tt.config != nil {
				change = append(change, tt.config)
			}
			b := backend(t, func(w http.ResponseWriter, r *http.Request) {
				r.Header.Del("User-Agent")
				r.Header.Del("Accept-Encoding")
				r.Header.Del("X-Client-Info")
				got = sent{Method: r.Method, URI: r.RequestURI, Header: r.Header}
				rows(w, r)
			}, change...)
			c := call(tt.query)
			c.Query.Single, c.Query.Head = tt.single, tt.head
			if tt.identity.Role != "" {
				c.Identity = tt.identity
			}
			if _, err := b.Do(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOddBasePath(t *testing.T) {
	t.Parallel()
	var got string
	url := backendURL(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.RequestURI
		rows(w, r)
	})
	for base, want := range map[string]string{
		"":                  "/t",
		"/":                 "/t",
		"/a%25b/c%2Fd/e%3F": "/a%25b/c%2Fd/e%3F/t",
		"/a:b//":            "/a:b/t",
	} {
		b, err := rest.New(rest.Config{URL: url + base})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Do(t.Context(), call(query.From("t"))); err != nil {
			t.Error(err)
		}
		if got != want {
			t.Errorf("base path %q: asked for %q, want %q", base, got, want)
		}
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

type signer struct {
	token string
	err   error
}

func (s signer) Sign(context.Context, auth.Identity) (string, error) { return s.token, s.err }

func TestIdentityThatCantBeSent(t *testing.T) {
	t.Parallel()
	failed := errors.New("no key")
	for name, tt := range map[string]struct {
		identity auth.Identity
		signer   auth.Signer
		want     error
	}{
		"no signer":                   {auth.Identity{Role: "authenticated"}, nil, rest.ErrNoToken},
		"anonymous with claims":       {auth.Identity{Role: "anon", Claims: json.RawMessage(`{"sub":"sesame"}`)}, nil, rest.ErrNoToken},
		"anonymous, no signer":        {auth.Identity{Role: "anon", Claims: json.RawMessage(`{"sub":"1"}`)}, signer{err: failed}, failed},
		"token for another role":      {auth.Identity{Role: "authenticated", Token: tokenOf(`{"role":"sesame"}`)}, nil, rest.ErrOtherRole},
		"and unauthorized":            {auth.Identity{Role: "authenticated", Token: tokenOf(`{"role":"sesame"}`)}, nil, dbaccess.ErrUnauthorized},
		"token without a role":        {auth.Identity{Role: "authenticated", Token: tokenOf(`{}`)}, nil, rest.ErrOtherRole},
		"token of a user for anon":    {auth.Identity{Role: "anon", Token: tokenOf(`{"role":"authenticated"}`)}, nil, rest.ErrOtherRole},
		"role of another spelling":    {auth.Identity{Role: "authenticated", Token: tokenOf(`{"Role":"authenticated"}`)}, nil, rest.ErrOtherRole},
		"last role of two":            {auth.Identity{Role: "authenticated", Token: tokenOf(`{"role":"authenticated","role":"admin"}`)}, nil, rest.ErrOtherRole},
		"role that is none":           {auth.Identity{Role: "authenticated", Token: tokenOf(`{"role":null}`)}, nil, rest.ErrOtherRole},
		"minted for another role":     {auth.Identity{Role: "authenticated"}, signer{token: tokenOf(`{"role":"sesame"}`)}, rest.ErrOtherRole},
		"payload that is padded":      {auth.Identity{Role: "authenticated", Token: "h." + base64.URLEncoding.EncodeToString([]byte(`{"role":"x"}`)) + ".s"}, nil, rest.ErrOtherRole},
		"signer that refuses a token": {auth.Identity{Role: "authenticated"}, signer{err: &auth.TokenError{Reason: "no key"}}, rest.ErrNoToken},
		"failed signer":               {auth.Identity{Role: "authenticated"}, signer{err: failed}, failed},
		"line break":                  {auth.Identity{Role: "authenticated", Token: "sesame\r\nX-A: b"}, nil, dbaccess.ErrUnauthorized},
		"key for a token":             {auth.Identity{Role: "service_role", Token: "sb_secret_sesame"}, nil, dbaccess.ErrUnauthorized},
		"minted key":                  {auth.Identity{Role: "authenticated"}, signer{token: "sb_publishable_sesame"}, dbaccess.ErrUnauthorized},
		"blank":                       {auth.Identity{Role: "authenticated", Token: "sesame open"}, nil, dbaccess.ErrUnauthorized},
		"minted nil":                  {auth.Identity{Role: "authenticated"}, signer{}, dbaccess.ErrUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := backend(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") },
				func(c *rest.Config) { c.Signer = tt.signer })
			c := call(query.From("t"))
			c.Identity = tt.identity
			_, err := b.Do(t.Context(), c)
			if !errors.Is(err, tt.want) {
				t.Errorf("error = %v, want %v", err, tt.want)
			}
			if e := asError(t, err); e.Advice == "" {
				t.Error("the error has no advice")
			}
			if got := texts(t, err); containsAny(got, "sesame") {
				t.Errorf("the error tells the token: %s", got)
			}
		})
	}
}

// tokenOf makes a token of a payload, with a signature that nobody accepts.
func tokenOf(payload string) string {
	return "eyJhbGciOiJIUzI1NiJ9." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".c2lnbmF0dXJl"
}

// What a token says of its role is asked at the configured claim, call after call.
func TestTokenRole(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		claim    string
		identity auth.Identity
		sent     bool
	}{
		"same":                   {"", auth.Identity{Role: "authenticated", Token: tokenOf(`{"role":"authenticated"}`)}, true},
		"escaped":                {"", auth.Identity{Role: "authenticated", Token: tokenOf(`{"role":"\u0061uthenticated"}`)}, true},
		"none, anonymous":        {"", auth.Identity{Role: "anon", Token: tokenOf(`{"sub":"1"}`)}, true},
		"at another claim":       {".app.role", auth.Identity{Role: "editor", Token: tokenOf(`{"role":"x","app":{"role":"editor"}}`)}, true},
		"other at another claim": {".app.role", auth.Identity{Role: "x", Token: tokenOf(`{"role":"x","app":{"role":"editor"}}`)}, false},
		"not at another claim":   {".app.role", auth.Identity{Role: "anon", Token: tokenOf(`{"app":{}}`)}, true},
		"no token of ours":       {"", auth.Identity{Role: "authenticated", Token: "opaque"}, true},
		"in a list":              {`.roles[?(@ ^== "db_")][3:]`, auth.Identity{Role: "editor", Token: tokenOf(`{"roles":["x","db_editor"]}`)}, true},
		"other in a list":        {".roles[0]", auth.Identity{Role: "editor", Token: tokenOf(`{"roles":["x","editor"]}`)}, false},
		"publishable key":        {"", auth.Identity{Role: "anon", Token: "sb_publishable_1"}, false},
		"secret key":             {"", auth.Identity{Role: "service_role", Token: "sb_secret_1"}, false},
		"no JSON":                {"", auth.Identity{Role: "authenticated", Token: tokenOf(`{"role":`)}, true},
		"no object":              {"", auth.Identity{Role: "authenticated", Token: tokenOf(`["role"]`)}, true},
		"encrypted":              {"", auth.Identity{Role: "authenticated", Token: "a." + tokenOf(`{"role":"x"}`) + ".b"}, true},
		"empty claims":           {"", auth.Identity{Role: "anon", Claims: json.RawMessage(` { } `)}, true},
		"claims of the role":     {"", auth.Identity{Role: "anon", Claims: json.RawMessage(`{"role":"anon"}`)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests := 0
			b := backend(t, func(w http.ResponseWriter, r *http.Request) { requests++; rows(w, r) }, func(c *rest.Config) { c.RoleClaim = tt.claim })
			c := call(query.From("t"))
			c.Identity = tt.identity
			for range 2 { // the second time from the cache
				if _, err := b.Do(t.Context(), c); (err == nil) != tt.sent {
					t.Errorf("error %v; sent must be %t", err, tt.sent)
				}
			}
			if want := map[bool]int{true: 2}[tt.sent]; requests != want {
				t.Errorf("%d requests, want %d", requests, want)
			}
		})
	}
}

func TestSignerErrors(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]string{
		&auth.TokenError{Reason: "no key for it"}: "Signer failed: no key for it",
		errors.New("sesame"):                      "of type *errors.errorString",
	} {
		b := backend(t, rows, func(c *rest.Config) { c.Signer = signer{err: err} })
		c := call(query.From("t"))
		c.Identity = auth.Identity{Role: "authenticated"}
		_, got := b.Do(t.Context(), c)
		if e := asError(t, got); !strings.Contains(e.Advice, want) || containsAny(texts(t, got), "sesame") || !errors.Is(got, err) {
			t.Errorf("error %v, want %q in it and its cause behind it", got, want)
		}
	}
}

func TestQueryThatCantBeSent(t *testing.T) {
	t.Parallel()
	b := backend(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	for _, table := range []string{".", ".."} {
		_, err := b.Do(t.Context(), call(query.From(table)))
		var u *query.UnsupportedError
		if !errors.As(err, &u) {
			t.Errorf("From(%q): error = %v, want a *query.UnsupportedError", table, err)
		}
	}
	_, err := b.Do(t.Context(), call(query.From("t").InSchema("a\r\nX: b")))
	if e, ok := errors.AsType[*dbaccess.Error](err); !ok || e.Code != "PGRST106" || e.HTTPStatus != 406 || !errors.Is(err, dbaccess.ErrNotFound) {
		t.Errorf("a schema that no header can carry: error = %v, want a PGRST106", err)
	}
}

func TestRedirectIsRefused(t *testing.T) {
	t.Parallel()
	elsewhere := backendURL(t, func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") })
	for _, status := range []int{301, 302, 303, 307, 308} {
		b := backend(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere+"?token=sesame", status)
		}, func(c *rest.Config) { c.APIKey = "sesame" })
		c := call(query.From("t"))
		c.Identity = auth.Identity{Role: "authenticated", Token: "sesame"}
		_, err := b.Do(t.Context(), c)
		e := asError(t, err)
		if e.HTTPStatus != status || !containsAny(e.Advice, "redirect") {
			t.Errorf("error = %v, want status %d and advice about redirects", e, status)
		}
		if containsAny(texts(t, err), "sesame", elsewhere) {
			t.Errorf("the error tells where the redirect leads: %v", texts(t, err))
		}
	}
}

// Headers of the caller's own request go along, and replace none of our own.
func TestForwardedHeaders(t *testing.T) {
	t.Parallel()
	var got http.Header
	b := backend(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		rows(w, r)
	}, func(c *rest.Config) { c.APIKey = "sesame" })
	c := call(query.From("companies"))
	c.Headers = http.Header{
		"X-Tenant": {"acme", "globex"}, "Cookie": {"a=1; b=2"}, "User-Agent": {"curl/8"}, "X-Client-Info": {"app/1"},
		"Accept": {"text/csv"}, "Apikey": {"stolen"},
	}
	before := c.Headers.Clone()
	if _, err := b.Do(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	want := http.Header{
		"X-Tenant": {"acme", "globex"}, "Cookie": {"a=1; b=2"}, "User-Agent": {"curl/8"}, "X-Client-Info": {"app/1"},
		"Accept": {"application/json"}, "Apikey": {"sesame"}, "Accept-Encoding": {"gzip"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, c.Headers); diff != "" {
		t.Errorf("the call's headers have changed (-before +after):\n%s", diff)
	}
}
