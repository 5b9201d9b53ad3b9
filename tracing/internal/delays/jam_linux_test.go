package delays_test

import (
	"net"
	"sync"
	"syscall"
	"testing"
)

const canJam = true

// jam returns an address that leads to target, but whose next client finds the
// backlog full until release is called: its SYN is dropped, and the next one is due a
// second later. No shorter delay of a handshake can be had on loopback.
func jam(t *testing.T, target string) (addr string, release func()) {
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
	late := &lateListener{Listener: l, released: make(chan struct{})}
	addr = serve(t, late, func(conn net.Conn) {
		server, err := net.Dial("tcp", target)
		if err != nil {
			return
		}
		join(conn, server, func(chunk []byte) error {
			_, err := conn.Write(chunk)
			return err
		})
	})
	t.Cleanup(func() { // before that of serve
		late.release()
		_ = first.Close()
	})
	return addr, late.release
}

// lateListener accepts nothing until it is released.
type lateListener struct {
	net.Listener
	once     sync.Once
	released chan struct{}
}

func (l *lateListener) release() { l.once.Do(func() { close(l.released) }) }

func (l *lateListener) Accept() (net.Conn, error) {
	<-l.released
	return l.Listener.Accept()
}
