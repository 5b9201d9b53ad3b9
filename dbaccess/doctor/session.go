package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess/internal/pgdsn"
)

// session examines Config.SessionDSN. database is what the direct string leads to, nil
// when that isn't known.
func (x *examination) session(ctx context.Context, database *facts) {
	t := x.target("session", x.cfg.SessionDSN)
	if t == nil {
		return
	}
	defer t.close()
	conn := x.connect(ctx, t)
	if conn == nil {
		return
	}
	f := x.askSession(ctx, conn)
	if f == nil {
		return
	}
	if database != nil {
		x.sameServer(f, database)
	}
	x.pooler(ctx, t, conn, f)
	if f.mode == string(pgdsn.ModeTransaction) {
		x.skipped("session.listen", "in transaction mode nothing arrives")
		return
	}
	if f.Recovery {
		x.add(Finding{ID: "session.listen", Severity: Error, What: "a standby can't LISTEN", Mend: "use the primary's address"})
		return
	}
	x.listen(ctx, t)
}

const sessionSQL = `select json_build_object('database', current_database(), 'oid', (select oid::int8 from pg_database where datname = current_database()),
	'started', extract(epoch from pg_postmaster_start_time())::text, 'recovery', pg_is_in_recovery())`

func (x *examination) askSession(ctx context.Context, conn *pgconn.PgConn) *facts {
	f, err := ask[facts](ctx, x.budget, conn, sessionSQL)
	if err != nil {
		x.add(Finding{ID: "session.mode", Severity: Error, What: "the server could not be asked about itself", Why: whatFailed(err), Mend: "is it Postgres?"})
		return nil
	}
	return f
}

// sameServer compares what the two strings lead to.
func (x *examination) sameServer(a, b *facts) {
	f := Finding{ID: "session.database", What: "the same database as the direct string's"}
	switch {
	case a.OID == b.OID && a.Started == b.Started:
	case a.Database == b.Database && a.OID == b.OID:
		f.Severity, f.What = Info, "a database of the same name and number on another server, or one that has restarted: a standby and its primary look like this"
	default:
		f.Severity, f.What = Error, "another database than the direct string's"
		f.Why, f.Mend = "what one path notifies, the other never hears", "let both strings lead to the same database"
	}
	x.add(f)
}

// listen waits on one connection for what another one sends. The other one must not be
// the same: a pooler would hand it its own notification.
func (x *examination) listen(ctx context.Context, t *target) {
	const id = "session.listen"
	if len(t.conns) < 2 {
		x.skipped(id, "there is no second connection to send from")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, x.budget.ask)
	defer cancel()
	listener, sender := t.conns[0], t.conns[1]
	channel := "twinpath_doctor_" + strings.ToLower(rand.Text())
	fail := func(err error) {
		x.add(Finding{ID: id, Severity: Error, What: "LISTEN or NOTIFY failed", Why: whatFailed(err), Mend: "give a string to Postgres itself, or to the pooler's session mode"})
	}
	if _, err := listener.Exec(ctx, "listen "+channel).ReadAll(); err != nil {
		fail(err)
		return
	}
	start := time.Now()
	if _, err := sender.Exec(ctx, "notify "+channel).ReadAll(); err != nil {
		fail(err)
		return
	}
	waitCtx, stop := context.WithTimeout(ctx, x.budget.listen)
	defer stop()
	err := listener.WaitForNotification(waitCtx)
	elapsed := time.Since(start)
	switch {
	case err == nil:
		x.add(Finding{ID: id, What: "a notification arrives", Took: elapsed})
		_, _ = listener.Exec(ctx, "unlisten "+channel).ReadAll()
	case errors.Is(err, context.DeadlineExceeded) || pgconn.Timeout(err):
		x.add(Finding{
			ID: id, Severity: Error, What: "LISTEN succeeds, and nothing arrives", Why: "a pooler in transaction mode does this, and so does one that gives up idle sessions",
			Mend: "give a string to Postgres itself, or to the pooler's session mode (Supavisor: port 5432)",
		})
	default:
		fail(err)
	}
}
