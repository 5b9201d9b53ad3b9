package rest

import (
	"context"
	"net"
	"net/http"
	"time"
)

// What the backend's own transport keeps to.
const (
	dialTimeout     = 5 * time.Second
	maxIdlePerHost  = 64
	idleTimeout     = 30 * time.Second // PostgREST closes idle connections after 35 s at the earliest
	keepAlivePeriod = 15 * time.Second
	maxHeaderBytes  = 256 << 10
)

// newTransport makes the transport that all calls of a backend share.
// http.DefaultTransport would keep two connections per host and dial a new one
// for nearly every call of a busy application.
func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlivePeriod}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return dialer.DialContext(tracedDial(ctx), network, addr)
		},
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           maxIdlePerHost,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		IdleConnTimeout:        idleTimeout,
		TLSHandshakeTimeout:    dialTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		// HTTP/2 has one connection for all: one that died silently would take
		// every call along until its deadline.
		HTTP2: &http.HTTP2Config{SendPingTimeout: idleTimeout / 2, PingTimeout: dialTimeout},
	}
}
