package main

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/internal/localpg"
	"github.com/twinpath/twinpath/internal/wireproxy"
)

// Idle limits and the gap between calls, which are those of the field (10 s and 25 s) made shorter.
const (
	idleLimit  = 2 * time.Second
	gap        = 3 * time.Second
	keepWarm   = idleLimit / 4
	burstCalls = 31
)

// spaced compares calls with a gap between them that is longer than idle limits with calls one after the
// other. The peer is a pool as one finds it: with an idle limit of its own, and nothing that keeps a
// connection. The pooler drops clients that are idle as well, 5 ms away.
func spaced(ctx context.Context, s *session) (_ []budget, err error) {
	const rows = 50
	rig, err := s.rig(ctx)
	if err != nil {
		return nil, err
	}
	pooler, err := localpg.StartPooler(ctx, localpg.PoolerConfig{
		Upstream: rig.cluster.Addr(), Users: map[string]string{loginRole: loginRole}, ClientIdleTimeout: idleLimit,
	})
	if err != nil {
		return nil, err
	}
	defer closing(&err, pooler.Stop)
	link := func() (*wireproxy.Proxy, error) {
		return wireproxy.Start(wireproxy.Config{Target: pooler.Addr(), Delay: 2500 * time.Microsecond})
	}
	near, err := link()
	if err != nil {
		return nil, err
	}
	defer closing(&err, near.Close)
	far, err := link()
	if err != nil {
		return nil, err
	}
	defer closing(&err, far.Close)

	path, err := direct.New(direct.Config{DSN: rig.dsn(near.Addr()), KeepWarm: keepWarm})
	if err != nil {
		return nil, err
	}
	db, err := dbaccess.New(dbaccess.Config{Direct: path})
	if err != nil {
		return nil, errors.Join(err, path.Close(ctx))
	}
	defer closing(&err, db.Close)
	if err := db.Start(ctx); err != nil {
		return nil, err
	}
	cfg, err := pgxpool.ParseConfig(rig.dsn(far.Addr()) + "&default_query_exec_mode=exec&pool_max_conns=4")
	if err != nil {
		return nil, err
	}
	cfg.MaxConnIdleTime, cfg.HealthCheckPeriod = idleLimit, idleLimit/4
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer pool.Close()

	ctx = auth.With(ctx, caller)
	sides := [2]*side{
		{proxy: near, op: func() error { return second(dbaccess.All[filing](ctx, db, filingsFrom(500, rows))) }},
		{proxy: far, op: func() error { return second(pgxBatch(ctx, pool, rows)) }},
	}
	for _, side := range sides {
		if err := side.burst(); err != nil {
			return nil, err
		}
	}
	for range max(1, min(10, s.effort.rounds/2)) {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(gap):
		}
		for _, side := range sides {
			if err := side.sample(); err != nil {
				return nil, err
			}
		}
	}
	ours, peer := sides[0], sides[1]
	row := budget{
		what: "direct path, 3 s between calls, idle limits of 2 s, 5 ms away", against: "the same calls one after the other",
		quantity: "new connections", name: "direct/spaced/connections", got: exactly(float64(ours.made)),
	}
	naive := budget{name: "direct/spaced/naive/connections", got: exactly(float64(peer.made)), info: true}
	budgets := []budget{row, naive}
	if s.timed() {
		row.name, row.quantity, row.unit, row.got, row.limit, row.timed = "direct/spaced/ns", "time", "×", median(ours.ratios), 1.5, true
		naive.name, naive.unit, naive.got, naive.timed = "direct/spaced/naive/ns", "×", median(peer.ratios), true
		budgets = append(budgets, row, naive)
	}
	return budgets, nil
}

// side is one way to make the calls.
type side struct {
	op    operation
	proxy *wireproxy.Proxy

	usual  float64   // how long a call takes in a burst, in ns
	ratios []float64 // of calls after a gap to that
	first  int64     // connections of the burst
	made   int64     // after those
}

// burst makes the calls one after the other.
func (s *side) burst() error {
	if err := s.op(); err != nil { // connects
		return err
	}
	took := make([]float64, burstCalls)
	for i := range took {
		start := time.Now()
		if err := s.op(); err != nil {
			return err
		}
		took[i] = float64(time.Since(start))
	}
	s.usual, s.first = median(took).mid, s.proxy.Stats().Accepted
	return nil
}

// sample makes one.
func (s *side) sample() error {
	start := time.Now()
	if err := s.op(); err != nil {
		return err
	}
	s.ratios = append(s.ratios, float64(time.Since(start))/s.usual)
	s.made = s.proxy.Stats().Accepted - s.first
	return nil
}
