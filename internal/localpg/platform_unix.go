//go:build unix && !linux

package localpg

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

const defaultLocale = "C"

// sysProcAttr puts the child in a process group of its own, so that Ctrl-C in a terminal reaches
// only us and servers are stopped in order. There is no parent-death signal here; Sweep ends
// what a killed parent left running.
func sysProcAttr(user *account, _ syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: user.credential()}
}

// startedAt names the moment a process started, in a form that hardly any later process of the
// same id shares: the second ps prints.
func startedAt(pid int) (string, bool) {
	cmd := exec.Command("ps", "-o", "lstart=", "-p", strconv.Itoa(pid))
	cmd.Env = []string{"LC_ALL=C", "TZ=UTC", "PATH=/bin:/usr/bin"}
	out, err := cmd.Output()
	s := strings.TrimSpace(string(out))
	return s, err == nil && s != ""
}
