package direct

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// sockets are those that the backend's own pool has open, closing ones included.
// Those of cancel requests are counted and otherwise left alone: each lives as long
// as one exchange, and PgBouncer 1.18 exits when one breaks off (pgbouncer#846).
type sockets struct {
	dialer net.Dialer

	mu      sync.Mutex
	open    map[*socket]struct{}
	cancels int // open ones of cancel requests
	closed  int64
	ending  bool // the backend is closing them, so they do not count as closed
}

// socket is one of them.
type socket struct {
	net.Conn
	set *sockets
	of  *connecting // nil for that of a cancel request

	heard atomic.Int64 // when bytes came in last, in ns since 1970 by the wall clock
	// quiet says that it is being asked for a sign of life: when that fails there is
	// nothing to cancel.
	quiet atomic.Bool
	shut  atomic.Bool
	// leaving says that its statement is being cancelled, so that nobody else will use
	// the connection.
	leaving atomic.Bool

	raw  syscall.RawConn // nil where the system gives none
	look func(fd uintptr)
	gone bool // what look saw
}

// dial opens the socket of a connection, or that of a cancel request, for which of
// is nil.
func (s *sockets) dial(ctx context.Context, network, address string, of *connecting) (net.Conn, error) {
	conn, err := s.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	so := &socket{Conn: conn, set: s, of: of}
	so.hear()
	if sc, ok := conn.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			so.raw, so.look = raw, so.lookAt
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if of == nil {
		s.cancels++
		return so, nil
	}
	if s.open == nil {
		s.open = make(map[*socket]struct{})
	}
	s.open[so] = struct{}{}
	return so, nil
}

// socketOf finds the socket under a connection, nil where it isn't ours.
func socketOf(conn net.Conn) *socket {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	so, _ := conn.(*socket)
	return so
}

// Read notes that the other side is there. The wall clock goes on where a process
// is frozen, and the monotonic one may not.
func (so *socket) Read(b []byte) (int, error) {
	n, err := so.Conn.Read(b)
	if n > 0 {
		so.hear()
	}
	return n, err
}

func (so *socket) hear() { so.heard.Store(time.Now().UnixNano()) }

// silent says for how long nothing has come in.
func (so *socket) silent(now time.Time) time.Duration {
	return time.Duration(now.UnixNano() - so.heard.Load())
}

// alive says whether the other side has neither closed nor reset an idle
// connection, as far as the system knows, without sending anything or waiting.
func (so *socket) alive() bool {
	if so.shut.Load() {
		return false
	}
	if so.raw == nil {
		return true
	}
	so.gone = false
	if err := so.raw.Control(so.look); err != nil {
		return false
	}
	return !so.gone
}

func (so *socket) lookAt(fd uintptr) { so.gone = hasEnded(fd) }

// Close closes the socket and forgets it.
func (so *socket) Close() error {
	if !so.shut.Swap(true) {
		s := so.set
		s.mu.Lock()
		if so.of == nil {
			s.cancels--
		} else {
			delete(s.open, so)
			if !s.ending && so.of.times().complete() {
				s.closed++
			}
		}
		s.mu.Unlock()
	}
	return so.Conn.Close()
}

// drainTimeout bounds how long a connection whose statement has been cancelled is
// read to its end. pgx would wait for 15 s, while its place in the pool is taken.
const drainTimeout = 3 * time.Second

// SetDeadline sets the deadline, sooner on a connection that is given up.
func (so *socket) SetDeadline(t time.Time) error {
	if so.leaving.Load() {
		if most := time.Now().Add(drainTimeout); t.IsZero() || t.After(most) {
			t = most
		}
	}
	return so.Conn.SetDeadline(t)
}

// interrupt makes whatever reads or writes on a connection fail now.
func (s *sockets) interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for so := range s.open {
		_ = so.SetDeadline(time.Unix(1, 0))
	}
}

// end stops the counting of those that are closed.
func (s *sockets) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending = true
}

// closings is how many connections have been closed.
func (s *sockets) closings() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// count is how many are open, those of cancel requests included.
func (s *sockets) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open) + s.cancels
}

// anySilent says whether any connection that is made has been silent for d.
func (s *sockets) anySilent(now time.Time, d time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for so := range s.open {
		if so.silent(now) >= d {
			return true
		}
	}
	return false
}
