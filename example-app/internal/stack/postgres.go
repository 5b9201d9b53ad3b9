package stack

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twinpath/twinpath/example-app/internal/stock"
	"github.com/twinpath/twinpath/internal/localpg"
)

const (
	localDatabase = "stocks"
	localLogin    = "authenticator" // as PostgREST's documentation and Supabase call it

	// guestLogin is the login in a database that isn't ours, where authenticator may be taken.
	guestLogin = "twinpath_demo_login"
)

// startPostgres finds or starts Postgres, loads the data and makes the login role.
func (s *Stack) startPostgres(ctx context.Context) error {
	if dsn := s.env("DATABASE_URL"); dsn != "" {
		if err := s.usePostgres(dsn); err != nil {
			return err
		}
	} else if err := s.runPostgres(ctx); err != nil {
		return err
	}
	version, err := serverVersion(ctx, s.admin)
	if err != nil {
		return fmt.Errorf("ask Postgres for its version: %w", err)
	}
	t, err := parseTarget("DATABASE_URL", s.admin)
	if err != nil {
		return err
	}
	origin := "started here"
	if s.env("DATABASE_URL") != "" {
		origin = "from DATABASE_URL"
	}
	s.report("postgres", "PostgreSQL %s on %s, %s", version, t.addr, origin)

	started := time.Now()
	state, err := stock.Load(ctx, s.admin)
	if err != nil {
		return err
	}
	if err := stock.CreateLogin(ctx, s.admin, stock.Login{Name: s.login.user, Password: s.login.password, Roles: s.roles()}); err != nil {
		return err
	}
	data := fmt.Sprintf("%d companies, %d insider transactions in schema %s", stock.Companies, stock.Transactions, stock.Schema)
	if state == stock.Loaded {
		s.report("data", "%s, loaded in %.1fs", data, time.Since(started).Seconds())
	} else {
		s.report("data", "%s, loaded earlier", data)
	}
	return nil
}

func (s *Stack) runPostgres(ctx context.Context) error {
	cluster, err := localpg.Start(ctx, localpg.Config{})
	if err != nil {
		return fmt.Errorf("no DATABASE_URL, and no local Postgres either: %w", err)
	}
	s.onClose(cluster.Stop)
	if err := cluster.CreateDatabase(ctx, localDatabase, ""); err != nil {
		return err
	}
	s.admin = cluster.SuperDSN(localDatabase)
	s.login = login{user: localLogin, password: rand.Text()}
	return nil
}

// usePostgres takes the database of DATABASE_URL.
func (s *Stack) usePostgres(dsn string) error {
	t, err := parseTarget("DATABASE_URL", dsn)
	if err != nil {
		return err
	}
	if s.cfg.RTT > 0 && t.socket {
		return errors.New("--rtt needs DATABASE_URL to name a TCP host: nothing can be put into a Unix socket's way")
	}
	if s.cfg.RTT > 0 && t.verified {
		return errors.New("--rtt puts a proxy in front of DATABASE_URL's host, which sslmode=verify-full refuses: leave one of them out")
	}
	s.admin = dsn
	s.login = login{user: guestLogin, password: guestPassword(t.password)}
	return nil
}

// guestPassword derives the login's password from the administrator's, so that demos that share a
// database don't lock each other out. Without one it is random.
func guestPassword(admin string) string {
	if admin == "" {
		return rand.Text()
	}
	mac := hmac.New(sha256.New, []byte(admin))
	mac.Write([]byte("twinpath demo login"))
	return hex.EncodeToString(mac.Sum(nil))
}

func serverVersion(ctx context.Context, dsn string) (_ string, err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	return conn.PgConn().ParameterStatus("server_version"), nil
}
