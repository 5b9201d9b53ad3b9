package faults_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/postgresttest"
	"github.com/twinpath/twinpath/dbaccess/rest"
	"github.com/twinpath/twinpath/internal/localpg"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
	"github.com/twinpath/twinpath/internal/wireproxy"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

const (
	database = "postgres"
	login    = "authenticator"
	password = "secret"

	behindPooler = "Postgres behind the pooler"
)

// schema has rows to read, long enough for a fault to be in their midst, and a table for
// marks that no constraint keeps from being set twice.
const schema = `
create role authenticator login noinherit password 'secret';
create role anon nologin;
grant anon to authenticator;
create table public.facts (id int primary key, body text not null);
insert into public.facts select n, repeat(md5(n::text), 4) from generate_series(1, 20) n;
create table public.marks (tag text not null);
grant usage on schema public to anon;
grant select on public.facts to anon;
grant select, insert on public.marks to anon;`

// target is a path to the database, and the place on it where things break.
type target struct {
	name    string
	cluster *localpg.Cluster
	proxy   *wireproxy.Proxy
	pooler  *localpg.Pooler // nil without one
	db      *dbaccess.DB
	restart func(context.Context) error
}

// closers end what a test has started, last things first, before its end: the test counts what
// is left.
type closers []func() error

func (c *closers) add(f func() error) { *c = append(*c, f) }

func (c *closers) close(t *testing.T) {
	t.Helper()
	for i := len(*c) - 1; i >= 0; i-- {
		if err := (*c)[i](); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	*c = nil
}

func ended(f func(context.Context) error) func() error {
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		return f(ctx)
	}
}

func startCluster(t *testing.T, end *closers) *localpg.Cluster {
	t.Helper()
	cluster, err := localpg.Start(t.Context(), localpg.Config{})
	if err != nil {
		t.Fatal(err)
	}
	end.add(ended(cluster.Stop))
	if err := cluster.Exec(t.Context(), database, schema); err != nil {
		t.Fatal(err)
	}
	return cluster
}

func startProxy(t *testing.T, end *closers, addr string) *wireproxy.Proxy {
	t.Helper()
	p, err := wireproxy.Start(wireproxy.Config{Target: addr})
	if err != nil {
		t.Fatal(err)
	}
	end.add(ended(p.Close))
	return p
}

func startPooler(t *testing.T, end *closers, upstream string) *localpg.Pooler {
	t.Helper()
	p, err := localpg.StartPooler(t.Context(), localpg.PoolerConfig{
		Upstream: upstream, Users: map[string]string{login: password},
		Settings: map[string]string{"server_login_retry": "1"}, // which keeps clients waiting for 15 s by default
	})
	if err != nil {
		t.Fatal(err)
	}
	end.add(ended(p.Stop))
	return p
}

func open(t *testing.T, end *closers, cfg dbaccess.Config) *dbaccess.DB {
	t.Helper()
	cfg.Default = &auth.Identity{Role: "anon"}
	db, err := dbaccess.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	end.add(ended(db.Close))
	return db
}

func openDirect(t *testing.T, end *closers, addr string) *dbaccess.DB {
	t.Helper()
	b, err := direct.New(direct.Config{DSN: "postgres://" + login + ":" + password + "@" + addr + "/" + database + "?sslmode=disable"})
	if err != nil {
		t.Fatal(err)
	}
	return open(t, end, dbaccess.Config{Direct: b})
}

// newTargets are all paths, on one cluster.
func newTargets(t *testing.T, end *closers) []*target {
	t.Helper()
	cluster := startCluster(t, end)

	srv := &restServer{cfg: postgresttest.Config{DSN: cluster.DSN(login, password, database)}}
	if err := srv.start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	end.add(srv.stop)
	overREST := startProxy(t, end, srv.addr)
	backend, err := rest.New(rest.Config{URL: "http://" + overREST.Addr()})
	if err != nil {
		t.Fatal(err)
	}
	postgREST := &target{name: "PostgREST", proxy: overREST, restart: func(context.Context) error { return srv.restart() }}
	postgREST.db = open(t, end, dbaccess.Config{REST: backend})

	pooler := &target{name: "pooler", pooler: startPooler(t, end, cluster.Addr())}
	pooler.proxy = startProxy(t, end, pooler.pooler.Addr())
	pooler.db, pooler.restart = openDirect(t, end, pooler.proxy.Addr()), pooler.pooler.Restart

	behind := &target{name: behindPooler, proxy: startProxy(t, end, cluster.Addr()), restart: cluster.Restart}
	behind.pooler = startPooler(t, end, behind.proxy.Addr())
	behind.db = openDirect(t, end, behind.pooler.Addr())

	plain := &target{name: "Postgres", proxy: startProxy(t, end, cluster.Addr()), restart: cluster.Restart}
	plain.db = openDirect(t, end, plain.proxy.Addr())

	targets := []*target{postgREST, pooler, behind, plain}
	for _, tg := range targets {
		tg.cluster = cluster
	}
	return targets
}

// restServer is the stand-in, which can be restarted at its address.
type restServer struct {
	cfg  postgresttest.Config
	addr string

	handler *postgresttest.Handler
	server  *http.Server
	served  sync.WaitGroup
}

func (s *restServer) start(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	if s.handler, err = postgresttest.NewHandler(s.cfg); err != nil {
		return errors.Join(err, l.Close())
	}
	s.addr = l.Addr().String()
	s.server = &http.Server{Handler: s.handler, ReadHeaderTimeout: time.Minute}
	s.served.Go(func() { _ = s.server.Serve(l) })
	return nil
}

// stop ends the connections, whatever they are about.
func (s *restServer) stop() error {
	err := s.server.Close()
	s.served.Wait()
	s.handler.Close()
	return err
}

func (s *restServer) restart() error {
	return errors.Join(s.stop(), s.start(s.addr))
}
