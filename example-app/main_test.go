package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	main "github.com/twinpath/twinpath/example-app"
	"github.com/twinpath/twinpath/internal/localpg"
)

const (
	secret       = "a secret of at least thirty-two bytes"
	readyTimeout = 2 * time.Minute
)

// site is the one demo that most tests look at, and spotlight where it sends its transactions.
var (
	site      *instance
	spotlight *sidecar
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if err := localpg.ClearEnvironment(); err != nil { // as main does
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	temp, err := os.MkdirTemp("", "example-app-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(temp)
	code := 1
	if err := os.Chmod(temp, 0o755); err == nil { // for the servers, which aren't root
		code = runIn(m, temp)
	}
	return code
}

// runIn runs the tests with the shared demo, and then checks that it left nothing.
func runIn(m *testing.M, temp string) int {
	if err := os.Setenv("TMPDIR", temp); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	spotlight = newSidecar()
	var err error
	if site, err = startInstance(spotlight.address, ""); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	problems := []error{site.stop()}
	spotlight.server.Close()
	http.DefaultClient.CloseIdleConnections()
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		problems = append(problems, fmt.Errorf("left in the directory for temporary files: %v, %w", left, err))
	}
	if kids := children(os.Getpid()); len(kids) > 0 {
		problems = append(problems, fmt.Errorf("processes are left: %v", kids))
	}
	problems = append(problems, goleak.Find())
	if err := errors.Join(problems...); err != nil {
		fmt.Fprintln(os.Stderr, "after the demo's end:", err)
		return 1
	}
	return code
}

// instance is a demo that runs in this process.
type instance struct {
	url    string
	output *transcript
	cancel context.CancelFunc
	ended  chan error
}

// startInstance runs Main with the given arguments and returns when it is ready. spotlight is the host and
// port where a Spotlight sidecar may answer, dsn that of a Sentry project, "" for none.
func startInstance(spotlight, dsn string, args ...string) (*instance, error) {
	ctx, cancel := context.WithCancel(context.Background())
	in := &instance{output: &transcript{}, cancel: cancel, ended: make(chan error, 1)}
	r, w := io.Pipe()
	m := &main.Main{
		Spotlight: spotlight,
		Getenv: func(name string) string {
			switch name {
			case "PGRST_JWT_SECRET":
				return secret // so that the tests can sign tokens
			case "SENTRY_DSN":
				return dsn
			}
			return ""
		},
		LookPath: func(name string) (string, error) { return "", &exec.Error{Name: name, Err: exec.ErrNotFound} },
	}
	go func() {
		err := m.Run(ctx, args, w, in.output)
		_ = w.Close()
		in.ended <- err
	}()
	urls := make(chan string, 1)
	go watch(io.TeeReader(r, in.output), urls)
	select {
	case in.url = <-urls:
		return in, nil
	case err := <-in.ended:
		in.ended <- err
		return nil, errors.Join(fmt.Errorf("the demo ended before it was ready:\n%s", in.output), in.stop())
	case <-time.After(readyTimeout):
		return nil, errors.Join(fmt.Errorf("the demo was not ready within %s:\n%s", readyTimeout, in.output), in.stop())
	}
}

// watch reads the start-up lines to their end and tells the site's address.
func watch(r io.Reader, urls chan<- string) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if words := strings.Fields(lines.Text()); len(words) > 1 && words[0] == "site" {
			urls <- words[1]
		}
	}
}

// stop interrupts the demo and returns what Run returned.
func (in *instance) stop() error {
	in.cancel()
	select {
	case err := <-in.ended:
		return err
	case <-time.After(30 * time.Second):
		return fmt.Errorf("the demo did not stop within 30 s:\n%s", in.output)
	}
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

// answer is what the demo answered.
type answer struct {
	status int
	header http.Header
	body   string
}

// request sends a request to the shared demo.
func request(t *testing.T, method, path, body string, header http.Header) answer {
	t.Helper()
	return site.request(t, method, path, body, header)
}

// request sends a request. Redirects are not followed.
func (in *instance) request(t *testing.T, method, path, body string, header http.Header) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, in.url+path, strings.NewReader(body)) // cleanups call it too
	if err != nil {
		t.Fatal(err)
	}
	if header != nil {
		req.Header = header
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(b)}
}

func get(t *testing.T, path string) answer {
	t.Helper()
	return request(t, http.MethodGet, path, "", nil)
}

// decode reads a JSON answer.
func decode[T any](t *testing.T, a answer) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatalf("status %d, no JSON: %v: %s", a.status, err, a.body)
	}
	return v
}

// endpoints returns the widgets' endpoints as the demo lists them.
func endpoints(t *testing.T) []string {
	t.Helper()
	home := decode[struct {
		Widgets []struct {
			Title, Path string
		}
	}](t, get(t, "/api/home"))
	var paths []string
	for _, w := range home.Widgets {
		if w.Title == "" || !strings.HasPrefix(w.Path, "/api/") {
			t.Errorf("/api/home lists a widget %q with the path %q", w.Title, w.Path)
		}
		paths = append(paths, w.Path)
	}
	return paths
}

// child is a process that another one started.
type child struct {
	pid  int
	name string
}

// children returns the names of a process's children, those that have ended and wait to be seen
// included. It knows none where there is no /proc.
func children(pid int) []string {
	var names []string
	for _, c := range processes(pid) {
		names = append(names, c.name)
	}
	return names
}

func processes(parent int) []child {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var list []child
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		b, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has just ended
		}
		stat := string(b)
		open, end := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
		if fields := strings.Fields(stat[end+1:]); len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			list = append(list, child{pid, stat[open+1 : end]})
		}
	}
	return list
}
