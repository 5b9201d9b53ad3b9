package latency

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// AllowLoopback lets in who asks from the machine itself, for handlers that ask
// whom they may answer. All of these must hold:
//
//   - Both ends of the connection are loopback addresses: the far one as the
//     server saw it, and the near one, which a server of net/http puts into the
//     request's context. Without one of them the answer is no.
//   - No header says that somebody else asked and a proxy passed it on: Forwarded,
//     X-Forwarded-…, X-Real-IP, Via, and those of well-known proxies, whatever
//     their value.
//   - The Host that was asked for is localhost or a loopback address. A page of a
//     foreign site whose name resolves to 127.0.0.1 (DNS rebinding) has its own
//     name there.
//   - A browser does not say that a page from elsewhere asks (Sec-Fetch-Site,
//     Origin).
//
// It can't recognize a proxy on the same machine that adds no header, as nginx
// does unless told to: behind one, use a function that knows your staff.
func AllowLoopback(r *http.Request) bool {
	return r != nil && bothEndsLoopback(r) && !passedOn(r.Header) && isLoopbackHost(r.Host) && !fromElsewhere(r)
}

func bothEndsLoopback(r *http.Request) bool {
	far, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !far.Addr().Unmap().IsLoopback() {
		return false
	}
	near, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	tcp, ok := near.(*net.TCPAddr)
	return ok && tcp != nil && tcp.IP.IsLoopback()
}

// passedOn says whether a header is there that only proxies add.
func passedOn(h http.Header) bool {
	for name := range h {
		name = strings.ToLower(name)
		if strings.HasPrefix(name, "x-forwarded") || strings.HasPrefix(name, "x-original-") || strings.HasPrefix(name, "x-envoy-") ||
			strings.HasPrefix(name, "cf-") {
			return true
		}
		switch name {
		case "forwarded", "via", "x-real-ip", "x-client-ip", "x-cluster-client-ip", "x-proxyuser-ip",
			"true-client-ip", "client-ip", "fastly-client-ip", "fly-client-ip", "x-appengine-user-ip", "x-azure-clientip":
			return true
		}
	}
	return false
}

// isLoopbackHost says whether a Host header names this machine.
func isLoopbackHost(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	} else if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = host[1 : len(host)-1]
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// fromElsewhere says whether a browser asks for a page of another origin. What is
// no browser sends neither header.
func fromElsewhere(r *http.Request) bool {
	if len(r.Header.Values("Sec-Fetch-Site")) > 1 || len(r.Header.Values("Origin")) > 1 {
		return true // no browser sends two, and one of them may say so
	}
	switch site := r.Header.Get("Sec-Fetch-Site"); site {
	case "", "none", "same-origin":
	default:
		return true
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || !strings.EqualFold(u.Host, r.Host)
}
