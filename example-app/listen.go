package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"syscall"
)

// portsToTry is how many ports from the default one on are tried.
const portsToTry = 50

// listen opens the site's port. An address that was asked for is taken or is an error; the default
// one gives way to the next free port.
func listen(f serveFlags) (net.Listener, error) {
	l, err := net.Listen("tcp", f.addr)
	if err == nil {
		return l, nil
	}
	if !errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("listen on %s: %w", f.addr, err)
	}
	if f.addrGiven {
		return nil, fmt.Errorf("%s is in use by another program: end it, give --addr another port, or leave --addr out to get a free one", f.addr)
	}
	host, port, err := net.SplitHostPort(f.addr)
	if err != nil {
		return nil, err
	}
	first, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	for p := first + 1; p < first+portsToTry; p++ {
		l, err = net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(p)))
		if err == nil || !errors.Is(err, syscall.EADDRINUSE) {
			return l, err
		}
	}
	return nil, fmt.Errorf("ports %d to %d are all in use: give --addr a free one, such as 127.0.0.1:0", first, first+portsToTry-1)
}

// gate answers 503 until the site is ready, so that the port is open, and known to be free, before
// anything else is started.
type gate struct{ site atomic.Pointer[http.Handler] }

func (g *gate) open(h http.Handler) { g.site.Store(&h) }

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h := g.site.Load(); h != nil {
		(*h).ServeHTTP(w, r)
		return
	}
	w.Header().Set("Retry-After", "1")
	http.Error(w, "starting: Postgres, pooler and PostgREST are not ready yet", http.StatusServiceUnavailable)
}
