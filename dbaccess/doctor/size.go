package doctor

import (
	"fmt"

	"github.com/twinpath/twinpath/dbaccess/internal/pgdsn"
)

// supabaseClients is how many clients Supabase's pooler takes, by the max_connections
// of the compute size.
// Source: https://supabase.com/docs/guides/platform/compute-and-disk
var supabaseClients = map[int]int{60: 200, 90: 400, 120: 600, 160: 800, 240: 1000, 380: 1500, 480: 3000, 490: 6000, 500: 9000}

// neonClients is how many clients Neon's pooler takes.
// Source: https://neon.com/docs/connect/connection-pooling
const neonClients = 10000

// limit is how many connections there may be, and who says so; 0 when it isn't known.
func (x *examination) limit(t *target, f *facts, l limits) (n int, whose string) {
	behind := f.mode == string(pgdsn.ModeTransaction) || f.pooler != ""
	switch {
	case x.cfg.PoolerClients > 0:
		return x.cfg.PoolerClients, "the pooler's limit that was given"
	case l.clients > 0:
		return l.clients, "PgBouncer's max_client_conn"
	case f.mode == string(pgdsn.ModeDirect):
		return max(0, f.MaxConns-f.Reserved), "what max_connections leaves to others than superusers"
	case t.settings.Route.Vendor == "supabase" && f.pooler == "supavisor":
		return supabaseClients[f.MaxConns], "Supavisor's limit for this compute size"
	case t.settings.Route.Vendor == "neon" && behind:
		return neonClients, "Neon's limit"
	}
	return 0, ""
}

// size multiplies what nobody multiplies until it is too late.
func (x *examination) size(t *target, f *facts, l limits) {
	const id = "pool.size"
	each := x.maxConnsOf(t)
	n, whose := x.limit(t, f, l)
	switch instances := x.cfg.Instances; {
	case f.Login.Limit >= 0 && f.mode == string(pgdsn.ModeDirect) && f.Login.Limit < each:
		x.add(Finding{
			ID: id, Severity: Error, What: fmt.Sprintf("MaxConns is %d, and %s may have %d connections", each, plain(f.Login.Name), f.Login.Limit),
			Mend: "alter role " + plain(f.Login.Name) + " connection limit -1, or lower MaxConns",
		})
	case n == 0 && instances == 0:
		x.add(Finding{
			ID: id, Severity: Info, What: fmt.Sprintf("every instance has up to %d connections; neither the number of instances nor the pooler's limit is known", each),
			Mend: "give both (Instances and PoolerClients, --instances and --pooler-clients): instances × connections must stay below the limit",
		})
	case n == 0:
		x.add(Finding{
			ID: id, Severity: Info, What: fmt.Sprintf("%d instances × %d connections are %d; the pooler's limit is not known", instances, each, instances*each),
			Mend: "give the pooler's limit (PoolerClients, --pooler-clients), or PgBouncer's console (AdminDSN, POOLER_ADMIN_URL)",
		})
	case instances == 0:
		x.add(Finding{ID: id, Severity: Info, What: fmt.Sprintf("%d instances with %d connections each fit into %d, %s", n/each, each, n, whose)})
	case instances*each > n:
		x.add(Finding{
			ID: id, Severity: Warning, What: fmt.Sprintf("%d instances × %d connections are %d, more than %d, %s", instances, each, instances*each, n, whose),
			Why:  "once all run, new instances can't connect while others sit idle",
			Mend: fmt.Sprintf("lower MaxConns to %d or the number of instances to %d, or raise the limit", max(1, n/instances), max(1, n/each)),
		})
	default:
		x.add(Finding{ID: id, What: fmt.Sprintf("%d instances × %d connections are %d, of %d, %s", instances, each, instances*each, n, whose)})
	}
}
