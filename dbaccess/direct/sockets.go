package direct

import (
	"context"
	"net"
	"sync"
	"time"
)

// sockets are those that the backend's own pool has open, closing ones and those
// of cancel requests included.
type sockets struct {
	dialer net.Dialer

	mu   sync.Mutex
	open map[*socket]struct{}
}

// socket is one of them.
type socket struct {
	net.Conn
	set *sockets
}

func (s *sockets) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := s.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	so := &socket{Conn: conn, set: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = make(map[*socket]struct{})
	}
	s.open[so] = struct{}{}
	return so, nil
}

// Close closes the socket and forgets it.
func (so *socket) Close() error {
	so.set.mu.Lock()
	delete(so.set.open, so)
	so.set.mu.Unlock()
	return so.Conn.Close()
}

// interrupt makes whatever reads or writes on a socket fail now.
func (s *sockets) interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for so := range s.open {
		_ = so.SetDeadline(time.Unix(1, 0))
	}
}
