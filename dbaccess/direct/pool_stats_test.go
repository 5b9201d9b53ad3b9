package direct_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

func ExampleBackend_PoolStats() {
	b, err := direct.New(direct.Config{DSN: "host=pooler.example.com port=6543 user=app"})
	if err != nil {
		panic(err)
	}
	s := b.PoolStats()
	fmt.Printf("%d of %d connections in use, %d replaced\n", s.InUse, s.Max, s.Replaced)
	// Output: 0 of 4 connections in use, 0 replaced
}

func TestPoolStats(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, sleeping)
	b := open(t, direct.Config{DSN: db.DirectDSN, MaxConns: 2, KeepWarm: -1, AcquireTimeout: time.Minute})
	check := func(when string, want dbaccess.PoolStats) {
		t.Helper()
		got := b.PoolStats()
		if (got.Wait > 0) != (want.Wait > 0) {
			t.Errorf("%s: waited %v", when, got.Wait)
		}
		got.Wait, want.Wait = 0, 0
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	check("at first", dbaccess.PoolStats{Max: 2})
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("started", dbaccess.PoolStats{Max: 2, Idle: 1, Acquired: 1, New: 1})
	_ = body(t, b, lists, anon)
	check("after a call", dbaccess.PoolStats{Max: 2, Idle: 1, Acquired: 2, New: 1})

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := b.Do(ctx, call(query.From("sleeping"), anon))
			ended <- err
		}()
	}
	awaitSleepers(t, db, 2)
	check("busy", dbaccess.PoolStats{Max: 2, InUse: 2, Acquired: 4, New: 2})
	hurried, cancelHurried := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancelHurried()
	if _, err := b.Do(hurried, call(lists, anon)); !errors.Is(err, dbaccess.ErrSaturated) {
		t.Errorf("error %v, want ErrSaturated", err)
	}
	check("one in vain", dbaccess.PoolStats{Max: 2, InUse: 2, Acquired: 4, Queued: 1, Wait: 1, Canceled: 1, New: 2})
	waited := make(chan error, 1)
	go func() {
		_, err := b.Do(t.Context(), call(lists, anon))
		waited <- err
	}()
	time.Sleep(50 * time.Millisecond) // nothing tells that it waits
	cancel()
	for _, c := range []chan error{ended, ended, waited} {
		if err := <-c; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	await(t, func() bool { return b.PoolStats().Closed == 2 && b.PoolStats().InUse == 0 })
	check("those cancelled are closed", dbaccess.PoolStats{Max: 2, Idle: 1, Acquired: 5, Queued: 2, Wait: 1, Canceled: 1, New: 3, Closed: 2})
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
	check("closed", dbaccess.PoolStats{Max: 2, Acquired: 5, Queued: 2, Wait: 1, Canceled: 1, New: 3, Closed: 2})
}

func TestPoolStatsOfAppsPool(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	pool, err := pgxpool.New(t.Context(), db.DirectDSN+"&pool_max_conns=3")
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	b := open(t, direct.Config{Pool: pool})
	for range 3 {
		_ = body(t, b, lists, anon)
	}
	got := b.PoolStats()
	got.Wait = 0
	if diff := cmp.Diff(dbaccess.PoolStats{Max: 3, Idle: 1, Acquired: 3, Queued: 1, New: 1}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if direct.Warm(b) {
		t.Error("an app's pool is pinged")
	}
}
