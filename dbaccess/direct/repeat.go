package direct

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess"
)

// lostIdle says whether a batch failed because its connection had died while it was
// idle, so that it may be sent once more on another one. What is harmless to repeat
// may, as nothing of its answer had been read: that is a query of tables, but no
// function, which may do what the database does not know of. Anything else may only
// where not a byte of it has left.
func (b *Backend) lostIdle(ctx *limits, a *acquisition, at stage, harmless bool, err error) bool {
	switch {
	case err == nil || a.wary || at > stageSettings || ctx.Err() != nil || b.isClosed():
		return false
	case pgconn.SafeToRetry(err):
		return true
	case !harmless || errors.Is(err, errAnswer):
		return false
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return isFatal(pg) && endsIdleSession(pg) // it may be the pooler's own connection that was idle
	}
	return a.class() != dbaccess.ConnNew
}

// endsIdleSession says whether the error is what ends a session that does nothing,
// and that one hears of when one next uses it.
// Sources: PostgreSQL's errcodes.txt, PgBouncer's src/janitor.c and
// src/objects.c, supabase/supavisor lib/supavisor/errors.
func endsIdleSession(pg *pgconn.PgError) bool {
	switch pg.Code {
	case "57P01", "57P02", "57P05": // shutdown or pg_terminate_backend, crash, idle_session_timeout
		return true
	case "08P01", "XX000":
		for _, text := range []string{"client_idle_timeout", "server conn crashed", "server closed", "shutdown", "shutting down", "edbhandlerexited"} {
			if strings.Contains(strings.ToLower(pg.Message), text) {
				return true
			}
		}
	}
	return false
}
