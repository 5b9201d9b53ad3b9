package pgxtrace_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/getsentry/sentry-go"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/twinpath/twinpath/internal/localpg/pgtest"
	"github.com/twinpath/twinpath/internal/sentrytest"
	"github.com/twinpath/twinpath/tracing"
	"github.com/twinpath/twinpath/tracing/pgxtrace"
)

// poolConfig is that of a pool on a database of the test's own.
func poolConfig(t *testing.T) *pgxpool.Config {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(pgtest.NewDatabase(t).SuperDSN)
	if err != nil {
		t.Fatal(err)
	}
	cfg.MaxConns = 1
	return cfg
}

func open(t *testing.T, cfg *pgxpool.Config) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// TestHooksAreKept: what the config's hooks did before they still do, and their
// time is told.
func TestHooksAreKept(t *testing.T) {
	t.Parallel()
	cfg := poolConfig(t)
	var called atomic.Int64
	lookup, dial := cfg.ConnConfig.LookupFunc, cfg.ConnConfig.DialFunc
	cfg.ConnConfig.LookupFunc = func(ctx context.Context, host string) ([]string, error) {
		called.Add(1)
		return lookup(ctx, host)
	}
	cfg.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		called.Add(10)
		return dial(ctx, network, addr)
	}
	cfg.ConnConfig.AfterNetConnect = func(_ context.Context, _ *pgconn.Config, conn net.Conn) (net.Conn, error) {
		called.Add(100)
		return conn, nil
	}
	const pause = 5 * time.Millisecond
	cfg.BeforeConnect = func(context.Context, *pgx.ConnConfig) error {
		called.Add(1000)
		time.Sleep(pause)
		return nil
	}
	cfg.AfterConnect = func(context.Context, *pgx.Conn) error {
		called.Add(10_000)
		time.Sleep(pause)
		return nil
	}
	//lint:ignore SA1019 who still uses it is to be told about it
	cfg.BeforeAcquire = func(context.Context, *pgx.Conn) bool {
		called.Add(100_000)
		time.Sleep(pause)
		return true
	}
	cfg.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool {
		called.Add(1_000_000)
		return true
	}
	var queries atomic.Int64
	cfg.ConnConfig.Tracer = counting{n: &queries}
	pgxtrace.Configure(cfg)
	pool := open(t, cfg)
	spans := trace(t, func(ctx context.Context) {
		_, err := pool.Exec(ctx, "select 1")
		check(t, err)
	})
	if called.Load() != 1_111_111 || queries.Load() != 1 {
		t.Errorf("hooks were called %d times, the other tracer %d times", called.Load(), queries.Load())
	}
	data := spans[len(spans)-1].Data
	for _, name := range []string{"before_connect", "after_connect", "prepare_conn"} {
		if ms, _ := data["db.phase.acquire."+name+"_ms"].(float64); ms < 5 {
			t.Errorf("%s took %v ms in %v", name, ms, data)
		}
	}
	if ms, _ := data["db.phase.acquire.ping_ms"].(float64); ms <= 0 {
		t.Errorf("the ping took %v ms", ms)
	}
}

// counting is another tracer.
type counting struct{ n *atomic.Int64 }

func (c counting) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n.Add(1)
	return ctx
}
func (counting) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TestStepsOfAnAcquisition: they leave no gap, as spans and as attributes.
func TestStepsOfAnAcquisition(t *testing.T) {
	t.Parallel()
	cfg := poolConfig(t)
	cfg.ConnConfig.LookupFunc = func(_ context.Context, host string) ([]string, error) {
		if host != "db.test" {
			t.Errorf("looked up %s", host)
		}
		time.Sleep(time.Millisecond)
		return []string{"127.0.0.1"}, nil
	}
	cfg.ConnConfig.Host = "db.test"
	pgxtrace.Configure(cfg)
	pool := open(t, cfg)
	spans := trace(t, func(ctx context.Context) {
		_, err := pool.Exec(ctx, "select 1")
		check(t, err)
	})
	if spans[0].Description != "acquire" || spans[0].Data["db.connection"] != "new" {
		t.Fatalf("got %v", descriptions(spans))
	}
	acquire, at := spans[0], spans[0].StartTime
	var names []string
	for _, s := range spans[1 : len(spans)-1] {
		names = append(names, s.Description)
		if !s.StartTime.Equal(at) || s.ParentSpanID != acquire.SpanID {
			t.Errorf("%s begins %v after the one before it ended", s.Description, s.StartTime.Sub(at))
		}
		at = s.EndTime
	}
	if !at.Equal(acquire.EndTime) {
		t.Errorf("the last step ends %v before the acquisition", acquire.EndTime.Sub(at))
	}
	for _, want := range []string{"connect: dns", "connect: tcp", "connect: startup"} {
		if !strings.Contains(strings.Join(names, ","), want) {
			t.Errorf("no %s among %q", want, names)
		}
	}
	data, sum := spans[len(spans)-1].Data, 0.0
	for key, v := range data {
		if strings.HasPrefix(key, "db.phase.acquire.") {
			sum += v.(float64)
		}
	}
	if all := data["db.phase.acquire_ms"].(float64); sum < all-.02 || sum > all+.02 {
		t.Errorf("the steps take %v ms of %v: %v", sum, all, data)
	}
	if dns := data["db.phase.connect.dns_ms"].(float64); dns < 1 {
		t.Errorf("%v ms for the name", dns)
	}
}

// TestSeveralHosts: the first one refuses, the second one answers.
func TestSeveralHosts(t *testing.T) {
	t.Parallel()
	cfg := poolConfig(t)
	good := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), cfg.ConnConfig.Port)
	cfg.ConnConfig.LookupFunc = func(context.Context, string) ([]string, error) {
		return []string{"127.0.0.1:1", good.String()}, nil
	}
	cfg.ConnConfig.Host = "db.test"
	pgxtrace.Configure(cfg)
	pool := open(t, cfg)
	spans := trace(t, func(ctx context.Context) {
		_, err := pool.Exec(ctx, "select 1")
		check(t, err)
	})
	got := strings.Join(descriptions(spans), ", ")
	if strings.Count(got, "connect: tcp") != 1 || strings.Count(got, "connect: startup") != 1 || strings.Contains(got, "unavailable") {
		t.Errorf("got %s", got)
	}
}

// TestPingOfAnIdleConnection: pgxpool pings connections that were idle for a
// second, which nothing else tells.
func TestPingOfAnIdleConnection(t *testing.T) {
	t.Parallel()
	cfg := poolConfig(t)
	pgxtrace.Configure(cfg, pgxtrace.Slow(0))
	pool := open(t, cfg)
	before := time.Now()
	check(t, pool.Ping(t.Context()))
	run := func() []*sentry.Span {
		return trace(t, func(ctx context.Context) {
			_, err := pool.Exec(ctx, "select 1")
			check(t, err)
		})
	}
	fresh := run()
	if ms := fresh[len(fresh)-1].Data["db.phase.acquire.ping_ms"]; ms != nil && time.Since(before) < time.Second {
		t.Errorf("a ping of %v ms on a connection in use just now", ms)
	}
	time.Sleep(1100 * time.Millisecond)
	idle := run()
	last := idle[len(idle)-1].Data
	if ms, _ := last["db.phase.acquire.ping_ms"].(float64); ms <= 0 || last["db.connection"] != "idle" {
		t.Errorf("the ping is not told: %v", last)
	}
	if got := strings.Join(descriptions(idle), ", "); !strings.Contains(got, "twinpath.phase | ping | ok") {
		t.Errorf("got %s", got)
	}
}

// TestConnectOutlivesTheAcquire: the pool goes on making a connection that nobody
// waits for any more, and its trace has been sent by then.
func TestConnectOutlivesTheAcquire(t *testing.T) {
	t.Parallel()
	cfg := poolConfig(t)
	dial, dialling, release := cfg.ConnConfig.DialFunc, make(chan struct{}), make(chan struct{})
	cfg.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		close(dialling)
		<-release
		return dial(ctx, network, addr)
	}
	pgxtrace.Configure(cfg)
	pool := open(t, cfg)
	r := sentrytest.New(t, nil)
	tx := tracing.NewTransaction(sentry.StartTransaction(r.Context(), "job"), -1)
	ctx, cancel := context.WithCancel(tx.Context())
	go func() {
		<-dialling
		cancel()
	}()
	if _, err := pool.Exec(ctx, "select 1"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	tx.Finish()
	close(release)
	check(t, pool.Ping(t.Context())) // waits for the connection
	got := strings.Join(descriptions(r.One(t).Spans), ", ")
	if !strings.Contains(got, "acquire | "+sentry.SpanStatusCanceled.String()) || !strings.Contains(got, "connect: tcp") || strings.Contains(got, "startup") {
		t.Errorf("got %s", got)
	}
}

func TestTransactionSpan(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		slow time.Duration
		fail error
		want []string
	}{
		{"fast", time.Hour, nil, []string{"db | select | ok", "db | select | ok"}},
		{"slow", 0, nil, []string{"twinpath.phase | acquire | ok", "db | select | ok", "db | select | ok", "twinpath.transaction | transaction | ok"}},
		{"undone", 0, errors.New("no"), []string{"twinpath.phase | acquire | ok", "db | select | ok", "db | select | ok", "twinpath.transaction | transaction | ok"}},
	} {
		cfg := poolConfig(t)
		pgxtrace.Configure(cfg, pgxtrace.Slow(tt.slow))
		cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
		pool := open(t, cfg)
		check(t, pool.Ping(t.Context()))
		spans := trace(t, func(ctx context.Context) {
			err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
				_, err := tx.Exec(ctx, "select 1")
				check(t, err)
				check(t, pgx.BeginFunc(ctx, tx, func(sub pgx.Tx) error {
					_, err := sub.Exec(ctx, "select 2")
					return err
				}))
				return tt.fail
			})
			if !errors.Is(err, tt.fail) {
				t.Errorf("%s: got %v", tt.name, err)
			}
		})
		if diff := cmp.Diff(tt.want, descriptions(spans)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
			continue
		}
		var queries []*sentry.Span
		for _, s := range spans {
			if s.Op == "db" {
				queries = append(queries, s)
			}
		}
		first, second := queries[0].Data, queries[1].Data
		if ms, _ := first["db.phase.begin_ms"].(float64); ms <= 0 || first["db.transaction"] != true || second["db.transaction"] != true || second["db.phase.begin_ms"] != nil {
			t.Errorf("%s: the queries say %v and %v", tt.name, first, second)
		}
		if len(spans) == 2 {
			continue
		}
		whole := spans[3]
		if whole.Data["db.transaction.statements"] != 2 || whole.StartTime.After(queries[0].StartTime) || whole.EndTime.Before(queries[1].EndTime) {
			t.Errorf("%s: the transaction says %v", tt.name, whole.Data)
		}
		if ms, _ := whole.Data["db.transaction.end_ms"].(float64); ms <= 0 {
			t.Errorf("%s: its end took %v ms", tt.name, ms)
		}
	}
}

// TestRowsNeverClosed: pgx then tells no end, and there is no span.
func TestRowsNeverClosed(t *testing.T) {
	t.Parallel()
	cfg := poolConfig(t)
	conn := cfg.ConnConfig
	pgxtrace.ConfigureConn(conn)
	spans := trace(t, func(ctx context.Context) {
		c, err := pgx.ConnectConfig(ctx, conn)
		check(t, err)
		if _, err := c.Query(ctx, "select generate_series(1, 10)"); err != nil {
			t.Error(err)
		}
		check(t, c.PgConn().Conn().Close())
	})
	got := strings.Join(descriptions(spans), ", ")
	if !strings.HasPrefix(got, "twinpath.phase | connect | ok, ") || strings.Contains(got, "db |") {
		t.Errorf("got %s", got)
	}
}

// TestConnectionWithoutAPool: its first query tells that it is new.
func TestConnectionWithoutAPool(t *testing.T) {
	t.Parallel()
	conn := poolConfig(t).ConnConfig
	pgxtrace.ConfigureConn(conn)
	spans := trace(t, func(ctx context.Context) {
		c, err := pgx.ConnectConfig(ctx, conn)
		check(t, err)
		_, err = c.Exec(ctx, "select 1")
		check(t, err)
		check(t, c.Close(ctx))
	})
	last := spans[len(spans)-1].Data
	if ms, _ := last["db.phase.connect.startup_ms"].(float64); ms <= 0 || last["db.connection"] != "new" || last["cold"] != true {
		t.Errorf("the query says %v", last)
	}
}

// TestUnconfigured: without Configure there is still the whole.
func TestUnconfigured(t *testing.T) {
	t.Parallel()
	cfg := poolConfig(t)
	cfg.ConnConfig.Tracer = pgxtrace.New()
	pool := open(t, cfg)
	spans := trace(t, func(ctx context.Context) {
		_, err := pool.Exec(ctx, "select 1")
		check(t, err)
	})
	last := spans[len(spans)-1].Data
	if ms, _ := last["db.phase.acquire.connect_ms"].(float64); ms <= 0 || last["db.connection"] != "new" {
		t.Errorf("the query says %v", last)
	}
}

func TestStats(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	conn, err := pool.Acquire(t.Context())
	check(t, err)
	stats := pgxtrace.Stats(pool).PoolStats()
	if stats.Max != 1 || stats.InUse != 1 || stats.Idle != 0 || stats.New != 1 || stats.Acquired < 2 {
		t.Errorf("got %+v", stats)
	}
	conn.Release()
}
