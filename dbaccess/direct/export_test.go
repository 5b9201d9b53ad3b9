package direct

import (
	"context"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// SetSuspect sets how long a connection is silent before it is asked for a sign of
// life.
func SetSuspect(b *Backend, d time.Duration) { b.suspect = d }

// LoginDue makes what is known of the login role as old as it may get.
func LoginDue(b *Backend) { b.login.due.Store(0) }

// TakeAll takes n connections at once, so that the pool makes as many. The function
// it returns gives them back.
func TakeAll(ctx context.Context, b *Backend, n int) (release func()) {
	pool, err := b.begin()
	if err != nil {
		panic(err)
	}
	defer b.calls.Done()
	var conns []*pgxpool.Conn
	for range n {
		conn, err := pool.Acquire(ctx)
		if err != nil {
			panic(err)
		}
		conns = append(conns, conn)
	}
	return func() {
		for _, conn := range conns {
			conn.Release()
		}
	}
}

// Dead counts the sockets that are seen to have ended.
func Dead(b *Backend) (n int) {
	b.sockets.mu.Lock()
	defer b.sockets.mu.Unlock()
	for so := range b.sockets.open {
		if !so.alive() {
			n++
		}
	}
	return n
}

// Sockets counts those that are open, for whatever purpose.
func Sockets(b *Backend) int { return b.sockets.count() }

// Forget makes the network forget all connections: nothing comes back on them.
func Forget(b *Backend) {
	b.sockets.mu.Lock()
	defer b.sockets.mu.Unlock()
	for so := range b.sockets.open {
		so.Conn = newSilence(so.Conn)
	}
}

// Suspect is how long a connection is silent before it is asked for a sign of life.
func Suspect(b *Backend) time.Duration { return b.suspect }

// Warm says whether anything pings the connections.
func Warm(b *Backend) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.warm != nil
}

// Holding is how many connections are taken for being pinged.
func Holding(b *Backend) int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.warm.holding()
}

// Blind keeps the backend from seeing that idle connections have ended.
func Blind(b *Backend) {
	b.sockets.mu.Lock()
	defer b.sockets.mu.Unlock()
	for so := range b.sockets.open {
		so.raw = nil
	}
}

// SetResolver sets who resolves the DSN's host.
func SetResolver(b *Backend, r *net.Resolver) { b.sockets.dialer.Resolver = r }
