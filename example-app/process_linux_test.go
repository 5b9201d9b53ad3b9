package main_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestProcess runs the demo as a process of its own, as a normal user where the test is root's. It
// is killed once, which leaves no server running and nothing that blocks the next start, and then
// interrupted, which leaves nothing at all.
func TestProcess(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "example-app")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	temp := t.TempDir()
	var credential *syscall.Credential
	if os.Geteuid() == 0 {
		credential = nobody(t)
		if err := os.Chown(temp, int(credential.Uid), int(credential.Gid)); err != nil {
			t.Fatal(err)
		}
		for dir := program; dir != os.TempDir(); dir = filepath.Dir(dir) { // for nobody
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}

	killed := startProcess(t, program, temp, credential)
	servers := children(killed.Process.Pid)
	if got := strings.Join(servers, " "); !strings.Contains(got, "postgres") || !strings.Contains(got, "pgbouncer") {
		t.Errorf("the demo's children are %v", servers)
	}
	pids := childPIDs(killed.Process.Pid)
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait() // it was killed
	gone(t, pids)

	interrupted := startProcess(t, program, temp, credential)
	pids = childPIDs(interrupted.Process.Pid)
	if err := interrupted.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := interrupted.Wait(); err != nil {
		t.Errorf("after an interrupt the demo ends with %v", err)
	}
	gone(t, pids)
	left, err := os.ReadDir(temp)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range left {
		t.Errorf("%s is left", f.Name())
	}
}

// TestGoRun ends the go command alone, as a script does that knows no other process id.
func TestGoRun(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	if err := os.Chmod(temp, 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 { // built once, and then from the build cache
		cmd := exec.Command("go", "run", ".", "--addr", "127.0.0.1:0")
		cmd.Env = append(os.Environ(), "TMPDIR="+temp, "DATABASE_URL=", "POOLER_URL=", "POSTGREST_URL=", "SENTRY_DSN=")
		await(t, cmd)
		pids := childPIDs(cmd.Process.Pid)
		if len(pids) != 1 {
			t.Fatalf("go run has the children %v", pids)
		}
		pids = append(pids, childPIDs(pids[0])...)
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // go run ends by the signal
		gone(t, pids)
	}
	left, err := os.ReadDir(temp)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range left {
		if !strings.HasPrefix(f.Name(), "go-build") { // the go command's own
			t.Errorf("%s is left", f.Name())
		}
	}
}

func nobody(t *testing.T) *syscall.Credential {
	t.Helper()
	u, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// startProcess starts the demo and returns when it answers.
func startProcess(t *testing.T, program, temp string, credential *syscall.Credential) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(program, "--addr", "127.0.0.1:0")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + temp, "HOME=" + temp,
		// of somebody who has a Postgres elsewhere
		"PGTZ=Asia/Tokyo", "PGOPTIONS=-c role=x", "PGSERVICE=zz", "PGHOST=db.invalid", "PGPORT=1", "PGUSER=zz", "PGSSLMODE=verify-full"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	await(t, cmd)
	return cmd
}

// await starts a command that is, or runs, the demo, and returns when the demo answers.
func await(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out := &transcript{}
	cmd.Stderr = out
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // where the test has failed before
	urls := make(chan string, 1)
	go func() {
		defer close(urls)
		lines := bufio.NewScanner(io.TeeReader(stdout, out))
		for lines.Scan() {
			if words := strings.Fields(lines.Text()); len(words) > 1 && words[0] == "site" {
				urls <- words[1]
			}
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), readyTimeout)
	defer cancel()
	select {
	case url, ok := <-urls:
		if !ok {
			t.Fatalf("the demo ended before it was ready:\n%s", out)
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{DisableKeepAlives: true}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("status %d when it says that it is ready", resp.StatusCode)
		}
	case <-ctx.Done():
		t.Fatalf("the demo was not ready within %s:\n%s", readyTimeout, out)
	}
}

// childPIDs returns the process ids of a process's children.
func childPIDs(pid int) []int {
	var pids []int
	for _, c := range processes(pid) {
		pids = append(pids, c.pid)
	}
	return pids
}

// gone waits until none of the processes runs any more.
func gone(t *testing.T, pids []int) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for _, pid := range pids {
		for syscall.Kill(pid, 0) == nil {
			if time.Now().After(deadline) {
				t.Errorf("process %d still runs", pid)
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}
