package localpg_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/twinpath/twinpath/internal/localpg"
)

// childDirEnv turns this test binary into a process that starts servers in that directory, says so
// and waits: for the end of its input, after which it stops them, or to be killed.
const childDirEnv = "LOCALPG_TEST_CHILD_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDirEnv); dir != "" {
		if err := child(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	if err := localpg.ClearEnvironment(); err != nil { // for the tests' own connections
		fmt.Println(err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

func child(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cluster, err := localpg.Start(ctx, localpg.Config{Dir: dir})
	if err != nil {
		return err
	}
	pooler, err := localpg.StartPooler(ctx, localpg.PoolerConfig{
		Dir: dir, Upstream: cluster.Addr(), Users: map[string]string{"app": "app"},
	})
	if err != nil {
		return err
	}
	fmt.Println("ready", cluster.Addr(), pooler.Addr())
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	if err := pooler.Stop(ctx); err != nil {
		return err
	}
	return cluster.Stop(ctx)
}

// openDir makes a directory that the servers' user can reach, unlike those of t.TempDir.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "localpg-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// entries returns the names in a directory.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func start(t *testing.T, cfg localpg.Config) *localpg.Cluster {
	t.Helper()
	c, err := localpg.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.Background()); err != nil {
			t.Errorf("stop the cluster: %v", err)
		}
	})
	return c
}

func startPooler(t *testing.T, cfg localpg.PoolerConfig) *localpg.Pooler {
	t.Helper()
	p, err := localpg.StartPooler(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(context.Background()); err != nil {
			t.Errorf("stop the pooler: %v", err)
		}
	})
	return p
}
