package direct_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"bytes"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

var update = flag.Bool("update", false, "rewrite the table of docs/dsn.md")

func ExampleParseDSN() {
	dsn, err := direct.ParseDSN("postgres://postgres.abcdefghijklmnopqrst:secret@aws-0-eu-west-1.pooler.supabase.com:6543/postgres?sslmode=require&pgbouncer=true&connection_limit=2")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(dsn.Pooler, dsn.Mode, dsn.MaxConns)
	for _, sentence := range dsn.Explain() {
		fmt.Println("-", sentence)
	}

	_, err = direct.ParseDSN("postgres://app:secret@db.example/main?options=-c%20lock_timeout%3D5s")
	fmt.Println(err)
	// Output:
	// supavisor transaction 2
	// - aws-0-eu-west-1.pooler.supabase.com:6543, with TLS, whose certificate nobody looks at: Supabase's shared pooler, Supavisor, in transaction mode
	// - connection_limit: taken as the size of the pool (MaxConns), and not sent
	// - pgbouncer: taken as the sign of a transaction pooler, and not sent
	// connection string: lock_timeout (from options): poolers refuse it at startup: set it on the login role, ALTER ROLE … SET
}

func TestParseDSN(t *testing.T) {
	t.Parallel()
	got, err := direct.ParseDSN("postgres://app:canary@a,[::1]:6543/db?sslmode=verify-full&connect_timeout=3&statement_timeout=2s&search_path=x,y&pool_max_conns=3")
	if err != nil {
		t.Fatal(err)
	}
	notes := got.Notes
	got.Notes = nil
	want := &direct.DSN{
		Hosts: []direct.DSNHost{{Host: "a", Port: 5432, TLS: "verify-full"}, {Host: "::1", Port: 6543, TLS: "verify-full"}},
		User:  "app", Database: "db", HasPassword: true, MaxConns: 3, ConnectTimeout: 3 * time.Second,
		StatementTimeout: 2 * time.Second, SearchPath: []string{"x", "y"},
	}
	if diff := cmp.Diff(want, got, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".route" }, cmp.Ignore())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(notes) != 3 || got.Hosts[1].String() != "[::1]:6543" {
		t.Errorf("notes %v, second host %v", notes, got.Hosts[1])
	}
}

// FuzzParseDSN lets no password into an explanation or an error.
func FuzzParseDSN(f *testing.F) {
	const secret = "c4n4rySecret"
	f.Add("?sslmode=disable&timezone=UTC")
	f.Add("/db?dbname=")
	f.Add(" host=h user=")
	f.Add("@k:5,x?options=-c a=b")
	f.Fuzz(func(t *testing.T, tail string) {
		for _, file := range []string{"file", "ssl", "service"} { // not to open what the fuzzer makes up
			if strings.Contains(tail, file) || strings.Contains(tail, "%") {
				return
			}
		}
		for _, dsn := range []string{
			"postgres://app:" + secret + "@h" + tail, "postgres://h" + tail + "?password=" + secret,
			"password=" + secret + " host=h" + tail, "password='" + secret + "'" + tail, tail + " password=" + secret,
		} {
			d, err := direct.ParseDSN(dsn)
			text := fmt.Sprintf("%+v %v", d, err)
			if err == nil {
				text += strings.Join(d.Explain(), "\n")
			}
			if strings.Contains(text, secret) {
				t.Errorf("%q: the password shows", dsn)
			}
		}
	})
}

// pageRows are the lines of docs/dsn.md: what is written, and what it is added to where
// that isn't pageBase.
var pageRows = []struct{ given, dsn string }{
	{given: "application_name=shop"},
	{given: "client_encoding=UTF8"},
	{given: "client_encoding=LATIN1"},
	{given: "statement_timeout=5s"},
	{given: "search_path=app,public"},
	{given: `search_path="$user"`},
	{given: "options=-c statement_timeout=5s"},
	{given: "options=-c lock_timeout=5s"},
	{given: "options=reference=project"},
	{given: "options=endpoint=ep-cool-1"},
	{given: "pgbouncer=true"},
	{given: "connection_limit=2"},
	{given: "pool_max_conns=2"},
	{given: "connection_limit=2&pool_max_conns=3"},
	{given: "pool_min_conns=1"},
	{given: "pool_max_conn_lifetime=soon"},
	{given: "default_query_exec_mode=exec"},
	{given: "default_query_exec_mode=describe_exec"},
	{given: "default_query_exec_mode=cache_statement"},
	{given: "statement_cache_capacity=100"},
	{given: "statement_cache_mode=describe"},
	{given: "timezone=UTC"},
	{given: "datestyle=ISO"},
	{given: "extra_float_digits=3"},
	{given: "role=anon"},
	{given: "lock_timeout=5s"},
	{given: "default_transaction_read_only=on"},
	{given: "schema=app"},
	{given: "replication=database"},
	{given: "keepalives=1"},
	{given: "gssencmode=disable"},
	{given: "hostaddr=10.0.0.1"},
	{given: "fallback_application_name=x"},
	{given: "binary_parameters=yes"},
	{given: "my_own_setting=1"},
	{given: "sslmode=prefer", dsn: "postgres://app:secret@db.example/main"},
	{given: "sslmode=require&sslrootcert=system"},
	{given: "sslmode=disable&sslrootcert=system"},
	{given: "sslmode=verify-full&sslrootcert=system"},
	{given: "sslnegotiation=direct"},
	{given: "sslmode=disable&sslnegotiation=direct"},
	{given: "sslsni=0"},
	{given: "channel_binding=require"},
	{given: "channel_binding=require", dsn: "postgres://postgres.abcdefghijklmnopqrst:secret@aws-0-eu-west-1.pooler.supabase.com:6543/postgres"},
	{given: "target_session_attrs=read-write"},
	{given: "max_protocol_version=3.2"},
	{given: "connect_timeout=3"},
}

// pageRoutes are those whose route is told.
var pageRoutes = []string{
	"postgres://postgres.abcdefghijklmnopqrst:secret@aws-0-eu-west-1.pooler.supabase.com:6543/postgres",
	"postgres://postgres.abcdefghijklmnopqrst:secret@aws-0-eu-west-1.pooler.supabase.com:5432/postgres",
	"postgres://postgres:secret@aws-0-eu-west-1.pooler.supabase.com:6543/postgres",
	"postgres://postgres:secret@db.abcdefghijklmnopqrst.supabase.co:5432/postgres",
	"postgres://postgres:secret@db.abcdefghijklmnopqrst.supabase.co:6543/postgres",
	"postgres://postgres:secret@abcdefghijklmnopqrst.supabase.co/postgres",
	"postgres://app:secret@ep-cool-1-pooler.eu-central-1.aws.neon.tech/main",
	"postgres://app:secret@ep-cool-1.eu-central-1.aws.neon.tech/main",
	"postgres://postgres.branch:secret@eu.pg.psdb.cloud:6432/postgres",
	"postgres://app:secret@pooler.example:6432/main",
	"postgres://app:secret@db.example/main",
	"postgres://app:sec@ret@db.example/main",
	"postgres://app:1/secret@db.example/main",
	"postgres://app:secret@a.example,b.example/main",
	"postgres://app@db.example/main",
}

const (
	pageBase  = "postgres://app:secret@db.example/main?sslmode=require"
	pageBegin = "<!-- dsn:begin, written by go test ./dbaccess/direct -run DSNPage -update -->\n"
	pageEnd   = "<!-- dsn:end -->\n"
)

// TestDSNPage holds the tables of docs/dsn.md to what ParseDSN says.
func TestDSNPage(t *testing.T) {
	t.Parallel()
	file, err := pgtest.File("docs/dsn.md")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, begins := bytes.Cut(page, []byte(pageBegin))
	got, tail, ends := bytes.Cut(rest, []byte(pageEnd))
	if !begins || !ends {
		t.Fatalf("%s has no lines %q and %q", file, pageBegin, pageEnd)
	}
	want := pageTables()
	if *update {
		page = slices.Concat(head, []byte(pageBegin), []byte(want), []byte(pageEnd), tail)
		if err := os.WriteFile(file, page, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("the tables are not what ParseDSN says: run the test with -update (-want +got):\n%s", diff)
	}
}

func pageTables() string {
	var b strings.Builder
	b.WriteString("| given | outcome | in its own words |\n|---|---|---|\n")
	for _, r := range pageRows {
		base, given := r.dsn, r.given
		switch {
		case base == "":
			base = pageBase
		case strings.Contains(base, "supabase"):
			given += " at Supavisor"
		}
		sep := "&"
		if !strings.Contains(base, "?") {
			sep = "?"
		}
		if strings.Contains(r.given, "ssl") {
			base, sep = strings.TrimSuffix(base, "?sslmode=require"), "?"
		}
		// The names and values of a query are percent-encoded.
		query := strings.NewReplacer(" ", "%20", `"`, "%22", "options=-c statement_timeout=", "options=-c%20statement_timeout%3D",
			"options=-c lock_timeout=", "options=-c%20lock_timeout%3D", "options=reference=", "options=reference%3D",
			"options=endpoint=", "options=endpoint%3D").Replace(r.given)
		outcome, words := pageOutcome(base+sep+query, false)
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", strings.ReplaceAll(given, "&", "` `"), outcome, words)
	}
	b.WriteString("\n| connection string | outcome | in its own words |\n|---|---|---|\n")
	for _, dsn := range pageRoutes {
		full := dsn + "?sslmode=require"
		outcome, words := pageOutcome(full, true)
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", dsn, outcome, words)
	}
	return b.String()
}

// pageOutcome says what became of a string, and the sentences about it, with or without
// that about its route.
func pageOutcome(dsn string, route bool) (outcome, words string) {
	d, err := direct.ParseDSN(dsn)
	if err != nil {
		return "refused", strings.TrimPrefix(err.Error(), "connection string: ")
	}
	outcome = "accepted"
	var texts []string
	if route {
		texts = append(texts, d.Explain()[:len(d.Hosts)]...)
	}
	for _, n := range d.Notes {
		if n.Warning {
			outcome = "accepted, with a warning"
		}
		texts = append(texts, n.String())
	}
	return outcome, strings.Join(texts, "<br>")
}
