package doctor

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// limits is what PgBouncer's console says, zero where it was not asked.
type limits struct {
	clients int // max_client_conn
}

// console asks PgBouncer about itself.
// Source: https://www.pgbouncer.org/usage.html#admin-console
func (x *examination) console(ctx context.Context) limits {
	const id = "console.version"
	if x.cfg.AdminDSN == "" {
		return limits{}
	}
	t := x.target("console", x.cfg.AdminDSN)
	if t == nil {
		return limits{}
	}
	defer t.close()
	conn := x.connect(ctx, t)
	if conn == nil {
		return limits{}
	}
	ctx, cancel := context.WithTimeout(ctx, x.budget.ask)
	defer cancel()
	version, err := last(conn, conn.Exec(ctx, "SHOW VERSION"))
	settings, errConfig := config(ctx, conn)
	if err != nil || errConfig != nil {
		if err == nil {
			err = errConfig
		}
		x.add(Finding{ID: id, Severity: Error, What: "the console could not be asked", Why: whatFailed(err), Mend: `the string must name the database "pgbouncer", and a user of admin_users or stats_users`})
		return limits{}
	}
	_, number, _ := strings.Cut(version, " ")
	number = plainVersion(number)
	f := Finding{ID: id, What: "PgBouncer " + plain(number)}
	if older(number, "1.19.1") {
		f.Severity, f.What = Warning, f.What+" ends when a cancel request's connection closes early"
		f.Why = "one impatient client takes every other down with it (pgbouncer#846)"
		f.Mend = "upgrade to 1.19.1 or newer"
	}
	x.add(f)
	if mode := settings["pool_mode"]; mode != "transaction" {
		x.add(Finding{
			ID: id, Severity: Warning, What: "pool_mode is " + plain(mode), Why: "a database or user may have its own; in session mode clients beyond the pool's size wait, in statement mode the direct path's batches fail",
			Mend: "set pool_mode = transaction for the direct path's database",
		})
	}
	if d, err := strconv.Atoi(settings["client_idle_timeout"]); err == nil && d > 0 && d < 10 {
		x.add(Finding{
			ID: id, Severity: Warning, What: "client_idle_timeout is " + (time.Duration(d) * time.Second).String(), Why: "sparse requests find their connection closed, and wait for another",
			Mend: "raise it above a minute, or set direct.Config.KeepWarm below it",
		})
	}
	if ignored := settings["ignore_startup_parameters"]; strings.Contains(ignored, "timeout") || strings.Contains(ignored, "search_path") {
		x.add(Finding{
			ID: id, Severity: Info, What: "ignore_startup_parameters swallows settings without a word", Why: "other clients that send them believe that they hold",
			Mend: "nothing for this library, which sends none of them",
		})
	}
	clients, err := strconv.Atoi(settings["max_client_conn"])
	if err != nil || clients < 1 {
		return limits{}
	}
	return limits{clients: clients}
}

// config reads SHOW CONFIG, whose first columns are name and value.
func config(ctx context.Context, conn *pgconn.PgConn) (map[string]string, error) {
	settings := map[string]string{}
	results := conn.Exec(ctx, "SHOW CONFIG")
	for rows := 0; results.NextResult(); {
		r := results.ResultReader()
		for r.NextRow() {
			if rows++; rows > maxRows {
				_ = conn.Conn().Close()
				return nil, errAnswer
			}
			if v := r.Values(); len(v) > 1 {
				settings[string(v[0])] = string(v[1])
			}
		}
	}
	return settings, results.Close()
}
