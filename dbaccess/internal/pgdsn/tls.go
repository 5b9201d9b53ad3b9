package pgdsn

import (
	"crypto/x509"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// tls looks at the settings of TLS, of which pgx lets some contradict each other.
func (r *reader) tls(c *pgconn.Config) {
	mode, root, negotiation := r.given["sslmode"], r.given["sslrootcert"], r.given["sslnegotiation"]
	weak := mode.value == "disable" || mode.value == "allow"
	switch {
	case root.value == "system" && mode.value != "" && mode.value != "verify-full":
		r.refuse("sslmode", mode.source, "contradicts sslrootcert=system, which always verifies in full: say verify-full, or leave sslmode out")
		return
	case root.value == "system" && !hasRoots(c):
		r.refuse("sslrootcert", root.source, "system has no certificates to verify with: install ca-certificates into the image, or name a file with the server's CA")
		return
	case root.value != "" && mode.value == "disable":
		r.notef("sslrootcert", root.source, "without effect, as sslmode is disable")
	case root.value != "" && mode.value == "require":
		r.notef("sslrootcert", root.source, "makes sslmode=require verify the certificate, but not the host's name: say verify-full for that")
	case root.value != "" && root.value != "system" && (mode.value == "" || mode.value == "prefer" || mode.value == "allow") && root.source != "~/.postgresql/root.crt":
		r.warn("sslrootcert", root.source, "does not verify anything while sslmode is prefer or allow: say sslmode=verify-full")
	}
	switch negotiation.value {
	case "", "postgres":
	case "direct":
		if weak {
			r.refuse("sslnegotiation", negotiation.source, "direct contradicts sslmode "+mode.value+", which may do without TLS: say require, verify-ca or verify-full")
		} else {
			r.notef("sslnegotiation", negotiation.source, "saves a round trip for every new connection, and needs Postgres 17, PgBouncer 1.25 or another server that knows it")
		}
	default:
		r.refuse("sslnegotiation", negotiation.source, "must be postgres or direct")
	}
	switch sni := r.given["sslsni"]; sni.value {
	case "", "1":
	case "0":
		r.warn("sslsni", sni.source, "hides the host's name, by which Neon and other services find the database: remove it")
	default:
		r.refuse("sslsni", sni.source, "must be 0 or 1")
	}
	if b := r.given["channel_binding"]; b.value == "require" {
		switch {
		case r.route.Pooler == "supavisor":
			r.refuse("channel_binding", b.source, "Supavisor has none, so that require always fails: remove it, and say sslmode=verify-full")
		case c.TLSConfig == nil && !isSocket(c.Host):
			r.refuse("channel_binding", b.source, "require needs TLS, which sslmode turns off")
		default:
			r.warn("channel_binding", b.source, "require fails at poolers that have none, PgBouncer among them, unless the vendor put it into the string")
		}
	}
	if cert := r.given["sslcert"]; cert.value != "" && c.TLSConfig != nil {
		r.notef("sslcert", cert.source, "shown to a server that asks for it")
	}
	if c.TLSConfig != nil && isSocket(c.Host) {
		r.notef("sslmode", mode.source, "without effect on a Unix socket")
	}
}

// hasRoots says whether anybody is trusted. Go takes a missing store for an empty
// one, and would say only at the first connection that it doesn't know the issuer.
func hasRoots(c *pgconn.Config) bool {
	for _, a := range attempts(c) {
		if a.TLSConfig != nil && a.TLSConfig.RootCAs != nil && a.TLSConfig.RootCAs.Equal(x509.NewCertPool()) {
			return false
		}
	}
	return true
}

func isSocket(host string) bool { return strings.HasPrefix(host, "/") }

// attempts lists the first attempt of a config with the others.
func attempts(c *pgconn.Config) []*pgconn.FallbackConfig {
	return append([]*pgconn.FallbackConfig{{Host: c.Host, Port: c.Port, TLSConfig: c.TLSConfig}}, c.Fallbacks...)
}

// dialOnce leaves one attempt for each host where sslmode asked for two, and
// says whether it did so. The second attempt of prefer and allow doubles the time
// until any failure is seen, and hides the first failure behind its own.
func dialOnce(c *pgconn.Config) bool {
	attempts := attempts(c)
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
