package main

import (
	"context"
	"errors"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/rollout"
)

// decisionsPerOp makes an operation long enough for the clock.
const decisionsPerOp = 1000

// decisions measures how long a router takes to pick a path.
func decisions(ctx context.Context, s *session) (budgets []budget, err error) {
	for _, r := range []struct {
		name, title string
		router      dbaccess.Router
	}{
		{"fixed", "Fixed", rollout.Fixed(dbaccess.Direct)},
		{"percent", "Percent", rollout.Percent(10, "db-access-path")},
	} {
		op := func() error {
			for range decisionsPerOp {
				if d := r.router.Route(ctx, dbaccess.RouteRequest{Subject: callerID, Query: "filings_from"}); !d.Path.Valid() {
					return errors.New("the router named no path")
				}
			}
			return nil
		}
		cost, err := allocations(s.effort, op)
		if err != nil {
			return nil, err
		}
		name, what := "decision/"+r.name, "the decision of rollout."+r.title
		budgets = append(budgets, budget{name: name + "/allocs", what: what, quantity: "allocations", got: exactly(cost.objects / decisionsPerOp)})
		if !s.timed() {
			continue
		}
		took, err := nanoseconds(s.effort, op)
		if err != nil {
			return nil, err
		}
		took = interval{took.mid / decisionsPerOp, took.low / decisionsPerOp, took.high / decisionsPerOp}
		budgets = append(budgets, budget{name: name + "/ns", what: what, quantity: "time", unit: "ns", got: took, limit: 300, timed: true})
	}
	return budgets, nil
}
