package localpg

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// dirPrefix begins the name of every directory this package makes.
const dirPrefix = "twinpath-pg-"

const (
	ownerFile    = "owner"    // locked for as long as the process that made the directory lives
	childrenFile = "children" // JSON: the servers that run in it
	logFile      = "log"
)

// workdir is the directory of one server. Under root it belongs to root and is only passable for
// the servers' user, so that what Sweep acts on can't be written by that user.
type workdir struct {
	path string
	user *account
	lock *os.File
	log  *os.File
}

// child is a server process as childrenFile records it.
type child struct {
	PID     int    `json:"pid"`
	Started string `json:"started"` // see startedAt
}

func newWorkdir(parent string) (w *workdir, err error) {
	user, err := serverAccount()
	if err != nil {
		return nil, err
	}
	parent, err = user.parentDir(parent)
	if err != nil {
		return nil, err
	}
	sweep(parent)
	path, err := os.MkdirTemp(parent, dirPrefix)
	if err != nil {
		return nil, fmt.Errorf("localpg: make a directory for the server: %w", err)
	}
	w = &workdir{path: path, user: user}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.remove())
		}
	}()
	// The lock is taken before the file gets its name: nobody ever finds it unlocked while we live.
	w.lock, err = os.OpenFile(w.file(ownerFile+".new"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if ok, err := lockFile(w.lock); err != nil || !ok {
		return nil, fmt.Errorf("localpg: lock %s: %w", w.lock.Name(), err)
	}
	if err = os.Rename(w.file(ownerFile+".new"), w.file(ownerFile)); err != nil {
		return nil, err
	}
	w.log, err = os.OpenFile(w.file(logFile), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	if user != nil {
		if err = os.Chmod(path, 0o711); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func (w *workdir) file(name string) string { return filepath.Join(w.path, name) }

// private makes a directory that only the servers' user, and root, can read.
func (w *workdir) private(name string) (string, error) {
	dir := w.file(name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	return dir, w.user.own(dir)
}

// write puts a file for the servers' user alone into a private directory.
func (w *workdir) write(path, content string) error {
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		return err
	}
	return w.user.own(path)
}

// start runs a server and records it for Sweep.
func (w *workdir) start(c command) (*process, error) {
	c.dir, c.log, c.user = w.path, w.log, w.user
	p, err := startProcess(c)
	if err != nil {
		return nil, &StartError{Program: filepath.Base(c.path), Err: err}
	}
	var children []child
	if started, ok := startedAt(p.cmd.Process.Pid); ok {
		children = append(children, child{PID: p.cmd.Process.Pid, Started: started})
	}
	list, err := json.Marshal(children)
	if err == nil {
		err = os.WriteFile(w.file(childrenFile), list, 0o600)
	}
	if err != nil {
		p.end(0, killSignals...)
		return nil, fmt.Errorf("localpg: record the server's process: %w", err)
	}
	return p, nil
}

// failed makes the error for a server that did not start, with what it logged last.
func (w *workdir) failed(program string, cause error) error {
	return &StartError{Program: program, Err: cause, Log: w.logTail()}
}

// logTail returns the last lines of the servers' log.
func (w *workdir) logTail() string {
	const lines, size = 15, 8 << 10
	info, err := w.log.Stat()
	if err != nil {
		return ""
	}
	buf := make([]byte, min(info.Size(), size))
	n, _ := w.log.ReadAt(buf, info.Size()-int64(len(buf))) // a short read is still a tail
	all := strings.Split(strings.TrimSpace(string(buf[:n])), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// remove deletes the directory and gives up the lock. Calling it again does nothing.
func (w *workdir) remove() error {
	if w.log != nil {
		_ = w.log.Close() // it was written by the server; the file is about to go
	}
	err := os.RemoveAll(w.path)
	if w.lock != nil {
		_ = w.lock.Close()
	}
	return err
}

// StartError says that a server program was found but did not come up.
type StartError struct {
	Program string // initdb, postgres or pgbouncer
	Err     error
	Log     string // the last lines the program printed; may be empty
}

// Error names the program, the cause and the end of its log.
func (e *StartError) Error() string {
	msg := fmt.Sprintf("localpg: %s did not start: %v", e.Program, e.Err)
	if e.Log != "" {
		msg += "; its log ends with:\n\t" + strings.ReplaceAll(e.Log, "\n", "\n\t")
	}
	return msg
}

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }
