//go:build unix

package localpg

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is an unprivileged user that servers run as. A nil account stands for ourselves.
type account struct {
	name     string
	uid, gid int
}

// credential is what the kernel needs to run a child as the account, without any of our groups.
func (a *account) credential() *syscall.Credential {
	if a == nil {
		return nil
	}
	return &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
}

// serverAccount returns the user to run servers as: nil, ourselves, unless we are root, which
// PostgreSQL and PgBouncer refuse.
func serverAccount() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.Atoi(u.Uid)
		gid, errGID := strconv.Atoi(u.Gid)
		if errUID == nil && errGID == nil && uid != 0 {
			return &account{name: name, uid: uid, gid: gid}, nil
		}
	}
	return nil, errors.New("localpg: PostgreSQL does not run as root and there is no user postgres or nobody to run it as; " +
		"create one (useradd --system postgres) or run this program as another user")
}

// own gives a file or directory to the account.
func (a *account) own(path string) error {
	if a == nil {
		return nil
	}
	return os.Chown(path, a.uid, a.gid)
}

// reaches reports whether the account may pass through dir and every directory above it.
func (a *account) reaches(dir string) bool {
	if a == nil {
		return true
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	for {
		info, err := os.Stat(dir)
		if err != nil || !a.passes(info) {
			return false
		}
		up := filepath.Dir(dir)
		if up == dir {
			return true
		}
		dir = up
	}
}

func (a *account) passes(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch mode := info.Mode().Perm(); {
	case !ok:
		return false
	case int(stat.Uid) == a.uid:
		return mode&0o100 != 0
	case int(stat.Gid) == a.gid:
		return mode&0o010 != 0
	default:
		return mode&0o001 != 0
	}
}

// parentDir picks the directory in which work directories are made.
func (a *account) parentDir(configured string) (string, error) {
	if configured != "" {
		dir, err := filepath.Abs(configured)
		if err != nil {
			return "", err
		}
		if !a.reaches(dir) {
			return "", fmt.Errorf("localpg: the user %s, which the servers run as, cannot reach Dir %s; choose one below /tmp, or open it (chmod o+x)", a.name, dir)
		}
		return dir, nil
	}
	for _, dir := range tempDirs() {
		if info, err := os.Stat(dir); err == nil && info.IsDir() && a.reaches(dir) {
			return dir, nil
		}
	}
	return "", fmt.Errorf("localpg: found no directory for temporary files that the servers can reach; set Dir or TMPDIR")
}

// tempDirs lists where work directories may be when no directory was configured.
func tempDirs() []string {
	dirs := []string{os.TempDir()}
	for _, dir := range []string{"/tmp", "/var/tmp"} {
		if dir != dirs[0] {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// ownedByUs reports whether this user made the file.
func ownedByUs(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// lockFile takes the exclusive lock on an open file, or reports that another process holds it. The
// kernel releases it when the file is closed or its process ends.
func lockFile(f *os.File) (bool, error) {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, err
		}
	}
}
