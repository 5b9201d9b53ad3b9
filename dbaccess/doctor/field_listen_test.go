package doctor_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess/doctor"
	"github.com/twinpath/twinpath/internal/localpg"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// LISTEN succeeds and nothing ever arrives.
//
// Sources: keycloak/keycloak#49991; zoolutions/pgbus#236; freifunkMUC/wg-access-server#152;
// brianc/node-postgres#1543; riverqueue/river PR #281.
// Must: a probe of one's own at the start, LISTEN and NOTIFY on a random channel with a bounded wait;
// a clear error or a declared mode that only polls; the listener has a DSN of its own that leads to
// a session.
func TestFieldCaseO13(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	pooler := pgtest.NewPooler(t, localpg.PoolerConfig{PoolSize: 2})
	pooled := pooler.DSN(pgtest.LoginRole, pgtest.LoginPassword, db.Name)

	// The symptom: no error, and no notification.
	wait := time.Second
	if os.Getenv("FIELD") != "" {
		wait = 10 * time.Second
	}
	if err := hear(t, pooled, db.SuperDSN, wait); !pgconn.Timeout(err) {
		t.Errorf("through the pooler: error %v, want that nothing arrives", err)
	}
	if err := hear(t, db.DirectDSN, db.SuperDSN, time.Minute); err != nil {
		t.Errorf("on a session: %v", err)
	}

	// The probe: clear words about the pooler, and none where a session hears.
	r := run(t, doctor.Config{DirectDSN: pooled, SessionDSN: pooled})
	wantFinding(t, r, "session.mode", doctor.Error, "transaction mode", "LISTEN succeeds there and nothing ever arrives", "session mode")
	wantFinding(t, r, "session.listen", doctor.Info, "in transaction mode nothing arrives")
	if r.ExitCode() == 0 {
		t.Error("the exit code says that all is well")
	}
	r = run(t, doctor.Config{DirectDSN: pooled, SessionDSN: db.DirectDSN})
	wantFinding(t, r, "session.listen", doctor.OK, "a notification arrives")

	// Without a string for sessions that is declared, not tried through the pooler.
	r = run(t, doctor.Config{DirectDSN: pooled})
	wantFinding(t, r, "session.dsn", doctor.Info, "nothing can LISTEN")
	wantNone(t, r, "session.login")
}

// hear listens on one connection, notifies on another, and waits. A ping first would be answered by
// either server connection of a pooler.
func hear(t *testing.T, listener, sender string, wait time.Duration) error {
	t.Helper()
	cfg, err := pgx.ParseConfig(listener)
	if err != nil {
		t.Fatal(err)
	}
	cfg.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), "listen field_case"); err != nil {
		t.Fatalf("LISTEN: %v", err)
	}
	if err := localpg.Exec(t.Context(), sender, "notify field_case"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	_, err = conn.WaitForNotification(ctx)
	return err
}
