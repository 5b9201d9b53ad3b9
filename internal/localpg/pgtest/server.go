package pgtest

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/internal/localpg"
)

// The login role of the golden fixture, that of PostgREST and of the direct path.
const (
	LoginRole     = "authenticator"
	LoginPassword = "authenticator"
)

// startTimeout bounds the start of a server and the making of a database.
const startTimeout = 2 * time.Minute

// pooler is the part of localpg.Pooler that a Database needs.
type pooler = *localpg.Pooler

// super returns the DSN of the superuser's maintenance database, and starts the cluster at the
// first call. A failed start is not tried again: it would fail every test after a long wait.
func (s *server) super(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return "", err
	}
	if s.superDSN != "" || s.startErr != nil {
		return s.superDSN, s.startErr
	}
	if dsn := os.Getenv(EnvDatabaseURL); dsn != "" {
		if _, err := pgconn.ParseConfig(dsn); err != nil {
			s.startErr = fmt.Errorf("pgtest: %s: %w", EnvDatabaseURL, err)
			return "", s.startErr
		}
		s.superDSN = dsn
		return dsn, nil
	}
	cluster, err := localpg.Start(ctx, localpg.Config{MaxConnections: 300})
	if err != nil {
		s.startErr = err
		return "", err
	}
	s.ends = append(s.ends, cluster.Stop)
	s.superDSN = cluster.SuperDSN("postgres")
	if fuzzing() {
		// The workers are processes of this binary that inherit our environment. They share our server,
		// also because they are killed at the end, before they could stop one of their own.
		if err := os.Setenv(EnvDatabaseURL, s.superDSN); err != nil {
			return "", err
		}
		s.ends = append(s.ends, func(context.Context) error {
			_, err := localpg.Sweep() // the workers' poolers
			return err
		})
	}
	return s.superDSN, nil
}

// fuzzing reports whether the binary runs under go test -fuzz.
func fuzzing() bool {
	f := flag.Lookup("test.fuzz")
	return f != nil && f.Value.String() != ""
}

// sharedPooler returns the pooler in front of the cluster, and starts it at the first call.
func (s *server) sharedPooler(ctx context.Context) (*localpg.Pooler, error) {
	super, err := s.super(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return nil, err
	}
	if s.pooler != nil || s.poolerErr != nil {
		return s.pooler, s.poolerErr
	}
	s.pooler, s.poolerErr = startPooler(ctx, super, localpg.PoolerConfig{MaxClients: 400})
	if s.poolerErr == nil {
		s.ends = append(s.ends, s.pooler.Stop)
	}
	return s.pooler, s.poolerErr
}

func startPooler(ctx context.Context, super string, cfg localpg.PoolerConfig) (*localpg.Pooler, error) {
	if cfg.Upstream == "" {
		server, err := pgconn.ParseConfig(super)
		if err != nil {
			return nil, err
		}
		cfg.Upstream = net.JoinHostPort(server.Host, strconv.Itoa(int(server.Port)))
	}
	if cfg.Users == nil {
		cfg.Users = map[string]string{LoginRole: LoginPassword}
	}
	return localpg.StartPooler(ctx, cfg)
}

// NewPooler starts a PgBouncer of the test's own, for tests that fill it, restart it or need other
// settings than the shared one has. An empty Upstream is the shared cluster, empty Users the
// fixture's login role. It stops when the test ends.
func NewPooler(tb testing.TB, cfg localpg.PoolerConfig) *localpg.Pooler {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), startTimeout)
	defer cancel()
	super, err := shared.super(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	p, err := startPooler(ctx, super, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := p.Stop(context.Background()); err != nil {
			tb.Errorf("stop the pooler: %v", err)
		}
	})
	return p
}

// Pooler returns the PgBouncer that all tests of the binary share: transaction mode, 20 server
// connections per user and database, 400 clients.
func Pooler(tb testing.TB) *localpg.Pooler {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), startTimeout)
	defer cancel()
	p, err := shared.sharedPooler(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}
