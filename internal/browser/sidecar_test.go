package browser_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var listening = regexp.MustCompile(`Spotlight listening on ([0-9]+)`)

// startSpotlight starts the sidecar as make spotlight does, but on a free port, ends it when the test
// does, and returns its host and port.
func startSpotlight(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(filepath.Join("..", "..", ".ci", "spotlight", "run"), "serve", "0")
	output := &transcript{}
	cmd.Stdout = output
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start Spotlight: %v", err)
	}
	ports := make(chan string, 1)
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(ports)
		lines := bufio.NewScanner(io.TeeReader(stderr, output))
		told := false
		for lines.Scan() {
			if found := listening.FindStringSubmatch(lines.Text()); found != nil && !told {
				told = true
				ports <- found[1]
			}
		}
	})
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("stop Spotlight: %v", err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		stop := context.AfterFunc(ctx, func() {
			t.Errorf("Spotlight did not stop within %s", stopTimeout)
			_ = cmd.Process.Kill()
		})
		reader.Wait()
		_ = cmd.Wait() // its exit status says nothing about what it showed
		stop()
	})
	select {
	case port, ok := <-ports:
		if !ok {
			t.Fatalf("Spotlight ended before it was ready; .ci/deps test installs what it needs:\n%s", output)
		}
		return "127.0.0.1:" + port
	case <-time.After(startTimeout):
		t.Fatalf("Spotlight was not ready within %s:\n%s", startTimeout, output)
	}
	return ""
}

// trace is what is used of a trace that the demo tells of.
type trace struct {
	TraceID    string  `json:"trace_id"`
	Name       string  `json:"name"`
	Path       string  `json:"path"`
	DurationMS float64 `json:"duration_ms"`
	Spans      []struct {
		Name       string  `json:"name"`
		DurationMS float64 `json:"duration_ms"`
	} `json:"spans"`
}

// has says whether a span has the name, or ends in it.
func (tr *trace) has(phase string) bool {
	for _, s := range tr.Spans {
		if s.Name == phase || strings.HasSuffix(s.Name, ": "+phase) {
			return true
		}
	}
	return false
}

// traces returns the demo's last traces, the newest first.
func (d *demo) traces(t *testing.T) []trace {
	t.Helper()
	var answer struct{ Traces []trace }
	if err := json.Unmarshal(d.get(t, "/api/debug/traces"), &answer); err != nil {
		t.Fatal(err)
	}
	return answer.Traces
}

// get returns what the demo answers.
func (d *demo) get(t *testing.T, path string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.url+path, nil)
	if err != nil {
		t.Error(err)
		return nil
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return nil
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%s: status %d, error %v", path, resp.StatusCode, err)
	}
	return body
}
