package delays_test

import (
	"net"
	"sync"
	"syscall"
	"testing"
	"time"
)

const canJam = true

// jam returns an address that leads to target, but whose next client finds the
// backlog full: its SYN is dropped, and the next one is due a second later. No
// shorter delay of a handshake can be had on loopback.
func jam(t *testing.T, target string) string {
	t.Helper()
	l := listen(t)
	raw, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var again error
	if err := raw.Control(func(fd uintptr) { again = syscall.Listen(int(fd), 0) }); err != nil || again != nil {
		t.Fatal(err, again)
	}
	first, err := net.Dial("tcp", l.Addr().String()) // takes the only place
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Close() })
	return serve(t, &lateListener{Listener: l}, func(conn net.Conn) {
		server, err := net.Dial("tcp", target)
		if err != nil {
			return
		}
		join(conn, server, func(chunk []byte) error {
			_, err := conn.Write(chunk)
			return err
		})
	})
}

// lateListener accepts nothing at first.
type lateListener struct {
	net.Listener
	once sync.Once
}

func (l *lateListener) Accept() (net.Conn, error) {
	l.once.Do(func() { time.Sleep(300 * time.Millisecond) })
	return l.Listener.Accept()
}
