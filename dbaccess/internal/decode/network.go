package decode

import (
	"net"
	"net/netip"
	"reflect"
	"strings"
)

// readAddr reads an inet that is a host: without a prefix length, or with the full one as cidr writes it.
func readAddr(d *decoder, v reflect.Value, k kind) error {
	p, err := d.prefix(v, k)
	if err != nil {
		return err
	}
	if p.Bits() != p.Addr().BitLen() {
		return d.mismatch(v.Type(), k, "it is a network, or a host with its network's length: use netip.Prefix")
	}
	*v.Addr().Interface().(*netip.Addr) = p.Addr()
	return nil
}

// readPrefix reads inet and cidr. A host has the full length.
func readPrefix(d *decoder, v reflect.Value, k kind) error {
	p, err := d.prefix(v, k)
	if err != nil {
		return err
	}
	*v.Addr().Interface().(*netip.Prefix) = p
	return nil
}

func (d *decoder) prefix(v reflect.Value, k kind) (netip.Prefix, error) {
	if k != text {
		return netip.Prefix{}, d.mismatch(v.Type(), k, "only inet and cidr are read into it")
	}
	sp, err := d.text()
	if err != nil {
		return netip.Prefix{}, err
	}
	s := d.src[sp.start:sp.end]
	if strings.IndexByte(s, '/') >= 0 {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return p, d.mismatch(v.Type(), k, "its text is not an inet or cidr")
		}
		return p, nil
	}
	a, err := netip.ParseAddr(s)
	if err != nil || a.Zone() != "" {
		return netip.Prefix{}, d.mismatch(v.Type(), k, "its text is not an inet or cidr")
	}
	return netip.PrefixFrom(a, a.BitLen()), nil
}

// readHardwareAddr reads macaddr and macaddr8.
func readHardwareAddr(d *decoder, v reflect.Value, k kind) error {
	if k != text {
		return d.mismatch(v.Type(), k, "only macaddr and macaddr8 are read into it")
	}
	sp, err := d.text()
	if err != nil {
		return err
	}
	a, err := net.ParseMAC(d.src[sp.start:sp.end])
	if err != nil {
		return d.mismatch(v.Type(), k, "its text is not a macaddr")
	}
	v.SetBytes(a)
	return nil
}
