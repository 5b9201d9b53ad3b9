package pgdsn_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/internal/pgdsn"
)

func TestMain(m *testing.M) {
	for _, env := range os.Environ() {
		if name, _, _ := strings.Cut(env, "="); strings.HasPrefix(name, "PG") {
			_ = os.Unsetenv(name)
		}
	}
	_ = os.Setenv("HOME", os.TempDir()) // no ~/.pgpass, no ~/.postgresql
	os.Exit(m.Run())
}

const base = "postgres://app:canary@db.example:6543/main"

type meaning struct {
	Sent     map[string]string
	MaxConns int32
	Timeout  time.Duration
	Path     []string
	Pooler   bool
	Notes    int
}

func TestParseTranslates(t *testing.T) {
	t.Parallel()
	named := func(kv ...string) map[string]string {
		m := map[string]string{"application_name": "twinpath"}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i]] = kv[i+1]
		}
		return m
	}
	const tls = "sslmode=require" // without it there is a note about prefer
	tests := []struct {
		name, dsn string
		want      meaning
	}{
		{"plain", base + "?" + tls, meaning{Sent: named()}},
		{"keyword form", "user=app password=canary host=db.example dbname=main " + tls, meaning{Sent: named()}},
		{"application_name", base + "?application_name=stocks&" + tls, meaning{Sent: named("application_name", "stocks")}},
		{"application_name empty", base + "?application_name=&" + tls, meaning{Sent: named()}},
		{"client_encoding", base + "?client_encoding=utf-8&" + tls, meaning{Sent: named("client_encoding", "UTF8")}},
		{"milliseconds", base + "?statement_timeout=1500&" + tls, meaning{Sent: named(), Timeout: 1500 * time.Millisecond, Notes: 1}},
		{"seconds", base + "?statement_timeout=5s&" + tls, meaning{Sent: named(), Timeout: 5 * time.Second, Notes: 1}},
		{"minutes", base + "?statement_timeout=2%20min&" + tls, meaning{Sent: named(), Timeout: 2 * time.Minute, Notes: 1}},
		{"no timeout", base + "?statement_timeout=0&" + tls, meaning{Sent: named(), Notes: 1}},
		{"search_path", base + "?search_path=App,%22My%20%22%22One%22,x&" + tls, meaning{Sent: named(), Path: []string{"app", `My "One`, "x"}, Notes: 1}},
		{"prisma's", base + "?pgbouncer=true&connection_limit=2&" + tls, meaning{Sent: named(), MaxConns: 2, Pooler: true, Notes: 2}},
		{"pgbouncer=false", base + "?pgbouncer=false&" + tls, meaning{Sent: named(), Notes: 1}},
		{"pool size", base + "?pool_max_conns=7&pool_min_conns=1&pool_ping_timeout=1s&" + tls, meaning{Sent: named(), MaxConns: 7}},
		{"pool size twice", base + "?pool_max_conns=7&connection_limit=7&" + tls, meaning{Sent: named(), MaxConns: 7, Notes: 1}},
		{"exec mode", base + "?default_query_exec_mode=exec&" + tls, meaning{Sent: named()}},
		{"other exec mode", base + "?default_query_exec_mode=cache_statement&statement_cache_capacity=9&" + tls, meaning{Sent: named(), Notes: 2}},
		{
			"options", base + `?options=-c%20search_path%3Da,b%20-cstatement_timeout%3D3s%20--application-name%3Dmy%5C%20app&` + tls,
			meaning{Sent: named("application_name", "my app"), Path: []string{"a", "b"}, Timeout: 3 * time.Second, Notes: 2},
		},
		{"prefer by default", base, meaning{Sent: named(), Notes: 1}},
	}
	for _, tt := range tests {
		s, err := pgdsn.Parse(tt.dsn)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		got := meaning{s.Pool.ConnConfig.RuntimeParams, s.MaxConns, s.StatementTimeout, s.SearchPath, s.Pooler, len(s.Explain())}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if c := s.Pool.ConnConfig; c.User != "app" || c.Password != "canary" || c.Database != "main" {
			t.Errorf("%s: user, password or database got lost", tt.name)
		}
		if strings.Contains(strings.Join(s.Explain(), " "), "canary") {
			t.Errorf("%s: Explain holds the password", tt.name)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, dsn string
		want      []string // every problem's parameter, or part of the advice where there is none
	}{
		{"timezone", base + "?timezone=Asia/Seoul", []string{"timezone"}},
		{"by any case", base + "?TimeZone=UTC&DateStyle=German", []string{"DateStyle", "TimeZone"}},
		{"all at once", base + "?role=x&jit=off&schema=app&connection_limit=many", []string{"connection_limit", "jit", "role", "schema"}},
		{"describe_exec", base + "?default_query_exec_mode=describe_exec", []string{"default_query_exec_mode"}},
		{"unknown exec mode", base + "?default_query_exec_mode=fast", []string{"default_query_exec_mode"}},
		{"encoding", base + "?client_encoding=LATIN1", []string{"client_encoding"}},
		{"options", base + "?options=-c%20jit%3Doff%20-c%20timezone%3DUTC", []string{"jit", "timezone"}},
		{"options with a tenant", base + "?options=reference%3Dtenant", []string{"reference"}},
		{"options of another form", base + "?options=-d%205", []string{"options"}},
		{"options with pgx's settings", base + "?options=-c%20pool_max_conns%3D5", []string{"pool_max_conns"}},
		{"unknown in a URL", base + "?my.setting=1", []string{"my.setting"}},
		{"timeout", base + "?statement_timeout=fast", []string{"statement_timeout"}},
		{"negative timeout", base + "?statement_timeout=-1", []string{"statement_timeout"}},
		{"search_path with a role", base + "?search_path=%22$user%22,public", []string{"search_path"}},
		{"search_path unclosed", base + "?search_path=%22app", []string{"search_path"}},
		{"search_path empty", base + "?search_path=a,,b", []string{"search_path"}},
		{"limits that differ", base + "?pool_max_conns=3&connection_limit=2", []string{"pool_max_conns"}},
		{"no connections", base + "?pool_max_conns=0", []string{"pool_max_conns"}},
		{"pool durations", base + "?pool_max_conn_lifetime=1&pool_health_check_period=0s", []string{"pool_health_check_period", "pool_max_conn_lifetime"}},
		{"pgbouncer", base + "?pgbouncer=maybe", []string{"pgbouncer"}},
		{"cache capacity", base + "?statement_cache_capacity=big", []string{"statement_cache_capacity"}},
	}
	for _, tt := range tests {
		_, err := pgdsn.Parse(tt.dsn)
		e, ok := err.(*pgdsn.Error)
		if !ok {
			t.Errorf("%s: error %v, want an *Error", tt.name, err)
			continue
		}
		var got []string
		for _, p := range e.Problems {
			got = append(got, p.Param)
			if p.Advice == "" || !strings.Contains(e.Error(), p.Param) || !strings.Contains(e.Error(), p.Advice) {
				t.Errorf("%s: the text lacks a problem or its advice: %v", tt.name, e)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestParseSyntax(t *testing.T) {
	t.Parallel()
	for dsn, advice := range map[string]string{
		"postgres://app:can/ary@h/db":                              "percent-encoded",
		"postgres://app:canary@h:port/db":                          "1 to 65535",
		"postgres://app:canary@h:1,k:2,l/db?port=1,2":              "",
		"postgres://app:canary@[::1/db":                            "URL",
		"postgres://app:canary@h/db?sslmode=sometimes":             "sslmode must be",
		"postgres://app:canary@h/db?sslrootcert=/nowhere/at/all":   "can't be read",
		"postgres://app:canary@h/db?sslcert=/nowhere":              "sslcert and sslkey",
		"postgres://app:canary@h/db?connect_timeout=soon":          "connect_timeout must be",
		"postgres://app:canary@h/db?target_session_attrs=best":     "target_session_attrs must be",
		"postgres://app:canary@h/db?channel_binding=perhaps":       "channel_binding must be",
		"postgres://app:canary@h/db?max_protocol_version=9":        "max_protocol_version must be",
		"postgres://app:canary@h/db?service=none&servicefile=/no":  "service",
		"postgres://app:canary@h/db?require_auth=face":             "require_auth must",
		"postgres://app:canary@h/db?sslcertmode=x":                 "sslcertmode must be",
		"host=h password='canary":                                  "can't be read",
		"host=h password=canary user":                              "can't be read",
		"host=h,k,l port=1,2 password=canary":                      "differ in length",
		"mysql://app:canary@h/db":                                  "can't be read",
		"postgres://app:canary@h/db\x00":                           "zero byte",
		"user=app password=can ary=1 host=h":                       "not known here",
		"postgres://app:canary@h/db?x=1&canaryx=@&statement_timeo": "",
	} {
		_, err := pgdsn.Parse(dsn)
		if err == nil {
			t.Errorf("%q is accepted", dsn)
			continue
		}
		if !strings.Contains(err.Error(), advice) {
			t.Errorf("%q: %v\nwant %q in it", dsn, err, advice)
		}
		checkNoSecret(t, err, "canary")
	}
}

func checkNoSecret(t *testing.T, err error, secret string) {
	t.Helper()
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Error("failed", "error", err)
	for how, text := range map[string]string{
		"Error": err.Error(), "%v": fmt.Sprintf("%v", err), "%+v": fmt.Sprintf("%+v", err), "%#v": fmt.Sprintf("%#v", err), "slog": log.String(),
	} {
		if strings.Contains(text, secret) {
			t.Errorf("%s holds the password", how)
		}
	}
}

func TestParseEnvironment(t *testing.T) {
	t.Setenv("PGTZ", "Asia/Seoul")
	t.Setenv("PGOPTIONS", "-c lock_timeout=5s")
	t.Setenv("PGAPPNAME", "from the environment")
	_, err := pgdsn.Parse(base)
	e, ok := err.(*pgdsn.Error)
	if !ok {
		t.Fatalf("error %v, want an *Error", err)
	}
	got := map[string]string{}
	for _, p := range e.Problems {
		got[p.Param] = p.Source
	}
	if diff := cmp.Diff(map[string]string{"timezone": "PGTZ", "lock_timeout": "PGOPTIONS"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	t.Setenv("PGTZ", "")
	t.Setenv("PGOPTIONS", "-c statement_timeout=2s")
	s, err := pgdsn.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	if s.StatementTimeout != 2*time.Second || s.Pool.ConnConfig.RuntimeParams["application_name"] != "from the environment" {
		t.Errorf("timeout %v, params %v", s.StatementTimeout, s.Pool.ConnConfig.RuntimeParams)
	}
}

func TestParseServiceFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pg_service.conf")
	if err := os.WriteFile(file, []byte("[stocks]\nhost=h\ndatestyle=German\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := pgdsn.Parse("service=stocks servicefile=" + file)
	if err == nil || !strings.Contains(err.Error(), "datestyle") {
		t.Errorf("error %v, want one about datestyle", err)
	}
}

func TestParseDialsOnce(t *testing.T) {
	t.Parallel()
	tests := []struct {
		dsn  string
		want []string
	}{
		{"host=h", []string{"h tls"}},
		{"host=h sslmode=prefer", []string{"h tls"}},
		{"host=h sslmode=allow", []string{"h tls"}},
		{"host=localhost", []string{"localhost plain"}},
		{"host=127.0.0.1 sslmode=allow", []string{"127.0.0.1 plain"}},
		{"host=::1", []string{"::1 plain"}},
		{"host=localhost sslmode=require", []string{"localhost tls"}},
		{"host=h sslmode=disable", []string{"h plain"}},
		{"host=h sslmode=verify-full", []string{"h tls"}},
		{"host=/tmp", []string{"/tmp plain"}},
		{"host=h,localhost,k", []string{"h tls", "localhost plain", "k tls"}},
		{"host=h,h", []string{"h tls", "h tls"}},
		{"host=h,k sslmode=require", []string{"h tls", "k tls"}},
	}
	for _, tt := range tests {
		s, err := pgdsn.Parse(tt.dsn)
		if err != nil {
			t.Errorf("%s: %v", tt.dsn, err)
			continue
		}
		describe := func(host string, hasTLS bool) string {
			if hasTLS {
				return host + " tls"
			}
			return host + " plain"
		}
		c := s.Pool.ConnConfig
		got := []string{describe(c.Host, c.TLSConfig != nil)}
		for _, f := range c.Fallbacks {
			got = append(got, describe(f.Host, f.TLSConfig != nil))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.dsn, diff)
		}
	}
}

// FuzzParse puts a password where passwords belong and anything around it: no
// error may show it.
func FuzzParse(f *testing.F) {
	const secret = "c4n4rySecret"
	f.Add("?sslmode=disable&timezone=UTC")
	f.Add("?options=-c a=b&statement_timeout=1x")
	f.Add(":x,y?search_path=\"a")
	f.Add(" search_path='a, \"B\"' statement_timeout='5 s' connection_limit=2")
	f.Add(" options='-c x=y' port=z")
	f.Fuzz(func(t *testing.T, tail string) {
		for _, file := range []string{"file", "ssl", "service"} { // not to open what the fuzzer makes up
			if strings.Contains(tail, file) || strings.Contains(tail, "%") {
				return
			}
		}
		for _, dsn := range []string{
			"postgres://app:" + secret + "@h" + tail,
			"postgres://h" + tail + "?password=" + secret,
			"password=" + secret + " host=h" + tail,
			"password='" + secret + "'" + tail,
			tail + " password=" + secret,
		} {
			s, err := pgdsn.Parse(dsn)
			if err != nil {
				checkNoSecret(t, err, secret)
				continue
			}
			for name := range s.Pool.ConnConfig.RuntimeParams {
				if name != "application_name" && name != "client_encoding" {
					t.Errorf("startup parameter %q is sent", name)
				}
			}
		}
	})
}

// A secret's file ends in a line break, which is no part of the string.
func TestParseTrims(t *testing.T) {
	t.Parallel()
	const keyword = "host=db.example user=app dbname=main sslmode=require password=canary"
	for name, tt := range map[string]struct{ dsn, database, password string }{
		"URL":                 {base + "\n", "main", "canary"},
		"URL, both ends":      {"\r\n\t " + base + " \r\n", "main", "canary"},
		"URL with parameters": {base + "?sslmode=require\n", "main", "canary"},
		"keyword form":        {"\n" + keyword + "\n", "main", "canary"},
		"escaped space":       {keyword + `\ ` + "\n", "main", "canary "},
		"escaped backslash":   {keyword + `\\` + " \n", "main", `canary\`},
		"quoted space":        {keyword + " application_name='x '\n", "main", "canary"},
	} {
		s, err := pgdsn.Parse(tt.dsn)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		c := s.Pool.ConnConfig
		if c.Database != tt.database || c.Password != tt.password || c.Host != "db.example" {
			t.Errorf("%s: database %q, password %q, host %q", name, c.Database, c.Password, c.Host)
		}
	}
	for _, blank := range []string{" ", "\n", " \r\n\t"} {
		if _, err := pgdsn.Parse(blank); err == nil || !strings.Contains(err.Error(), "white space") {
			t.Errorf("Parse(%q): error %v, want one about white space", blank, err)
		}
	}
}
