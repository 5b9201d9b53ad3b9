package wireproxy

import (
	"bytes"
	"io"
	"net"
	"sync"
	"time"
)

const (
	readSize = 32 << 10

	// maxInFlight bounds the reads that one direction of a link holds, as a network's own buffers bound
	// it: 1024 reads of 32 KiB keep a gigabit link with 250 ms of delay busy.
	maxInFlight = 1024
)

// link is one client's connection and its counterpart to the target.
type link struct {
	proxy  *Proxy
	client net.Conn
	ready  time.Time // when the handshake of a real network would be over

	// These are guarded by proxy.mu.
	stats    ConnStats
	server   net.Conn
	dialing  bool
	cutDone  bool
	awaiting bool // the client has sent something since the server's bytes last reached it
	inFlight int  // chunks read and not yet delivered
	unharmed int  // bytes that were delivered as they were since the last Harm
}

func newLink(p *Proxy, id int64, client net.Conn, ready time.Time) *link {
	return &link{proxy: p, client: client, ready: ready, dialing: true, stats: ConnStats{ID: id, Opened: time.Now()}}
}

// run forwards until both directions have ended.
func (ln *link) run() {
	defer ln.finish()
	dialer := net.Dialer{Timeout: ln.proxy.cfg.DialTimeout}
	server, err := dialer.DialContext(ln.proxy.ctx, "tcp", ln.proxy.cfg.Target)
	if err != nil {
		ln.cut(reset)
		return
	}
	if !ln.adopt(server) {
		_ = server.Close()
		return
	}
	var both sync.WaitGroup
	both.Go(func() { ln.forward(ln.client, server, true) })
	both.Go(func() { ln.forward(server, ln.client, false) })
	both.Wait()
}

// adopt makes the connection to the target part of the link, unless the link was cut meanwhile.
func (ln *link) adopt(server net.Conn) bool {
	p := ln.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	ln.dialing = false
	if ln.cutDone {
		return false
	}
	ln.server = server
	p.notify()
	return true
}

// cut closes both sides, each in the given way. Later cuts do nothing.
func (ln *link) cut(how func(net.Conn)) {
	p := ln.proxy
	p.mu.Lock()
	done := ln.cutDone
	ln.cutDone = true
	server := ln.server
	p.notify() // wakes deliveries that wait for their time or for the end of a stall
	p.mu.Unlock()
	if done {
		return
	}
	how(ln.client)
	if server != nil {
		how(server)
	}
}

// finish closes what is still open and moves the counts to those of closed connections.
func (ln *link) finish() {
	ln.cut(func(c net.Conn) { _ = c.Close() })
	p := ln.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, ln)
	ln.stats.Closed = true
	p.ended = append(p.ended, ln.stats)
	if len(p.ended) > maxEnded {
		p.ended = p.ended[len(p.ended)-maxEnded:]
	}
	p.notify()
}

// chunk is what one read returned. One without data stands for the end of the direction.
type chunk struct {
	data []byte
	due  time.Time
}

// forward carries one direction: this goroutine reads, another delivers, each chunk when it is due.
func (ln *link) forward(from, to net.Conn, up bool) {
	chunks := make(chan chunk, maxInFlight)
	var delivery sync.WaitGroup
	delivery.Go(func() { ln.deliver(chunks, to, up) })
	defer delivery.Wait()
	defer close(chunks)
	buf := make([]byte, readSize)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			chunks <- chunk{data: bytes.Clone(buf[:n]), due: ln.read(n, up)}
		}
		switch {
		case err == io.EOF:
			chunks <- chunk{due: ln.read(0, up)}
			return
		case err != nil:
			ln.cut(reset)
			return
		}
	}
}

// read notes that n bytes, or none for the end, were read and returns when they are due.
func (ln *link) read(n int, up bool) time.Time {
	p := ln.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	ln.inFlight++
	now := time.Now()
	if up {
		ln.awaiting = ln.awaiting || n > 0
		if now.Before(ln.ready) {
			now = ln.ready
		}
	}
	return now.Add(p.delay)
}

// deliver writes chunks to the other side. It reads the channel to its end even after a failure, so
// that the reader is never stuck.
func (ln *link) deliver(chunks <-chan chunk, to net.Conn, up bool) {
	broken := false
	for c := range chunks {
		if broken || !ln.await(c.due) {
			broken = true
			continue
		}
		ln.count(len(c.data), up)
		if c.data == nil {
			if tcp, ok := to.(*net.TCPConn); ok {
				_ = tcp.CloseWrite() // it fails when the other side is gone, which its reader sees
			}
		} else if err := ln.send(to, c.data, up); err != nil {
			ln.cut(reset)
			broken = true
		}
		ln.delivered()
	}
}

func (ln *link) send(to net.Conn, data []byte, up bool) error {
	if !up {
		return ln.write(to, data)
	}
	_, err := to.Write(data)
	return err
}

// await waits until the time has come and no stall is on. It returns false when the link was cut.
func (ln *link) await(due time.Time) bool {
	p := ln.proxy
	for {
		p.mu.Lock()
		cut, stalled, changed := ln.cutDone, p.stalled, p.changed
		p.mu.Unlock()
		wait := time.Until(due)
		switch {
		case cut:
			return false
		case stalled:
			<-changed
		case wait <= 0:
			return true
		default:
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-changed:
				timer.Stop()
			}
		}
	}
}

// count adds bytes that are about to be delivered, and the round trip that they complete.
func (ln *link) count(n int, up bool) {
	p := ln.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	if up {
		ln.stats.BytesUp += int64(n)
		p.total.BytesUp += int64(n)
		return
	}
	ln.stats.BytesDown += int64(n)
	p.total.BytesDown += int64(n)
	if ln.awaiting && n > 0 {
		ln.awaiting = false
		ln.stats.RoundTrips++
		p.total.RoundTrips++
	}
}

func (ln *link) delivered() {
	p := ln.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	ln.inFlight--
	if ln.inFlight == 0 {
		p.notify()
	}
}
