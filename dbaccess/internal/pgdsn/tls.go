package pgdsn

import (
	"net"

	"github.com/jackc/pgx/v5/pgconn"
)

// dialOnce leaves one attempt for each host where sslmode asked for two, and
// says whether it did so. The second attempt of prefer and allow doubles the time
// until any failure is seen, and hides the first failure behind its own.
func dialOnce(c *pgconn.Config) bool {
	attempts := append([]*pgconn.FallbackConfig{{Host: c.Host, Port: c.Port, TLSConfig: c.TLSConfig}}, c.Fallbacks...)
	kept := attempts[:0]
	for i := 0; i < len(attempts); i++ {
		a := attempts[i]
		if i+1 < len(attempts) {
			b := attempts[i+1]
			if a.Host == b.Host && a.Port == b.Port && (a.TLSConfig == nil) != (b.TLSConfig == nil) {
				i++
				if (a.TLSConfig == nil) != isLoopback(a.Host) {
					a = b
				}
			}
		}
		kept = append(kept, a)
	}
	c.Host, c.Port, c.TLSConfig = kept[0].Host, kept[0].Port, kept[0].TLSConfig
	changed := len(kept)-1 < len(c.Fallbacks)
	c.Fallbacks = kept[1:]
	return changed
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
