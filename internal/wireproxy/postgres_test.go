package wireproxy_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/internal/localpg/pgtest"
	"github.com/twinpath/twinpath/internal/wireproxy"
)

// TestRoundTripsOfPostgres counts what is known of PostgreSQL's protocol, straight and through PgBouncer.
func TestRoundTripsOfPostgres(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	simple := func(t *testing.T, conn *pgconn.PgConn, sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql).ReadAll(); err != nil {
			t.Fatal(err)
		}
	}
	calls := []struct {
		name string
		want int64
		call func(*testing.T, *pgconn.PgConn)
	}{
		{"simple query", 1, func(t *testing.T, conn *pgconn.PgConn) { simple(t, conn, "select 1") }},
		{"extended query", 1, func(t *testing.T, conn *pgconn.PgConn) {
			if err := conn.ExecParams(t.Context(), "select $1::int", [][]byte{[]byte("1")}, nil, nil, nil).Read().Err; err != nil {
				t.Fatal(err)
			}
		}},
		{"large answer", 1, func(t *testing.T, conn *pgconn.PgConn) {
			simple(t, conn, "select repeat('x', 1000) from generate_series(1, 2000)")
		}},
		{"begin, select, commit", 3, func(t *testing.T, conn *pgconn.PgConn) {
			for _, sql := range []string{"begin", "select 1", "commit"} {
				simple(t, conn, sql)
			}
		}},
		{"batch of four", 1, func(t *testing.T, conn *pgconn.PgConn) {
			batch := &pgconn.Batch{}
			for range 4 {
				batch.ExecParams("select $1::int", [][]byte{[]byte("1")}, nil, nil, nil)
			}
			results, err := conn.ExecBatch(t.Context(), batch).ReadAll()
			if err != nil || len(results) != 4 {
				t.Fatalf("%d results, %v", len(results), err)
			}
		}},
	}
	for server, dsn := range map[string]string{db.Addr: db.DirectDSN, db.PoolerAddr: db.PoolerDSN} {
		p := startProxy(t, wireproxy.Config{Target: server, Delay: 2 * time.Millisecond})
		conn, err := pgconn.Connect(t.Context(), pgtest.At(t, dsn, p.Addr()))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		simple(t, conn, "select 1") // PgBouncer logs in upstream now
		for _, tt := range calls {
			if err := p.Idle(within(t)); err != nil {
				t.Fatal(err)
			}
			p.Reset()
			tt.call(t, conn)
			if got := p.Stats().RoundTrips; got != tt.want {
				t.Errorf("%s at %s: %d round trips, want %d", tt.name, server, got, tt.want)
			}
		}
	}
}
