package authmatrix_test

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/internal/localpg"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
	"github.com/twinpath/twinpath/internal/wireproxy"
)

const (
	soakWorkers = 32
	soakServers = 4  // connections of the pooler to Postgres
	soakClients = 12 // of the direct path to the pooler
	neighbours  = 2  // connections of an app's own through the same pooler
)

// soak is a database in front of which many crowd.
type soak struct {
	*testing.T
	seed    uint64
	db      *dbaccess.DB // patient
	hasty   *dbaccess.DB // its statements end after a tenth of a second
	proxy   *wireproxy.Proxy
	pooler  *localpg.Pooler
	dsn     string // through proxy and pooler
	super   string
	fresh   []string // what settings are when nobody has set them
	problem atomic.Int64
	did     counts
}

// counts says how often each thing was done.
type counts struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counts) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[what]++
}

// failf reports what is wrong, but not a thousand times.
func (s *soak) failf(format string, args ...any) {
	s.Helper()
	if s.problem.Add(1) <= 20 {
		s.Errorf(format, args...)
	}
}

func (s *soak) failed() bool { return s.problem.Load() >= 20 }

// Many callers crowd on few server connections, together with an app's own
// statements. However a call ends, the next one on its connection is another
// caller's alone.
func TestIsolationSoak(t *testing.T) {
	t.Parallel()
	length := 5 * time.Second
	if os.Getenv("SOAK") == "1" {
		length = time.Minute
	}
	seed := uint64(time.Now().UnixNano())
	if given := os.Getenv("SOAK_SEED"); given != "" {
		n, err := strconv.ParseUint(given, 10, 64)
		if err != nil {
			t.Fatal("SOAK_SEED is not a number")
		}
		seed = n
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("repeat with SOAK_SEED=%d", seed)
		}
	})
	s := newSoak(t, seed)

	// As long as nobody hangs up, no connection is lost: neither one of the path's to
	// the pooler nor one of the pooler's to Postgres, whatever fails.
	s.warm()
	servers := s.servers()
	if len(servers) != soakServers {
		t.Fatalf("%d server connections, want %d", len(servers), soakServers)
	}
	made := s.crowd(length/2, failing)
	if diff := cmp.Diff(servers, s.servers()); diff != "" {
		t.Errorf("failing statements have cost server connections (-before +after):\n%s", diff)
	}
	if made != 0 {
		t.Errorf("failing statements have cost %d client connections", made)
	}

	// Calls that are given up cost theirs. That is all.
	s.crowd(length-length/2, append(giving, failing...))
	if n := len(s.servers()); n > soakServers {
		t.Errorf("%d server connections, want %d at most", n, soakServers)
	}
	s.look()
	t.Logf("seed %d: %v", seed, s.did.n)
	for _, a := range append(giving, failing...) {
		if s.did.n[a.name] == 0 {
			t.Errorf("in all that time nobody did %q", a.name)
		}
	}
	if s.did.n["neutral"] == 0 {
		t.Error("nobody looked at a connection in between")
	}
}

func newSoak(t *testing.T, seed uint64) *soak {
	t.Helper()
	database := newDatabase(t)
	script, err := os.ReadFile("testdata/soak.sql")
	if err != nil {
		t.Fatal(err)
	}
	database.Exec(t, string(script))
	s := &soak{T: t, seed: seed, super: database.SuperDSN}
	s.fresh = must(t, connect(t, database.DirectDSN), neutral)[0]
	must(t, connect(t, database.SuperDSN), "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'authenticator' and datname = current_database()")

	s.pooler = pgtest.NewPooler(t, localpg.PoolerConfig{PoolSize: soakServers})
	if s.proxy, err = wireproxy.Start(wireproxy.Config{Target: s.pooler.Addr()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.proxy.Close(context.Background()); err != nil {
			t.Errorf("close the proxy: %v", err)
		}
	})
	s.dsn = pgtest.At(t, s.pooler.DSN(pgtest.LoginRole, pgtest.LoginPassword, database.Name), s.proxy.Addr())
	same := func(b dbaccess.Backend) dbaccess.Backend { return b }
	s.db = newDirect(t, direct.Config{DSN: s.dsn, MaxConns: soakClients, AcquireTimeout: -1, Timeout: 5 * time.Minute}, same)
	s.hasty = newDirect(t, direct.Config{DSN: s.dsn + "&statement_timeout=100ms", MaxConns: soakServers, AcquireTimeout: -1, Timeout: 5 * time.Minute}, same)
	return s
}

// warm opens all connections that there will be.
func (s *soak) warm() {
	s.Helper()
	ctx := s.Context()
	var all sync.WaitGroup
	for i := range soakClients + soakServers {
		all.Go(func() {
			db, seconds := s.db, 0.5
			if i >= soakClients {
				db, seconds = s.hasty, 0.05
			}
			if err := nap(ctx, db, user(1+i%users), seconds); err != nil && !isTimeout(err) {
				s.failf("warm up: %v", err)
			}
		})
	}
	all.Wait()
}

// servers are the pooler's connections to Postgres.
func (s *soak) servers() []string {
	s.Helper()
	conn := connect(s, s.super)
	defer conn.Close(context.Background())
	var pids []string
	for _, r := range must(s, conn, "select pid from pg_stat_activity where usename = 'authenticator' and datname = current_database() order by pid") {
		pids = append(pids, r[0])
	}
	return pids
}

// crowd lets everybody act for a while. It returns how many connections to the
// pooler were made meanwhile.
func (s *soak) crowd(length time.Duration, acts []act) (made int64) {
	s.Helper()
	var neutrals []*neighbour
	for range neighbours {
		neutrals = append(neutrals, s.newNeighbour())
	}
	before := s.proxy.Stats().Accepted
	end := time.Now().Add(length)
	var all sync.WaitGroup
	for i := range soakWorkers {
		random := rand.New(rand.NewPCG(s.seed, uint64(i)))
		all.Go(func() {
			for time.Now().Before(end) && !s.failed() {
				a := acts[random.IntN(len(acts))]
				me := user(1 + random.IntN(users))
				if err := a.do(s, random, me); err != nil {
					s.failf("%s as %s: %v", a.name, me.name, err)
				}
				s.did.add(a.name)
			}
		})
	}
	for i, n := range neutrals {
		random := rand.New(rand.NewPCG(s.seed, uint64(soakWorkers+i)))
		all.Go(func() {
			for time.Now().Before(end) && !s.failed() {
				n.act(random)
			}
		})
	}
	all.Wait()
	made = s.proxy.Stats().Accepted - before
	s.Logf("%d acts so far, %d connections made", s.did.total(), made)
	for _, n := range neutrals {
		n.look()
		_ = n.conn.Close(context.Background())
	}
	return made
}

func (c *counts) total() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.n {
		n += k
	}
	return n
}

// look is at what all that has left behind in the tables.
func (s *soak) look() {
	s.Helper()
	conn := connect(s, s.super)
	for name, sql := range map[string]string{
		"rows changed by another":   "select count(*) from public.strangers",
		"rows of another's content": "select count(*) from public.notes where note not like right(owner::text, 1) || ': %' or note like '%undone%'",
		"rows too many or too few":  "select abs(count(*) - " + strconv.Itoa(users*slots) + ") from public.notes",
		"rows that lead nowhere":    "select count(*) from public.tails",
	} {
		if n := must(s, conn, sql)[0][0]; n != "0" {
			s.Errorf("%s: %s", name, n)
		}
	}
	if n := must(s, conn, "select count(*) from public.notes where note not like '%seed'")[0][0]; n == "0" {
		s.Error("nobody has changed a row")
	}
}

func isTimeout(err error) bool { return strings.Contains(err.Error(), "timeout") }
