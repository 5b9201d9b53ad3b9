package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// canned is an HTTP server that gives every GET the same answer, as a PostgREST would after that time. It
// is no more than that, so that a request costs it no allocation and what is counted is the clients'.
type canned struct {
	listener net.Listener
	answer   []byte
	after    time.Duration
	accepted atomic.Int64
	running  sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

// serve starts a server with a body of so many rows.
func serve(body []byte, rows int, after time.Duration) (*canned, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	head := fmt.Sprintf("HTTP/1.1 200 OK\r\nDate: Mon, 02 Mar 2026 10:00:00 GMT\r\nServer: postgrest/14.2\r\n"+
		"Content-Type: application/json; charset=utf-8\r\nContent-Range: 0-%d/*\r\nContent-Length: %d\r\n\r\n", rows-1, len(body))
	c := &canned{listener: l, answer: append([]byte(head), body...), after: after, conns: map[net.Conn]struct{}{}}
	c.running.Go(c.accept)
	return c, nil
}

func (c *canned) url() string { return "http://" + c.listener.Addr().String() }

func (c *canned) accept() {
	for {
		conn, err := c.listener.Accept()
		if err != nil {
			return
		}
		c.accepted.Add(1)
		c.mu.Lock()
		c.conns[conn] = struct{}{}
		c.mu.Unlock()
		c.running.Go(func() { c.talk(conn) })
	}
}

// talk answers requests, which have no body and come one after the other.
func (c *canned) talk(conn net.Conn) {
	defer func() {
		_ = conn.Close()
		c.mu.Lock()
		delete(c.conns, conn)
		c.mu.Unlock()
	}()
	buf, n := make([]byte, 16<<10), 0
	for n < len(buf) {
		read, err := conn.Read(buf[n:])
		if err != nil {
			return
		}
		n += read
		if !bytes.HasSuffix(buf[:n], []byte("\r\n\r\n")) {
			continue
		}
		n = 0
		if c.after > 0 {
			time.Sleep(c.after)
		}
		if _, err := conn.Write(c.answer); err != nil {
			return
		}
	}
}

func (c *canned) close(context.Context) error {
	err := c.listener.Close()
	c.mu.Lock()
	for conn := range c.conns {
		_ = conn.Close()
	}
	c.mu.Unlock()
	c.running.Wait()
	return err
}
