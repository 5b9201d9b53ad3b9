package pgxtrace_test

import (
	"context"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/getsentry/sentry-go"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
	"github.com/twinpath/twinpath/internal/sentrytest"
	"github.com/twinpath/twinpath/tracing"
	"github.com/twinpath/twinpath/tracing/pgxtrace"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

const canary = "canary-77ab"

// newPool makes a traced pool of one connection on a database of the test's own.
func newPool(t *testing.T, opts ...pgxtrace.Option) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(pgtest.NewDatabase(t).SuperDSN)
	if err != nil {
		t.Fatal(err)
	}
	cfg.MaxConns = 1
	// However slow the machine is, what is not a query is no span unless asked for.
	pgxtrace.Configure(cfg, append([]pgxtrace.Option{pgxtrace.Slow(time.Hour)}, opts...)...)
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if _, err := pool.Exec(t.Context(), "create table companies (ticker text primary key, n int)"); err != nil {
		t.Fatal(err)
	}
	return pool
}

// trace runs f under a transaction and returns its spans. No value may be in
// what was sent.
func trace(t *testing.T, f func(ctx context.Context)) []*sentry.Span {
	t.Helper()
	r := sentrytest.New(t, nil)
	tx := tracing.NewTransaction(sentry.StartTransaction(r.Context(), "job"), -1)
	f(tx.Context())
	tx.Finish()
	if strings.Contains(r.Payload(t), canary) {
		t.Errorf("a value is in %s", r.Payload(t))
	}
	return r.One(t).Spans
}

func descriptions(spans []*sentry.Span) []string {
	var out []string
	for _, s := range spans {
		out = append(out, s.Op+" | "+s.Description+" | "+s.Status.String())
	}
	return out
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

func TestQueries(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	before := time.Now()
	spans := trace(t, func(ctx context.Context) {
		_, err := pool.Exec(ctx, "insert into companies values ($1, 1), ('"+canary+"-2', 2)", canary)
		check(t, err)
		var n int
		check(t, pool.QueryRow(ctx, "-- name: CountCompanies :one\nselect count(*) from companies where ticker <> '"+canary+"'").Scan(&n))
		rows, err := pool.Query(ctx, "select ticker from companies where ticker like @t", pgx.NamedArgs{"t": canary + "%"})
		check(t, err)
		_, err = pgx.CollectRows(rows, pgx.RowTo[string])
		check(t, err)
		err = pool.QueryRow(ctx, "select n from companies where ticker = $1", "none").Scan(&n)
		if !errors.Is(err, pgx.ErrNoRows) {
			t.Errorf("got %v", err)
		}
	})
	want := []string{"db | insert companies | ok", "db | select companies | ok", "db | select companies | ok", "db | select companies | ok"}
	if diff := cmp.Diff(want, descriptions(spans)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	for i, want := range []map[string]any{
		{"db.operation": "insert", "db.response.affected_rows": int64(2), "db.response.returned_rows": nil},
		{"db.operation": "select", "db.response.returned_rows": int64(1), "db.query.name": "CountCompanies"},
		{"db.operation.name": "select", "db.response.returned_rows": int64(2), "db.query.name": nil},
		{"db.response.returned_rows": int64(0), "error.type": nil, "db.response.status_code": nil},
	} {
		want["db.system"], want["db.system.name"], want["db.collection.name"] = "postgresql", "postgresql", "companies"
		want["db.connection"], want["db.access_path"] = "idle", "direct"
		for k, v := range want {
			if got := spans[i].Data[k]; got != v {
				t.Errorf("span %d: %s is %v, want %v", i, k, got, v)
			}
		}
		if _, ok := spans[i].Data["db.phase.acquire_ms"].(float64); !ok {
			t.Errorf("span %d does not tell its wait for a connection", i)
		}
		if s := spans[i]; s.Origin != "auto.db.pgx" || s.StartTime.Before(before) || !s.EndTime.After(s.StartTime) {
			t.Errorf("span %d from %v to %v, origin %s", i, s.StartTime, s.EndTime, s.Origin)
		}
	}
	prepare, _ := spans[0].Data["db.phase.prepare_ms"].(float64)
	query, _ := spans[0].Data["db.phase.query_ms"].(float64)
	took := float64(spans[0].EndTime.Sub(spans[0].StartTime).Microseconds()) / 1000
	if prepare <= 0 || query <= 0 || math.Abs(prepare+query-took) > .002 {
		t.Errorf("%v ms for preparing and %v ms for the query, of %v ms", prepare, query, took)
	}
}

func TestTransactionsAreNotQueries(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	spans := trace(t, func(ctx context.Context) {
		check(t, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			sub, err := tx.Begin(ctx)
			check(t, err)
			_, err = sub.Exec(ctx, "select 1")
			check(t, err)
			check(t, sub.Rollback(ctx))
			_, err = tx.Exec(ctx, "update companies set n = 1")
			return err
		}))
	})
	if diff := cmp.Diff([]string{"db | select | ok", "db | update companies | ok"}, descriptions(spans)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if spans[0].Data["db.connection"] != "idle" || spans[1].Data["db.connection"] != nil {
		t.Errorf("the wait for the connection is told by %v and %v, want by the first alone", spans[0].Data, spans[1].Data)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	spans := trace(t, func(ctx context.Context) {
		_, err := pool.Exec(ctx, "insert into companies values ($1, 1), ($1, 2)", canary)
		if err == nil {
			t.Error("no error")
		}
		_, err = pool.Exec(ctx, "select '"+canary+"'::int")
		if err == nil {
			t.Error("no error")
		}
		canceled, cancel := context.WithTimeout(ctx, time.Hour)
		time.AfterFunc(50*time.Millisecond, cancel)
		if _, err = pool.Exec(canceled, "select pg_sleep(10)"); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		check(t, pool.Ping(t.Context())) // the canceled query cost its connection
		late, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		if _, err = pool.Exec(late, "select pg_sleep(10)"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
	var got []string
	for _, s := range spans {
		if s.Op == "db" {
			code, _ := s.Data["db.response.status_code"].(string)
			kind, _ := s.Data["error.type"].(string)
			got = append(got, s.Description+" | "+s.Status.String()+" | "+code+" | "+kind)
		}
	}
	want := []string{
		"insert companies | already_exists | 23505 | 23505",
		"select | invalid_argument | 22P02 | 22P02",
		"select | " + sentry.SpanStatusCanceled.String() + " |  | ",
		"select | deadline_exceeded |  | timeout",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBatch(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	spans := trace(t, func(ctx context.Context) {
		b := &pgx.Batch{}
		b.Queue("insert into companies values ($1, 1)", canary)
		b.Queue("select pg_sleep(0.05)")
		b.Queue("select ticker from companies where n = $1", 1)
		check(t, pool.SendBatch(ctx, b).Close())
	})
	want := []string{"twinpath.batch | batch | ok", "db | insert companies | ok", "db | select | ok", "db | select companies | ok"}
	if diff := cmp.Diff(want, descriptions(spans)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	if spans[0].Data["db.operation.batch.size"] != 3 || spans[0].Data["db.connection"] != "idle" || spans[0].Data["sentry.category"] != "twinpath" {
		t.Errorf("the batch says %v", spans[0].Data)
	}
	// The server sends all results at the end, so the time is the first's to be
	// read; that none is counted twice is what matters.
	last := spans[0].StartTime
	for _, s := range spans[1:] {
		if s.ParentSpanID != spans[0].SpanID || s.StartTime.Before(last) || s.EndTime.After(spans[0].EndTime) {
			t.Errorf("%s is from %v to %v, after %v", s.Description, s.StartTime, s.EndTime, last)
		}
		last = s.EndTime
	}
	if d := spans[0].EndTime.Sub(spans[0].StartTime); d < 50*time.Millisecond {
		t.Errorf("the batch took %v with a query that slept for 50 ms", d)
	}
}

func TestCopyFrom(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	spans := trace(t, func(ctx context.Context) {
		_, err := pool.CopyFrom(ctx, pgx.Identifier{"public", "companies"}, []string{"ticker", "n"}, pgx.CopyFromRows([][]any{{canary, 1}, {"b", 2}}))
		check(t, err)
		if _, err := pool.CopyFrom(ctx, pgx.Identifier{"missing"}, []string{"a"}, pgx.CopyFromRows(nil)); err == nil {
			t.Error("no error")
		}
	})
	var copies []*sentry.Span
	for _, s := range spans {
		if s.Data["db.operation"] == "copy" {
			copies = append(copies, s)
		}
	}
	if len(copies) == 0 || copies[0].Description != "copy public.companies" || copies[0].Data["db.response.affected_rows"] != int64(2) {
		t.Errorf("got %v", descriptions(spans))
	}
}

func TestConnections(t *testing.T) {
	t.Parallel()
	pool := newPool(t, pgxtrace.Slow(20*time.Millisecond), nil)
	pool.Reset()
	spans := trace(t, func(ctx context.Context) {
		_, err := pool.Exec(ctx, "select 1") // makes a connection
		check(t, err)
		held, err := pool.Acquire(ctx)
		check(t, err)
		time.AfterFunc(60*time.Millisecond, held.Release)
		_, err = pool.Exec(ctx, "select 1") // queues behind held
		check(t, err)
	})
	var classes []any
	waits := map[any]int{}
	for _, s := range spans {
		switch {
		case s.Op == "db":
			classes = append(classes, s.Data["db.connection"])
		case s.Description == "acquire":
			waits[s.Data["db.connection"]]++
		}
		if s.Op != "db" && s.Data["sentry.category"] != "twinpath" {
			t.Errorf("%s would be listed as a query", s.Description)
		}
	}
	if diff := cmp.Diff([]any{"new", "queued"}, classes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if waits["new"] != 1 || waits["queued"] != 1 {
		t.Errorf("got %v", descriptions(spans))
	}
}

// TestHowAConnectionWasComeByIsForgotten: the next to use it has another story.
func TestHowAConnectionWasComeByIsForgotten(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	trace(t, func(ctx context.Context) {
		c, err := pool.Acquire(ctx)
		check(t, err)
		c.Release()
	})
	r := sentrytest.New(t, nil)
	conn, err := pool.Acquire(t.Context()) // not traced
	check(t, err)
	defer conn.Release()
	tx := tracing.NewTransaction(sentry.StartTransaction(r.Context(), "job"), -1)
	_, err = conn.Exec(tx.Context(), "select 1")
	check(t, err)
	tx.Finish()
	if s := r.One(t).Spans[0]; s.Data["db.connection"] != nil {
		t.Errorf("the query tells of another's connection: %v", s.Data)
	}
}

func TestFailedConnectAndAcquire(t *testing.T) {
	t.Parallel()
	cfg, err := pgxpool.ParseConfig("postgres://" + canary + ":" + canary + "@127.0.0.1:1/" + canary)
	check(t, err)
	pgxtrace.Configure(cfg)
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	check(t, err)
	defer pool.Close()
	spans := trace(t, func(ctx context.Context) {
		if _, err := pool.Exec(ctx, "select 1"); err == nil {
			t.Error("no error")
		}
	})
	want := []string{"twinpath.phase | acquire | unavailable", "twinpath.phase | queue | ok", "twinpath.phase | connect: tcp | unavailable"}
	if diff := cmp.Diff(want, descriptions(spans)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPrepare(t *testing.T) {
	t.Parallel()
	pool := newPool(t, pgxtrace.Slow(0))
	spans := trace(t, func(ctx context.Context) {
		conn, err := pool.Acquire(ctx)
		check(t, err)
		defer conn.Release()
		for range 2 {
			_, err = conn.Conn().Prepare(ctx, "mine", "select n from companies where ticker = $1")
			check(t, err)
		}
		_, err = conn.Exec(ctx, "mine", canary)
		check(t, err)
	})
	if diff := cmp.Diff([]string{"twinpath.phase | acquire | ok", "twinpath.phase | prepare | ok", "db | other | ok"}, descriptions(spans)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// viaPool is a path of the facade that uses a traced pool.
type viaPool struct{ pool *pgxpool.Pool }

func (p viaPool) Do(ctx context.Context, _ *dbaccess.Call) (*dbaccess.Result, error) {
	_, err := p.pool.Exec(ctx, "select 1 from companies")
	return &dbaccess.Result{Body: []byte(`[]`), Total: -1, Status: 200}, err
}
func (viaPool) Close(context.Context) error { return nil }

func TestSilentInsideTheFacade(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	db, err := dbaccess.New(dbaccess.Config{Direct: viaPool{pool}, Default: &auth.Identity{Role: "anon"}, Observers: []dbaccess.Observer{tracing.NewObserver()}})
	check(t, err)
	spans := trace(t, func(ctx context.Context) {
		_, err := dbaccess.JSON(ctx, db, query.From("facade"))
		check(t, err)
	})
	if diff := cmp.Diff([]string{"db | select facade | ok"}, descriptions(spans)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNothingWithoutASampledSpan(t *testing.T) {
	pool := newPool(t)
	conn, err := pool.Acquire(t.Context())
	check(t, err)
	defer conn.Release()
	r := sentrytest.New(t, func(o *sentry.ClientOptions) { o.TracesSampleRate = 0 })
	tx := tracing.NewTransaction(sentry.StartTransaction(r.Context(), "job"), -1)
	defer tx.Finish()
	tracer := pgxtrace.New()
	for name, ctx := range map[string]context.Context{"no span": t.Context(), "unsampled": tx.Context()} {
		allocs := testing.AllocsPerRun(100, func() {
			ctx := tracer.TraceAcquireStart(ctx, pool, pgxpool.TraceAcquireStartData{})
			tracer.TraceAcquireEnd(ctx, pool, pgxpool.TraceAcquireEndData{Conn: conn.Conn()})
			ctx = tracer.TraceConnectStart(ctx, pgx.TraceConnectStartData{})
			tracer.TraceConnectEnd(ctx, pgx.TraceConnectEndData{})
			ctx = tracer.TraceQueryStart(ctx, conn.Conn(), pgx.TraceQueryStartData{SQL: "select 1"})
			ctx = tracer.TracePrepareStart(ctx, conn.Conn(), pgx.TracePrepareStartData{})
			tracer.TracePrepareEnd(ctx, conn.Conn(), pgx.TracePrepareEndData{})
			tracer.TraceQueryEnd(ctx, conn.Conn(), pgx.TraceQueryEndData{})
			ctx = tracer.TraceBatchStart(ctx, conn.Conn(), pgx.TraceBatchStartData{})
			tracer.TraceBatchQuery(ctx, conn.Conn(), pgx.TraceBatchQueryData{})
			tracer.TraceBatchEnd(ctx, conn.Conn(), pgx.TraceBatchEndData{})
			ctx = tracer.TraceCopyFromStart(ctx, conn.Conn(), pgx.TraceCopyFromStartData{})
			tracer.TraceCopyFromEnd(ctx, conn.Conn(), pgx.TraceCopyFromEndData{})
			tracer.TraceRelease(pool, pgxpool.TraceReleaseData{Conn: conn.Conn()})
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations", name, allocs)
		}
	}
}
