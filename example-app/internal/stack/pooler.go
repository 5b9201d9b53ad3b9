package stack

import (
	"context"
	"errors"
	"fmt"

	"github.com/twinpath/twinpath/internal/localpg"
)

// startPooler finds or starts the transaction pooler, and sets the direct path's DSN.
func (s *Stack) startPooler(ctx context.Context) error {
	if dsn := s.env("POOLER_URL"); dsn != "" {
		t, err := parseTarget("POOLER_URL", dsn)
		if err != nil {
			return err
		}
		if s.cfg.RTT > 0 && (t.socket || t.verified) {
			return errors.New("--rtt needs POOLER_URL to name a TCP host and no sslmode=verify-full")
		}
		addr, err := s.link(t.addr)
		if err != nil {
			return err
		}
		s.PoolerDSN, s.Pooled = t.at(addr), true
		s.report("pooler", "on %s, from POOLER_URL", t.addr)
		return nil
	}
	database, err := parseTarget("DATABASE_URL", s.admin)
	if err != nil {
		return err
	}
	upstream, err := s.link(database.addr)
	if err != nil {
		return err
	}
	if database.socket {
		s.PoolerDSN = database.as(s.login)
		s.report("pooler", "NOTICE: none, because DATABASE_URL names a Unix socket: the direct path goes to Postgres itself")
		return nil
	}
	program, err := s.cfg.FindPooler()
	if _, missing := errors.AsType[*localpg.MissingError](err); missing {
		direct := database
		direct.dsn = database.as(s.login)
		s.PoolerDSN = direct.at(upstream)
		s.report("pooler", "NOTICE: none, because there is no pgbouncer (apt-get install pgbouncer): the direct path goes to Postgres itself")
		return nil
	}
	if err != nil {
		return err
	}
	pooler, err := localpg.StartPooler(ctx, localpg.PoolerConfig{
		Program:  program,
		Upstream: upstream,
		Users:    map[string]string{s.login.user: s.login.password},
	})
	if err != nil {
		return fmt.Errorf("no POOLER_URL, and PgBouncer does not start: %w", err)
	}
	s.onClose(pooler.Stop)
	addr, err := s.link(pooler.Addr())
	if err != nil {
		return err
	}
	t, err := parseTarget("the pooler's DSN", pooler.DSN(s.login.user, s.login.password, database.database))
	if err != nil {
		return err
	}
	s.PoolerDSN, s.Pooled = t.at(addr), true
	s.report("pooler", "PgBouncer %s on %s, pool mode transaction, started here", pooler.Version(), pooler.Addr())
	return nil
}
