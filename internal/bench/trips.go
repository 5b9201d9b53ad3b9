package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// trips counts the round trips of a read on a connection that exists, between the client and the pooler:
// with claims, a timeout derived from the caller's deadline and the guards of each verb.
func trips(ctx context.Context, s *session) (budgets []budget, err error) {
	rig, err := s.rig(ctx)
	if err != nil {
		return nil, err
	}
	proxy, err := rig.proxy(0)
	if err != nil {
		return nil, err
	}
	defer closing(&err, proxy.Close)
	db, err := directDB(ctx, rig.dsn(proxy.Addr()))
	if err != nil {
		return nil, err
	}
	defer closing(&err, db.Close)

	ctx, cancel := context.WithTimeout(auth.With(ctx, caller), time.Minute)
	defer cancel()
	var most int64
	for verb, read := range map[string]operation{
		"All": func() error { return second(dbaccess.All[filing](ctx, db, filingsFrom(500, 50))) },
		"One": func() error {
			return second(dbaccess.One[filing](ctx, db, query.From("filings").Where(query.Eq("id", 7))))
		},
		"First": func() error { return second(dbaccess.First[filing](ctx, db, filingsFrom(500, 1))) },
		"Page":  func() error { _, _, err := dbaccess.Page[filing](ctx, db, filingsFrom(500, 50)); return err },
		"Count": func() error { return second(dbaccess.Count(ctx, db, filingsFrom(500, 1))) },
		"JSON":  func() error { return second(dbaccess.JSON(ctx, db, filingsFrom(500, 50))) },
	} {
		if err := proxy.Idle(ctx); err != nil {
			return nil, err
		}
		proxy.Reset()
		if err := read(); err != nil {
			return nil, fmt.Errorf("%s: %w", verb, err)
		}
		most = max(most, proxy.Stats().RoundTrips)
	}
	return []budget{{
		name: "direct/trips", what: "direct read with full identity", quantity: "round trips on the wire",
		got: exactly(float64(most)), limit: 1,
	}}, nil
}

func second[T any](_ T, err error) error { return err }
