package wireproxy

import (
	"errors"
	"fmt"
	"net"
)

// Refuse makes the system refuse new connections, as it does for a server that is not running, or
// lets them in again. Open connections go on. It fails if, meanwhile, another process took the port.
func (p *Proxy) Refuse(on bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return errors.New("wireproxy: the proxy is closed")
	case on:
		return p.closeListener()
	case p.listener != nil:
		return nil
	}
	l, err := net.Listen("tcp", p.addr)
	if err != nil {
		return fmt.Errorf("wireproxy: listen again: %w", err)
	}
	p.listener = l
	p.wg.Go(func() { p.accept(l) })
	return nil
}

// Stall makes the network a black hole, or ends that: connections stay open, or open as usual, but
// nothing is delivered in either direction. What was on its way is delivered when the stall ends.
func (p *Proxy) Stall(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stalled = on
	p.notify()
}

// DropAll ends all open connections as a server that closes them does (FIN), at once. It returns how many
// there were.
func (p *Proxy) DropAll() int {
	return p.cutAll(func(c net.Conn) { _ = c.Close() })
}

// ResetAll aborts all open connections (RST), at once. It returns how many there were.
func (p *Proxy) ResetAll() int { return p.cutAll(reset) }

func (p *Proxy) cutAll(how func(net.Conn)) int {
	p.mu.Lock()
	links := p.openLinks()
	p.mu.Unlock()
	for _, ln := range links {
		ln.cut(how)
	}
	return len(links)
}

// reset closes a connection so that the other side gets an RST.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // it fails on a connection that is closed already
	}
	_ = c.Close()
}
