package stack

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// stopPatience is how long a child may take to end by itself.
const stopPatience = 5 * time.Second

// process is a child that ends with us.
type process struct {
	cmd  *exec.Cmd
	log  tail
	done chan struct{} // closed when the child has ended
}

// startProcess starts a program that gets no other environment than the one given, PATH and HOME
// aside.
//
// On Linux the kernel ends a child when the thread that forked it ends, and the Go runtime may end an
// idle thread. So one goroutine, locked to its thread, stays with the child.
func startProcess(program string, env []string) (*process, error) {
	p := &process{cmd: exec.Command(program), done: make(chan struct{})}
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	p.cmd.WaitDelay = time.Second // for grandchildren that keep the pipes open
	p.cmd.SysProcAttr = sysProcAttr()
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.done)
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // how it ended doesn't matter: whoever waits for it only wants it gone
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// stop ends the child and returns when it has ended.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it fails when the child has just ended, which done tells
	timer := time.NewTimer(stopPatience)
	defer timer.Stop()
	select {
	case <-p.done:
		return
	case <-timer.C:
	}
	_ = p.cmd.Process.Kill()
	<-p.done
}

// said returns the last lines that the child printed, without the given secrets.
func (p *process) said(secrets ...string) string {
	text := p.log.String()
	for _, s := range secrets {
		text = strings.ReplaceAll(text, s, "[hidden]")
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}

// tail is a writer that keeps the last lines of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
	cut bool // the beginning is lost, maybe in the middle of a line
}

const tailSize = 8 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if extra := len(t.buf) - tailSize; extra > 0 {
		t.buf, t.cut = append(t.buf[:0], t.buf[extra:]...), true
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cut {
		_, rest, _ := bytes.Cut(t.buf, []byte("\n"))
		return string(rest)
	}
	return string(t.buf)
}
