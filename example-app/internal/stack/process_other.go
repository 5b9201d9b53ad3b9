//go:build !unix

package stack

import "syscall"

// sysProcAttr has nothing to set here.
func sysProcAttr() *syscall.SysProcAttr { return nil }
