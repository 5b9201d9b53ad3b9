package wireproxy

import (
	"errors"
	"net"
	"time"
)

// Kind is what is done to what a server says.
type Kind int

// The kinds of [Harm].
const (
	// Abort ends the connection as a network does that loses it (RST), on both sides.
	Abort Kind = iota + 1
	// Truncate ends the connection as a server does that closes it (FIN).
	Truncate
	// Garble delivers other bytes, as many.
	Garble
	// Drip delivers one byte at a time.
	Drip
)

// dripPause is how long a server that drips takes for a byte.
const dripPause = 20 * time.Millisecond

// Harm is a fault in the midst of an answer.
type Harm struct {
	Kind  Kind
	After int // bytes of the server's that each connection delivers unharmed first, from now on
	// OpenOnly spares connections that are opened later.
	OpenOnly bool
}

// Harm does something to all that servers say from now on, until [Proxy.Heal].
func (p *Proxy) Harm(h Harm) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.harm, p.harmed = h, p.nextID
	for ln := range p.links {
		ln.unharmed = 0
	}
	p.notify()
}

// Heal ends what [Proxy.Harm] began. What drips is then delivered at once; connections that were
// ended stay so.
func (p *Proxy) Heal() { p.Harm(Harm{}) }

// errHarmed ends a direction that was cut on purpose.
var errHarmed = errors.New("wireproxy: cut")

// write delivers a chunk of the server's, with the harm that is due.
func (ln *link) write(to net.Conn, data []byte) error {
	kind, whole := ln.due(len(data))
	if whole > 0 {
		if _, err := to.Write(data[:whole]); err != nil {
			return err
		}
	}
	data = data[whole:]
	switch {
	case len(data) == 0:
		return nil
	case kind == Abort:
		ln.cut(reset)
		return errHarmed
	case kind == Truncate:
		ln.cut(func(c net.Conn) { _ = c.Close() })
		return errHarmed
	case kind == Garble:
		for i := range data {
			data[i] ^= 0x55
		}
	case kind == Drip:
		return ln.drip(to, data)
	}
	_, err := to.Write(data)
	return err
}

// due says what is to be done to the next n bytes, and how many of them are spared.
func (ln *link) due(n int) (Kind, int) {
	p := ln.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.harm.Kind == 0 || p.harm.OpenOnly && ln.stats.ID > p.harmed {
		return 0, n
	}
	whole := min(n, max(0, p.harm.After-ln.unharmed))
	ln.unharmed += whole
	return p.harm.Kind, whole
}

// drip delivers byte by byte, until the link is cut or the harm ends.
func (ln *link) drip(to net.Conn, data []byte) error {
	for ; len(data) > 0; data = data[1:] {
		if ln.proxy.harmless() {
			break
		}
		if _, err := to.Write(data[:1]); err != nil {
			return err
		}
		if !ln.await(time.Now().Add(dripPause)) {
			return errHarmed
		}
	}
	_, err := to.Write(data)
	return err
}

func (p *Proxy) harmless() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.harm.Kind != Drip
}
