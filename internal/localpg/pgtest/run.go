package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/twinpath/twinpath/internal/localpg"
)

// EnvDatabaseURL is the environment variable that names a running server to test on.
const EnvDatabaseURL = "TWINPATH_TEST_DATABASE_URL"

// shared is what the tests of this binary have in common. A test function gets no argument to hand it
// over in, so it is the one variable of its kind in the project; Run ends it.
var shared server

// Run takes the PG* variables out of the environment, unless EnvDatabaseURL names a
// server that they may be meant for. It runs the tests, stops what they started through this package, and then checks that no goroutine
// is left. It returns the code for os.Exit. The options are for goroutines that a dependency is known
// to keep.
func Run(m *testing.M, options ...goleak.Option) int {
	if os.Getenv(EnvDatabaseURL) == "" {
		if err := localpg.ClearEnvironment(); err != nil {
			fmt.Fprintln(os.Stderr, "pgtest:", err)
			return 1
		}
	}
	shared.allow()
	code := m.Run()
	if err := shared.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "pgtest: stop the servers:", err)
		code = max(code, 1)
	}
	if code == 0 {
		if err := goleak.Find(options...); err != nil {
			fmt.Fprintln(os.Stderr, "pgtest: goroutines are left after the tests:", err)
			code = 1
		}
	}
	return code
}

// server is the cluster and the pooler of one test binary.
type server struct {
	mu        sync.Mutex
	state     serverState
	superDSN  string // of the maintenance database; empty until started
	startErr  error
	pooler    pooler
	poolerErr error
	templates map[string]*template
	ends      []func(context.Context) error
}

type serverState int

const (
	forbidden serverState = iota // Run was not called, so nobody would stop a server
	allowed
	ended
)

func (s *server) allow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = allowed
}

// usable reports why a server can't be used now. The caller holds s.mu.
func (s *server) usable() error {
	switch s.state {
	case forbidden:
		return errors.New("pgtest: add `func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }` to the package's tests: it stops the servers")
	case ended:
		return errors.New("pgtest: the tests are over")
	}
	return nil
}

// stop ends what was started, last things first.
func (s *server) stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = ended
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var errs []error
	for i := len(s.ends) - 1; i >= 0; i-- {
		errs = append(errs, s.ends[i](ctx))
	}
	s.ends = nil
	return errors.Join(errs...)
}
