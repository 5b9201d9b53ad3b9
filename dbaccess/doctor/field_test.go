package doctor_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/doctor"
	"github.com/twinpath/twinpath/internal/localpg"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// Supavisor's refusals for want of a tenant are errors of the configuration: one login,
// and the hint names the user's form and the host.
func TestFieldCaseO14(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"Tenant or user not found",
		"(ENOTFOUND) tenant/user postgres.abc not found",
		"(ENOIDENTIFIER) no tenant identifier provided (external_id or sni_hostname required)",
	} {
		server := proxy(t, listen(t, refuse("XX000", text)))
		dsn := "postgres://postgres.abc:canary@" + server.Addr() + "/postgres" // prefer: libpq would dial twice
		r := run(t, doctor.Config{DirectDSN: dsn, SessionDSN: dsn})
		wantFinding(t, r, "direct.login", doctor.Error, "refused the login, SQLSTATE XX000", "role.project")
		wantFinding(t, r, "session.login", doctor.Info, "not examined")
		if n := server.Stats().Accepted; n > 2 { // the second to see whether the session string's port answers
			t.Errorf("%s: %d connections", text, n)
		}
		logins := 0
		for _, c := range server.Conns() {
			if c.BytesUp > 0 {
				logins++
			}
		}
		if logins != 1 {
			t.Errorf("%s: %d logins, want 1", text, logins)
		}
		checkNoSecret(t, r, "canary")
	}
	r := run(t, doctor.Config{DirectDSN: "postgres://postgres:canary@aws-0-eu-west-1.pooler.supabase.com:6543/postgres"})
	wantFinding(t, r, "direct.dsn", doctor.Error, "user is refused", "role.project")
	wantNone(t, r, "direct.dns", "direct.tcp")
}

// The pooler is full: one kind of error for all its words, and a sum that warns before.
func TestFieldCaseO15(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ code, text string }{
		{"XX000", "Max client connections reached"},
		{"XX000", "(EMAXCONN) max client connections reached, limit: 200"},
		{"08P01", "no more connections allowed (max_client_conn)"},
		{"53300", "sorry, too many clients already"},
	} {
		_, err := pgconn.Connect(t.Context(), "postgres://app:canary@"+listen(t, refuse(tt.code, tt.text))+"/db?sslmode=disable")
		if e := direct.ConnectError(err, false); !errors.Is(e, dbaccess.ErrSaturated) || strings.Contains(e.Error()+e.Advice, "canary") {
			t.Errorf("%s: %v, want ErrSaturated", tt.text, e)
		}
	}
	db := pgtest.Golden(t)
	for _, tt := range []struct {
		instances, max int
		severity       doctor.Severity
		words          string
	}{
		{100, 0, doctor.Warning, "100 instances × 4 connections are 400, more than 200"},
		{50, 0, doctor.OK, "are 200, of 200"},
		{0, 10, doctor.Info, "20 instances with 10 connections each fit"},
	} {
		r := run(t, doctor.Config{DirectDSN: db.PoolerDSN, Instances: tt.instances, MaxConns: tt.max, PoolerClients: 200})
		wantFinding(t, r, "pool.size", tt.severity, tt.words)
	}
	// No place for a second connection is told apart from a login that is refused.
	full := run(t, doctor.Config{DirectDSN: "postgres://app:canary@" + listen(t, refuse("08P01", "no more connections allowed (max_client_conn)")) + "/db"})
	wantFinding(t, full, "direct.login", doctor.Error, "no place for another connection", "instances × MaxConns")
	_, single := role(t, db, "noinherit connection limit 1")
	r := run(t, doctor.Config{DirectDSN: single})
	wantFinding(t, r, "direct.pooler", doctor.Warning, "a second connection could not be made", "instances × MaxConns")
}

// A host without IPv4 fails soon, with the family named; with both, a silent IPv6
// address costs no more than IPv4's head start.
func TestFieldCaseO16(t *testing.T) {
	t.Parallel()
	loopback6 := len(addrsOf(t, "::1")) > 0
	db := pgtest.Golden(t)
	port := fmt.Sprint(db.Port)

	// 100::/64 is for discarding: no route leads there, or nothing comes back.
	only6 := fakeDNS(t, nil, net.ParseIP("100::1"))
	r := run(t, doctor.Config{DirectDSN: "postgres://app:canary@db.example.com:" + port + "/x?sslmode=disable", Resolver: only6, Timeout: budget})
	wantFinding(t, r, "direct.dns", doctor.Info, "IPv6 address alone")
	wantFinding(t, r, "direct.tcp", doctor.Error, "IPv6 address", "IPv4 address")
	wantInBudget(t, r)

	both := fakeDNS(t, net.IPv4(127, 0, 0, 1), net.ParseIP("100::1"))
	dsn := strings.Replace(db.DirectDSN, db.Addr, "db.example.com:"+port, 1)
	r = run(t, doctor.Config{DirectDSN: dsn, Resolver: both})
	wantFinding(t, r, "direct.tcp", doctor.OK, "by IPv4")
	wantFinding(t, r, "direct.login", doctor.OK)
	if found := find(r, "direct.tcp"); len(found) != 2 {
		t.Errorf("nothing is said about the IPv6 address: %+v", found)
	}

	none := fakeDNS(t, nil, nil)
	r = run(t, doctor.Config{DirectDSN: dsn, Resolver: none})
	wantFinding(t, r, "direct.dns", doctor.Error, "has no address", "spelling")

	if loopback6 {
		r = run(t, doctor.Config{DirectDSN: "postgres://app:canary@[::1]:1/x?sslmode=disable"})
		wantFinding(t, r, "direct.tcp", doctor.Error, "nobody listens")
	}
}

func addrsOf(t *testing.T, ip string) []net.Addr {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var found []net.Addr
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.String() == ip {
			found = append(found, a)
		}
	}
	return found
}

// fakeDNS resolves every name to the addresses, nil for none of the family.
func fakeDNS(t *testing.T, v4, v6 net.IP) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if answer := dnsAnswer(buf[:n], v4, v6); answer != nil {
				_, _ = conn.WriteTo(answer, from)
			}
		}
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		<-done
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// dnsAnswer answers a question with one record, or with that there is none.
// Source: RFC 1035, section 4
func dnsAnswer(question []byte, v4, v6 net.IP) []byte {
	if len(question) < 17 {
		return nil
	}
	end := 12
	for end < len(question) && question[end] != 0 {
		end += int(question[end]) + 1
	}
	if end+5 > len(question) {
		return nil
	}
	kind := binary.BigEndian.Uint16(question[end+1:])
	data := []byte(nil)
	switch {
	case kind == 1 && v4 != nil:
		data = v4.To4()
	case kind == 28 && v6 != nil:
		data = v6.To16()
	}
	answer := append([]byte(nil), question[:2]...)
	flags, count := []byte{0x81, 0x80}, byte(1)
	if data == nil {
		count = 0
		if v4 == nil && v6 == nil {
			flags[1] |= 3 // no such name
		}
	}
	answer = append(answer, flags...)
	answer = append(answer, 0, 1, 0, count, 0, 0, 0, 0)
	answer = append(answer, question[12:end+5]...)
	if data != nil {
		answer = append(answer, 0xc0, 12)
		answer = append(answer, question[end+1:end+5]...)
		answer = append(answer, 0, 0, 0, 60, 0, byte(len(data)))
		answer = append(answer, data...)
	}
	return answer
}

// sslrootcert=system with the authority in the store, with an empty store, and together
// with what contradicts it. The store is that of a process, so each has its own.
func TestFieldCaseO23(t *testing.T) {
	if dsn := os.Getenv("DOCTOR_TEST_DSN"); dsn != "" {
		fmt.Println(run(t, doctor.Config{DirectDSN: dsn}).Text())
		return
	}
	t.Parallel()
	db := pgtest.Golden(t)
	files := newCertificates(t)
	pooler := pgtest.NewPooler(t, localpg.PoolerConfig{Settings: map[string]string{
		"client_tls_sslmode": "allow", "client_tls_key_file": files.key, "client_tls_cert_file": files.cert,
	}})
	counted := proxy(t, pooler.Addr())
	_, port, err := net.SplitHostPort(counted.Addr())
	if err != nil {
		t.Fatal(err)
	}
	dsn := "postgres://" + pgtest.LoginRole + ":" + pgtest.LoginPassword + "@localhost:" + port + "/" + db.Name + "?sslrootcert=system&sslmode="
	examine := func(dsn, store string) string {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestFieldCaseO23$")
		cmd.Env = append(os.Environ(), "DOCTOR_TEST_DSN="+dsn, "SSL_CERT_FILE="+store, "SSL_CERT_DIR="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return string(out)
	}
	if out := examine(dsn+"verify-full", files.ca); !strings.Contains(out, "TLS, verify-full") || !strings.Contains(out, "direct.login        logged in") {
		t.Errorf("(a) with the authority in the store:\n%s", out)
	}
	if counted.Stats().Accepted == 0 {
		t.Error("(a) did not come by")
	}
	counted.Reset()
	if out := examine(dsn+"verify-full", "/nowhere/at/all"); !strings.Contains(out, "sslrootcert is refused") || !strings.Contains(out, "install ca-certificates") {
		t.Errorf("(b) with an empty store:\n%s", out)
	}
	for _, mode := range []string{"disable", "require"} {
		if out := examine(dsn+mode, files.ca); !strings.Contains(out, "sslmode is refused") || !strings.Contains(out, "contradicts sslrootcert=system") {
			t.Errorf("(c) with sslmode=%s:\n%s", mode, out)
		}
	}
	if n := counted.Stats().Accepted; n != 0 {
		t.Errorf("(b) and (c) made %d connections", n)
	}
}
