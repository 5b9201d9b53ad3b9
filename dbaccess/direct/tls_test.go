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
)

// tlsServer speaks enough of the protocol to shake hands over TLS, take a login,
// and refuse what comes then. It returns its address.
func tlsServer(t *testing.T) string {
	t.Helper()
	web := httptest.NewTLSServer(nil) // for its certificate
	certificates := web.TLS.Certificates
	web.Close()
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
				if err := serveTLS(conn, &tls.Config{Certificates: certificates}); err != nil {
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
	if diff := cmp.Diff("prepare acquire[connect[tcp tls startup]] network+pooler", shape(t, res.Phases)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	distrusting := open(t, direct.Config{DSN: "user=app sslmode=verify-full sslrootcert=system host=" + host + " port=" + port})
	_, err = distrusting.Do(t.Context(), call(lists, anon))
	e, ok := err.(*dbaccess.Error)
	if !ok || !errors.Is(err, dbaccess.ErrUnavailable) || !strings.Contains(e.Advice, "certificate") {
		t.Errorf("error %v, want ErrUnavailable about the certificate", err)
	}
}
