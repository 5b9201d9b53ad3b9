//go:build !unix

package localpg

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

const defaultLocale = "C"

// account is an unprivileged user that servers run as; only Unix systems have that notion here.
type account struct{ name string }

func serverAccount() (*account, error) {
	return nil, errors.New("localpg: private servers are started on Linux and macOS only; " +
		"point DATABASE_URL and POOLER_URL at running ones, or use WSL")
}

func (*account) own(string) error                               { return errors.ErrUnsupported }
func (*account) parentDir(string) (string, error)               { return "", errors.ErrUnsupported }
func tempDirs() []string                                        { return nil }
func ownedByUs(fs.FileInfo) bool                                { return false }
func lockFile(*os.File) (bool, error)                           { return false, errors.ErrUnsupported }
func startedAt(int) (string, bool)                              { return "", false }
func sysProcAttr(*account, syscall.Signal) *syscall.SysProcAttr { return nil }
