package main

import (
	"context"
	"fmt"
)

// directCallers compares calls through the pooler, 32 at once, with hand-written pgx on a pool of the same
// size.
func directCallers(ctx context.Context, s *session) (budgets []budget, err error) {
	c := comparison{
		name: fmt.Sprintf("direct/%dcallers", callers), what: fmt.Sprintf("direct path, %d callers, 50 rows", callers),
		against: "hand-written pgx, same batch, pool of the same size", time: 1,
	}
	rig, err := s.rig(ctx)
	if err != nil {
		return nil, err
	}
	made, err := directConnections(ctx, rig)
	if err != nil {
		return nil, err
	}
	budgets = []budget{c.budget("connections", "connections", exactly(made), 1)}
	if !s.timed() {
		return budgets, nil
	}
	p, err := directPair(ctx, rig, rig.pooler.Addr(), 50, pgxBatch)
	if err != nil {
		return nil, err
	}
	defer closing(&err, p.close)
	p.ours, p.peer = atOnce(p.ours), atOnce(p.peer)
	timed, err := s.compare(p, c)
	return append(budgets, timed...), err
}

// directConnections counts the connections that each side makes from none, and returns ours as a multiple
// of the peer's.
func directConnections(ctx context.Context, rig *rig) (_ float64, err error) {
	proxy, err := rig.proxy(0)
	if err != nil {
		return 0, err
	}
	defer closing(&err, proxy.Close)
	p, err := directPair(ctx, rig, proxy.Addr(), 50, pgxBatch)
	if err != nil {
		return 0, err
	}
	defer closing(&err, p.close)
	if err := atOnce(p.ours)(); err != nil {
		return 0, err
	}
	ours := proxy.Stats().Accepted
	if err := atOnce(p.peer)(); err != nil {
		return 0, err
	}
	return float64(ours) / float64(proxy.Stats().Accepted-ours), nil
}
