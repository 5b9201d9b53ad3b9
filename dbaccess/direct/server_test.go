package direct_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/internal/localpg"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// tlsServer speaks enough of the protocol to shake hands over TLS, take a login,
// and refuse what comes then. It returns its address.
func tlsServer(t *testing.T) string {
	t.Helper()
	web := httptest.NewTLSServer(nil) // for its certificate
	certificates := web.TLS.Certificates
	web.Close()
	return listen(t, func(conn net.Conn) error { return serveTLS(conn, &tls.Config{Certificates: certificates}) })
}

// refusingServer refuses every login.
func refusingServer(t *testing.T, refusal *pgproto3.ErrorResponse) string {
	t.Helper()
	return listen(t, func(conn net.Conn) error {
		b := pgproto3.NewBackend(conn, conn)
		if _, err := b.ReceiveStartupMessage(); err != nil {
			return err
		}
		b.Send(refusal)
		return b.Flush()
	})
}

// listen serves connections until the test ends, and returns the address.
func listen(t *testing.T, serve func(net.Conn) error) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				if err := serve(conn); err != nil {
					t.Logf("the server's connection ended: %v", err)
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return l.Addr().String()
}

func serveTLS(conn net.Conn, cfg *tls.Config) error {
	var request [8]byte
	if _, err := io.ReadFull(conn, request[:]); err != nil {
		return err
	}
	if _, err := conn.Write([]byte{'S'}); err != nil {
		return err
	}
	secure := tls.Server(conn, cfg)
	if err := secure.Handshake(); err != nil {
		return err
	}
	b := pgproto3.NewBackend(secure, secure)
	if _, err := b.ReceiveStartupMessage(); err != nil {
		return err
	}
	b.Send(&pgproto3.AuthenticationOk{})
	b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	if err := b.Flush(); err != nil {
		return err
	}
	for {
		switch m, err := b.Receive(); m.(type) {
		case *pgproto3.Sync:
			b.Send(&pgproto3.ErrorResponse{Severity: "ERROR", Code: "42501", Message: canary})
			b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
			if err := b.Flush(); err != nil {
				return err
			}
		case *pgproto3.Terminate:
			return nil
		default:
			if err != nil {
				return err
			}
		}
	}
}

func TestPhasesTLS(t *testing.T) {
	t.Parallel()
	host, port, err := net.SplitHostPort(tlsServer(t))
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, direct.Config{DSN: "user=app sslmode=require host=" + host + " port=" + port})
	res, err := b.Do(t.Context(), call(lists, anon))
	if !errors.Is(err, dbaccess.ErrPermission) {
		t.Fatalf("error %v, want ErrPermission", err)
	}
	if diff := cmp.Diff("prepare acquire[connect[tcp tls startup]] network+pooler", unqueued(shape(t, res.Phases))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	distrusting := open(t, direct.Config{DSN: "user=app sslmode=verify-full sslrootcert=system host=" + host + " port=" + port})
	_, err = distrusting.Do(t.Context(), call(lists, anon))
	e, ok := err.(*dbaccess.Error)
	if !ok || !errors.Is(err, dbaccess.ErrUnavailable) || !strings.Contains(e.Advice, "certificate") {
		t.Errorf("error %v, want ErrUnavailable about the certificate", err)
	}
}

func TestRefusedLogins(t *testing.T) {
	t.Parallel()
	tests := []struct {
		code, message string
		kind          error
		advice        string
	}{
		{"08P01", "no more connections allowed (max_client_conn)", dbaccess.ErrSaturated, "instances"},
		{"XX000", "Max client connections reached", dbaccess.ErrSaturated, "instances"},
		{"XX000", "(EMAXCONN) max client connections reached, limit: 200", dbaccess.ErrSaturated, "instances"},
		{"XX000", "(EMAXCONNSESSION) max clients reached in session mode - max clients are limited to pool_size: 15", dbaccess.ErrSaturated, "6543"},
		{"XX000", "(ECHECKOUTTIMEOUT) unable to check out connection from the pool after 60000ms in transaction mode", dbaccess.ErrSaturated, "server connection"},
		{"08P01", "query_wait_timeout", dbaccess.ErrSaturated, "server connection"},
		{"53300", "sorry, too many clients already", dbaccess.ErrSaturated, "no connection left"},
		{"53300", "désolé, trop de clients sont déjà connectés", dbaccess.ErrSaturated, "no connection left"},
		{"XX000", "(ENOTFOUND) tenant/user " + canary + " not found", dbaccess.ErrUnavailable, "role.project"},
		{"XX000", "Tenant or user not found", dbaccess.ErrUnavailable, "role.project"},
		{"XX000", "(ENOIDENTIFIER) no tenant identifier provided (external_id or sni_hostname required)", dbaccess.ErrUnavailable, "role.project"},
		{"08P01", "no such database: " + canary, dbaccess.ErrUnavailable, "database"},
		{"08P01", "SASL authentication failed", dbaccess.ErrUnavailable, "password"},
		{"28P01", "password authentication failed for user \"" + canary + "\"", dbaccess.ErrUnavailable, "password"},
		{"28000", "role \"" + canary + "\" is not permitted to log in", dbaccess.ErrUnavailable, "log in"},
		{"3D000", "database \"" + canary + "\" does not exist", dbaccess.ErrUnavailable, "no such database"},
		{"57P03", "the database system is starting up", dbaccess.ErrUnavailable, "try again"},
		{"08P01", "SSL required", dbaccess.ErrUnavailable, "sslmode=require"},
		{"08P01", "server login has been failing, try again later (server_login_retry)", dbaccess.ErrUnavailable, "is it up"},
		{"08P01", "something new about " + canary, dbaccess.ErrUnavailable, "see its message"},
	}
	for _, tt := range tests {
		addr := refusingServer(t, &pgproto3.ErrorResponse{Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: tt.code, Message: tt.message})
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			t.Fatal(err)
		}
		_, err = open(t, direct.Config{DSN: "user=app host=" + host + " port=" + port}).Do(t.Context(), call(lists, anon))
		e, ok := err.(*dbaccess.Error)
		if !ok || e.Kind != tt.kind || e.SQLState != tt.code || !strings.Contains(e.Advice, tt.advice) {
			t.Errorf("%s %s: %v, want %v with %q in the advice", tt.code, tt.message, err, tt.kind, tt.advice)
			continue
		}
		checkNoCanary(t, tt.message, err)
	}
}

// ownPooler is for tests that break connections through a proxy: PgBouncer 1.18
// exits when the socket of a cancel request closes before the request has been
// passed on (pgbouncer#846), and the shared one would take other tests along.
func ownPooler(t *testing.T) string {
	t.Helper()
	return pgtest.NewPooler(t, localpg.PoolerConfig{}).Addr()
}
