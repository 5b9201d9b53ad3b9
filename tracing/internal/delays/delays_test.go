package delays_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/twinpath/twinpath/dbaccess/postgresttest"
	"github.com/twinpath/twinpath/internal/localpg"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// delays are tried one after the other: on a machine that is busy with other things,
// a short one is not to be told from what they take.
var delays = []time.Duration{
	30 * time.Millisecond, 30 * time.Millisecond, 30 * time.Millisecond, 30 * time.Millisecond,
	30 * time.Millisecond, 30 * time.Millisecond, 30 * time.Millisecond, 30 * time.Millisecond,
	100 * time.Millisecond, 100 * time.Millisecond, 100 * time.Millisecond, 100 * time.Millisecond,
	300 * time.Millisecond, 300 * time.Millisecond, 300 * time.Millisecond, 300 * time.Millisecond,
	time.Second, time.Second, time.Second, time.Second,
}

// Of a delay, at least so much shows where it belongs, and at most so much elsewhere:
// 25 and 15 of 30 ms.
const (
	atLeast   = 25. / 30
	elsewhere = 15. / 30
)

var names *nameServer

func TestMain(m *testing.M) {
	var err error
	if names, err = startNameServer(); err != nil {
		panic(err)
	}
	// Every package asks this one for the addresses of names.
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", names.conn.LocalAddr().String())
	}}
	os.Exit(pgtest.Run(m, goleak.IgnoreCurrent()))
}

// rig is what the clients connect to: fronts with TLS before a pooler with one
// connection to the database, and before a stand-in for PostgREST.
type rig struct {
	knobs  knobs
	db     *pgtest.Database
	pooler *localpg.Pooler
	pg     string
	web    string

	release func() // of what is jammed
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{db: pgtest.Golden(t)}
	r.db.Exec(t, `
		create view public.small as select 'a' as v;
		create view public.slow30 as select 'a' as v from pg_sleep(0.03);
		create view public.slow100 as select 'a' as v from pg_sleep(0.1);
		create view public.slow300 as select 'a' as v from pg_sleep(0.3);
		create view public.slow1000 as select 'a' as v from pg_sleep(1);
		create table public.locked (v text);
		create view public.held as select v from public.locked union all select 'a';
		create view public.big as select repeat('x', 200000) as v;
		grant select on public.small, public.slow30, public.slow100, public.slow300, public.slow1000, public.held, public.big to anon, `+pgtest.LoginRole)
	r.pooler = pgtest.NewPooler(t, localpg.PoolerConfig{PoolSize: 1})
	r.db.PoolerDSN = r.pooler.DSN(pgtest.LoginRole, pgtest.LoginPassword, r.db.Name)
	h, err := postgresttest.NewHandler(postgresttest.Config{DSN: r.db.DirectDSN})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	r.web = webFront(t, &r.knobs, h)
	r.pg = postgresFront(t, &r.knobs, r.pooler.Addr())
	return r
}

func (r *rig) addr(p path) string {
	if p.web {
		return r.web
	}
	return r.pg
}

// step is where the delay is put, and the phase of each path that it belongs to; a
// path without one does not have the step.
type step struct {
	name   string
	fresh  bool   // the call makes a connection
	view   string // "small" if empty
	want   map[string]string
	jammed bool // the server's backlog is full
	// run makes the measured call.
	run run
}

// run makes a call with a delay in it, and returns its phases.
type run func(t *testing.T, r *rig, p path, c client, d time.Duration) map[string]float64

func (s *step) viewName() string {
	if s.view == "" {
		return "small"
	}
	return s.view
}

// plain runs a call without a delay.
func plain(view string) run {
	return func(t *testing.T, _ *rig, p path, c client, _ time.Duration) map[string]float64 {
		t.Helper()
		return p.phases(t, func(ctx context.Context) error { return c.call(ctx, view) })
	}
}

// turned runs a call with a knob turned.
func turned(view string, turn func(*rig, time.Duration)) run {
	return func(t *testing.T, r *rig, p path, c client, d time.Duration) map[string]float64 {
		t.Helper()
		turn(r, d)
		defer turn(r, 0)
		return p.phases(t, func(ctx context.Context) error { return c.call(ctx, view) })
	}
}

// jammed runs a call whose SYN is dropped.
func jammed(t *testing.T, r *rig, p path, c client, d time.Duration) map[string]float64 {
	t.Helper()
	return p.phases(t, func(ctx context.Context) error {
		time.AfterFunc(d*3, r.release) // sent again after a second
		return c.call(ctx, "small")
	})
}

var steps = []step{
	{
		name: "DNS", fresh: true,
		want: map[string]string{"direct": "connect.dns", "rest": "dns", "pgxtrace": "connect.dns", "transport": "dns"},
		run:  turned("small", func(_ *rig, d time.Duration) { names.pause.Store(int64(d)) }),
	},
	{
		name: "connect", fresh: true, jammed: true,
		want: map[string]string{"direct": "connect.tcp", "rest": "connect", "pgxtrace": "connect.tcp", "transport": "connect"},
		run:  jammed,
	},
	{
		name: "TLS", fresh: true,
		want: map[string]string{"direct": "connect.tls", "rest": "tls", "pgxtrace": "connect.tls", "transport": "tls"},
		run:  turned("small", func(r *rig, d time.Duration) { r.knobs.handshake.Store(int64(d)) }),
	},
	{
		name: "startup", fresh: true,
		want: map[string]string{"direct": "connect.startup", "pgxtrace": "connect.startup"},
		run:  turned("small", func(r *rig, d time.Duration) { r.knobs.chunk.Store(int64(d)) }),
	},
	{
		name: "acquire",
		want: map[string]string{"direct": "acquire", "pgxtrace": "acquire.queue"},
		run:  behindACall,
	},
	{
		name: "pooler queue",
		want: map[string]string{"direct": "network_pooler", "pgxtrace": "query"},
		run:  behindATransaction,
	},
	{
		name: "database",
		want: map[string]string{"direct": "database", "rest": "wait", "pgxtrace": "query", "transport": "wait"},
		run: func(t *testing.T, r *rig, p path, c client, d time.Duration) map[string]float64 {
			t.Helper()
			return plain(fmt.Sprint("slow", d.Milliseconds()))(t, r, p, c, d)
		},
	},
	{
		name: "first byte",
		want: map[string]string{"direct": "network_pooler", "rest": "wait", "pgxtrace": "query", "transport": "wait"},
		run:  turned("small", func(r *rig, d time.Duration) { r.knobs.chunk.Store(int64(d)) }),
	},
	{
		name: "body", view: "big",
		want: map[string]string{"direct": "rows", "rest": "body", "pgxtrace": "query", "transport": "body"},
		run:  turned("big", func(r *rig, d time.Duration) { r.knobs.middle.Store(int64(d)) }),
	},
	{
		name: "decode",
		want: map[string]string{"direct": "decode", "rest": "decode"},
		run: func(t *testing.T, _ *rig, p path, c client, d time.Duration) map[string]float64 {
			t.Helper()
			decodeDelay.Store(int64(d))
			return p.phases(t, func(ctx context.Context) error { return c.slowDecode(ctx, "small") })
		},
	},
}

// behindACall has the client's only connection taken by another call.
func behindACall(t *testing.T, r *rig, p path, c client, d time.Duration) map[string]float64 {
	t.Helper()
	locker, err := pgx.Connect(t.Context(), r.db.SuperDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer locker.Close(context.Background())
	lock, err := locker.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock.Exec(t.Context(), "lock table public.locked in access exclusive mode"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- c.call(context.Background(), "held") }()
	r.awaitLocked(t)
	got := p.behind(t, c, lock, d)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return got
}

// behindATransaction has the pooler's only connection taken by another client.
func behindATransaction(t *testing.T, r *rig, p path, c client, d time.Duration) map[string]float64 {
	t.Helper()
	holder, err := pgx.Connect(t.Context(), r.db.PoolerDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close(context.Background())
	tx, err := holder.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p.behind(t, c, tx, d)
}

// behind makes a call during which a transaction ends that is in its way.
func (p path) behind(t *testing.T, c client, tx pgx.Tx, d time.Duration) map[string]float64 {
	t.Helper()
	released := make(chan error, 1)
	got := p.phases(t, func(ctx context.Context) error {
		time.AfterFunc(3*d, func() { released <- tx.Rollback(context.Background()) })
		return c.call(ctx, "small")
	})
	if err := <-released; err != nil {
		t.Fatal(err)
	}
	return got
}

// awaitLocked waits until a query waits for a lock.
func (r *rig) awaitLocked(t *testing.T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), r.db.SuperDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		var yes bool
		err := conn.QueryRow(t.Context(), "select count(*) > 0 from pg_stat_activity where datname = $1 and wait_event_type = 'Lock'", r.db.Name).Scan(&yes)
		if err != nil {
			t.Fatal(err)
		}
		if yes {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing waits for the lock")
		}
	}
}

// measure makes the client, warms it unless the step wants a fresh one, and runs.
func (s *step) measure(t *testing.T, r *rig, p path, d time.Duration) map[string]float64 {
	t.Helper()
	addr, run := r.addr(p), plain(s.viewName())
	if d > 0 {
		run = s.run
		if s.jammed {
			addr, r.release = jam(t, addr)
		}
	}
	c := p.open(t, r, named(t, addr))
	defer c.close()
	if !s.fresh {
		for range 2 {
			if err := c.call(t.Context(), s.viewName()); err != nil {
				t.Fatalf("%s: %v", p.name, err)
			}
		}
	}
	return run(t, r, p, c, d)
}

// TestDelayInjection puts a delay into each step of a call: it shows in that phase
// and in no other.
func TestDelayInjection(t *testing.T) {
	r := newRig(t)
	for _, p := range paths {
		t.Run(p.name, func(t *testing.T) {
			usual := map[string]*baseline{}
			for _, s := range steps {
				phase, ok := s.want[p.name]
				if !ok || s.jammed && !canJam {
					continue
				}
				kind := fmt.Sprint(s.fresh, s.viewName())
				if usual[kind] == nil {
					usual[kind] = &baseline{}
				}
				t.Run(s.name, func(t *testing.T) { s.test(t, r, p, phase, usual[kind]) })
			}
		})
	}
}

func (s *step) test(t *testing.T, r *rig, p path, phase string, usual *baseline) {
	for len(*usual) < 3 {
		usual.add(s.measure(t, r, p, 0))
	}
	problem := ""
	for _, d := range delays {
		if problem = wrong(phase, usual.medians(), s.measure(t, r, p, d), d); problem == "" {
			return
		}
		usual.add(s.measure(t, r, p, 0)) // the machine may have become another
	}
	t.Errorf("in none of %d attempts did it land in %s alone; the last one: %s", len(delays), phase, problem)
}

// wrong says what is wrong with the phases of a delayed call, "" if nothing is.
func wrong(phase string, usual, got map[string]float64, d time.Duration) string {
	whole := float64(d.Milliseconds())
	if more := got[phase] - usual[phase]; more < whole*atLeast {
		return fmt.Sprintf("of %v, %.1f ms in %s; usual %v, now %v", d, more, phase, usual, got)
	}
	for name, ms := range got {
		if more := ms - usual[name]; name != phase && more >= whole*elsewhere {
			return fmt.Sprintf("of %v, %.1f ms in %s; usual %v, now %v", d, more, name, usual, got)
		}
	}
	return ""
}

// baseline are the phases of calls without a delay.
type baseline []map[string]float64

func (b *baseline) add(phases map[string]float64) { *b = append(*b, phases) }

// medians are those of the latest calls, by phase.
func (b baseline) medians() map[string]float64 {
	const latest = 7
	all := map[string][]float64{}
	for _, phases := range b[max(0, len(b)-latest):] {
		for name, ms := range phases {
			all[name] = append(all[name], ms)
		}
	}
	out := map[string]float64{}
	for name, values := range all {
		slices.Sort(values)
		out[name] = values[len(values)/2]
	}
	return out
}
