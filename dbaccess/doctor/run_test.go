package doctor_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/doctor"
	"github.com/twinpath/twinpath/dbaccess/postgresttest"
	"github.com/twinpath/twinpath/internal/localpg"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

var update = flag.Bool("update", false, "rewrite testdata")

// TestReport runs every check on servers that are well, and holds the text to a file.
func TestReport(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	pooler := pgtest.Pooler(t)
	restURL := standIn(t, postgresttest.Config{DSN: db.DirectDSN, ServerTiming: true})
	r := run(t, doctor.Config{
		DirectDSN: db.PoolerDSN, SessionDSN: db.DirectDSN, AdminDSN: pooler.AdminDSN(), RESTURL: restURL, JWTSecret: secret,
		Roles: []string{"anon", "authenticated", "service_role"}, Instances: 20,
	})
	if older := pooler.Version() != "1.18.0"; older {
		// The file is that of Debian's PgBouncer: what depends on it is looked at by itself.
		wantFinding(t, r, "console.version", doctor.OK, "PgBouncer "+pooler.Version())
		return
	}
	checkNoSecret(t, r, secret, "canary")
	u, err := url.Parse(restURL)
	if err != nil {
		t.Fatal(err)
	}
	server := find(r, "direct.version")
	if len(server) != 1 {
		t.Fatalf("direct.version: %v", server)
	}
	got := masked(r, pooler.Addr(), "POOLER", db.Addr, "POSTGRES", u.Host, "REST", db.Name, "DATABASE", server[0].What, "PostgreSQL VERSION")
	file := filepath.Join("testdata", "healthy.txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("run with -update if this is wanted (-want +got):\n%s", diff)
	}
	if r.ExitCode() != 1 {
		t.Errorf("exit code %d, want 1 for the warning about PgBouncer's version", r.ExitCode())
	}
}

func TestPostgresItself(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	r := run(t, doctor.Config{DirectDSN: db.DirectDSN, Instances: 100})
	wantFinding(t, r, "direct.pooler", doctor.Info, "Postgres itself")
	wantFinding(t, r, "direct.statements", doctor.OK)
	wantFinding(t, r, "pool.size", doctor.Warning, "100 instances × 4 connections are 400", "max_connections")
	wantFinding(t, r, "login.roles", doctor.OK, "anon, authenticated")
	wantFinding(t, r, "session.dsn", doctor.Info, "not examined")
	wantNone(t, r, "rest.url", "same.database", "budget")
	if r.Worst() != doctor.Warning {
		t.Errorf("worst is %s:\n%s", r.Worst(), r.Text())
	}
}

func TestSessionMode(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	pooler := sessionPooler(t)
	dsn := pooler.DSN(pgtest.LoginRole, pgtest.LoginPassword, db.Name)
	r := run(t, doctor.Config{DirectDSN: dsn, SessionDSN: dsn, AdminDSN: pooler.AdminDSN()})
	wantFinding(t, r, "direct.pooler", doctor.Warning, "session mode, or with an idle pool")
	wantFinding(t, r, "console.version", doctor.Warning, "pool_mode is session")
	wantFinding(t, r, "session.mode", doctor.OK, "a session of its own")
	wantFinding(t, r, "session.listen", doctor.OK, "arrives")
	wantFinding(t, r, "session.database", doctor.OK, "the same database")
}

// In transaction mode LISTEN succeeds and nothing arrives: it is not even tried.
func TestSessionStringOfTransactionPooler(t *testing.T) {
	t.Parallel()
	db, other := pgtest.Golden(t), pgtest.Golden(t)
	r := run(t, doctor.Config{DirectDSN: other.DirectDSN, SessionDSN: db.PoolerDSN})
	wantFinding(t, r, "session.mode", doctor.Error, "transaction mode", "LISTEN succeeds")
	wantFinding(t, r, "session.listen", doctor.Info, "not examined")
	wantFinding(t, r, "session.database", doctor.Error, "another database")
}

// The examination leaves nothing on the server connections that others get.
func TestLeavesNothing(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	pooler := pgtest.NewPooler(t, localpg.PoolerConfig{PoolSize: 1})
	dsn := pooler.DSN(pgtest.LoginRole, pgtest.LoginPassword, db.Name)
	r := run(t, doctor.Config{DirectDSN: dsn})
	wantFinding(t, r, "direct.pooler", doctor.OK, "transaction mode")
	wantFinding(t, r, "direct.statements", doctor.Info, "does not keep track")
	left := scalar(t, dsn, `select concat_ws(',', current_user, current_setting('statement_timeout'), current_setting('transaction_read_only'),
		(select count(*) from pg_prepared_statements where name like 'twinpath%'), (select count(*) from pg_listening_channels()))`)
	if want := pgtest.LoginRole + ",0,off,0,0"; left != want {
		t.Errorf("the session was left as %s, want %s", left, want)
	}
}

// A login that is refused is the only one, whatever else could be tried.
func TestOneLogin(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	for name, addr := range map[string]string{"PgBouncer": db.PoolerAddr, "Postgres": db.Addr} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := proxy(t, addr), proxy(t, db.Addr)
			dsn := func(p string) string {
				return "postgres://" + pgtest.LoginRole + ":wr0ngcanary@" + p + "/" + db.Name + "?sslmode=disable"
			}
			r := run(t, doctor.Config{
				DirectDSN: dsn(first.Addr()), SessionDSN: dsn(second.Addr()), AdminDSN: dsn(second.Addr()),
				RESTURL: standIn(t, postgresttest.Config{DSN: db.DirectDSN}), JWTSecret: secret,
			})
			wantFinding(t, r, "direct.login", doctor.Error, "refused the login", "password")
			wantFinding(t, r, "session.login", doctor.Info, "not examined")
			wantFinding(t, r, "rest.http", doctor.OK)
			wantFinding(t, r, "same.database", doctor.Info, "not examined")
			wantNone(t, r, "login.privileges", "console.login")
			if n := first.Stats().Accepted; n != 1 {
				t.Errorf("%d connections to the server that refused, want 1", n)
			}
			if n := second.Stats().BytesUp; n != 0 {
				t.Errorf("%d bytes were sent to another server after the refusal", n)
			}
			checkNoSecret(t, r, "wr0ngcanary", secret)
			if r.ExitCode() != 2 {
				t.Errorf("exit code %d, want 2", r.ExitCode())
			}
		})
	}
}

func TestRefusedString(t *testing.T) {
	t.Parallel()
	p := proxy(t, "127.0.0.1:1")
	r := run(t, doctor.Config{
		DirectDSN:  "postgres://app:canary@" + p.Addr() + "/db?timezone=UTC&lock_timeout=5s&my_setting=1",
		SessionDSN: "postgres://app:can/ary@h/db", AdminDSN: "nonsense canary",
	})
	wantFinding(t, r, "direct.dsn", doctor.Error, "timezone is refused")
	wantFinding(t, r, "direct.dsn", doctor.Error, "lock_timeout is refused", "ALTER ROLE")
	wantFinding(t, r, "direct.dsn", doctor.Error, "my_setting is refused")
	wantFinding(t, r, "session.dsn", doctor.Error, "percent-encode")
	wantNone(t, r, "direct.tcp", "session.tcp", "console.tcp")
	if n := p.Stats().Accepted; n != 0 {
		t.Errorf("%d connections were made with a string that is refused", n)
	}
	checkNoSecret(t, r, "canary", "ary@")
}

func TestNotes(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := l.Addr().String()
	_ = l.Close()
	r := run(t, doctor.Config{DirectDSN: "postgres://app:canary@" + dead + "/db?connection_limit=2&sslmode=require&channel_binding=require"})
	wantFinding(t, r, "direct.dsn", doctor.Info, "connection_limit: taken as")
	wantFinding(t, r, "direct.dsn", doctor.Warning, "channel_binding")
	wantFinding(t, r, "direct.tcp", doctor.Error, "nobody listens there", "is up")
	wantNone(t, r, "direct.tls", "direct.login")

	r = run(t, doctor.Config{DirectDSN: "host=/nowhere/at/all user=app"})
	wantFinding(t, r, "direct.tcp", doctor.Error, "socket doesn't exist")
}

func TestConfig(t *testing.T) {
	t.Parallel()
	r := run(t, doctor.Config{})
	wantFinding(t, r, "config", doctor.Error, "nothing to examine")
	r = run(t, doctor.Config{DirectDSN: "host=/nowhere/at/all user=app", Instances: -1, JWTSecret: secret, Roles: []string{""}})
	wantFinding(t, r, "config", doctor.Error, "negative")
	wantFinding(t, r, "config", doctor.Error, "no URL of PostgREST")
	wantFinding(t, r, "config", doctor.Error, "no name that can be")
	cfg := doctor.Config{DirectDSN: "canary", SessionDSN: "canary", AdminDSN: "canary", APIKey: "canary", JWTSecret: "canary"}
	b, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%v %+v %#v %s %s", cfg, cfg, cfg, b, cfg.LogValue()); strings.Contains(text, "canary") {
		t.Errorf("the config prints its secrets: %s", text)
	}
}

func TestReportForms(t *testing.T) {
	t.Parallel()
	for want, findings := range map[int][]doctor.Severity{0: {doctor.OK, doctor.Info}, 1: {doctor.Warning, doctor.OK}, 2: {doctor.Error, doctor.Warning}} {
		var r doctor.Report
		for _, s := range findings {
			r.Findings = append(r.Findings, doctor.Finding{ID: "x", Severity: s, What: "w"})
		}
		if got := r.ExitCode(); got != want {
			t.Errorf("exit code of %v is %d, want %d", findings, got, want)
		}
	}
	if got := (doctor.Report{}).ExitCode(); got != 0 {
		t.Errorf("exit code of an empty report is %d", got)
	}
	b, err := json.Marshal(doctor.Report{Findings: []doctor.Finding{{ID: "direct.tcp", Severity: doctor.Warning, What: "w", Took: 1500000}}, Took: 2000000})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"verdict":"warning","exit_code":1,"ms":2,"findings":[{"id":"direct.tcp","severity":"warning","what":"w","ms":1.5}]}`
	if string(b) != want {
		t.Errorf("JSON is\n%s\nwant\n%s", b, want)
	}
	var s doctor.Severity
	if err := json.Unmarshal([]byte(`"error"`), &s); err != nil || s != doctor.Error {
		t.Errorf("severity %v, error %v", s, err)
	}
	if err := json.Unmarshal([]byte(`"dire"`), &s); err == nil {
		t.Error("a severity that does not exist is accepted")
	}
}

// A string that was cut at the wrong place may have a piece of the password for a host.
func TestOddHostIsNotShown(t *testing.T) {
	t.Parallel()
	r := run(t, doctor.Config{DirectDSN: "host='can?ary' user=app password=x", Resolver: fakeDNS(t, nil, nil)})
	wantFinding(t, r, "direct.dns", doctor.Error, "(not shown) has no address")
	checkNoSecret(t, r, "can?ary")
}
