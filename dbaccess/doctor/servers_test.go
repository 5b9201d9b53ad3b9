package doctor_test

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/twinpath/twinpath/internal/localpg"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
	"github.com/twinpath/twinpath/internal/wireproxy"
)

// listen serves connections until the test ends, and returns the address. What serve
// leaves open is closed then.
func listen(tb testing.TB, serve func(net.Conn)) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
			wg.Go(func() {
				defer conn.Close()
				serve(conn)
			})
		}
	})
	tb.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for _, c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return l.Addr().String()
}

// refuse answers every login with an error.
func refuse(code, message string) func(net.Conn) {
	return func(conn net.Conn) {
		b := pgproto3.NewBackend(conn, conn)
		if _, err := b.ReceiveStartupMessage(); err != nil {
			return
		}
		b.Send(&pgproto3.ErrorResponse{Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: code, Message: message})
		_ = b.Flush()
	}
}

// proxy stands in front of a server and counts.
func proxy(tb testing.TB, addr string) *wireproxy.Proxy {
	tb.Helper()
	p, err := wireproxy.Start(wireproxy.Config{Target: addr})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return p
}

// sessionPooler is a PgBouncer in session mode, the test's own.
func sessionPooler(tb testing.TB) *localpg.Pooler {
	tb.Helper()
	return pgtest.NewPooler(tb, localpg.PoolerConfig{PoolMode: "session"})
}
