//go:build unix && !linux

package stack

import "syscall"

// sysProcAttr keeps a terminal's Ctrl-C from the child, which we end ourselves when nothing needs it
// any more. There is nothing here that has the kernel end it should we die.
func sysProcAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
