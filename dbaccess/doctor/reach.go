package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/internal/pgdsn"
)

const (
	// headStart is how long net.Dialer waits for a silent IPv6 address before it tries
	// IPv4, and what every new connection loses then.
	headStart = 300 * time.Millisecond

	maxAddresses = 4 // of a host that are tried
)

// connect reaches the server layer by layer and logs in, once. It returns nil when that
// did not work, and has said why.
func (x *examination) connect(ctx context.Context, t *target) *pgconn.PgConn {
	hosts := t.settings.Hosts()
	for i, h := range hosts {
		if !x.reach(ctx, t, h) {
			continue
		}
		t.prepare(h, i)
		return x.logIn(ctx, t)
	}
	return nil
}

// reach finds an address of the host that takes connections.
func (x *examination) reach(ctx context.Context, t *target, h pgdsn.Host) bool {
	if h.Host != "" && h.Host[0] == '/' {
		network, addr := pgconn.NetworkAddress(h.Host, h.Port)
		return x.dialAll(ctx, t, network, []string{addr}, address(h))
	}
	addrs, ok := x.lookUp(ctx, t.name+".dns", h.Host)
	if !ok {
		return false
	}
	var all []string
	for _, a := range addrs {
		all = append(all, netip.AddrPortFrom(a, h.Port).String())
	}
	return x.dialAll(ctx, t, "tcp", all, address(h))
}

// lookUp returns the host's addresses.
func (x *examination) lookUp(ctx context.Context, id, host string) ([]netip.Addr, bool) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a.Unmap()}, true
	}
	ctx, cancel := context.WithTimeout(ctx, x.budget.lookup)
	defer cancel()
	start, name := time.Now(), plainHost(host)
	var v4, v6 []netip.Addr
	var err4, err6 error
	var wg sync.WaitGroup
	wg.Go(func() { v4, err4 = x.cfg.Resolver.LookupNetIP(ctx, "ip4", host) })
	wg.Go(func() { v6, err6 = x.cfg.Resolver.LookupNetIP(ctx, "ip6", host) })
	wg.Wait()
	f := Finding{ID: id, Took: time.Since(start)}
	switch {
	case len(v4) > 0 && len(v6) > 0:
		f.What = name + " has IPv4 and IPv6 addresses"
	case len(v4) > 0:
		f.What = name + " has an IPv4 address alone"
	case len(v6) > 0:
		f.Severity, f.What = Info, name+" has an IPv6 address alone"
		f.Why = "many containers and functions have no IPv6: it can work on one machine and not on another"
	default:
		f.Severity, f.What, f.Mend = Error, name+" has no address", "check the host's spelling"
		if dns, ok := errors.AsType[*net.DNSError](errors.Join(err4, err6)); ok && !dns.IsNotFound {
			f.What, f.Mend = name+" could not be looked up", "check the resolver of this machine: it did not answer, or not in time"
		}
		x.add(f)
		return nil, false
	}
	x.add(f)
	v4, v6 = v4[:min(len(v4), maxAddresses)], v6[:min(len(v6), maxAddresses)]
	var all []netip.Addr
	for _, a := range append(v6, v4...) {
		all = append(all, a.Unmap())
	}
	return all, true
}

// tried is what became of one address.
type tried struct {
	index int
	conn  net.Conn
	err   error
	took  time.Duration
}

// dialAll connects to all addresses at once, keeps the first that answers, and says how
// the rest did.
func (x *examination) dialAll(ctx context.Context, t *target, network string, addrs []string, name string) bool {
	id := t.name + ".tcp"
	ctx, cancel := context.WithTimeout(ctx, x.budget.dial)
	defer cancel()
	start := time.Now()
	results := make(chan tried, len(addrs))
	for i, addr := range addrs {
		go func() {
			var d net.Dialer
			conn, err := d.DialContext(ctx, network, addr)
			results <- tried{i, conn, err, time.Since(start)}
		}()
	}
	var won *tried
	var lost []tried
	for range addrs {
		r := <-results
		switch {
		case r.err != nil:
			lost = append(lost, r)
		case won == nil:
			won = &r
			time.AfterFunc(headStart, cancel) // what is silent for longer is silent
		default:
			_ = r.conn.Close()
		}
	}
	if won == nil {
		f := unreachable(addrs, lost)
		f.ID, f.What, f.Took = id, name+": "+f.What, time.Since(start)
		x.add(f)
		return false
	}
	t.first, t.address = won.conn, addrs[won.index]
	t.sockets = append(t.sockets, won.conn)
	x.add(Finding{ID: id, What: "connected to " + name + familyOf(network, addrs[won.index]), Took: won.took})
	for _, l := range lost {
		if f, ok := partly(addrs[l.index], l.err); ok {
			f.ID = id
			x.add(f)
		}
	}
	return true
}

// unreachable says why none of the addresses took a connection.
func unreachable(addrs []string, lost []tried) Finding {
	f := Finding{Severity: Error, What: "no answer", Mend: "check host, port and firewall: a silent host is most often a firewall"}
	for _, l := range lost {
		errno, ok := errors.AsType[syscall.Errno](l.err)
		if !ok {
			continue
		}
		switch errno {
		case syscall.ECONNREFUSED:
			f.What, f.Mend = "nobody listens there", "check the port, and whether the server or pooler is up"
		case syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.EADDRNOTAVAIL:
			f.What, f.Mend = "there is no route to it", "check the network of this machine"
			if only6(addrs) {
				f.What = "there is no route to it, and it has an IPv6 address alone"
				f.Why = "this machine has no IPv6, as most containers and functions"
				f.Mend = "use a host with an IPv4 address: on Supabase the shared pooler's, *.pooler.supabase.com, or the IPv4 add-on"
			}
		case syscall.ENOENT:
			f.What, f.Mend = "the socket doesn't exist", "check the directory that host names, and whether the server is up"
		default:
			f.What, f.Mend = "the way there is broken", "check host, port and firewall"
		}
	}
	if f.What == "no answer" && only6(addrs) {
		f.What = "no answer from its IPv6 address, the only one it has"
		f.Mend = "use a host with an IPv4 address where IPv6 isn't sure to work: on Supabase the shared pooler's"
	}
	return f
}

// partly says what it costs that one of several addresses does not answer.
func partly(addr string, err error) (Finding, bool) {
	if _, ok := errors.AsType[syscall.Errno](err); ok {
		return Finding{Severity: Info, What: "its" + familyOf("tcp", addr) + " address refuses connections, which costs no time"}, true
	}
	if is6(addr) {
		return Finding{
			Severity: Warning, What: "its IPv6 address is silent, and IPv4 answers",
			Why: "every new connection loses 300 ms before IPv4 is tried", Mend: "mend the IPv6 route of this machine, or use a host without an IPv6 address",
		}, true
	}
	return Finding{
		Severity: Warning, What: "one of its IPv4 addresses is silent",
		Why: "new connections that begin with it lose time", Mend: "take the address out of the host's DNS entry",
	}, true
}

func is6(addr string) bool {
	a, err := netip.ParseAddrPort(addr)
	return err == nil && a.Addr().Is6()
}

func only6(addrs []string) bool {
	for _, a := range addrs {
		if !is6(a) {
			return false
		}
	}
	return len(addrs) > 0
}

func familyOf(network, addr string) string {
	switch {
	case network == "unix":
		return ""
	case is6(addr):
		return " by IPv6"
	}
	return " by IPv4"
}

// logIn makes the one login that may fail.
func (x *examination) logIn(ctx context.Context, t *target) *pgconn.PgConn {
	id := t.name + ".login"
	if x.refused.Load() {
		x.skipped(id, "another login was refused, and a pooler may shut out an address that tries again")
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, x.budget.login)
	defer cancel()
	start := time.Now()
	secured := time.Time{}
	conn, err := t.open(ctx, func() { secured = time.Now() })
	wantsTLS := t.config.TLSConfig != nil
	if err != nil {
		e := direct.ConnectError(err, t.config.SSLNegotiation == "direct")
		f := Finding{ID: id, Severity: Error, What: "the login failed", Mend: e.Advice, Took: time.Since(start)}
		if e.SQLState != "" {
			x.refused.Store(true)
			f.What = "the server refused the login, SQLSTATE " + plainCode(e.SQLState)
			f.Why = "no other login is tried now: a few more like this one, and Supavisor shuts out this address"
		}
		if errors.Is(e, dbaccess.ErrSaturated) {
			f.What, f.Why = "there is no place for another connection, SQLSTATE "+plainCode(e.SQLState), ""
		}
		if wantsTLS && secured.IsZero() && e.SQLState == "" {
			f.ID, f.What = t.name+".tls", "there is no TLS session"
		} else {
			x.secured(t, start, secured)
		}
		x.add(f)
		return nil
	}
	x.secured(t, start, secured)
	begin := start
	if !secured.IsZero() {
		begin = secured
	}
	x.add(Finding{ID: id, What: "logged in as " + plain(t.config.User) + " to database " + plain(t.config.Database), Took: time.Since(begin)})
	return conn
}

// secured says how well the connection is protected.
func (x *examination) secured(t *target, start, done time.Time) {
	f := Finding{ID: t.name + ".tls"}
	switch {
	case t.host.TLS == "off" && (t.host.Host[0] == '/' || isLoopback(t.host.Host)):
		f.What = "no TLS, on this machine alone"
	case t.host.TLS == "off":
		f.Severity, f.What = Warning, "no TLS"
		f.Why, f.Mend = "whoever is in between reads everything", "say sslmode=verify-full, unless the network between is a private one"
	case t.host.TLS == "unverified":
		f.Severity, f.What = Info, "TLS, whose certificate nobody looks at"
		f.Why, f.Mend = "whoever is in between can pose as the server", "say sslmode=verify-full, with sslrootcert=system or a file with the server's CA"
	default:
		f.What = "TLS, " + t.host.TLS
	}
	if !done.IsZero() {
		f.Took = done.Sub(start)
	}
	x.add(f)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

var _ interface {
	HandshakeContext(context.Context) error
} = (*tls.Conn)(nil)
