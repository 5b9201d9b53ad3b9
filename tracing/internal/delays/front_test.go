package delays_test

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// knobs slow down what passes a front.
type knobs struct {
	handshake atomic.Int64 // pause in each handshake of TLS
	chunk     atomic.Int64 // pause before what the server says next, once
	middle    atomic.Int64 // pause in the middle of a long answer, once
}

func pause(d *atomic.Int64) { time.Sleep(time.Duration(d.Load())) }

func (k *knobs) once(d *atomic.Int64) { time.Sleep(time.Duration(d.Swap(0))) }

// certificate is one for tests.
func certificate() []tls.Certificate {
	web := httptest.NewTLSServer(nil)
	defer web.Close()
	return web.TLS.Certificates
}

func (k *knobs) tls(certificates []tls.Certificate) *tls.Config {
	return &tls.Config{Certificates: certificates, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		pause(&k.handshake)
		return nil, nil
	}}
}

// serve serves connections until the test ends, and returns the address.
func serve(t *testing.T, l net.Listener, handle func(net.Conn)) string {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open[conn] = true
			mu.Unlock()
			wg.Go(func() {
				handle(conn)
				_ = conn.Close()
				mu.Lock()
				delete(open, conn)
				mu.Unlock()
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for conn := range open {
			_ = conn.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return l.Addr().String()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// join copies between two connections until one ends; down is called with each
// chunk that goes to the client.
func join(client, server net.Conn, down func(chunk []byte) error) {
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	})
	b := make([]byte, 16<<10)
	for {
		n, err := server.Read(b)
		if n > 0 && down(b[:n]) != nil || err != nil {
			break
		}
	}
	_ = client.Close()
	_ = server.Close()
	wg.Wait()
}

// postgresFront terminates TLS in front of a server that speaks Postgres' protocol.
func postgresFront(t *testing.T, k *knobs, target string) string {
	t.Helper()
	config := k.tls(certificate())
	return serve(t, listen(t), func(conn net.Conn) {
		var request [8]byte
		if _, err := io.ReadFull(conn, request[:]); err != nil {
			return
		}
		const sslRequest = 80877103
		if binary.BigEndian.Uint32(request[4:]) != sslRequest {
			return
		}
		if _, err := conn.Write([]byte{'S'}); err != nil {
			return
		}
		secure := tls.Server(conn, config)
		if err := secure.Handshake(); err != nil {
			return
		}
		server, err := net.Dial("tcp", target)
		if err != nil {
			return
		}
		seen := 0
		join(secure, server, func(chunk []byte) error {
			k.once(&k.chunk)
			if k.middle.Load() == 0 {
				seen = 0
			}
			if seen += len(chunk); seen > 64<<10 {
				k.once(&k.middle)
			}
			_, err := secure.Write(chunk)
			return err
		})
	})
}

// webFront serves h over TLS.
func webFront(t *testing.T, k *knobs, h http.Handler) string {
	t.Helper()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(&slowWriter{ResponseWriter: w, knobs: k}, r)
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // of clients that only took a place
	srv.TLS = k.tls(certificate())
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv.Listener.Addr().String()
}

type slowWriter struct {
	http.ResponseWriter
	knobs *knobs
	began bool
}

func (w *slowWriter) WriteHeader(code int) {
	w.began = true
	w.knobs.once(&w.knobs.chunk)
	w.ResponseWriter.WriteHeader(code)
}

func (w *slowWriter) Write(b []byte) (int, error) {
	if !w.began {
		w.WriteHeader(http.StatusOK)
	}
	half := len(b) / 2
	if half < 64<<10 || w.knobs.middle.Load() == 0 {
		return w.ResponseWriter.Write(b)
	}
	n, err := w.ResponseWriter.Write(b[:half])
	if err != nil {
		return n, err
	}
	if err := http.NewResponseController(w.ResponseWriter).Flush(); err != nil {
		return n, err
	}
	w.knobs.once(&w.knobs.middle)
	m, err := w.ResponseWriter.Write(b[half:])
	return n + m, err
}

// nameServer answers that every name is 127.0.0.1, after a pause.
type nameServer struct {
	pause atomic.Int64
	conn  net.PacketConn
}

func startNameServer() (*nameServer, error) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &nameServer{conn: conn}
	go func() {
		b := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(b)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if answer := reply(b[:max(n, 0)]); err == nil && answer != nil {
				time.AfterFunc(time.Duration(s.pause.Load()), func() { _, _ = conn.WriteTo(answer, from) })
			}
		}
	}()
	return s, nil
}

// reply answers a query of one question, as RFC 1035 has it.
func reply(q []byte) []byte {
	const header = 12
	end := header
	for end < len(q) && q[end] != 0 {
		end += int(q[end]) + 1
	}
	end += 5 // the root, type and class
	if end > len(q) {
		return nil
	}
	const isA = 1
	kind := binary.BigEndian.Uint16(q[end-4:])
	a := append([]byte(nil), q[:end]...)
	copy(a[2:], []byte{0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0})
	if kind == isA {
		a[7] = 1
		a = append(a, 0xc0, header, 0, isA, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1)
	}
	return a
}

// named is an address under a name that the name server is asked for.
func named(t *testing.T, addr string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("db.delay.test", port)
}
