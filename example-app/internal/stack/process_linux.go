package stack

import "syscall"

// sysProcAttr keeps a terminal's Ctrl-C from the child, which we end ourselves when nothing needs it
// any more, and has the kernel end it should we die.
func sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
