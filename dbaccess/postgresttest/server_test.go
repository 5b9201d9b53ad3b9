package postgresttest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/postgresttest"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
	"github.com/twinpath/twinpath/internal/wireproxy"
)

func TestConfigReportsEverythingThatIsWrong(t *testing.T) {
	t.Parallel()
	_, err := postgresttest.NewServer(postgresttest.Config{
		DSN: "postgres://me:sesame@h:port/x", JWTSecret: "short", Schemas: []string{""}, MaxRows: -1, MaxConns: -1, Version: "\n",
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{"DSN", "JWTSecret", "Schemas", "MaxRows", "MaxConns", "Version"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error lacks %s: %v", part, err)
		}
	}
	if strings.Contains(err.Error(), "sesame") {
		t.Errorf("the error tells the password: %v", err)
	}
	if _, err := postgresttest.NewHandler(postgresttest.Config{}); err == nil {
		t.Error("no error for an empty config")
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	t.Parallel()
	cfg := postgresttest.Config{DSN: "postgres://me:sesame@localhost/x", JWTSecret: "sesame" + secret, APIKey: "sesame"}
	srv := serve(t, cfg)
	h, err := postgresttest.NewHandler(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	text, err := json.Marshal(map[string]any{"cfg": cfg})
	if err != nil {
		t.Fatal(err)
	}
	if all := fmt.Sprintf("%v %+v %#v %v %+v %#v %v %+v %#v", cfg, cfg, cfg, srv, srv, srv, h, h, h) + string(text); strings.Contains(all, "sesame") {
		t.Errorf("a secret is printed: %s", all)
	}
}

// A request makes PostgREST's four trips to the database, and no others once the
// catalog is known.
func TestFourTrips(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	proxy, err := wireproxy.Start(wireproxy.Config{Target: db.Addr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(context.Background()); err != nil {
			t.Errorf("close the proxy: %v", err)
		}
	})
	srv := serve(t, postgresttest.Config{DSN: pgtest.At(t, db.DirectDSN, proxy.Addr())})
	for name, tt := range map[string]struct {
		target string
		prefer string
		status int
		trips  int64
	}{
		"read":      {"/companies?select=ticker&limit=1", "", 200, 4},
		"embed":     {"/companies?select=ticker,sectors(name)&limit=1", "", 200, 4},
		"call":      {"/rpc/add_them?a=1", "", 200, 4},
		"counted":   {"/companies?select=ticker&limit=1", "count=exact", 206, 4},
		"estimated": {"/companies?select=ticker&limit=1", "count=planned", 206, 5},
		"failed":    {"/companies?select=nope", "", 400, 4}, // the last is ROLLBACK
		"malformed": {"/companies?limit=-1", "", 416, 0},
	} {
		t.Run(name, func(t *testing.T) {
			get(t, srv, "/companies?limit=0") // connects
			if err := proxy.Idle(t.Context()); err != nil {
				t.Fatal(err)
			}
			proxy.Reset()
			if r := get(t, srv, tt.target, "Prefer", tt.prefer); r.status != tt.status {
				t.Fatalf("status %d, want %d: %s", r.status, tt.status, r.body)
			}
			if got := proxy.Stats().RoundTrips; got != tt.trips {
				t.Errorf("%d round trips, want %d", got, tt.trips)
			}
		})
	}
}

// Policies see what PostgREST lets them see.
func TestSettings(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, `
create view seen as select
	current_user::text as role, current_setting('search_path') as search_path,
	current_setting('transaction_read_only') as read_only, current_setting('transaction_isolation') as isolation,
	current_setting('request.jwt.claims')::json->>'role' as claimed, current_setting('request.jwt.claims')::json->>'sub' as sub,
	current_setting('request.method') as method, current_setting('request.path') as path,
	current_setting('request.headers')::json->>'x-test' as x_test, current_setting('request.headers')::json->>'cookie' as no_cookie,
	current_setting('request.cookies')::json->>'c' as cookie;
alter view seen set (security_invoker = on);
grant select on seen to anon, authenticated;`)
	srv := serve(t, postgresttest.Config{
		DSN: db.DirectDSN, JWTSecret: secret, Schemas: []string{"public", "private_api"}, ExtraSearchPath: []string{`od"d`},
	})
	for name, tt := range map[string]struct {
		headers []string
		want    map[string]any
	}{
		"anonymous": {
			headers: []string{"X-Test", "<&>", "Cookie", "c=1; d=2"},
			want: map[string]any{
				"role": "anon", "search_path": `"public", "od""d"`, "read_only": "on", "isolation": "read committed",
				"claimed": "anon", "sub": nil, "method": "GET", "path": "/seen", "x_test": "<&>", "no_cookie": nil, "cookie": "1",
			},
		},
		"user": {
			headers: []string{"Authorization", "bearer " + token(t, "authenticated")},
			want: map[string]any{
				"role": "authenticated", "search_path": `"public", "od""d"`, "read_only": "on", "isolation": "read committed",
				"claimed": "authenticated", "sub": "u1", "method": "GET", "path": "/seen", "x_test": nil, "no_cookie": nil, "cookie": nil,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := get(t, srv, "/seen", append(tt.headers, "Accept", "application/vnd.pgrst.object+json")...)
			var got map[string]any
			if err := json.Unmarshal([]byte(r.body), &got); err != nil {
				t.Fatalf("%v: %s", err, r.body)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
		})
	}
}

// SET ROLE leaves a role's own settings out; PostgREST applies them.
func TestRoleSettings(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, `
create role hasty nologin;
alter role hasty set statement_timeout = '50ms';
alter role hasty set application_name = 'hasty app';
grant hasty to authenticator;
grant usage on schema public to hasty;
create view naps as select pg_sleep(5)::text as nap;
create view app as select current_setting('application_name') as name;
grant select on naps, app to hasty, anon;`)
	defer db.Exec(t, "drop owned by hasty; drop role hasty") // roles outlive their database
	srv := serve(t, postgresttest.Config{DSN: db.DirectDSN, JWTSecret: secret})
	bearer := "Bearer " + token(t, "hasty")
	if r := get(t, srv, "/naps", "Authorization", bearer); r.status != 500 || r.code(t) != "57014" {
		t.Errorf("status %d, code %s, want 500 and 57014", r.status, r.code(t))
	}
	if r := get(t, srv, "/app", "Authorization", bearer); r.body != `[{"name":"hasty app"}]` {
		t.Errorf("body = %s", r.body)
	}
	if r := get(t, srv, "/app"); r.body == `[{"name":"hasty app"}]` {
		t.Error("the settings of one role outlived its request")
	}
}

func TestMaxRows(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	srv := serve(t, postgresttest.Config{DSN: db.DirectDSN, MaxRows: 5})
	for target, want := range map[string]string{
		"/insiders?select=id":                  "0-4/*",
		"/insiders?select=id&limit=3":          "0-2/*",
		"/insiders?select=id&limit=9&offset=2": "2-6/*",
	} {
		if r := get(t, srv, target); r.header.Get("Content-Range") != want {
			t.Errorf("%s: Content-Range %q, want %q", target, r.header.Get("Content-Range"), want)
		}
	}
	if r := get(t, srv, "/insiders?select=id", "Prefer", "count=exact"); r.status != 206 || r.header.Get("Content-Range") != "0-4/12" {
		t.Errorf("status %d, Content-Range %q, want 206 and 0-4/12", r.status, r.header.Get("Content-Range"))
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	srv := serve(t, postgresttest.Config{DSN: db.DirectDSN, ServerTiming: true, Version: "14.2"})
	form := regexp.MustCompile(`^jwt;dur=\d+\.\d, parse;dur=\d+\.\d, plan;dur=\d+\.\d, transaction;dur=\d+\.\d, response;dur=\d+\.\d$`)
	r := get(t, srv, "/companies?select=ticker&limit=1")
	if got := r.header.Get("Server-Timing"); !form.MatchString(got) {
		t.Errorf("Server-Timing = %q", got)
	}
	if got := r.header.Get("Server"); got != "postgrest/14.2" {
		t.Errorf("Server = %q", got)
	}
	r = get(t, srv, "/nopes")
	if r.status != 404 || r.code(t) != "PGRST205" || r.header.Get("Server-Timing") != "" {
		t.Errorf("status %d, code %s, Server-Timing %q, want 404, PGRST205 and none", r.status, r.code(t), r.header.Get("Server-Timing"))
	}
	r = send(t, http.MethodHead, srv.URL+"/nopes", "")
	if r.status != 404 || r.body != "" || r.header.Get("Proxy-Status") != "PostgREST; error=PGRST205" {
		t.Errorf("HEAD: status %d, body %q, Proxy-Status %q", r.status, r.body, r.header.Get("Proxy-Status"))
	}
	quiet := serve(t, postgresttest.Config{DSN: db.DirectDSN})
	if r := get(t, quiet, "/companies?limit=1"); r.header.Get("Server-Timing") != "" || r.header.Get("Server") != "postgrest/14.17" {
		t.Errorf("by default: Server-Timing %q, Server %q", r.header.Get("Server-Timing"), r.header.Get("Server"))
	}
}

func TestGateway(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	srv := serve(t, postgresttest.Config{DSN: db.DirectDSN, APIKey: "sesame"})
	for key, want := range map[string]int{"": 401, "open": 401, "sesame": 200} {
		r := get(t, srv, "/companies?limit=0", "apikey", key)
		if r.status != want {
			t.Errorf("key %q: status %d, want %d", key, r.status, want)
		}
		if want == 401 && (r.code(t) != "" || r.header.Get("Proxy-Status") != "") {
			t.Errorf("key %q: the gateway's answer passes for PostgREST's: %s", key, r.body)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := pgtest.At(t, db.DirectDSN, closed.Addr().String())
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		cfg     postgresttest.Config
		method  string
		target  string
		headers []string
		status  int
		code    string
	}{
		"no database":      {cfg: postgresttest.Config{DSN: nobody}, target: "/companies", status: 503, code: "PGRST000"},
		"no secret":        {cfg: postgresttest.Config{DSN: db.DirectDSN}, target: "/companies", headers: []string{"Authorization", "Bearer x.y.z"}, status: 500, code: "PGRST300"},
		"bad token, tab":   {cfg: postgresttest.Config{DSN: db.DirectDSN, JWTSecret: secret}, target: "/companies", headers: []string{"Authorization", "Bearer\tx"}, status: 401, code: "PGRST301"},
		"bad token":        {cfg: postgresttest.Config{DSN: db.DirectDSN, JWTSecret: secret}, target: "/companies", headers: []string{"Authorization", "Bearer x"}, status: 401, code: "PGRST301"},
		"another scheme":   {cfg: postgresttest.Config{DSN: db.DirectDSN}, target: "/companies?limit=0", headers: []string{"Authorization", "Basic eDp5"}, status: 200},
		"schema":           {cfg: postgresttest.Config{DSN: db.DirectDSN}, target: "/companies?x", headers: []string{"Accept-Profile", "private_api"}, status: 406, code: "PGRST106"},
		"time zone":        {cfg: postgresttest.Config{DSN: db.DirectDSN}, target: "/companies?limit=0", headers: []string{"Prefer", "timezone=Mars/Olympus"}, status: 200},
		"time zone strict": {cfg: postgresttest.Config{DSN: db.DirectDSN}, target: "/companies?limit=0", headers: []string{"Prefer", "handling=strict, timezone=Mars/Olympus"}, status: 400, code: "PGRST122"},
		"write":            {cfg: postgresttest.Config{DSN: db.DirectDSN}, method: "POST", target: "/companies", status: 400, code: "PGRST102"},
		"function":         {cfg: postgresttest.Config{DSN: db.DirectDSN}, target: "/rpc/add_them?b=1", status: 404, code: "PGRST202"},
		"embedding":        {cfg: postgresttest.Config{DSN: db.DirectDSN}, target: "/insider_transactions?select=*,insiders(*)", status: 300, code: "PGRST201"},
		"aggregate":        {cfg: postgresttest.Config{DSN: db.DirectDSN}, target: "/companies?select=count()", status: 400, code: "PGRST123"},
		"CSV":              {cfg: postgresttest.Config{DSN: db.DirectDSN}, target: "/companies", headers: []string{"Accept", "text/csv"}, status: 501, code: "PGRST127"},
		"root":             {cfg: postgresttest.Config{DSN: db.DirectDSN}, target: "/", status: 501, code: "PGRST127"},
		"path":             {cfg: postgresttest.Config{DSN: db.DirectDSN}, target: "/a/b", status: 404, code: "PGRST125"},
		"method":           {cfg: postgresttest.Config{DSN: db.DirectDSN}, method: "TRACE", target: "/companies", status: 405, code: "PGRST117"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := serve(t, tt.cfg)
			method := tt.method
			if method == "" {
				method = http.MethodGet
			}
			r := send(t, method, srv.URL+tt.target, "", tt.headers...)
			if r.status != tt.status {
				t.Fatalf("status %d, want %d: %s", r.status, tt.status, r.body)
			}
			if tt.code == "" {
				return
			}
			if got := r.code(t); got != tt.code {
				t.Errorf("code %s, want %s", got, tt.code)
			}
			if got, want := r.header.Get("Proxy-Status"), "PostgREST; error="+tt.code; got != want {
				t.Errorf("Proxy-Status = %q, want %q", got, want)
			}
		})
	}
}

// A transaction that was given up leaves nothing behind on its connection.
func TestAbandonedRequest(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, "create view naps as select pg_sleep(30)::text as nap; grant select on naps to anon")
	srv := serve(t, postgresttest.Config{DSN: db.DirectDSN, MaxConns: 1})
	get(t, srv, "/companies?limit=0")
	ctx, cancel := context.WithTimeout(t.Context(), delay)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL+"/naps", nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	if resp, err := transport.RoundTrip(req); err == nil {
		resp.Body.Close()
		t.Fatal("the request was answered")
	}
	if r := get(t, srv, "/companies?select=ticker&limit=1"); r.body != `[{"ticker":"T01"}]` {
		t.Errorf("the next request: status %d, %s", r.status, r.body)
	}
}
