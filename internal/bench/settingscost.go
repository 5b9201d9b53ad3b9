package main

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
)

// readerRole may read the rows by itself: it needs no settings to.
const readerRole = "reader"

// The same JSON for one row, without role, claims or guard.
const bareSQL = `select coalesce(json_agg(_t), '[]')::text from (select id, ref, title, price, tags, detail, filed_at, late, score, quantity
	from public.filings where id >= $1 order by id limit $2) _t`

// settingsCost compares a call, with all that it sets and checks, with its statement alone, sent as a
// role that may read the rows by itself.
func settingsCost(ctx context.Context, s *session) (budgets []budget, err error) {
	rig, err := s.rig(ctx)
	if err != nil {
		return nil, err
	}
	near, err := settingsCostAt(ctx, s, rig, rig.pooler.Addr(), comparison{
		name: "settings/near", what: "role, claims, settings and guards, 1 row", against: "the same statement alone", time: 1, info: true,
	})
	if err != nil {
		return nil, err
	}
	proxy, err := rig.proxy(2500 * time.Microsecond)
	if err != nil {
		return nil, err
	}
	defer closing(&err, proxy.Close)
	far, err := settingsCostAt(ctx, s, rig, proxy.Addr(), comparison{
		name: "settings/5ms", what: "role, claims, settings and guards, 1 row, 5 ms away", against: "the same statement alone", time: 1.15,
	})
	return append(near, far...), err
}

func settingsCostAt(ctx context.Context, s *session, rig *rig, addr string, c comparison) (budgets []budget, err error) {
	db, err := directDB(ctx, rig.dsn(addr))
	if err != nil {
		return nil, err
	}
	defer closing(&err, db.Close)
	u := url.URL{Scheme: "postgres", User: url.UserPassword(readerRole, readerRole), Host: addr, Path: "/postgres", RawQuery: "sslmode=disable&default_query_exec_mode=exec"}
	pool, err := pgxpool.New(ctx, u.String())
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	as := auth.With(ctx, caller)
	check := func(body string, err error) error {
		if err == nil && !strings.HasPrefix(body, `[{"id":500,`) {
			err = errRows
		}
		return err
	}
	return s.compare(&pair{
		ours: func() error {
			body, err := dbaccess.JSON(as, db, filingsFrom(500, 1))
			return check(string(body), err)
		},
		peer: func() error {
			var body string
			err := pool.QueryRow(ctx, bareSQL, 500, 1).Scan(&body)
			return check(body, err)
		},
	}, c)
}
