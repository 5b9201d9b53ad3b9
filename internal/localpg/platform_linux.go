package localpg

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

const defaultLocale = "C.UTF-8"

// sysProcAttr puts the child in a process group of its own, so that Ctrl-C in a terminal reaches
// only us and servers are stopped in order, and asks for a signal at our death.
func sysProcAttr(user *account, orphan syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: orphan, Credential: user.credential()}
}

// startedAt names the moment a process started, in a form that no later process of the same id
// shares: the boot's id and the clock ticks since that boot (field 22 of proc(5)'s stat).
func startedAt(pid int) (string, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", false
	}
	// Field 2 is the program's name in parentheses and may hold spaces and parentheses itself, so
	// counting begins after it: field 3, the state, has index 0.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const state, starttime = 0, 19
	if len(fields) <= starttime || string(fields[state]) == "Z" {
		return "", false
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", false
	}
	return string(bytes.TrimSpace(boot)) + "/" + string(fields[starttime]), true
}
