package localpg

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Sweep removes the directories that processes of this user left behind when they were killed,
// and ends servers that still run in them. It looks below the given directories, or, given none,
// where [Start] and [StartPooler] put theirs by default. It returns the directories removed. What
// belongs to a living process, or to another user, is left alone.
//
// Start and StartPooler sweep the directory they use, so calling it is seldom needed.
func Sweep(dirs ...string) ([]string, error) {
	if len(dirs) == 0 {
		dirs = tempDirs()
	}
	var removed []string
	var errs []error
	for _, dir := range dirs {
		r, err := sweepDir(dir)
		removed = append(removed, r...)
		errs = append(errs, err)
	}
	return removed, errors.Join(errs...)
}

// sweep is the sweep before a start, whose failure must not prevent the start.
func sweep(parent string) { _, _ = sweepDir(parent) }

func sweepDir(parent string) ([]string, error) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return nil, err
	}
	var removed []string
	var errs []error
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), dirPrefix) || !entry.IsDir() {
			continue
		}
		path := filepath.Join(parent, entry.Name())
		ok, err := sweepOne(path)
		if err != nil {
			errs = append(errs, err)
		}
		if ok {
			removed = append(removed, path)
		}
	}
	return removed, errors.Join(errs...)
}

// unnamedOwnerAge is how long a directory may be without its owner file before it counts as left
// behind: its maker writes the file right after making the directory.
const unnamedOwnerAge = time.Minute

func sweepOne(path string) (bool, error) {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || !ownedByUs(info) {
		return false, ignoreMissing(err)
	}
	lock, err := os.OpenFile(filepath.Join(path, ownerFile), os.O_RDWR, 0)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if time.Since(info.ModTime()) < unnamedOwnerAge {
			return false, nil
		}
	case err != nil:
		return false, err
	default:
		defer lock.Close()
		free, err := lockFile(lock)
		if err != nil || !free {
			return false, err
		}
	}
	if err := endChildren(filepath.Join(path, childrenFile)); err != nil {
		return false, err
	}
	if err := os.RemoveAll(path); err != nil {
		return false, err
	}
	return true, nil
}

// endChildren ends the servers listed in a file, if they are still the processes listed.
func endChildren(path string) error {
	list, err := os.ReadFile(path)
	if err != nil {
		return ignoreMissing(err)
	}
	var children []child
	if err := json.Unmarshal(list, &children); err != nil {
		return nil // the owner died while writing it; the servers' parent-death signal is what is left
	}
	for _, c := range children {
		if !c.alive() {
			continue
		}
		proc, err := os.FindProcess(c.PID)
		if err != nil {
			continue
		}
		_ = proc.Signal(syscall.SIGQUIT) // PostgreSQL's immediate shutdown, which ends its own children
		for deadline := time.Now().Add(6 * time.Second); c.alive() && time.Now().Before(deadline); {
			time.Sleep(20 * time.Millisecond)
		}
		if c.alive() {
			_ = proc.Kill()
		}
	}
	return nil
}

func (c child) alive() bool {
	started, ok := startedAt(c.PID)
	return c.PID > 1 && ok && started == c.Started
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
