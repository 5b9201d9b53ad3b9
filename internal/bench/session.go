package main

import (
	"context"
	"errors"
	"time"
)

// session is one run of the command.
type session struct {
	effort  effort
	running *rig
}

// rig returns the servers, which are started when first asked for.
func (s *session) rig(ctx context.Context) (*rig, error) {
	if s.running == nil {
		r, err := startRig(ctx)
		if err != nil {
			return nil, err
		}
		s.running = r
	}
	return s.running, nil
}

func (s *session) close() error {
	if s.running == nil {
		return nil
	}
	return s.running.close()
}

// timed says whether anything is measured by the clock.
func (s *session) timed() bool { return s.effort.rounds > 0 }

// comparison is what a pair may cost as a multiple of its peer. What is 0 is not measured.
type comparison struct {
	name, what, against  string
	time, objects, bytes float64
	info                 bool // the figures are no limits
}

// compare measures a pair.
func (s *session) compare(p *pair, c comparison) (budgets []budget, err error) {
	if c.objects > 0 || c.bytes > 0 {
		ours, err := allocations(s.effort, p.ours)
		if err != nil {
			return nil, err
		}
		peer, err := allocations(s.effort, p.peer)
		if err != nil {
			return nil, err
		}
		if c.objects > 0 {
			budgets = append(budgets, c.budget("allocs", "allocations", exactly(ours.objects/peer.objects), c.objects))
		}
		if c.bytes > 0 {
			budgets = append(budgets, c.budget("bytes", "bytes allocated", exactly(ours.bytes/peer.bytes), c.bytes))
		}
	}
	if c.time > 0 && s.timed() {
		ratio, err := timeRatio(s.effort, p.ours, p.peer)
		if err != nil {
			return nil, err
		}
		b := c.budget("ns", "time", ratio, c.time)
		b.timed = true
		budgets = append(budgets, b)
	}
	return budgets, nil
}

func (c *comparison) budget(name, quantity string, got interval, limit float64) budget {
	return budget{
		name: c.name + "/" + name, what: c.what, against: c.against, quantity: quantity,
		unit: "×", got: got, limit: limit, info: c.info,
	}
}

// closing runs a deferred close with time of its own and adds its error to err.
func closing(err *error, stop func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	*err = errors.Join(*err, stop(ctx))
}
