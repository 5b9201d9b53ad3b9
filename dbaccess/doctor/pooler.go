package doctor

import (
	"context"
	"crypto/rand"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess/internal/pgdsn"
)

// pingRounds is how often each of two connections asks who serves it.
const pingRounds = 5

const pidSQL = `select pg_catalog.pg_backend_pid()`

// pooler finds out whether a pooler is in between, and in which mode: two connections
// that are open at once and are served by the same backend share it. The questions are
// round trips of one statement, so their times are the path's.
func (x *examination) pooler(ctx context.Context, t *target, conn *pgconn.PgConn, f *facts) {
	id, idRTT := t.name+".pooler", t.name+".rtt"
	if t.name != "direct" {
		id, idRTT = t.name+".mode", ""
	}
	loginCtx, cancel := context.WithTimeout(ctx, x.budget.login)
	second, err := t.open(loginCtx, func() {})
	cancel()
	if err != nil {
		x.add(Finding{
			ID: id, Severity: Warning, What: "a second connection could not be made while the first was open", Why: whatFailed(err),
			Mend: "leave room for more than one: instances × MaxConns must stay below the limit of pooler and server",
		})
	}
	pids := map[*pgconn.PgConn][]string{}
	var times []time.Duration
	for range pingRounds {
		for _, c := range []*pgconn.PgConn{conn, second} {
			if c == nil {
				continue
			}
			ctx, cancel := context.WithTimeout(ctx, x.budget.ask)
			begin := time.Now()
			pid, err := last(c, c.Exec(ctx, pidSQL))
			cancel()
			if err != nil {
				x.add(Finding{ID: id, Severity: Error, What: "the server stopped answering", Why: whatFailed(err), Mend: "try again, and look at the server's and the pooler's log"})
				return
			}
			times = append(times, time.Since(begin))
			if !slices.Contains(pids[c], pid) {
				pids[c] = append(pids[c], pid)
			}
		}
	}
	slices.Sort(times)
	if idRTT != "" {
		x.add(rtt(idRTT, "a statement takes", times))
	}
	shared := len(pids[conn]) > 1 || len(pids[second]) > 1
	for _, pid := range pids[conn] {
		shared = shared || second != nil && slices.Contains(pids[second], pid)
	}
	proxied := strconv.FormatUint(uint64(conn.PID()), 10) != pids[conn][0]
	f.pooler = kind(t, conn, shared || proxied)
	switch {
	case shared:
		f.mode = string(pgdsn.ModeTransaction)
	case !proxied && f.pooler == "":
		f.mode = string(pgdsn.ModeDirect)
	}
	x.add(poolerFinding(id, t, f, shared, proxied, second != nil))
}

// kind names what is in between.
func kind(t *target, conn *pgconn.PgConn, between bool) string {
	switch {
	case conn.ParameterStatus("application_name") == "Supavisor", t.settings.Route.Pooler == "supavisor":
		return "supavisor"
	case !between:
		return ""
	case t.settings.Route.Pooler != "":
		return t.settings.Route.Pooler
	}
	return "a pooler"
}

func poolerFinding(id string, t *target, f *facts, shared, proxied, two bool) Finding {
	names := map[string]string{"supavisor": "Supavisor", "pgbouncer": "PgBouncer, to judge by the address,", "a pooler": "a pooler"}
	name := names[f.pooler]
	session := t.name == "session"
	switch {
	case shared && session:
		return Finding{
			ID: id, Severity: Error, What: name + " in transaction mode: two connections were served by one session",
			Why: "LISTEN succeeds there and nothing ever arrives; session locks exclude nobody", Mend: "give a string to Postgres itself, or to the pooler's session mode (Supavisor: port 5432)",
		}
	case shared:
		return Finding{ID: id, What: name + " in transaction mode: two connections were served by one session"}
	case !two:
		return Finding{ID: id, Severity: Info, What: "whether a pooler is in between can't be told by one connection"}
	case !proxied && f.pooler == "" && session:
		return Finding{ID: id, What: "Postgres itself, without a pooler"}
	case !proxied && f.pooler == "":
		return Finding{
			ID: id, Severity: Info, What: "Postgres itself, without a pooler",
			Why: "every instance of the app holds sessions of the server for as long as it runs", Mend: "with many instances, or functions, put a transaction pooler in between",
		}
	case session:
		return Finding{ID: id, What: strings.TrimSuffix(name, ",") + ", which gives each of two connections a session of its own"}
	case t.settings.Route.Mode == pgdsn.ModeTransaction:
		return Finding{ID: id, Severity: Info, What: name + " in transaction mode by its address: two connections had a session each, as they do while its pool is idle"}
	}
	return Finding{
		ID: id, Severity: Warning, What: name + " in session mode, or with an idle pool: two connections had a session each",
		Why: "in session mode clients beyond the pool's size wait until another one leaves", Mend: "use transaction mode for the direct path: pool_mode = transaction, or Supavisor's port 6543",
	}
}

// rtt is a finding about how long a round trip takes. times is sorted.
func rtt(id, what string, times []time.Duration) Finding {
	median := times[len(times)/2]
	f := Finding{ID: id, What: what + " one round trip, the median of " + strconv.Itoa(len(times)), Took: median}
	if median > 40*time.Millisecond {
		f.Severity, f.Why = Info, "app and database are far apart: each call costs at least this"
		f.Mend = "run the app in the database's region"
	}
	return f
}

// statements finds out whether the pooler keeps track of prepared statements: it then
// renames them, so that the server doesn't know the name. All happens in one round trip
// and one transaction, and the statement is closed in it.
func (x *examination) statements(ctx context.Context, conn *pgconn.PgConn, f *facts) {
	const id = "direct.statements"
	if f.mode == string(pgdsn.ModeDirect) {
		x.add(Finding{ID: id, What: "no pooler could mix up prepared statements"})
		return
	}
	ctx, cancel := context.WithTimeout(ctx, x.budget.ask)
	defer cancel()
	name := "twinpath_doctor_" + strings.ToLower(rand.Text())
	known, err := prepared(ctx, conn, name)
	switch {
	case err != nil:
		x.add(Finding{
			ID: id, Severity: Info, What: "the pooler refuses prepared statements with a name", Why: whatFailed(err),
			Mend: "nothing for this library, which never makes one; keep cache_statement off in other code that uses pgx",
		})
	case known:
		x.add(Finding{
			ID: id, Severity: Info, What: "the pooler does not keep track of prepared statements",
			Why:  "this library never makes one with a name; pgx's default mode does, and fails here at random (42P05, 26000)",
			Mend: "in other code that uses pgx set default_query_exec_mode=exec, or have PgBouncer 1.21 track them (max_prepared_statements)",
		})
	default:
		x.add(Finding{ID: id, What: "the pooler keeps track of prepared statements"})
	}
}

// prepared makes a statement, asks the server whether it knows the name, and closes it.
func prepared(ctx context.Context, conn *pgconn.PgConn, name string) (known bool, err error) {
	p := conn.StartPipeline(ctx)
	p.SendPrepare(name, "select 1", nil)
	p.SendQueryParams("select count(*) from pg_catalog.pg_prepared_statements where name operator(pg_catalog.=) $1::text", [][]byte{[]byte(name)}, nil, nil, nil)
	p.SendDeallocate(name)
	if err := p.Sync(); err != nil {
		_ = p.Close()
		return false, err
	}
	for {
		results, err := p.GetResults()
		if err != nil {
			_ = p.Close()
			return false, err
		}
		switch r := results.(type) {
		case *pgconn.ResultReader:
			for rows := 0; r.NextRow() && rows < maxRows; rows++ {
				v := r.Values()
				known = len(v) == 1 && string(v[0]) == "1"
			}
			if _, err := r.Close(); err != nil {
				_ = p.Close()
				return false, err
			}
		case *pgconn.PipelineSync, nil:
			return known, p.Close()
		}
	}
}
