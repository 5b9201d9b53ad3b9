package localpg

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// process is a child that ends with this process.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the child has ended; err is set by then
	err  error
}

// command is what startProcess runs.
type command struct {
	path string
	args []string
	dir  string
	log  *os.File // gets stdout and stderr
	user *account // nil: as ourselves

	// orphan is the signal that the kernel sends the child when this process dies, where the
	// kernel can (Linux).
	orphan syscall.Signal
}

// startProcess starts a child and collects its exit.
//
// On Linux the parent-death signal follows the thread that forked, not the process, and the Go
// runtime may end an idle thread. So one goroutine, locked to its thread, forks the child and stays
// there until the child has ended.
func startProcess(c command) (*process, error) {
	cmd := exec.Command(c.path, c.args...)
	cmd.Dir = c.dir
	cmd.Env = childEnv(c.dir)
	cmd.Stdout, cmd.Stderr = c.log, c.log
	cmd.SysProcAttr = sysProcAttr(c.user, c.orphan)

	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.done)
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		<-p.done
		return nil, err
	}
	return p, nil
}

// childEnv leaves out PG* variables, locale and credentials of whoever started us.
func childEnv(dir string) []string {
	env := []string{"HOME=" + dir, "TMPDIR=" + dir, "LC_ALL=C", "PATH=" + os.Getenv("PATH")}
	for _, name := range []string{"LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// running reports whether the child has not been seen to end.
func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// wait returns the child's exit, or kills it when ctx ends first.
func (p *process) wait(ctx context.Context) error {
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		p.end(0, syscall.SIGKILL)
		return ctx.Err()
	}
}

// end sends the signals one after the other, each when the child has outlived the one before by
// patience, and returns when the child has ended. The last one should be SIGKILL.
func (p *process) end(patience time.Duration, signals ...syscall.Signal) {
	for i, sig := range signals {
		_ = p.cmd.Process.Signal(sig) // it fails when the child has just ended, which done tells
		if i == len(signals)-1 {
			<-p.done
			return
		}
		timer := time.NewTimer(patience)
		select {
		case <-p.done:
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}
