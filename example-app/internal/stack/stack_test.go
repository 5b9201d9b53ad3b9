package stack_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/twinpath/twinpath/dbaccess/postgresttest"
	"github.com/twinpath/twinpath/example-app/internal/stack"
	"github.com/twinpath/twinpath/example-app/internal/stock"
	"github.com/twinpath/twinpath/internal/localpg"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

const secret = "a secret of at least thirty-two bytes"

// environment is what a stack is told.
type environment map[string]string

func (e environment) get(name string) string { return e[name] }

func noProgram(name string) (string, error) {
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

// start starts a stack and returns it with the lines it reported, by the parts' names.
func start(t *testing.T, cfg stack.Config) (*stack.Stack, map[string]string) {
	t.Helper()
	parts := map[string]string{}
	cfg.Report = func(p stack.Part) { parts[p.Name] = p.Text }
	s, err := stack.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s, parts
}

// get reads over the REST path.
func get(t *testing.T, s *stack.Stack, path string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.RESTURL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %d, %v: %s", path, resp.StatusCode, err, body)
	}
	return string(body)
}

// direct reads over the direct path, as the anonymous role.
func direct(t *testing.T, s *stack.Stack, sql string) string {
	t.Helper()
	cfg, err := pgx.ParseConfig(s.PoolerDSN)
	if err != nil {
		t.Fatal(err)
	}
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), "set local role anon; set local search_path to "+stock.Schema, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	var answer string
	if err := tx.QueryRow(t.Context(), sql).Scan(&answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

func works(t *testing.T, s *stack.Stack) {
	t.Helper()
	if got, want := get(t, s, "/companies?select=name&ticker=eq.NRVA"), `[{"name":"Norvana Systems"}]`; got != want {
		t.Errorf("REST answers %s, want %s", got, want)
	}
	if got, want := direct(t, s, "select name from companies where ticker = 'NRVA'"), "Norvana Systems"; got != want {
		t.Errorf("the direct path answers %s, want %s", got, want)
	}
}

func TestStartsEverything(t *testing.T) {
	t.Parallel()
	s, parts := start(t, stack.Config{Getenv: environment{}.get, LookPath: noProgram})
	works(t, s)
	if !s.Pooled || !s.StandIn {
		t.Errorf("Pooled = %v, StandIn = %v, want both", s.Pooled, s.StandIn)
	}
	for part, want := range map[string]string{
		"postgres": "started here", "data": "50 companies, 100000 insider transactions in schema twinpath_demo, loaded in",
		"pooler": "pool mode transaction, started here", "postgrest": "NOTICE: stand-in on 127.0.0.1:",
	} {
		if !strings.Contains(parts[part], want) {
			t.Errorf("the line of %s says %q, want %q in it", part, parts[part], want)
		}
	}
	hidesSecrets(t, s, parts)
}

// hidesSecrets checks that no line holds a password or the secret of tokens.
func hidesSecrets(t *testing.T, s *stack.Stack, parts map[string]string) {
	t.Helper()
	u, err := url.Parse(s.PoolerDSN)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	for part, text := range parts {
		if strings.Contains(text, password) || strings.Contains(text, string(s.JWTSecret)) {
			t.Errorf("the line of %s holds a secret", part)
		}
	}
}

// TestOnADatabase has the tests that need no server of their own. They share a database as demos do.
func TestOnADatabase(t *testing.T) {
	t.Parallel()
	db := pgtest.NewDatabase(t)
	for name, test := range map[string]func(*testing.T, *pgtest.Database){
		"RTT": testRTT, "UsesWhatTheEnvironmentNames": testUsesWhatTheEnvironmentNames, "KeywordDSN": testKeywordDSN,
		"RunsPostgREST": testRunsPostgREST, "PostgRESTThatDoesNotStart": testPostgRESTThatDoesNotStart, "WithoutPooler": testWithoutPooler,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, db)
		})
	}
}

func testRTT(t *testing.T, db *pgtest.Database) {
	const rtt = 20 * time.Millisecond
	s, parts := start(t, stack.Config{Getenv: environment{"DATABASE_URL": db.SuperDSN}.get, LookPath: noProgram, RTT: rtt})
	works(t, s)
	if !strings.Contains(parts["links"], "20ms") {
		t.Errorf("the line of the links says %q", parts["links"])
	}
	// Six trips at least: connection and answer of the client, and four to the database.
	began := time.Now()
	get(t, s, "/sectors?limit=1")
	if took := time.Since(began); took < 6*rtt {
		t.Errorf("a request over REST took %s, less than six round trips", took)
	}
}

func testUsesWhatTheEnvironmentNames(t *testing.T, db *pgtest.Database) {
	first, _ := start(t, stack.Config{Getenv: environment{"DATABASE_URL": db.SuperDSN, "PGRST_JWT_SECRET": secret}.get, LookPath: noProgram})
	works(t, first)
	if string(first.JWTSecret) != secret {
		t.Error("the secret of PGRST_JWT_SECRET is not used")
	}
	// A second demo on the same database uses the first one's pooler and PostgREST.
	s, parts := start(t, stack.Config{LookPath: noProgram, Getenv: environment{
		"DATABASE_URL": db.SuperDSN, "POOLER_URL": first.PoolerDSN, "POSTGREST_URL": first.RESTURL, "PGRST_JWT_SECRET": secret,
		"POSTGREST_APIKEY": "key",
	}.get})
	works(t, s)
	works(t, first)
	if s.StandIn || s.PoolerDSN != first.PoolerDSN || s.RESTURL != first.RESTURL || s.APIKey != "key" {
		t.Error("something else is used than the environment names")
	}
	for part, want := range map[string]string{
		"postgres": "from DATABASE_URL", "data": "loaded earlier", "pooler": "from POOLER_URL", "postgrest": "from POSTGREST_URL",
	} {
		if !strings.Contains(parts[part], want) {
			t.Errorf("the line of %s says %q, want %q in it", part, parts[part], want)
		}
	}
	hidesSecrets(t, s, parts)
}

func testKeywordDSN(t *testing.T, db *pgtest.Database) {
	u, err := url.Parse(db.SuperDSN)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	dsn := fmt.Sprintf("host=%s port=%s user=%s password='%s' dbname=%s sslmode=disable", u.Hostname(), u.Port(), u.User.Username(), password, strings.TrimPrefix(u.Path, "/"))
	s, _ := start(t, stack.Config{Getenv: environment{"DATABASE_URL": dsn}.get, LookPath: noProgram, RTT: time.Millisecond})
	works(t, s)
}

func testRunsPostgREST(t *testing.T, db *pgtest.Database) {
	file := filepath.Join(t.TempDir(), "environment")
	s, parts := start(t, stack.Config{Getenv: environment{"DATABASE_URL": db.SuperDSN}.get, LookPath: fake(t, file)})
	works(t, s)
	if s.StandIn || !strings.Contains(parts["postgrest"], "PostgREST 13.0.4 on 127.0.0.1:") {
		t.Errorf("the line of postgrest says %q", parts["postgrest"])
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	if err := json.Unmarshal(b, &list); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	for _, kv := range list {
		name, value, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "PGRST_") {
			env[name] = value
		} else if name == "DATABASE_URL" || strings.HasPrefix(name, "PG") {
			t.Errorf("postgrest gets the variable %s", name)
		}
	}
	if !strings.Contains(env["PGRST_DB_URI"], "twinpath_demo_login") {
		t.Error("postgrest does not log in as the demo's login role")
	}
	if _, err := net.LookupPort("tcp", env["PGRST_SERVER_PORT"]); err != nil {
		t.Errorf("PGRST_SERVER_PORT: %v", err)
	}
	delete(env, "PGRST_DB_URI")
	delete(env, "PGRST_SERVER_PORT")
	want := map[string]string{
		"PGRST_DB_SCHEMAS": "twinpath_demo", "PGRST_DB_ANON_ROLE": "anon", "PGRST_DB_MAX_ROWS": "1000", "PGRST_JWT_SECRET": string(s.JWTSecret),
		"PGRST_SERVER_HOST": "127.0.0.1", "PGRST_SERVER_TIMING_ENABLED": "true", "PGRST_LOG_LEVEL": "error",
	}
	if diff := cmp.Diff(want, env); diff != "" {
		t.Errorf("environment of postgrest (-want +got):\n%s", diff)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("tcp", strings.TrimPrefix(s.RESTURL, "http://")); err == nil {
		_ = conn.Close()
		t.Error("postgrest still listens after Close")
	}
}

func testPostgRESTThatDoesNotStart(t *testing.T, db *pgtest.Database) {
	_, err := stack.Start(t.Context(), stack.Config{
		Getenv:   environment{"DATABASE_URL": db.SuperDSN, "PGRST_JWT_SECRET": secret}.get,
		LookPath: fake(t, filepath.Join(t.TempDir(), "environment-fails")),
	})
	if err == nil {
		t.Fatal("Start succeeds")
	}
	for _, want := range []string{"does not start", "it ended by itself", "cannot connect with"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %q, want %q in it", err, want)
		}
	}
	if strings.Contains(err.Error(), "postgres://") {
		t.Errorf("the error holds a DSN: %v", err)
	}
}

// fake returns a LookPath that finds the test binary in the part of postgrest.
func fake(t *testing.T, environmentFile string) func(string) (string, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "postgrest")
	text := fmt.Sprintf("#!/bin/sh\nexport %s='%s'\nexec '%s'\n", fakeEnv, environmentFile, self)
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return func(name string) (string, error) {
		if name != "postgrest" {
			t.Errorf("LookPath(%q)", name)
		}
		return script, nil
	}
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	stranger, err := postgresttest.NewServer(postgresttest.Config{DSN: "postgres://nobody@127.0.0.1:1/none"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stranger.Close() })
	for _, tt := range []struct {
		name string
		env  environment
		rtt  time.Duration
		want string
	}{
		{"pooler alone", environment{"POOLER_URL": "postgres://u:hunter2@h/d"}, 0, "POOLER_URL is set without DATABASE_URL"},
		{"PostgREST alone", environment{"POSTGREST_URL": stranger.URL, "PGRST_JWT_SECRET": secret}, 0, "POSTGREST_URL is set without DATABASE_URL"},
		{"PostgREST without its secret", environment{"DATABASE_URL": "postgres://u:hunter2@h/d", "POSTGREST_URL": stranger.URL}, 0, "without PGRST_JWT_SECRET"},
		{"short secret", environment{"PGRST_JWT_SECRET": "hunter2"}, 0, "shorter than the 32 bytes"},
		{"malformed DSN", environment{"DATABASE_URL": "postgres://u:hunter2@h:port/d"}, 0, "DATABASE_URL is no DSN"},
		{"nobody there", environment{"DATABASE_URL": "postgres://u:hunter2@127.0.0.1:1/d?sslmode=disable"}, 0, "ask Postgres for its version"},
		{"socket and rtt", environment{"DATABASE_URL": "host=/run/postgresql user=u password=hunter2"}, time.Millisecond, "Unix socket"},
		{"verified TLS and rtt", environment{"DATABASE_URL": "postgres://u:hunter2@example.org/d?sslmode=verify-full"}, time.Millisecond, "verify-full"},
		{"negative rtt", nil, -1, "negative"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := stack.Start(t.Context(), stack.Config{Getenv: tt.env.get, LookPath: noProgram, RTT: tt.rtt})
			if err == nil {
				_ = s.Close(context.Background())
				t.Fatal("Start succeeds")
			}
			if !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error is %q, want %q in it and no password", err, tt.want)
			}
		})
	}
}

func testWithoutPooler(t *testing.T, db *pgtest.Database) {
	s, parts := start(t, stack.Config{
		Getenv: environment{"DATABASE_URL": db.SuperDSN}.get, LookPath: noProgram, RTT: time.Millisecond,
		FindPooler: func() (string, error) { return "", &localpg.MissingError{Program: "pgbouncer"} },
	})
	works(t, s)
	if s.Pooled || !strings.Contains(parts["pooler"], "NOTICE: none") {
		t.Errorf("Pooled = %v, and the line of the pooler says %q", s.Pooled, parts["pooler"])
	}
}
