package stack

import (
	"context"
	"net"
	"net/url"

	"github.com/twinpath/twinpath/internal/wireproxy"
)

// link returns an address that leads to addr with the round trip of Config.RTT, or addr itself when
// there is none to add.
func (s *Stack) link(addr string) (string, error) {
	if s.cfg.RTT == 0 {
		return addr, nil
	}
	p, err := wireproxy.Start(wireproxy.Config{Target: addr, Delay: s.cfg.RTT / 2}) // each direction has half of it
	if err != nil {
		return "", err
	}
	s.onClose(func(ctx context.Context) error { return p.Close(ctx) })
	return p.Addr(), nil
}

// linkURL is link for a URL's host.
func (s *Stack) linkURL(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil || s.cfg.RTT == 0 {
		return raw, err
	}
	addr := u.Host
	if u.Port() == "" {
		addr = net.JoinHostPort(u.Hostname(), "80") // https is refused before
	}
	if u.Host, err = s.link(addr); err != nil {
		return "", err
	}
	return u.String(), nil
}
