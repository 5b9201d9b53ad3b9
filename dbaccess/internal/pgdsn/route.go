package pgdsn

import (
	"strings"
)

// Mode says how many clients share a server's session.
type Mode string

// The modes. ModeUnknown is what a host and a port can't tell.
const (
	ModeUnknown     Mode = ""
	ModeDirect      Mode = "direct"      // Postgres itself
	ModeSession     Mode = "session"     // a pooler that lends a session as long as the client stays
	ModeTransaction Mode = "transaction" // a pooler that lends a session for one transaction
)

// Route is what host, port and parameters suggest about who answers there. It is a
// guess: asking the server is package doctor's business.
type Route struct {
	Vendor   string // "supabase", "neon", "planetscale", "" when it can't be told
	Pooler   string // "supavisor", "pgbouncer", "" for none or an unknown one
	Mode     Mode
	IPv6Only bool   // the vendor gives the host no IPv4 address unless one is paid for
	Text     string // a sentence about it, "" when nothing can be told
}

// guess looks at the first host.
// Sources: supabase.com/docs/guides/database/connecting-to-postgres,
// neon.com/docs/connect/connection-pooling, planetscale.com/docs/postgres/connecting/pgbouncer.
func guess(host string, port uint16, pooler bool) Route {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	switch {
	case strings.HasSuffix(host, ".pooler.supabase.com"):
		r := Route{Vendor: "supabase", Pooler: "supavisor"}
		switch port {
		case 6543:
			r.Mode, r.Text = ModeTransaction, "Supabase's shared pooler, Supavisor, in transaction mode"
		case 5432:
			r.Mode = ModeSession
			r.Text = "Supabase's shared pooler, Supavisor, in session mode: every client holds a server connection, so use port 6543 for this path and 5432 for LISTEN and migrations alone"
		default:
			r.Text = "Supabase's shared pooler, Supavisor, on a port that isn't one of its own, 6543 (transaction mode) and 5432 (session mode)"
		}
		return r
	case projectOf(host) != "":
		r := Route{Vendor: "supabase", IPv6Only: true, Mode: ModeDirect}
		if port == 6543 {
			r.Pooler, r.Mode = "pgbouncer", ModeTransaction
			r.Text = "Supabase's dedicated pooler, PgBouncer, in transaction mode; the host has an IPv6 address alone, unless the project has the IPv4 add-on"
		} else {
			r.Text = "Supabase's Postgres itself, without a pooler; the host has an IPv6 address alone, unless the project has the IPv4 add-on, and many containers and functions can't reach that"
		}
		return r
	case strings.HasSuffix(host, ".neon.tech"):
		if label, _, _ := strings.Cut(host, "."); strings.HasSuffix(label, "-pooler") {
			return Route{Vendor: "neon", Pooler: "pgbouncer", Mode: ModeTransaction, Text: "Neon's pooler, PgBouncer, in transaction mode"}
		}
		return Route{Vendor: "neon", Mode: ModeDirect, Text: "Neon's Postgres itself, without a pooler: its host with -pooler after the first part is the pooler's"}
	case strings.HasSuffix(host, ".psdb.cloud"):
		if port == 6432 {
			return Route{Vendor: "planetscale", Pooler: "pgbouncer", Mode: ModeTransaction, Text: "PlanetScale's pooler, PgBouncer, in transaction mode"}
		}
		return Route{Vendor: "planetscale", Mode: ModeDirect, Text: "PlanetScale's Postgres itself, without a pooler: port 6432 is the pooler's"}
	case pooler:
		return Route{Mode: ModeTransaction, Text: "a transaction pooler, as pgbouncer=true says"}
	case port == 6432 || port == 6543:
		return Route{Pooler: "pgbouncer", Mode: ModeTransaction, Text: "a pooler in transaction mode, to judge by its port"}
	}
	return Route{}
}

// projectOf returns the Supabase project whose own database host this is, "" for
// any other host.
func projectOf(host string) string {
	rest, ok := strings.CutPrefix(strings.ToLower(host), "db.")
	if !ok {
		return ""
	}
	project, ok := strings.CutSuffix(strings.TrimSuffix(rest, "."), ".supabase.co")
	if !ok || strings.Contains(project, ".") {
		return ""
	}
	return project
}
