package pgdsn_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess/internal/pgdsn"
)

// notesOf returns the notes about the connection as "param (source)", with "!" in
// front of warnings.
func notesOf(s *pgdsn.Settings) []string {
	var names []string
	for _, n := range s.Notes {
		name := n.Param
		if n.Source != "" {
			name += " (" + n.Source + ")"
		}
		if n.Warning {
			name = "!" + name
		}
		names = append(names, name)
	}
	return names
}

func TestParseConnection(t *testing.T) {
	t.Parallel()
	const supavisor = "postgres://postgres.abcdefghijklmnopqrst:canary@aws-0-eu-west-1.pooler.supabase.com:6543/postgres?sslmode=require"
	for _, tt := range []struct {
		name, dsn string
		refused   []string
		notes     []string
	}{
		{"plain", base + "?sslmode=require", nil, nil},
		{"direct TLS", base + "?sslmode=require&sslnegotiation=direct", nil, []string{"sslnegotiation"}},
		{"direct TLS by default", base + "?sslnegotiation=direct", nil, []string{"sslnegotiation"}},
		{"direct TLS without TLS", base + "?sslmode=disable&sslnegotiation=direct", []string{"sslnegotiation"}, nil},
		{"direct TLS perhaps", base + "?sslmode=allow&sslnegotiation=direct", []string{"sslnegotiation"}, nil},
		{"unknown negotiation", base + "?sslmode=require&sslnegotiation=fast", []string{"sslnegotiation"}, nil},
		{"no SNI", base + "?sslmode=require&sslsni=0", nil, []string{"!sslsni"}},
		{"odd SNI", base + "?sslmode=require&sslsni=yes", []string{"sslsni"}, nil},
		{"system", base + "?sslrootcert=system", nil, nil},
		{"system and verify-full", base + "?sslmode=verify-full&sslrootcert=system", nil, nil},
		{"system and require", base + "?sslmode=require&sslrootcert=system", []string{"sslmode"}, nil},
		{"system and disable", base + "?sslmode=disable&sslrootcert=system", []string{"sslmode"}, nil},
		{"system and ssl=true", base + "?ssl=true&sslrootcert=system", []string{"sslmode"}, nil},
		{"channel binding", base + "?sslmode=require&channel_binding=require", nil, []string{"!channel_binding"}},
		{"channel binding without TLS", base + "?sslmode=disable&channel_binding=require", []string{"channel_binding"}, nil},
		{"channel binding at Supavisor", supavisor + "&channel_binding=require", []string{"channel_binding"}, nil},
		{"Supavisor", supavisor, nil, nil},
		{"Supavisor without a project", "postgres://postgres:canary@aws-0-eu-west-1.pooler.supabase.com:6543/postgres?sslmode=require", []string{"user"}, nil},
		{"a project at its own host", "postgres://postgres.abc:canary@db.abc.supabase.co/postgres?sslmode=require", []string{"user"}, nil},
		{"the API's host", "postgres://postgres:canary@abc.supabase.co/postgres?sslmode=require", []string{"host"}, nil},
		{"session attributes", base + "?sslmode=require&target_session_attrs=read-write", nil, []string{"target_session_attrs"}},
		{"any attributes", base + "?sslmode=require&target_session_attrs=any", nil, nil},
		{"protocol", base + "?sslmode=require&max_protocol_version=3.2", nil, []string{"!max_protocol_version"}},
		{"protocol at least", base + "?sslmode=require&min_protocol_version=3.2", nil, []string{"!min_protocol_version"}},
		{"several hosts", "postgres://app:canary@a,b:6543/db?sslmode=require", nil, []string{"host"}},
		{"the same host by prefer", "postgres://app:canary@a/db", nil, []string{"sslmode"}},
		{"no password", "postgres://app@a/db?sslmode=require", nil, []string{"password"}},
		{"password's @", "postgres://app:can@ary@h/db", []string{"host"}, nil},
		{"password's / after digits", "postgres://app:1/canary@h/db", []string{"database"}, nil},
		{"database's @", "postgres://app:canary@h/d%40b?sslmode=require", nil, nil},
		{"Neon's endpoint", base + "?sslmode=require&options=endpoint%3Dep-x", []string{"endpoint"}, nil},
		{"a driver's cache", base + "?statement_cache_mode=describe", []string{"statement_cache_mode"}, nil},
	} {
		s, err := pgdsn.Parse(tt.dsn)
		var refused, notes []string
		if err != nil {
			checkNoSecret(t, err, "canary")
			checkNoSecret(t, err, "ary@")
			e, ok := err.(*pgdsn.Error)
			if !ok {
				t.Errorf("%s: error %T", tt.name, err)
				continue
			}
			for _, p := range e.Problems {
				refused = append(refused, p.Param)
			}
		} else {
			notes = notesOf(s)
		}
		if diff := cmp.Diff(tt.refused, refused); diff != "" {
			t.Errorf("%s: refused (-want +got):\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(tt.notes, notes); diff != "" {
			t.Errorf("%s: notes (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestParseRoute(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]pgdsn.Route{
		"host=aws-0-eu-west-1.pooler.supabase.com port=6543 user=a.b":               {Vendor: "supabase", Pooler: "supavisor", Mode: pgdsn.ModeTransaction},
		"host=AWS-0-eu-west-1.pooler.Supabase.com. port=5432 user=a.b":              {Vendor: "supabase", Pooler: "supavisor", Mode: pgdsn.ModeSession},
		"host=aws-0-eu-west-1.pooler.supabase.com port=7000 user=a.b":               {Vendor: "supabase", Pooler: "supavisor"},
		"host=db.abc.supabase.co":                                                   {Vendor: "supabase", Mode: pgdsn.ModeDirect, IPv6Only: true},
		"host=db.abc.supabase.co port=6543":                                         {Vendor: "supabase", Pooler: "pgbouncer", Mode: pgdsn.ModeTransaction, IPv6Only: true},
		"host=ep-a-b-123-pooler.eu-central-1.aws.neon.tech":                         {Vendor: "neon", Pooler: "pgbouncer", Mode: pgdsn.ModeTransaction},
		"host=ep-a-b-123.eu-central-1.aws.neon.tech":                                {Vendor: "neon", Mode: pgdsn.ModeDirect},
		"host=eu.pg.psdb.cloud port=6432":                                           {Vendor: "planetscale", Pooler: "pgbouncer", Mode: pgdsn.ModeTransaction},
		"host=eu.pg.psdb.cloud":                                                     {Vendor: "planetscale", Mode: pgdsn.ModeDirect},
		"host=pooler.example port=6432":                                             {Pooler: "pgbouncer", Mode: pgdsn.ModeTransaction},
		"host=pooler.example port=6000 pgbouncer=true":                              {Mode: pgdsn.ModeTransaction},
		"host=db.example":                                                           {},
		"host=db.a.b.supabase.co":                                                   {},
		"host=pooler.supabase.com.evil.example port=5432 user=a":                    {},
		"postgres://a:b@ep-x-pooler.c-2.eu-central-1.aws.neon.tech/db?ssl=true&x=y": {Mode: "refused"},
	} {
		s, err := pgdsn.Parse(dsn)
		if want.Mode == "refused" {
			if err == nil {
				t.Errorf("%s is accepted", dsn)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", dsn, err)
			continue
		}
		got := s.Route
		if (got.Text == "") != (want == pgdsn.Route{}) {
			t.Errorf("%s: the sentence is %q", dsn, got.Text)
		}
		got.Text = ""
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", dsn, diff)
		}
	}
}

// What surrounds the process counts as if the string said it.
func TestParseSurroundings(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	write := func(name, content string) string {
		t.Helper()
		file := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	write(".pgpass", "*:*:*:app:canary\n")
	const bare = "postgres://app@db.example/main"
	check := func(dsn string, want ...string) {
		t.Helper()
		s, err := pgdsn.Parse(dsn)
		if err != nil {
			t.Error(err)
			return
		}
		if diff := cmp.Diff(want, notesOf(s)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", dsn, diff)
		}
		if strings.Contains(strings.Join(s.Explain(), "\n"), "canary") {
			t.Error("Explain holds the password")
		}
	}
	check(bare+"?sslmode=require", "password (~/.pgpass)")
	t.Setenv("PGPASSFILE", write("secrets", "*:*:*:app:canary\n"))
	check(bare+"?sslmode=require", "password (PGPASSFILE)")
	t.Setenv("PGPASSWORD", "canary")
	check(bare+"?sslmode=require", "password (PGPASSWORD)")

	t.Setenv("PGSSLNEGOTIATION", "direct")
	check(bare+"?sslmode=require", "sslnegotiation (PGSSLNEGOTIATION)", "password (PGPASSWORD)")
	t.Setenv("PGSSLNEGOTIATION", "")
	t.Setenv("PGHOSTADDR", "10.0.0.1")
	check(bare+"?sslmode=require", "password (PGPASSWORD)", "PGHOSTADDR")
	t.Setenv("PGHOSTADDR", "")

	t.Setenv("PGSSLMODE", "disable")
	if _, err := pgdsn.Parse(bare + "?sslrootcert=system"); err == nil || !strings.Contains(err.Error(), "sslmode (from PGSSLMODE)") {
		t.Errorf("error %v, want one about PGSSLMODE", err)
	}
	t.Setenv("PGSSLMODE", "")
	t.Setenv("PGSSLROOTCERT", "system")
	if _, err := pgdsn.Parse(bare + "?sslmode=require"); err == nil || !strings.Contains(err.Error(), "contradicts sslrootcert=system") {
		t.Errorf("error %v, want one about sslrootcert", err)
	}
	t.Setenv("PGSSLROOTCERT", "")

	t.Setenv("PGSERVICEFILE", write("services", "# comment\n[other]\ntimezone=UTC\n[stocks]\nhost = db.example\ndbname=main\nuser=app\nsslmode=require\nlock_timeout=3s\n"))
	t.Setenv("PGSERVICE", "stocks")
	if _, err := pgdsn.Parse(""); err == nil || !strings.Contains(err.Error(), "lock_timeout (from service file)") || strings.Contains(err.Error(), "timezone") {
		t.Errorf("error %v, want one about the service file's lock_timeout alone", err)
	}
	t.Setenv("PGSERVICE", "")

	ca, err := os.ReadFile("testdata/ca.pem")
	if err != nil {
		t.Fatal(err)
	}
	write(".postgresql/root.crt", string(ca))
	check(bare+"?sslmode=require", "sslrootcert (~/.postgresql/root.crt)", "password (PGPASSWORD)")
	file := write("ca.pem", string(ca))
	check(bare+"?sslmode=prefer&sslrootcert="+file, "!sslrootcert", "password (PGPASSWORD)", "sslmode")
	check(bare+"?sslmode=disable&sslrootcert="+file, "sslrootcert", "password (PGPASSWORD)")
	check(bare+"?sslmode=verify-full&sslrootcert="+file, "password (PGPASSWORD)")
}

// FuzzCollect holds the reader of what was given to pgx's own.
func FuzzCollect(f *testing.F) {
	f.Add("postgres://u:p@h,k:5/db?a=b&ssl=true&sslmode=disable&c%20=%20d&e=f+g")
	f.Add(`user=u  a = 'b \' c' d=e\ f g= h password=\`)
	f.Add("x='' y=")
	f.Add("postgresql://?user=&x=1&x=2")
	f.Fuzz(func(t *testing.T, dsn string) {
		for _, file := range []string{"file", "ssl", "service"} { // not to open what the fuzzer makes up
			if strings.Contains(dsn, file) || strings.Contains(dsn, "%") {
				return
			}
		}
		c, err := pgconn.ParseConfig(dsn)
		if err != nil {
			return
		}
		got := pgdsn.Collect(dsn)
		for name, value := range c.RuntimeParams {
			if got[name] != value {
				t.Errorf("%q: %q is %q, want %q", dsn, name, got[name], value)
			}
		}
		if got["password"] == "" && c.Password != "" {
			t.Errorf("%q: the password was not seen", dsn)
		}
	})
}
