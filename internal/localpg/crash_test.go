//go:build unix

package localpg_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twinpath/twinpath/internal/localpg"
)

// server is what the file "children" of a server's directory holds.
type server struct {
	PID     int    `json:"pid"`
	Started string `json:"started"`
}

func (s server) alive() bool {
	started, ok := localpg.StartedAt(s.PID)
	return ok && started == s.Started
}

func servers(t *testing.T, dir string) []server {
	t.Helper()
	var all []server
	for _, name := range entries(t, dir) {
		data, err := os.ReadFile(filepath.Join(dir, name, "children"))
		if err != nil {
			t.Fatal(err)
		}
		var list []server
		if err := json.Unmarshal(data, &list); err != nil {
			t.Fatal(err)
		}
		all = append(all, list...)
	}
	return all
}

// startChild runs this binary as the owner of servers in dir and waits until they run. It returns
// their addresses.
func startChild(t *testing.T, cmd *exec.Cmd, dir string) (io.WriteCloser, []string) {
	t.Helper()
	cmd.Env = append(os.Environ(), childDirEnv+"="+dir)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	fields := strings.Fields(line)
	if err != nil || len(fields) != 3 || fields[0] != "ready" {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.Fatalf("the child said %q, %v", line, err)
	}
	return stdin, fields[1:]
}

func TestKilledParentLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	cmd := exec.Command(os.Args[0])
	_, addrs := startChild(t, cmd, dir)

	running := servers(t, dir)
	if len(running) != 2 {
		t.Fatalf("%d servers are recorded, want postgres and pgbouncer", len(running))
	}
	for _, s := range running {
		if !s.alive() {
			t.Fatalf("server %d does not run", s.PID)
		}
	}
	if removed, err := localpg.Sweep(dir); err != nil || len(removed) > 0 {
		t.Fatalf("Sweep removed %v of a living owner, %v", removed, err)
	}

	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the child ended by itself")
	}
	if runtime.GOOS == "linux" { // elsewhere it takes the sweep
		for _, s := range running {
			awaitEnd(t, s)
		}
	}
	removed, err := localpg.Sweep(dir)
	if err != nil || len(removed) != 2 {
		t.Errorf("Sweep removed %v, %v; want both directories", removed, err)
	}
	for _, s := range running {
		awaitEnd(t, s)
	}
	for _, addr := range addrs {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			t.Errorf("something still listens on %s", addr)
		}
	}
	if left := entries(t, dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// awaitEnd waits for what is bound to happen: PostgreSQL's immediate shutdown takes up to 5 s.
func awaitEnd(t *testing.T, s server) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); s.alive(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("server %d outlived its parent", s.PID)
		}
	}
}

// TestRunsForAnyUser runs the servers' owner as a user without rights, also when the tests are root's.
func TestRunsForAnyUser(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	binary := os.Args[0]
	cmd := exec.Command(binary)
	if os.Geteuid() == 0 {
		nobody, err := user.Lookup("nobody")
		if err != nil {
			t.Fatal(err)
		}
		uid, err := strconv.Atoi(nobody.Uid)
		if err != nil {
			t.Fatal(err)
		}
		// The go command's directory for test binaries is closed to others.
		program, err := os.ReadFile(binary)
		if err != nil {
			t.Fatal(err)
		}
		cmd = exec.Command(filepath.Join(openDir(t), "owner"))
		if err := os.WriteFile(cmd.Path, program, 0o755); err != nil {
			t.Fatal(err)
		}
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
		if err := os.Chown(dir, uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	stdin, _ := startChild(t, cmd, dir)
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if left := entries(t, dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestSweepTellsProcessesApart plants directories of dead owners whose recorded server is a living
// process: once truly, once because the process id was used again.
func TestSweepTellsProcessesApart(t *testing.T) {
	t.Parallel()
	for name, same := range map[string]bool{"the server": true, "another process": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sleeper := exec.Command("sleep", "600")
			if err := sleeper.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = sleeper.Wait() // it was killed
			}()
			t.Cleanup(func() { _ = sleeper.Process.Kill() })

			started, ok := localpg.StartedAt(sleeper.Process.Pid)
			if !ok {
				t.Fatal("no start time of a living process")
			}
			if !same {
				started += "0"
			}
			dir := openDir(t)
			plant(t, filepath.Join(dir, "twinpath-pg-dead"), fmt.Sprintf(`[{"pid": %d, "started": %q}]`, sleeper.Process.Pid, started))
			if removed, err := localpg.Sweep(dir); err != nil || len(removed) != 1 {
				t.Errorf("Sweep removed %v, %v; want one directory", removed, err)
			}
			if same {
				<-ended
				return
			}
			if err := sleeper.Process.Signal(syscall.Signal(0)); err != nil {
				t.Errorf("the other process is gone: %v", err)
			}
			_ = sleeper.Process.Kill()
			<-ended
		})
	}
}

func TestSweepLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	plant(t, filepath.Join(dir, "unrelated"), "[]")
	plant(t, filepath.Join(dir, "twinpath-pg-broken"), "{half a list")
	if err := os.Mkdir(filepath.Join(dir, "twinpath-pg-beingmade"), 0o700); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(dir, "twinpath-pg-old")
	if err := os.Mkdir(old, 0o700); err != nil {
		t.Fatal(err)
	}
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/", filepath.Join(dir, "twinpath-pg-link")); err != nil {
		t.Fatal(err)
	}
	want := []string{"twinpath-pg-beingmade", "twinpath-pg-link", "unrelated"}
	if os.Geteuid() == 0 { // only root can make a directory that is another user's
		theirs := filepath.Join(dir, "twinpath-pg-theirs")
		plant(t, theirs, "[]")
		if err := os.Chown(theirs, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		want = append(want, "twinpath-pg-theirs")
		slices.Sort(want)
	}
	if _, err := localpg.Sweep(dir); err != nil {
		t.Fatal(err)
	}
	if got := entries(t, dir); !slices.Equal(got, want) {
		t.Errorf("left after the sweep: %v, want %v", got, want)
	}
	if _, err := localpg.Sweep(filepath.Join(dir, "nowhere")); err == nil {
		t.Error("sweeping a directory that does not exist is no error")
	}
}

// plant makes a directory as a dead owner leaves it.
func plant(t *testing.T, dir, children string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"owner": "", "children": children} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
