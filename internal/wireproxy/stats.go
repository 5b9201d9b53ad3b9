package wireproxy

import (
	"context"
	"time"
)

// Stats are the counts of all connections of a proxy, since its start or the last [Proxy.Reset].
type Stats struct {
	Accepted   int64 // connections accepted
	Open       int   // connections open now
	RoundTrips int64 // see the package comment
	BytesUp    int64 // delivered to the server
	BytesDown  int64 // delivered to the client
}

// ConnStats are the counts of one connection.
type ConnStats struct {
	ID         int64     // 1, 2, 3, … in the order of acceptance
	Opened     time.Time // when it was accepted
	Closed     bool
	RoundTrips int64
	BytesUp    int64
	BytesDown  int64
}

// Stats returns the counts of all connections together.
func (p *Proxy) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.total
	s.Open = len(p.links)
	return s
}

// Conns returns the counts of each connection that was open at some time since the last Reset: first
// the closed ones, of which the last 1024 are kept, then the open ones, oldest first.
func (p *Proxy) Conns() []ConnStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	conns := append([]ConnStats(nil), p.ended...)
	for _, ln := range p.openLinks() {
		conns = append(conns, ln.stats)
	}
	return conns
}

// Reset sets all counts to zero and forgets closed connections.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total = Stats{}
	p.ended = nil
	for ln := range p.links {
		ln.stats = ConnStats{ID: ln.stats.ID, Opened: ln.stats.Opened}
	}
}

// Idle waits until nothing is on its way and, on every open connection, nothing the client sent lacks an
// answer. Between Idle and [Proxy.Reset] a test should send nothing.
func (p *Proxy) Idle(ctx context.Context) error {
	return p.await(ctx, func() bool {
		for ln := range p.links {
			if ln.awaiting || ln.inFlight > 0 || ln.dialing {
				return false
			}
		}
		return true
	})
}

// AwaitOpen waits until exactly n connections are open: one that the client closed counts until the
// close has crossed the proxy.
func (p *Proxy) AwaitOpen(ctx context.Context, n int) error {
	return p.await(ctx, func() bool { return len(p.links) == n })
}

// await waits until the condition holds, which is checked under p.mu at every change.
func (p *Proxy) await(ctx context.Context, holds func() bool) error {
	for {
		p.mu.Lock()
		ok, changed := holds(), p.changed
		p.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}
