package rest_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/dbaccess/rest"
	"github.com/twinpath/twinpath/internal/wireproxy"
)

// Kept connections that all die while they are idle cost no read, however many there are. A write
// that meets one may fail, and is made once at most.
func TestDeadIdleConnections(t *testing.T) {
	t.Parallel()
	const kept = 8
	var writes atomic.Int64
	var gate sync.WaitGroup // all of the first requests are there at once, each on a connection
	gate.Add(kept)
	var first atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			writes.Add(1)
			w.WriteHeader(http.StatusNoContent)
			return
		}
		if first.Add(1) <= kept {
			gate.Done()
			gate.Wait()
		}
		rows(w, r)
	}))
	defer srv.Close()
	for name, die := range map[string]func(*wireproxy.Proxy) int{"FIN": (*wireproxy.Proxy).DropAll, "RST": (*wireproxy.Proxy).ResetAll} {
		proxy, err := wireproxy.Start(wireproxy.Config{Target: srv.Listener.Addr().String()})
		if err != nil {
			t.Fatal(err)
		}
		b, err := rest.New(rest.Config{URL: "http://" + proxy.Addr()})
		if err != nil {
			t.Fatal(err)
		}
		fill := func() {
			t.Helper()
			first.Store(0)
			gate = sync.WaitGroup{}
			gate.Add(kept)
			var calls sync.WaitGroup
			for range kept {
				calls.Go(func() {
					if _, err := b.Do(t.Context(), call(query.From("t"))); err != nil {
						t.Error(err)
					}
				})
			}
			calls.Wait()
			if n := proxy.Stats().Open; n < kept {
				t.Fatalf("%d connections are open, want %d", n, kept)
			}
		}
		for _, q := range []query.Query{query.From("t"), invoke.ReadOnly(), insert, update, remove, invoke} {
			fill()
			writes.Store(0)
			die(proxy)
			_, err := b.Do(t.Context(), call(q))
			if s := q.Spec(); !s.Op.Writes() && (s.Call == nil || s.Call.ReadOnly) {
				if err != nil {
					t.Errorf("%s: %v: %v", name, s.Op, err)
				}
				continue
			}
			switch n := writes.Load(); {
			case err == nil && n != 1:
				t.Errorf("%s: %v was done %d times", name, q.Spec().Op, n)
			case err != nil && n > 0 && !errors.Is(err, dbaccess.ErrUnknownOutcome), n > 1:
				t.Errorf("%s: %v was done %d times, with the error %v", name, q.Spec().Op, n, err)
			}
		}
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := proxy.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// A server of HTTP/2 that ends a stream with PROTOCOL_ERROR may have done what was asked: net/http
// sends again what has no body. A read may be; a write, a DELETE included, is sent once.
func TestHTTP2StreamError(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		query    query.Query
		requests int64
	}{
		"read":   {query.From("t"), 2},
		"insert": {insert, 1},
		"update": {update, 1},
		"delete": {remove, 1},
		"call":   {invoke, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStreamBreaker(t)
			transport := rest.NewTransport()
			transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // the test's own server
			defer transport.CloseIdleConnections()
			b, err := rest.New(rest.Config{URL: "https://" + s.addr, Transport: transport})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err = b.Do(ctx, call(tt.query))
			if n := s.requests.Load(); n != tt.requests {
				t.Errorf("%d requests, want %d", n, tt.requests)
			}
			if wrote := tt.requests == 1; wrote != (err != nil) || wrote && !errors.Is(err, dbaccess.ErrUnknownOutcome) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// streamBreaker speaks as much HTTP/2 as it takes to end the first request's stream with
// PROTOCOL_ERROR, and to answer the others with no rows.
type streamBreaker struct {
	addr     string
	requests atomic.Int64
}

func newStreamBreaker(t *testing.T) *streamBreaker {
	t.Helper()
	web := httptest.NewTLSServer(nil) // for its certificate
	cfg := &tls.Config{Certificates: web.TLS.Certificates, NextProtos: []string{"h2"}}
	web.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := &streamBreaker{addr: l.Addr().String()}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				s.serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return s
}

// The frames of RFC 9113, section 6.
const (
	frameData, frameHeaders, frameReset, frameSettings = 0, 1, 3, 4
	flagEndStream, flagAck, flagEndHeaders             = 1, 1, 4
)

func (s *streamBreaker) serve(conn net.Conn) {
	if _, err := io.ReadFull(conn, make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))); err != nil {
		return
	}
	frame(conn, frameSettings, 0, 0, nil)
	head := make([]byte, 9)
	for {
		if _, err := io.ReadFull(conn, head); err != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, conn, int64(head[0])<<16|int64(head[1])<<8|int64(head[2])); err != nil {
			return
		}
		stream := binary.BigEndian.Uint32(head[5:])
		switch {
		case head[3] == frameSettings && head[4]&flagAck == 0:
			frame(conn, frameSettings, flagAck, 0, nil)
		case head[3] != frameHeaders:
		case s.requests.Add(1) == 1:
			frame(conn, frameReset, 0, stream, []byte{0, 0, 0, 1}) // PROTOCOL_ERROR
		default:
			frame(conn, frameHeaders, flagEndHeaders, stream, []byte{0x88}) // :status 200, RFC 7541, appendix A
			frame(conn, frameData, flagEndStream, stream, []byte("[]"))
		}
	}
}

func frame(w io.Writer, kind, flags byte, stream uint32, payload []byte) {
	var b bytes.Buffer
	b.Write([]byte{0, 0, byte(len(payload)), kind, flags})
	b.Write(binary.BigEndian.AppendUint32(nil, stream))
	b.Write(payload)
	_, _ = w.Write(b.Bytes())
}
