package browser_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	startTimeout = 2 * time.Minute // a cold build cache and a slow machine included
	stopTimeout  = 30 * time.Second
)

// demo is a running example-app.
type demo struct {
	url    string
	output *transcript
}

// startDemo builds and starts the demo on a free port, with the given flags, and, when the test ends,
// interrupts it and checks that it has cleaned up. sentryDSN is where it sends its transactions, "" for
// nowhere.
func startDemo(t *testing.T, sentryDSN string, flags ...string) *demo {
	t.Helper()
	program := filepath.Join(t.TempDir(), "example-app")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./example-app")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the demo: %v\n%s", err, out)
	}

	temp := t.TempDir()
	cmd := exec.Command(program, append([]string{"serve", "--addr", "127.0.0.1:0", "--access-path", "direct"}, flags...)...)
	cmd.Env = append(withoutDemoEnv(os.Environ()), "TMPDIR="+temp, "SENTRY_DSN="+sentryDSN)
	d := &demo{output: &transcript{}}
	cmd.Stderr = d.output
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start the demo: %v", err)
	}
	site := make(chan string, 1)
	var reader sync.WaitGroup
	reader.Go(func() {
		lines := bufio.NewScanner(io.TeeReader(stdout, d.output))
		for lines.Scan() {
			if words := strings.Fields(lines.Text()); len(words) > 1 && words[0] == "site" {
				site <- words[1]
			}
		}
		close(site)
	})
	t.Cleanup(func() { stopDemo(t, cmd, &reader, d.output, temp) })

	select {
	case address, ok := <-site:
		if !ok {
			t.Fatalf("the demo ended before it was ready:\n%s", d.output)
		}
		if _, err := url.Parse(address); err != nil {
			t.Fatalf("the demo's address: %v", err)
		}
		d.url = address
	case <-time.After(startTimeout):
		t.Fatalf("the demo was not ready within %s:\n%s", startTimeout, d.output)
	}
	return d
}

func stopDemo(t *testing.T, cmd *exec.Cmd, reader *sync.WaitGroup, output *transcript, temp string) {
	t.Helper()
	if err := cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("interrupt the demo: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		t.Errorf("the demo did not stop within %s", stopTimeout)
		_ = cmd.Process.Signal(syscall.SIGKILL)
	})
	reader.Wait()
	err := cmd.Wait()
	stop()
	if err != nil {
		t.Errorf("the demo ended with %v:\n%s", err, output)
	}
	left, err := os.ReadDir(temp)
	if err != nil {
		t.Error(err)
	}
	for _, f := range left {
		t.Errorf("the demo left %s behind", f.Name())
	}
}

// withoutDemoEnv leaves out what would make the demo use servers of somebody else.
func withoutDemoEnv(env []string) []string {
	var kept []string
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case "DATABASE_URL", "POOLER_URL", "POSTGREST_URL", "PGRST_JWT_SECRET", "POSTGREST_APIKEY", "SENTRY_DSN", "TMPDIR":
		default:
			kept = append(kept, kv)
		}
	}
	return kept
}

// transcript collects what the demo prints.
type transcript struct {
	mu sync.Mutex
	b  strings.Builder
}

func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}
