package direct

import (
	"net"
	"os"
	"sync"
	"time"
)

// silence is a connection that the network has forgotten: what is written to it is
// lost, and nothing can be read.
type silence struct {
	net.Conn
	gone *gone
}

// gone is when the reads of a silence end.
type gone struct {
	mu      sync.Mutex
	changed chan struct{}
	until   time.Time
	closed  bool
}

func newSilence(c net.Conn) *silence {
	return &silence{Conn: c, gone: &gone{changed: make(chan struct{})}}
}

func (s *silence) Write(b []byte) (int, error) { return len(b), nil }

func (s *silence) Read([]byte) (int, error) {
	for {
		s.gone.mu.Lock()
		changed, until, closed := s.gone.changed, s.gone.until, s.gone.closed
		s.gone.mu.Unlock()
		if closed {
			return 0, net.ErrClosed
		}
		var timeout <-chan time.Time
		if !until.IsZero() {
			if !until.After(time.Now()) {
				return 0, os.ErrDeadlineExceeded
			}
			timeout = time.After(time.Until(until))
		}
		select {
		case <-changed:
		case <-timeout:
		}
	}
}

func (s *silence) change(f func(*gone)) {
	s.gone.mu.Lock()
	defer s.gone.mu.Unlock()
	f(s.gone)
	close(s.gone.changed)
	s.gone.changed = make(chan struct{})
}

func (s *silence) SetDeadline(t time.Time) error {
	s.change(func(g *gone) { g.until = t })
	return nil
}

func (s *silence) SetReadDeadline(t time.Time) error { return s.SetDeadline(t) }

func (s *silence) SetWriteDeadline(time.Time) error { return nil }

func (s *silence) Close() error {
	s.change(func(g *gone) { g.closed = true })
	return s.Conn.Close()
}
