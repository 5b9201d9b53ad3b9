//go:build !linux

package stack

import "syscall"

// sysProcAttr has nothing to set where the kernel can't end a child with its parent.
func sysProcAttr() *syscall.SysProcAttr { return nil }
