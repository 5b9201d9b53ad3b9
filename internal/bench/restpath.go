package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/supabase-community/postgrest-go"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/rest"
)

const apiKey = "a key of the gateway"

// restPair reads so many rows from the server.
func restPair(ctx context.Context, server *canned, rows int) (*pair, error) {
	path, err := rest.New(rest.Config{URL: server.url(), APIKey: apiKey})
	if err != nil {
		return nil, err
	}
	db, err := dbaccess.New(dbaccess.Config{REST: path, Default: &auth.Identity{Role: rest.DefaultAnonRole}})
	if err != nil {
		return nil, errors.Join(err, path.Close(ctx))
	}
	client := postgrest.NewClient(server.url(), "", map[string]string{"apikey": apiKey})
	check := func(found []filing, err error) error {
		if err == nil && len(found) != rows {
			err = errRows
		}
		return err
	}
	return &pair{
		ours: func() error { return check(dbaccess.All[filing](ctx, db, filingsFrom(500, rows))) },
		peer: func() error { return check(bare(client, 500, rows)) },
		close: func(ctx context.Context) error {
			http.DefaultTransport.(*http.Transport).CloseIdleConnections() // postgrest-go's
			return db.Close(ctx)
		},
	}, nil
}

// bare is postgrest-go as its README shows it: one client for all, and encoding/json.
func bare(client *postgrest.Client, id int64, limit int) (found []filing, err error) {
	_, err = client.From("filings").
		Select("id,ref,title,price,tags,detail,filed_at,late,score,quantity", "", false).
		Gte("id", strconv.FormatInt(id, 10)).
		Order("id", &postgrest.OrderOpts{Ascending: true}).
		Limit(limit, "").
		ExecuteTo(&found)
	return found, err
}

// answer is what PostgREST answers with the rows that the fixture has.
func answer(rows int) ([]byte, error) {
	found := make([]filing, rows)
	for i := range found {
		n := 500 + i
		found[i] = filing{
			ID: int64(n), Ref: fmt.Sprintf("a0eebc99-9c0b-4ef8-bb6d-%012d", n), Title: fmt.Sprintf("Insider bought %d shares", n),
			Price: 100 + float64(n)/4, Tags: []string{"form4", "open market", "ceo"}, Detail: json.RawMessage(`{"form":"4","lines":[1,2,3]}`),
			FiledAt: time.Date(2026, 2, 28, 4, 14+n, 15, 123456000, time.UTC), Late: n%2 == 0, Score: float64(n) + 0.25, Quantity: int32(n),
		}
	}
	return json.Marshal(found)
}

// restPath compares calls through PostgREST, one at a time and 32 at once, with postgrest-go alone.
func restPath(ctx context.Context, s *session) (budgets []budget, err error) {
	const against = "postgrest-go v0.0.11 and encoding/json"
	for _, rows := range []int{1, 50} {
		body, err := answer(rows)
		if err != nil {
			return nil, err
		}
		c := comparison{name: "rest/" + countOf(rows), what: "REST path, 1 caller, " + plural(rows), against: against, time: 1.05, objects: 1.05}
		found, err := withServer(ctx, body, rows, 0, func(p *pair, _ *canned) ([]budget, error) { return s.compare(p, c) })
		if err != nil {
			return nil, err
		}
		budgets = append(budgets, found...)
	}
	body, err := answer(50)
	if err != nil {
		return nil, err
	}
	found, err := withServer(ctx, body, 50, busyAfter, func(p *pair, server *canned) ([]budget, error) {
		p.ours, p.peer = atOnce(p.ours), atOnce(p.peer)
		return s.compareConnections(p, server, comparison{
			name: fmt.Sprintf("rest/%dcallers", callers), what: fmt.Sprintf("REST path, %d callers, 50 rows", callers), against: against, time: 1,
		})
	})
	return append(budgets, found...), err
}

// withServer gives use a pair of clients and their server.
func withServer(ctx context.Context, body []byte, rows int, after time.Duration, use func(*pair, *canned) ([]budget, error)) (_ []budget, err error) {
	server, err := serve(body, rows, after)
	if err != nil {
		return nil, err
	}
	defer closing(&err, server.close)
	p, err := restPair(ctx, server, rows)
	if err != nil {
		return nil, err
	}
	defer closing(&err, p.close)
	return use(p, server)
}

const (
	callers   = 32
	perCaller = 50
	busyAfter = 2 * time.Millisecond // about what a small PostgREST needs for 50 rows
)

// atOnce makes one operation of many: each caller's, one after the other, beside all other callers'.
func atOnce(op operation) operation {
	return func() error {
		errs := make([]error, callers)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { errs[i] = op.times(perCaller) })
		}
		wg.Wait()
		return errors.Join(errs...)
	}
}

// compareConnections counts the connections that the server sees, from none, and compares the time.
func (s *session) compareConnections(p *pair, server *canned, c comparison) ([]budget, error) {
	before := server.accepted.Load()
	if err := p.ours(); err != nil {
		return nil, err
	}
	ours := server.accepted.Load()
	if err := p.peer(); err != nil {
		return nil, err
	}
	peer := server.accepted.Load()
	budgets := []budget{c.budget("connections", "TCP connections", exactly(float64(ours-before)/float64(peer-ours)), 0.2)}
	timed, err := s.compare(p, c)
	return append(budgets, timed...), err
}
