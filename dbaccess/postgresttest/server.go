package postgresttest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Server is a [Handler] listening on a port of the loopback interface.
type Server struct {
	// URL is the server's root, http://127.0.0.1:port, without a slash at its
	// end. It is what PostgREST's clients call the base URL.
	URL string

	handler *Handler
	server  *http.Server
	served  chan error
}

// Time limits of the server.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 35 * time.Second // PostgREST's web server closes idle connections so soon
	closeTimeout      = 5 * time.Second
)

// NewServer starts a server on a free port. It does not connect to Postgres
// before the first request. Whoever starts it closes it.
func NewServer(cfg Config) (*Server, error) {
	h, err := NewHandler(cfg)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.Close()
		return nil, fmt.Errorf("postgresttest: %w", err)
	}
	s := &Server{
		URL:     "http://" + l.Addr().String(),
		handler: h,
		server:  &http.Server{Handler: h, ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout},
		served:  make(chan error, 1),
	}
	go func() { s.served <- s.server.Serve(l) }()
	return s, nil
}

// ReloadSchema makes the server look at the schema again, as PostgREST does when
// it is told by NOTIFY pgrst: until then it knows that of its first request.
func (s *Server) ReloadSchema() { s.handler.ReloadSchema() }

// Format prints the URL for every verb.
func (s *Server) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "postgresttest.Server("+s.URL+")")
}

// Close stops the server and closes its connections to Postgres. Requests under
// way have five seconds to end. It must be called once.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := s.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.server.Close())
	}
	if e := <-s.served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	s.handler.Close()
	return err
}
